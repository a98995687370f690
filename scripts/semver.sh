#!/bin/sh
# Whether the crates that are called stable keep their promise: their public interface beside that of the last release
# (docs/reference/packages.md). Needs cargo-semver-checks: cargo install cargo-semver-checks
set -eu
cd "$(dirname "$0")/.."

if ! last=$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null); then
    echo "semver: no release yet, so there is nothing to compare with"
    exit 0
fi
cargo semver-checks --version >/dev/null 2>&1 || {
    echo "semver: cargo-semver-checks is not installed; valid: cargo install cargo-semver-checks" >&2
    exit 1
}
for crate in fairdrop fairdrop-link fairdrop-capture; do
    cargo semver-checks --package $crate --baseline-rev "$last"
done
