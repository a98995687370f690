"""The definitions under ``fairdrop/papers``, read with the names that measures, models, claims and drawings have."""

from __future__ import annotations

from functools import cache

from fairdrop.reproduce.define import reading
from fairdrop.reproduce.define.definition import Definition
from fairdrop.reproduce.define.papers import definition_text
from fairdrop.reproduce.judge.claims import PREDICATES, argument_problems
from fairdrop.reproduce.measure.models import MODELS
from fairdrop.reproduce.measure.runs import CURVES, HOST_MEASURES, MEASURES
from fairdrop.reproduce.show.drawings import DRAWINGS

VOCABULARY = reading.Vocabulary(
    measures=MEASURES,
    host_measures=HOST_MEASURES,
    curves=CURVES,
    models=MODELS,
    drawings=DRAWINGS,
    predicates=PREDICATES,
    argument_problems=argument_problems,
)


@cache
def definition(name: str) -> Definition:
    """The definition of an id. Raises DefinitionError."""
    return parse(*definition_text(name), name)


def parse(text: str, file: str, name: str) -> Definition:
    """Read one definition. Raises DefinitionError with every problem in it."""
    return reading.parse(text, file, name, VOCABULARY)
