"""The JSON Schema of the vectors: every vector is valid by it, and what is wrong is not."""

import copy
import json
import math
import re
from bisect import bisect

import pytest
from jsonschema import Draft202012Validator

from fairdrop.conformance import FOLDER, read_vectors
from fairdrop.conformance.vectors import FORMAT

SCHEMA = json.loads((FOLDER / "vector.schema.json").read_text())
BOUNDS = sorted(
    {int(number) for number in re.findall(r'"(?:minimum|maximum|exclusiveM\w+)": (\d+)', json.dumps(SCHEMA))}
)
DRAW = re.compile("[0-9a-f]{16}")


@pytest.fixture(scope="module")
def vectors():
    return {vector.name: vector for vector in read_vectors(FOLDER)}


def of(part):
    return Draft202012Validator({"$ref": f"#/$defs/{part}", "$defs": SCHEMA["$defs"]})


def test_schema_is_one_and_of_this_format():
    Draft202012Validator.check_schema(SCHEMA)
    assert FORMAT == SCHEMA["$id"] == SCHEMA["$defs"]["header"]["properties"]["format"]["const"]


def form(value):
    """The same for values that are valid alike: draws, and numbers between the same bounds of the schema."""
    if isinstance(value, dict):
        return {name: form(one) for name, one in value.items()}
    if isinstance(value, list):
        return [form(one) for one in value]
    if isinstance(value, str):
        return "draw" if DRAW.fullmatch(value) else value
    if isinstance(value, bool) or value is None:
        return value
    return value in BOUNDS, bisect(BOUNDS, value), math.floor(value) == value


def test_every_vector_is_valid(vectors):
    header, event = of("header"), of("event")
    forms = {}
    for vector in vectors.values():
        header.validate(vector.header)
        for line in vector.events:
            forms[json.dumps(form(line))] = line
    assert len(forms) > 1000
    for line in forms.values():
        event.validate(line)


def test_manifest_is_of_these_vectors(vectors):
    manifest = json.loads((FOLDER / "vectors.json").read_text())
    assert manifest["format"] == FORMAT
    assert sorted(manifest["crc32"]) == sorted(vectors)


def without(name):
    return lambda line: line.pop(name)


def having(name, value):
    return lambda line: line.update({name: value})


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("header", without("limit")),
        ("header", having("limit", 0)),
        ("header", having("format", "fairdrop/conformance/1")),
        ("header", having("more", 1)),
        ("header", lambda line: line["params"][0].pop("owner")),
        ("event", without("len")),
        ("event", having("type", "wait")),
        ("event", having("time_ns", -1)),
        ("event", having("ecn", 4)),
        ("event", having("random", {"early_drop": ["89ABCDEF01234567"]})),
        ("event", having("more", 1)),
        ("event", lambda line: line["outcome"].update(dropped=[[1]])),
        ("event", lambda line: line["outcome"].update(backlog=[1])),
    ],
)
def test_what_is_wrong_is_invalid(vectors, part, change):
    vector = vectors["red/basic"]
    line = copy.deepcopy(vector.header if part == "header" else vector.events[0])
    assert of(part).is_valid(line)
    change(line)
    assert not of(part).is_valid(line)
