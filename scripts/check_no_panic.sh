#!/bin/sh
# Links proofs/no-panic, which works only if no discipline can panic, for this machine and for the embedded targets
# that are installed; then shows that the check would notice a panic. See docs/reference/how-it-is-checked.md.
set -eu
cd "$(dirname "$0")/../proofs/no-panic"

link() { # link TARGET [OPTION...]
    target=$1
    shift
    case $target in
    *-linux-*) cargo rustc --quiet --locked --release --target "$target" "$@" -- -C link-arg=-nostartfiles -C link-arg=-lc ;;
    *) cargo rustc --quiet --locked --release --target "$target" "$@" ;;
    esac
}

fail() {
    echo "no-panic: $1" >&2
    exit 1
}

# Who calls what panics, in a program for an embedded target for which the missing function is at address 0.
culprits() {
    embedded=thumbv7em-none-eabihf
    command -v llvm-objdump >/dev/null && [ -d "$(rustc --print target-libdir --target $embedded)" ] || return 0
    directory=${CARGO_TARGET_DIR:-target}/$embedded/release
    cargo rustc --quiet --locked --release --target $embedded -- -C link-arg=--defsym=a_discipline_can_panic=0
    llvm-objdump -d -C --no-show-raw-insn "$directory/no-panic" |
        awk '/^[0-9a-f]+ <.*>:$/ { from = $0; sub(/^[^<]*/, "", from) }
             /(panicking|_failed|slice::index)/ && !/:$/ { sub(/.*</, "<"); print "  " from " " $0 }' |
        grep -v '^  <*\(core\|__rustc\)' | sort -u >&2
}

host=$(rustc -vV | sed -n 's/^host: //p')
targets="thumbv7em-none-eabihf riscv32imac-unknown-none-elf"
case $host in *-linux-*) targets="$host $targets" ;; esac
checked=
for target in $targets; do
    sysroot=$(rustc --print target-libdir --target "$target")
    if [ ! -d "$sysroot" ]; then
        echo "no-panic: skipped for $target: it is not installed (rustup target add $target)"
        continue
    fi
    if ! errors=$(link "$target" 2>&1); then
        case $errors in
        *a_discipline_can_panic*)
            culprits
            fail "a discipline can panic ($target)" ;;
        *) fail "$errors" ;;
        esac
    fi
    if errors=$(link "$target" --features canary 2>&1); then
        fail "a function that can panic was not noticed ($target)"
    fi
    case $errors in *a_discipline_can_panic*) ;; *) fail "$errors" ;; esac
    checked="$checked $target"
done
[ -n "$checked" ] || fail "nothing was checked"
echo "no-panic: no path from enqueue, dequeue or tick of any discipline to a panic:$checked"
