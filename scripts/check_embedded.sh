#!/bin/sh
# Builds the crate `fairdrop` for two processors without an operating system. A target that is not there and cannot be
# had is skipped with a message.
set -eu
cd "$(dirname "$0")/.."

for target in thumbv7em-none-eabihf riscv32imac-unknown-none-elf; do
    if [ ! -d "$(rustc --print target-libdir --target "$target")" ] &&
        ! { command -v rustup >/dev/null && rustup --quiet target add "$target" >/dev/null 2>&1; }; then
        echo "embedded: skipped for $target: it is not installed (rustup target add $target)"
        continue
    fi
    cargo build --quiet --locked --package fairdrop --release --target "$target"
    echo "embedded: fairdrop builds for $target"
    command -v llvm-size >/dev/null || continue
    # The code of one discipline alone, with the arithmetic in software that it needs there, optimised for size.
    for alone in choke collar; do
        (
            cd proofs/no-panic
            CARGO_PROFILE_RELEASE_OPT_LEVEL=s cargo rustc --quiet --locked --release --target "$target" \
                --features "${alone}_alone" -- -C link-arg=--defsym=a_discipline_can_panic=0
            llvm-size "${CARGO_TARGET_DIR:-target}/$target/release/no-panic" | awk -v target="$target" -v name="$alone" \
                'NR == 2 { print "embedded: " name " takes " $1 " bytes of code for " target }'
        )
    done
done
