"""Every wrong field of a scenario is refused with its file, line, name, value and what would be valid."""

from __future__ import annotations

import pytest

import fairdrop

BASE = {
    "": {"name": '"x"'},
    "queue": {"limit": "300"},
    "queue.red": {},
    "queue.choke": {},
    "groups.0": {"name": '"g"', "transport": '"reno"'},
}


def fields() -> list[tuple[str, str]]:
    """Section and name of every field, by the schema."""
    properties = fairdrop.schema()["properties"]
    tables = ("dumbbell", "chain", "links", "queue", "groups")
    found = [("", name) for name, field in properties.items() if name not in tables]
    found += [("dumbbell", name) for name in properties["dumbbell"]["properties"]]
    found += [("chain", name) for name in properties["chain"]["properties"]]
    found += [("links.0", name) for name in properties["links"]["items"]["properties"]]
    for name, field in properties["queue"]["properties"].items():
        inner = field.get("properties") if field.get("type") == "object" else None
        found += [(f"queue.{name}", parameter) for parameter in inner] if inner else [("queue", name)]
    found += [("groups.0", name) for name in properties["groups"]["items"]["properties"]]
    return found


def transport_of(name: str) -> dict[str, str]:
    """What a group needs so that it can have the field ``name``: a transport that has it, and what that requires."""
    for transport in fairdrop.catalogue()["transports"]:
        parameters = {parameter["name"]: parameter for parameter in transport["parameters"]}
        if name in parameters:
            valid = {"file": '"list.csv"', "burst_packets": "1"}
            required = [field for field, parameter in parameters.items() if parameter["required"]]
            return {"transport": f'"{transport["name"]}"', **{field: valid.get(field, '"1"') for field in required}}
    return {}


def text_with(section: str, name: str, value: str) -> tuple[str, int]:
    """A scenario in which one field has a value, and the line that it is on."""
    sections = {key: dict(values) for key, values in BASE.items()}
    sections.setdefault(section, {})
    if section == "links.0":
        sections[section] = {"from": '"a"', "to": '"b"', "rate": '"1mbit"'}
    sections[section][name] = value
    if section == "groups.0":
        sections[section] = {**sections[section], **transport_of(name), name: value}
    lines: list[str] = []
    for key, values in sections.items():
        if key:
            lines.append(f"[[{key[:-2]}]]" if key.endswith(".0") else f"[{key}]")
        lines += [f"{field} = {text}" for field, text in values.items()]
    return "\n".join(lines) + "\n", next(i for i, line in enumerate(lines, 1) if line == f"{name} = {value}")


def test_the_schema_knows_many_fields():
    assert len(fields()) > 50


@pytest.mark.parametrize(("section", "name"), fields())
def test_a_wrong_value_is_refused(section, name):
    wrong = "[[1]]"
    text, line = text_with(section, name, wrong)
    with pytest.raises(fairdrop.ScenarioError) as caught:
        fairdrop.Scenario(text, "file.toml")
    path = f"{section}.{name}" if section else name
    told = [message for message in str(caught.value).splitlines() if message.startswith(f"file.toml:{line}: {path} ")]
    assert told, str(caught.value)
    assert wrong in told[0]
    assert "; valid: " in told[0]


@pytest.mark.parametrize(("section", "name"), fields())
def test_the_same_by_set(section, name):
    text, _ = text_with("", "seed", "1")
    if section.startswith("links"):
        text += '[[links]]\nfrom = "a"\nto = "b"\nrate = "1mbit"\n'
    if section == "groups.0" and (wanted := transport_of(name)):
        text = text.replace('"reno"', wanted.pop("transport"))
        text += "".join(f"{field} = {value}\n" for field, value in wanted.items())
    path = f"{section}.{name}" if section else name
    with pytest.raises(fairdrop.ScenarioError) as caught:
        fairdrop.Scenario(text, "file.toml", [f"{path}=[[1]]"])
    assert any(
        message.startswith(f"--set {path}=[[1]]: {path} = [[1]] is not valid; valid: ")
        for message in str(caught.value).splitlines()
    ), str(caught.value)


def problems(text: str) -> list[str]:
    with pytest.raises(fairdrop.ScenarioError) as caught:
        fairdrop.Scenario(text, "s.toml")
    return str(caught.value).splitlines()


