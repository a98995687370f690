#!/bin/sh
# Builds the crates `fairdrop` and `fairdrop-link` for two processors without an operating system, and checks them and the
# simulator for WebAssembly. A target that is not there and cannot be had is skipped with a message.
set -eu
cd "$(dirname "$0")/.."

has() {
    [ -d "$(rustc --print target-libdir --target "$1")" ] ||
        { command -v rustup >/dev/null && rustup --quiet target add "$1" >/dev/null 2>&1; } ||
        { echo "embedded: skipped for $1: it is not installed (rustup target add $1)" && false; }
}

if has wasm32-unknown-unknown; then
    for package in fairdrop-link fairdrop-sim fairdrop-wasm; do
        cargo check --quiet --locked --package $package --target wasm32-unknown-unknown
    done
    echo "embedded: fairdrop-link, fairdrop-sim and fairdrop-wasm are checked for wasm32-unknown-unknown"
fi
for target in thumbv7em-none-eabihf riscv32imac-unknown-none-elf; do
    has "$target" || continue
    cargo build --quiet --locked --package fairdrop-link --release --target "$target"
    echo "embedded: fairdrop and fairdrop-link build for $target"
    # One discipline alone, with the arithmetic in software that it needs there, optimised for size: beside the figures in the docs.
    for alone in choke collar; do
        (
            cd proofs/no-panic
            CARGO_PROFILE_RELEASE_OPT_LEVEL=s cargo rustc --quiet --locked --release --target "$target" \
                --features "${alone}_alone" -- -C link-arg=--defsym=a_discipline_can_panic=0
            ../../.venv/bin/python ../../scripts/embedded_sizes.py $alone "$target" \
                "${CARGO_TARGET_DIR:-target}/$target/release/no-panic" ../../docs/reference/how-it-is-checked.md
        )
    done
done
