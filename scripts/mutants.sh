#!/bin/sh
# Mutation testing of the crate `fairdrop`, file by file, each with the tests that concern it and nothing else.
#
#   scripts/mutants.sh [FILE...]     files below crates/fairdrop/src, such as exp.rs or disciplines/pie.rs; default all
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

# The most telling first: foundations, the CHOKe family, then the rest.
all="leaky_fifo.rs disciplines/red.rs disciplines/choke.rs disciplines/chokew.rs disciplines/ward.rs
disciplines/back_choke_memory.rs env.rs philox.rs exp.rs arithmetic.rs token_bucket.rs rate_label.rs
disciplines/codel.rs disciplines/pie.rs disciplines/blue.rs disciplines/fred.rs disciplines/droptail.rs
disciplines/sred.rs disciplines/sfb.rs disciplines/csfq.rs disciplines/afd.rs disciplines/red_pd.rs
disciplines/penalty_box.rs disciplines/flow_valve.rs disciplines/rio.rs disciplines/drr.rs disciplines/sfq.rs
disciplines/fq.rs disciplines/fq_codel.rs disciplines/dualpi2.rs disciplines/choke_hardware.rs
disciplines/choke_hardware/list_memory.rs queue_pool.rs length_lists.rs indexed_heap.rs flow_table.rs flow_key.rs
params.rs any.rs stats.rs time.rs discipline.rs"

# The tests that concern a file, as options of `cargo test`; a discipline has a file of its own name.
tests_of() {
    name=$(basename "$1" .rs)
    case $name in
    exp | arithmetic | philox | flow_key | length_lists) echo --lib ;;
    leaky_fifo | env | red | choke) echo --lib --test=boundaries --test=agreement --test=statements ;;
    droptail) echo --lib --test=boundaries --test=agreement ;;
    back_choke_memory) echo --lib --test=ward ;;
    sfq | queue_pool) echo --lib --test=drr ;;
    indexed_heap) echo --lib --test=fq ;;
    flow_table) echo --lib --test=flow_valve ;;
    rate_label) echo --lib --test=csfq ;;
    token_bucket) echo --lib --test=penalty_box --test=sfb ;;
    discipline | stats | time | params) echo --lib --test=boundaries --test=agreement --test=pie --test=prepare ;;
    any) echo --lib --test=boundaries --test=prepare --test=chokew ;;
    list_memory) echo --test=choke_hardware ;;
    *) echo --lib "--test=$name" ;;
    esac
}

# Options of the test programs: two tests over hundreds of thousands of draws, for the files they are about.
skip_of() {
    case $1 in
    leaky_fifo.rs | philox.rs) ;;
    *) echo -- -- --skip weighted_draws_are_proportional --skip draws_are_uniform_over_live ;;
    esac
}

# One worker: takes files until none is left. The tests must pass before anything is changed (--baseline run).
work_off() {
    tree=$work/tree-$1
    rm -rf "$tree"
    mkdir -p "$tree"
    git ls-files -z | tar -cf - --null -T - | tar -xf - -C "$tree"
    shift
    for file in "$@"; do
        name=$(echo "${file%.rs}" | tr / -)
        mkdir "$out/$name" 2>/dev/null || continue
        # As options of every call of cargo, so that no other test is built either.
        options=$(for option in $(tests_of "$file"); do echo "--cargo-arg=$option"; done)
        # shellcheck disable=SC2086 # words on purpose
        PROPTEST_CASES=${PROPTEST_CASES:-64} PROPTEST_MAX_SHRINK_ITERS=0 CARGO_INCREMENTAL=1 \
            CARGO_TARGET_DIR="$tree-target" cargo mutants --dir "$tree" --in-place --no-shuffle \
            --baseline run --timeout "${MUTANTS_TIMEOUT:-20}" --build-timeout 120 --cap-lints true \
            --output "$out/$name" --file "crates/fairdrop/src/$file" --colors never $options $(skip_of "$file") >"$out/$name/log" 2>&1 || true
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
    count() { wc -l <"$directory/$1.txt"; }
    printf '%-40s %8d %8d %8d %9d %8d\n' "$(basename "$(dirname "$directory")")" \
        $(($(count caught) + $(count missed) + $(count unviable) + $(count timeout))) \
        "$(count caught)" "$(count missed)" "$(count unviable)" "$(count timeout)"
done
