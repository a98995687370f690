#!/bin/sh
# The tests of the library under Miri, which finds undefined behaviour and runs about a hundred times slower: with few
# cases of each property, and without the tests that need hundreds of thousands of events to say anything. Needs nightly
# Rust with Miri: rustup toolchain install nightly --component miri,rust-src
#   scripts/miri.sh [OPTION or filter of cargo test...]     for example --test all pie::
set -eu
cd "$(dirname "$0")/.."
cargo +nightly miri --version >/dev/null 2>&1 || {
    echo "miri: missing: rustup toolchain install nightly --component miri,rust-src" >&2
    exit 1
}
# Statistics over many draws, long runs, and accuracy beside the logarithm and the exponential of the standard library,
# which Miri makes inexact on purpose. With them, tests of lists and of hash functions that take over 45 s even with two
# cases: there is no unsafe code to watch.
long="uniform proportional exact frequency statistic chi deviations share reach every_label holds_as_many standard_library
is_the_exponential stay_cheap by_weight weighted geometric gaps same_part long consecutive_admissions estimates_of_steady
bound_decides buckets_are_even behaves_as_a_plain_list is_many_lists"
skip=
for word in $long; do
    skip="$skip --skip $word"
done
export PROPTEST_CASES="${PROPTEST_CASES:-2}"
# No isolation: property tests read the environment. Strict provenance costs nothing here.
export MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-strict-provenance ${MIRIFLAGS:-}"
# shellcheck disable=SC2086 # words on purpose
cargo +nightly miri test --package fairdrop "${@:---tests}" -- $skip
