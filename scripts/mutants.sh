#!/bin/sh
# Mutation testing of the crate `fairdrop`, file by file, each with the tests that concern it and nothing else.
#
#   scripts/mutants.sh [FILE...]     files below crates/fairdrop/src, such as exp.rs or disciplines/pie.rs; default all
#
# Results go to $MUTANTS_OUT (default target/mutants), a directory for each file, with lists of the mutants caught,
# missed, unviable and timed out. A file that has a result is not run again. A second build directory is kept beside
# them; on a file system in memory it is faster.
set -eu
cd "$(dirname "$0")/.."
out=${MUTANTS_OUT:-$PWD/target/mutants}
mkdir -p "$out"
command -v cargo-mutants >/dev/null || {
    echo "mutants: cargo-mutants is missing: cargo install --locked cargo-mutants" >&2
    exit 1
}

# The most telling first: foundations, the CHOKe family, then the rest.
all="leaky_fifo.rs disciplines/red.rs disciplines/choke.rs disciplines/chokew.rs disciplines/ward.rs
disciplines/back_choke_memory.rs env.rs philox.rs exp.rs arithmetic.rs disciplines/codel.rs disciplines/pie.rs
disciplines/blue.rs disciplines/fred.rs discipline.rs stats.rs time.rs token_bucket.rs rate_label.rs params.rs
flow_table.rs flow_key.rs indexed_heap.rs length_lists.rs queue_pool.rs disciplines/droptail.rs disciplines/sfb.rs
disciplines/sred.rs disciplines/rio.rs disciplines/csfq.rs disciplines/afd.rs disciplines/red_pd.rs
disciplines/penalty_box.rs disciplines/flow_valve.rs disciplines/drr.rs disciplines/sfq.rs disciplines/fq.rs
disciplines/fq_codel.rs disciplines/dualpi2.rs disciplines/choke_hardware.rs
disciplines/choke_hardware/list_memory.rs any.rs"

# The tests that concern a file, as options of `cargo test`; a discipline has a file of its own name.
tests_of() {
    name=$(basename "$1" .rs)
    case $name in
    exp | arithmetic | philox | rate_label | flow_key | flow_table | indexed_heap | length_lists | queue_pool)
        echo --lib ;;
    leaky_fifo | env) echo --lib --test=agreement --test=boundaries --test=statements ;;
    red | choke) echo --lib --test=boundaries --test=agreement --test=statements ;;
    droptail) echo --lib --test=boundaries --test=agreement ;;
    back_choke_memory) echo --lib ;;
    discipline | stats | time | params | any | token_bucket) echo ;;
    sfq) echo --lib --test=drr ;;
    list_memory) echo --test=choke_hardware ;;
    *) echo --lib --test=$name ;;
    esac
}

for file in ${*:-$all}; do
    name=$(echo "${file%.rs}" | tr / -)
    [ ! -d "$out/$name/mutants.out" ] || continue
    # The tests pass on the unchanged library in any case: `make test` says so.
    # As options of every call of cargo, so that no other test is built either.
    options=$(for option in $(tests_of "$file"); do echo "--cargo-arg=$option"; done)
    # shellcheck disable=SC2086 # words on purpose
    PROPTEST_CASES=${PROPTEST_CASES:-128} CARGO_TARGET_DIR="$out/target" cargo mutants --no-shuffle --jobs 1 \
        --baseline skip --timeout 120 --caught --output "$out/running" --file "crates/fairdrop/src/$file" \
        $options || true
    rm -rf "${out:?}/$name"
    mv "$out/running" "$out/$name"
done

printf '%-40s %7s %7s %9s %8s\n' file caught missed unviable timeout
for directory in "$out"/*/mutants.out; do
    count() { wc -l <"$directory/$1.txt"; }
    printf '%-40s %7d %7d %9d %8d\n' "$(basename "$(dirname "$directory")")" \
        "$(count caught)" "$(count missed)" "$(count unviable)" "$(count timeout)"
done
