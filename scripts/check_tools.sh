#!/bin/sh
# Says in one line which tool is missing or too old, and how to get it.
PYTHON=${PYTHON:-python3}

fail() {
    echo "fairdrop: $1" >&2
    exit 1
}

# at_least HAVE WANT: compares dotted versions.
at_least() {
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -t. -k1,1n -k2,2n -k3,3n | head -n 1)" = "$2" ]
}

rust=$(rustc --version 2>/dev/null | cut -d' ' -f2 | cut -d- -f1)
[ -n "$rust" ] || fail "Rust is missing: install it with rustup (rustup.rs), 1.88 or newer"
command -v cargo >/dev/null || fail "cargo is missing: install Rust with rustup (rustup.rs), 1.88 or newer"
at_least "$rust" 1.88.0 || fail "Rust $rust is too old: 1.88 or newer is needed; run 'rustup update stable'"

python=$("$PYTHON" -c 'import platform; print(platform.python_version())' 2>/dev/null)
[ -n "$python" ] || fail "Python is missing: install 3.11 or newer (Debian: apt-get install python3 python3-venv)"
at_least "$python" 3.11.0 ||
    fail "Python $python is too old: 3.11 or newer is needed; install one and run 'make PYTHON=python3.11 ...'"
"$PYTHON" -c 'import ensurepip, venv' 2>/dev/null ||
    fail "Python's venv module is missing (Debian: apt-get install python3-venv)"

command -v cc >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null ||
    fail "a C compiler is missing: Rust links with it (Debian: apt-get install gcc libc6-dev)"
