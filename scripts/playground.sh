#!/bin/sh
# Builds the playground as static files: the simulator as a module of WebAssembly, its pages, and scenarios. Prints the sizes.
# `playground.sh [FOLDER]`, build/site/playground by default.
set -eu
cd "$(dirname "$0")/.."
out=${1:-build/site/playground}
target=wasm32-unknown-unknown

[ -d "$(rustc --print target-libdir --target $target)" ] ||
    { command -v rustup >/dev/null && rustup --quiet target add $target; } ||
    { echo "playground: the target $target is not installed; valid: rustup target add $target" >&2 && exit 77; }

# Messages of the module name files, those of this machine by other paths.
separator=$(printf '\037')
CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$PWD=/fairdrop$separator--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
export CARGO_ENCODED_RUSTFLAGS
cargo build --quiet --locked --package fairdrop-wasm --profile wasm --target $target

mkdir -p "$out"
cp -RL playground/. "$out"
cp python/fairdrop/scenarios/*.toml "$out/scenarios"
cp "${CARGO_TARGET_DIR:-target}/$target/wasm/fairdrop_wasm.wasm" "$out/fairdrop.wasm"
bytes() { wc -c | tr -d ' '; }
echo "playground: $out; the module has $(bytes <"$out/fairdrop.wasm") bytes, $(gzip -9 -c "$out/fairdrop.wasm" | bytes) compressed"
