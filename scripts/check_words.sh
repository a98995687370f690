#!/bin/sh
# Fails where a page, a comment or a message has a phrase that hides the quantity it is about. Name the quantity first:
# "multiple of the limit above which ...", not "times its limit from which on ...". The changelog keeps what it said.
set -eu
cd "$(dirname "$0")/.."
phrases="of one's own|from which on"
if git grep -nIE "$phrases" -- '*.md' '*.rs' '*.py' '*.toml' '*.h' ':!CHANGELOG.md' ':!docs/reproduction'; then
    echo "words: rewrite these; valid: the quantity, then what it does" >&2
    exit 1
fi
