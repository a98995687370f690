"""Names that somebody wrote almost right."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["choices", "did_you_mean", "folded", "nearest"]


def folded(name: str) -> str:
    """``name`` as it is compared: ``FQ-CoDel`` and ``fq_codel`` are the same."""
    return name.strip().casefold().replace("-", "_").replace(" ", "_")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant, if there is one."""
    names = {folded(one): one for one in known}
    word = folded(name)
    # Long texts are no misspelt names, and take long to compare.
    found = get_close_matches(word, names, n=1, cutoff=0.6) if len(word) <= 100 else []
    if found:
        return names[found[0]]
    # Letters left out or put in where the word breaks: fqcodel.
    closed = {one.replace("_", ""): full for one, full in names.items()}
    return closed.get(word.replace("_", ""))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """What a message says beside the wrong name: `` (did you mean choke?)``, or nothing."""
    found = nearest(name, known)
    return "" if found is None else f" (did you mean {found}?)"


def choices(name: object, known: Iterable[str]) -> str:
    """The end of a message that a name is wrong: the name that was probably meant, and the valid ones."""
    names = list(known)
    return f"{did_you_mean(str(name), names)}; valid: {', '.join(names)}"
