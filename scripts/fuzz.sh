#!/bin/sh
# Runs every fuzz target for so many seconds: scripts/fuzz.sh SECONDS [TARGET...]. Inputs that fail are kept in
# fuzz/artifacts. Needs nightly Rust and cargo-fuzz.
set -eu
cd "$(dirname "$0")/.."
seconds=$1
shift
command -v cargo-fuzz >/dev/null || {
    echo "fuzz: cargo-fuzz is missing: cargo install --locked cargo-fuzz" >&2
    exit 1
}
# The library and the readers have no unsafe code, so there is nothing for the address sanitizer to find.
cargo +nightly fuzz build --sanitizer none
failed=
for target in ${*:-$(ls fuzz/fuzz_targets | sed 's/\.rs$//')}; do
    mkdir -p "fuzz/corpus/$target"
    case $target in
    capture) seeds=tests/capture ;;
    scenario) seeds=scenarios ;;
    *) seeds= ;;
    esac
    echo "fuzz: $target"
    # shellcheck disable=SC2086 # seeds may be nothing
    cargo +nightly fuzz run --sanitizer none "$target" "fuzz/corpus/$target" $seeds -- \
        -max_total_time="$seconds" -timeout=20 -print_final_stats=1 || failed="$failed $target"
done
[ -z "$failed" ] || {
    echo "fuzz: failed:$failed" >&2
    exit 1
}
