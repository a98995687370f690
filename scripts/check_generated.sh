#!/usr/bin/env bash
# Fails when a file in git that is made from the code is not what the code makes. What tests compare with the code, such as the
# outputs on pages, is left to them.
set -euo pipefail
cd "$(dirname "$0")/.."

# Of the text, also where a file is compressed.
sums() {
    git ls-files -z --cached --others --exclude-standard -- README.md docs conformance python/fairdrop/conformance/data \
        crates/fairdrop-ffi/include |
        while IFS= read -r -d '' file; do
            [ -f "$file" ] || continue
            case $file in *.lzma) show=(xz -dc) ;; *) show=(cat) ;; esac
            printf '%s  %s\n' "$("${show[@]}" -- "$file" | sha256sum | cut -d ' ' -f 1)" "$file"
        done
}

before=$(sums)
make --no-print-directory made
if changed=$(diff <(echo "$before") <(sums)); then
    echo "generated files are those of the code"
else
    echo "out of date; make generate has written them anew:" >&2
    sed -n 's/^[<>] [0-9a-f]* *//p' <<<"$changed" | sort -u >&2
    exit 1
fi
