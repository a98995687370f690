#!/bin/sh
# Builds the module of integrations/ns3 against PyPI's package ns3, all in build/ns3, and runs its tests and its example.
# Skips where that package or CMake cannot be had. PYTHON is one with pip.
set -eu
cd "$(dirname "$0")/.."
version=3.44.post0
package=build/ns3/package-$version
module=build/ns3/module

skip() {
    echo "ns3: skipped: $1"
    exit 0
}

command -v cmake >/dev/null || skip "there is no cmake"
[ "$(uname -m)" = x86_64 ] || skip "the package ns3 $version is for x86-64"
if [ ! -d "$package" ]; then
    # The wheel for one version of Python, whichever runs here: only its C++ side is used.
    "${PYTHON:-python3}" -m pip download --quiet --no-deps --only-binary :all: --python-version 3.11 \
        --platform manylinux_2_28_x86_64 --dest build/ns3 "ns3==$version" ||
        skip "the package ns3 $version cannot be fetched"
    rm -rf "$package.new"
    "${PYTHON:-python3}" -m zipfile --extract build/ns3/ns3-$version-*.whl "$package.new"
    mv "$package.new" "$package"
fi

cmake -S integrations/ns3 -B "$module" -Dns3_DIR="$PWD/$package/ns3/lib64/cmake/ns3" >/dev/null
MAKEFLAGS=--no-print-directory cmake --build "$module"
"$module/fairdrop-test" --suite=fairdrop

# What a user sees who mistypes a name.
if output=$(exec 2>&1; "$module/fairdrop-headline" --Discipline=chok; exit $?); then
    echo "ns3: the discipline chok was taken" >&2
    exit 1
fi
case $output in
*'no discipline "chok"; there are'*choke*) ;;
*)
    echo "ns3: the message for the discipline chok does not help: $output" >&2
    exit 1
    ;;
esac
"$module/fairdrop-headline" --Discipline=choke --duration=120