GROUP = '[[groups]]\nname = "g"\ntransport = "reno"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["s.toml:1: there are no flows; valid: at least one [[groups]] table"]),
        ("x = ", ["s.toml:1: "]),
        ("durration = 3\n" + GROUP, ["s.toml:1: there is no field durration; valid: the fields schema, name"]),
        ("duration = -1\n" + GROUP, ["s.toml:1: duration = -1 is not valid"]),
        ('duration = "10s"\nwarm_up = "10s"\n' + GROUP, ["s.toml:2: warm_up = 10 s is not valid; valid: a time below"]),
        ("[queue]\ndiscipline = 'tea'\n" + GROUP, ['s.toml:2: queue.discipline = "tea" is not valid; valid: one of']),
        ("[queue.red]\nmin_th = 200\n" + GROUP, ["s.toml:1: queue.red.max_th = 200 is not valid; valid: above min_th"]),
        ("[queue]\nlimit = 100\n[queue.red]\nmax_th = 150\n" + GROUP, ["s.toml:4: queue.red.max_th = 150"]),
        ("[queue.choke]\nschedule = [3, 2]\n" + GROUP, ["s.toml:2: queue.choke.schedule = [3, 2]"]),
        (
            "[queue.choke]\ndrops = 3\ncandidates = 2\n" + GROUP,
            ["s.toml:2: queue.choke.drops = 3 is not valid; valid: one of the two: queue.choke.candidates is set"],
        ),
        (
            "[queue.choke]\naverage_in = 'cells'\n" + GROUP,
            ['s.toml:2: queue.choke.average_in = "cells" is not valid; valid: "packets" or "bytes" where sampling is'],
        ),
        (
            "[queue]\ndiscipline = 'choke_hardware'\nlimit = 2000\n[queue.choke_hardware]\nlimit = 9\n" + GROUP,
            ["s.toml:5: there is no field queue.choke_hardware.limit; valid: the fields candidates, schedule"],
        ),
        ("[queue.choke]\ndrops = 0\n" + GROUP, ["s.toml:2: queue.choke.drops = 0 is not valid; valid: a whole number"]),
        (
            "[queue]\nlimit = 2\n[queue.class_choke]\nweights = [1, 1, 1]\n" + GROUP,
            ["s.toml:4: queue.class_choke.weights = 3 is not valid; valid: at most as many classes as packets"],
        ),
        ('sample = "1ns"\n' + GROUP, ["s.toml:1: sample = 0.000000001 s is not valid; valid: 0, or a time that gives"]),
        ("[queue]\nlimit = 9000000\n" + GROUP, ["s.toml:2: queue.limit = 9000000 is not valid"]),
        (GROUP + GROUP, ["s.toml:4: two groups are called g"]),
        ('[[groups]]\nname = "g"\n', ["s.toml:1: groups.0.transport is missing"]),
        ('[[groups]]\nname = "g"\ntransport = "tea"\n', ['s.toml:3: groups.0.transport = "tea"']),
        ('[[groups]]\nname = "g"\ntransport = "cbr"\n', ["s.toml:1: groups.0.rate is missing"]),
        (GROUP + "rate = 3\n", ["s.toml:4: there is no field groups.0.rate"]),
        ("[dumbbell]\nrate = 0\n" + GROUP, ["s.toml:2: dumbbell.rate = 0"]),
        ('[dumbbell]\n[[links]]\nfrom="a"\nto="b"\nrate=1\n' + GROUP, ["dumbbell and links are given together"]),
        ('[[links]]\nfrom="a"\nto="b"\nrate=1\n' + GROUP, ["groups.0.from is missing", "groups.0.to is missing"]),
        (
            '[[links]]\nfrom="a"\nto="b"\nrate=1\none_way=true\n' + GROUP + 'from="a"\nto="b"\n',
            ["links that lead back from b to a"],
        ),
        ('[[links]]\nfrom="a"\nto="b"\nrate=1\n' + GROUP + 'from="a"\nto="c"\n', ["one of the nodes a, b"]),
    ],
)
def test_what_cannot_be_is_refused_before_the_run(text, expected):
    told = problems(text)
    for message in expected:
        assert any(message in line for line in told), told


@pytest.mark.parametrize("discipline", [info["name"] for info in fairdrop.catalogue()["disciplines"]])
def test_an_unknown_field_is_one_problem(discipline):
    table = f"[queue]\ndiscipline = '{discipline}'\nlimit = 2000\n[queue.{discipline}]\nsugar = 2\n"
    (told,) = problems(table + GROUP)
    assert told.startswith(f"s.toml:5: there is no field queue.{discipline}.sugar") or discipline == "droptail", told


def test_all_problems_are_reported_at_once():
    told = problems('duration = -1\nseed = "x"\n[queue]\nlimit = 0\n[queue.red]\nmax_p = 7\n' + GROUP + "count = 0\n")
    assert [line.split(": ")[1].split(" ")[0] for line in told] == [
        "duration", "seed", "queue.limit", "queue.red.max_p", "groups.0.count",
    ]  # fmt: skip
