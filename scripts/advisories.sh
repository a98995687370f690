#!/bin/sh
# Known vulnerabilities of the Rust dependencies, and versions that were taken back: scripts/advisories.sh CARGO_DENY. Exit codes:
# 0 none, 1 some, 2 it could not be asked.
set -u
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if "$1" --config deny.toml --locked check advisories >"$log" 2>&1; then
    echo "advisories: none for Cargo.toml"
    exit 0
fi
cat "$log" >&2
if grep -q 'advisories FAILED' "$log"; then
    echo "advisories: there are some for Cargo.toml" >&2
    exit 1
elif grep -q 'failed to fetch advisory database' "$log"; then
    echo "advisories: not checked: RustSec's database could not be fetched; run this where it is reached" >&2
else
    echo "advisories: not checked: cargo-deny failed" >&2
fi
exit 2
