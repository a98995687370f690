#!/bin/sh
# Unpacks Debian's Python for 64-bit Arm into a folder, for qemu-aarch64 to run. No foreign architecture is added to the system:
# apt has lists and state of its own there. `arm64_python.sh FOLDER`
set -eu
root=$(realpath -m "$1")
state=$root/.apt
mkdir -p "$state/lists/partial" "$state/archives/partial" "$state/packages"
: >"$state/status"

apt() {
    apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$state" -o Dir::State::status="$state/status" \
        -o Dir::Cache="$state" -o APT::Sandbox::User=root -o Acquire::Languages=none "$@"
}

apt update
python=$(apt-cache -o APT::Architecture=arm64 -o Dir::State="$state" -o Dir::State::status="$state/status" -o Dir::Cache="$state" \
    depends python3 | sed -n 's/.*Depends: \(python3\.[0-9]*\)$/\1/p' | head -n 1)
cd "$state/packages"
apt download libc6 libgcc-s1 libstdc++6 zlib1g libexpat1 libffi8 libbz2-1.0 liblzma5 libssl3 libsqlite3-0 libuuid1 \
    "$python-minimal" "lib$python-minimal" "lib$python-stdlib"
for package in *.deb; do
    dpkg-deb --extract "$package" "$root"
done
rm -rf "$state"
echo "$root/usr/bin/$python"
