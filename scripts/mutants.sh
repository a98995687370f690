#!/bin/sh
# Mutation testing of the crate `fairdrop`, file by file, each with the tests that concern it and nothing else.
#
#   scripts/mutants.sh [FILE...]     files below crates/fairdrop/src, such as registry.rs or disciplines/pie.rs; default all
#
# Results go to $MUTANTS_OUT (default target/mutants), a directory for each file, with lists of the mutants caught,
# missed, unviable and timed out. A file that has a result is not run again. $MUTANTS_JOBS files (default 2) are worked
# on at a time, each in a copy of the tracked files and with a build directory of its own, below $MUTANTS_WORK: a file
# system in memory where there is one. About 2.5 GB.
set -eu
cd "$(dirname "$0")/.."
out=${MUTANTS_OUT:-$PWD/target/mutants}
work=${MUTANTS_WORK:-/dev/shm/fairdrop-mutants}
[ -n "${MUTANTS_WORK:-}" ] || [ -d /dev/shm ] || work=$out/work
mkdir -p "$out" "$work"
command -v cargo-mutants >/dev/null || {
    echo "mutants: cargo-mutants is missing: cargo install --locked cargo-mutants" >&2
    exit 1
}

all=$(cd crates/fairdrop/src && find . -name '*.rs' ! -name lib.rs ! -name mod.rs | sed 's|^\./||' | sort)

# The tests that concern a file, as options of `cargo test`: those that find most first, then, for what they miss, the
# rest. A discipline has a file of tests of its own name.
first_tests_of() {
    name=$(basename "$1" .rs)
    case $name in
    env) echo --test=choke ;;
    list_memory) echo --test=choke_hardware ;;
    token_bucket) echo --test=penalty_box ;;
    params | stats | time | discipline | outcome) echo --test=pie ;;
    registry | entry) echo --test=prepare ;;
    *) if [ -f "crates/fairdrop/tests/$name.rs" ]; then echo "--test=$name"; else echo --lib; fi ;;
    esac
}
more_tests_of() {
    name=$(basename "$1" .rs)
    echo --test=every
    case $name in
    leaky_fifo) echo --lib --test=choke ;;
    env) echo --lib --test=choke --test=prepare ;;
    red | choke) echo --lib --test=red --test=choke --test=parameters --test=rio ;;
    back_choke_memory) echo --lib --test=ward --test=choke --test=parameters ;;
    queue_pool) echo --test=drr --test=fq_codel ;;
    indexed_heap) echo --test=fq ;;
    flow_table) echo --test=flow_valve ;;
    rate_label) echo --test=csfq ;;
    flow_sample) echo --test=afd --test=care ;;
    token_bucket) echo --test=sfb ;;
    discipline | outcome) echo --lib --test=choke --test=parameters --test=codel ;;
    stats | time | params | registry | entry) echo --lib --test=choke --test=parameters --test=chokew ;;
    droptail) echo --lib --test=choke --test=parameters ;;
    *) echo --lib --test=parameters ;;
    esac
}

# Arguments of the test programs: at first unit tests of the file alone; never two over hundreds of thousands of draws,
# which take longer than all the rest in a build without optimisation.
arguments_of() {
    filter=
    [ "$($1 "$2")" != --lib ] || [ "$1" = more_tests_of ] || filter=$(basename "$2" .rs)::
    skip="--skip weighted_draws_are_proportional --skip draws_are_uniform_over_live"
    # Nor, at first, those of the hardware that take seconds.
    [ "$1" = more_tests_of ] || skip="$skip --skip draws_are_by_cells --skip every_bank_gives_one --skip accepted_draws"
    echo -- -- $filter $skip
}

# One worker: takes files until none is left. The tests must pass before anything is changed (--baseline run). The files
# of the copy are younger than what an earlier run built (tar -m), so that no change of that run is left in a program.
work_off() {
    tree=$work/tree-$1
    rm -rf "$tree"
    mkdir -p "$tree"
    git ls-files -z | tar -cf - --null -T - | tar -xmf - -C "$tree"
    # A program for each file of tests, so that only what concerns a file is built and run.
    manifest=$tree/crates/fairdrop/Cargo.toml
    sed -i -e '/^autotests = false$/d' -e '/^\[\[test\]\]$/,/^name = /d' "$manifest"
    rm "$tree/crates/fairdrop/tests/all.rs"
    # cargo-mutants follows modules that are written out; those that the build script lists it does not see.
    for module in "$tree"/crates/fairdrop/src/disciplines/*.rs; do
        [ "$(basename "$module")" = mod.rs ] || echo "#[cfg(any())] mod $(basename "$module" .rs);"
    done >>"$tree/crates/fairdrop/src/disciplines/mod.rs"
    shift
    for file in "$@"; do
        name=$(echo "${file%.rs}" | tr / -)
        mkdir "$out/$name" 2>/dev/null || continue
        iterate=
        cases=32
        timeout=12
        for tests in first_tests_of more_tests_of; do
            # As options of every call of cargo, so that no other test is built either.
            # The rest is not run alone: a change that makes the first tests hang would pass as missed.
            options=$(for option in $({ first_tests_of "$file" && "$tests" "$file"; } | tr ' ' '\n' | sort -u); do
                echo "--cargo-arg=$option"
            done)
            # shellcheck disable=SC2046,SC2086 # words on purpose
            PROPTEST_CASES=$cases PROPTEST_MAX_SHRINK_ITERS=0 CARGO_INCREMENTAL=1 \
                CARGO_TARGET_DIR="$tree-target" cargo mutants --dir "$tree" --in-place --no-shuffle $iterate \
                --baseline run --timeout $timeout --build-timeout 120 --cap-lints true --colors never \
                --output "$out/$name" --file "crates/fairdrop/src/$file" $options $(arguments_of "$tests" "$file") \
                >>"$out/$name/log" 2>&1 || true
            iterate=--iterate
            cases=48
            timeout=40
        done
    done
}

jobs=${MUTANTS_JOBS:-2}
job=0
while [ "$job" -lt "$jobs" ]; do
    job=$((job + 1))
    # shellcheck disable=SC2086 # words on purpose
    work_off "$job" ${*:-$all} &
done
wait

printf '%-40s %8s %8s %8s %9s %8s\n' file mutants caught missed unviable timeout
for directory in "$out"/*/mutants.out; do
    [ -d "$directory" ] || continue
    count() { for list; do cat "$directory/$list.txt" 2>/dev/null || true; done | wc -l; }
    caught=$(count caught previously_caught)
    ! grep -q "no mutants were tested" "$directory/../log" || echo "the tests fail or take too long without a change:"
    printf '%-40s %8d %8d %8d %9d %8d\n' "$(basename "$(dirname "$directory")")" \
        $((caught + $(count missed unviable timeout))) "$caught" "$(count missed)" "$(count unviable)" "$(count timeout)"
done
