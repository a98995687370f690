#!/bin/sh
# Fuzzes for SECONDS each: scripts/fuzz.sh SECONDS [TARGET...]. A target is the name of a discipline, `capture`,
# `control`, `frame`, `http`, `offload`, `paper`, `plugin`, `result`, `ring`, `scenario` or `study`; by default all. FAIRDROP_FUZZ_RUNS=100000000 ends each after that number of inputs. Inputs that fail are kept in fuzz/artifacts. Needs nightly Rust and cargo-fuzz.
set -eu
cd "$(dirname "$0")/.."
seconds=$1
shift
command -v cargo-fuzz >/dev/null || {
    echo "fuzz: cargo-fuzz is missing: cargo install --locked cargo-fuzz" >&2
    exit 1
}
# The library and the readers have no unsafe code, so there is nothing for the address sanitizer to find.
cargo +nightly fuzz build --features fuzzer --sanitizer none
failed=
disciplines=$(grep -l '^params! {' crates/fairdrop/src/disciplines/*.rs | sed 's|.*/||; s/\.rs$//')
for target in ${*:-capture control frame http offload paper plugin result ring scenario study $disciplines}; do
    mkdir -p "fuzz/corpus/$target"
    program=$target
    case $target in
    capture) seeds=tests/capture ;;
    paper) seeds=python/fairdrop/papers/choke ;;
    result) seeds=fuzz/seeds/result ;;
    scenario) seeds=scenarios ;;
    study) seeds=fuzz/seeds/study ;;
    control | http) seeds=fuzz/seeds/$target ;;
    frame | offload | plugin | ring) seeds= ;;
    *) program=discipline seeds= ;;
    esac
    echo "fuzz: $target"
    # shellcheck disable=SC2086 # seeds may be nothing
    FAIRDROP_FUZZ=$target cargo +nightly fuzz run --features fuzzer --sanitizer none "$program" "fuzz/corpus/$target" $seeds -- \
        -max_total_time="$seconds" -runs="${FAIRDROP_FUZZ_RUNS:--1}" -timeout=20 -print_final_stats=1 || failed="$failed $target"
done
[ -z "$failed" ] || {
    echo "fuzz: failed:$failed" >&2
    exit 1
}
