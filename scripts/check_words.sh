#!/bin/sh
# Fails where a page, a comment or a message has a phrase that hides the quantity it is about. Name the quantity first:
# "multiple of the limit above which ...", not "times its limit from which on ...". The changelog keeps what it said.
set -eu
cd "$(dirname "$0")/.."
status=0

# Phrases that no file may have.
everywhere="of one's own|from which on|times its limit from|as people have it|parts of people's|a hand's worth"
everywhere="$everywhere|nothing of any flow|who sits in|is told rates of|brought in step|(a|and) senders? as the Linux"
if git grep -nIE "$everywhere" -- '*.md' '*.rs' '*.py' '*.toml' '*.h' ':!CHANGELOG.md' ':!docs/reproduction'; then
    status=1
fi

# Words that pages may not have: a coin is a random draw, and "what is there" is the name of the thing. Names of tests and of
# variables (`no_coin`, `self.coin`) stay.
pages="(^|[^._[:alnum:]])[Cc]oins?([^_[:alnum:]]|\$)|what is there([^[:alnum:]]|\$)|[Ww]hat becomes of|of which the [a-z]+ (is|are) "
if git grep -nIE "$pages" -- README.md CONTRIBUTING.md 'docs/*.md' ':!docs/reproduction'; then
    status=1
fi

if [ "$status" -ne 0 ]; then
    echo "words: rewrite these; valid: the quantity, then what it does" >&2
fi
exit "$status"
