#!/bin/sh
# Fails where a page, a comment, a name or a message has a word or phrase that hides the quantity it is about. Name the
# quantity first: "multiple of the limit above which ...", not "times its limit from which on ...". Not looked at: the
# changelog, which stays as it was written; the pages of reproductions, which quote stored results; the vectors.
set -eu
cd "$(dirname "$0")/.."
status=0

# Phrases that no file may have.
everywhere="of one's own|from which on|times its limit from|as people have it|parts of people's|a hand's worth"
everywhere="$everywhere|nothing of any flow|who sits in|is told rates of|brought in step|(a|and) senders? as the Linux"
everywhere="$everywhere|what is there([^[:alnum:]]|\$)|is one's own|as one's own"
if git grep -nIE "$everywhere" -- '*.md' '*.rs' '*.py' '*.toml' '*.h' ':!CHANGELOG.md' ':!docs/reproduction'; then
    status=1
fi

# Phrases that pages may not have.
pages="[Ww]hat becomes of|of which the [a-z]+ (is|are) "
if git grep -nIE "$pages" -- README.md CONTRIBUTING.md 'docs/*.md' ':!docs/reproduction'; then
    status=1
fi

# Words that no line may have, in names neither: a message is reported, shown or printed, a value given or passed, a count or
# an estimate shows something, and random drops come from random draws.
words='(([a-z0-9_]*_)?(un)?(told|said|coins?|tells?|telling)(_[a-z0-9_]*)?|[A-Za-z0-9]*[a-z0-9](Told|Said|Tells?|Coins?))'
# What keeps its name, taken out of each line before it is judged:
# - `ward_coin` and others, streams of random numbers: keys of the conformance vectors, and the constants and variants for
#   them in the interfaces of C and Rust;
# - `coins`, a conformance vector of some disciplines, and its description in a stored vector ("Coins that drop nothing");
# - `told`, a field of findings and of advice: a name of the Python interface and of its JSON;
# - `bitcoin.pcap`, a capture of the tests.
streams='(ward|blue|pie|sred|csfq|filter|afd|sfb|dual_?pi2)_?coin'
kept="(FAIRDROP_STREAM_|FD_|Stream::)?$streams|(\"|/)coins\"|/coins|\"Coins that drop nothing|\.told|told: str|bitcoin|\[\"told\"\]"
# Definitions of the papers' claims are quoted on pages of stored results, which stay.
found=$(git grep -nIiwE "$words" -- '*.md' '*.rs' '*.py' '*.toml' '*.h' '*.hpp' '*.c' '*.cpp' '*.go' '*.js' '*.html' '*.sh' \
    '*.in' '*.sv' ':!CHANGELOG.md' ':!docs/reproduction' ':!python/fairdrop/papers' ':!scripts/check_words.sh' |
    sed -E "s#$kept##Ig" | grep -iwE "$words" || true)
if [ -n "$found" ]; then
    printf '%s\n' "$found"
    status=1
fi

# A number is named: "this number of flows", or the parameter that holds it.
if git grep -nIiE '(^|[^[:alnum:]])so many([^[:alnum:]]|$)' -- '*.md' '*.rs' '*.py' ':!CHANGELOG.md' ':!docs/reproduction'; then
    status=1
fi

if [ "$status" -ne 0 ]; then
    echo "words: rewrite these; valid: the quantity, then what it does" >&2
fi
exit "$status"
