"""Conformance vectors: what they say, what a foreign program answers, and where the two first differ.

``conformance/README.md`` specifies the files and both forms of the stream that a program is given.
"""

from __future__ import annotations

from fairdrop.conformance.compare import Strictness, counts_draws, differences
from fairdrop.conformance.foreign import Declined, ForeignError, answers
from fairdrop.conformance.vectors import FOLDER, MANIFEST, SCHEMA, Vector, read_vectors

__all__ = [
    "FOLDER",
    "MANIFEST",
    "SCHEMA",
    "Declined",
    "ForeignError",
    "Strictness",
    "Vector",
    "answers",
    "counts_draws",
    "differences",
    "read_vectors",
]
