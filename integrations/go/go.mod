module fairdrop.invalid/fairdrop

go 1.19
