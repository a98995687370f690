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
    """Fields that a group needs beside the field ``name``: a transport that has it, and its required fields."""
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


def called(section: str, name: str, value: str) -> str:
    """The name of a field in messages: with the group's name, unless that is wrong."""
    if section == "groups.0" and name != "name":
        section = "groups.g"
    return f"{section}.{name}" if section else name


def test_the_schema_knows_many_fields():
    assert len(fields()) > 50


@pytest.mark.parametrize(("section", "name"), fields())
def test_a_wrong_value_is_refused(section, name):
    wrong = "[[1]]"
    text, line = text_with(section, name, wrong)
    with pytest.raises(fairdrop.ScenarioError) as caught:
        fairdrop.Scenario(text, "file.toml")
    shown_path = called(section, name, wrong)
    matching = [
        message for message in str(caught.value).splitlines() if message.startswith(f"file.toml:{line}: {shown_path} ")
    ]
    assert matching, str(caught.value)
    assert wrong in matching[0]
    assert "; valid: " in matching[0]


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
    shown_path = called(section, name, "[[1]]")
    assert any(
        message.startswith(f"--set {path}=[[1]]: {shown_path} = [[1]] is not valid; valid: ")
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
        (
            "durration = 3\n" + GROUP,
            ["s.toml:1: there is no field durration (did you mean duration?); valid: the fields schema, name"],
        ),
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
        ('[[groups]]\nname = "g"\n', ["s.toml:1: groups.g.transport is missing"]),
        ('[[groups]]\nname = "g"\ntransport = "tea"\n', ['s.toml:3: groups.g.transport = "tea"']),
        ('[[groups]]\nname = "g"\ntransport = "cbr"\n', ["s.toml:1: groups.g.rate is missing"]),
        (GROUP + "rate = 3\n", ["s.toml:4: there is no field groups.g.rate"]),
        ("[dumbbell]\nrate = 0\n" + GROUP, ["s.toml:2: dumbbell.rate = 0"]),
        ('[dumbbell]\n[[links]]\nfrom="a"\nto="b"\nrate=1\n' + GROUP, ["dumbbell and links are given together"]),
        ('[[links]]\nfrom="a"\nto="b"\nrate=1\n' + GROUP, ["groups.g.from is missing", "groups.g.to is missing"]),
        (
            '[[links]]\nfrom="a"\nto="b"\nrate=1\none_way=true\n' + GROUP + 'from="a"\nto="b"\n',
            ["links that lead back from b to a"],
        ),
        ('[[links]]\nfrom="a"\nto="b"\nrate=1\n' + GROUP + 'from="a"\nto="c"\n', ["one of the nodes a, b"]),
    ],
)
def test_what_cannot_be_is_refused_before_the_run(text, expected):
    lines = problems(text)
    for message in expected:
        assert any(message in line for line in lines), lines


# All have `limit`; only those with parameters of their own have a table.
TABLES = [info["name"] for info in fairdrop.catalogue()["disciplines"] if len(info["parameters"]) > 1]


@pytest.mark.parametrize("discipline", TABLES)
def test_an_unknown_field_is_one_problem(discipline):
    table = f"[queue]\ndiscipline = '{discipline}'\nlimit = 2000\n[queue.{discipline}]\nsugar = 2\n"
    (line,) = problems(table + GROUP)
    assert line.startswith(f"s.toml:5: there is no field queue.{discipline}.sugar"), line


def test_all_problems_are_reported_at_once():
    lines = problems('duration = -1\nseed = "x"\n[queue]\nlimit = 0\n[queue.red]\nmax_p = 7\n' + GROUP + "count = 0\n")
    assert [line.split(": ")[1].split(" ")[0] for line in lines] == [
        "duration", "seed", "queue.limit", "queue.red.max_p", "groups.g.count",
    ]  # fmt: skip


TWO = """[[groups]]
name = "tcp"
transport = "reno"
[[groups]]
name = "udp"
transport = "cbr"
rate = "2mbit"
"""


def fail(text: str, *settings: str) -> str:
    with pytest.raises(fairdrop.ScenarioError) as caught:
        fairdrop.Scenario(text, "s.toml", settings)
    return str(caught.value)


@pytest.mark.parametrize(
    ("field", "value", "spelled"),
    [
        ("rate", "2Mbps", '"2mbit" if Mbps counts bits, "16mbit" if it counts bytes (bps is bits to most programs'),
        ("rate", "300kb", '"300kbit" if kb counts bits, "2400kbit" if it counts bytes'),
        ("rate", "2MB/s", '"2mbit" if MB/s counts bits, "16mbit" if it counts bytes'),
        ("packet_size", "1kb", '"1kB" if kb counts bytes, "0.125kB" if it counts bits (B is bytes, b is bits)'),
        ("start", "20msec", '"20ms"'),
        ("rate", "2,5mbit", '"2.5mbit"'),
    ],
)
def test_a_unit_is_spelled_for_who_wrote_another(field, value, spelled):
    message = fail(TWO, f"groups.udp.{field}={value}")
    assert message.startswith(f'--set groups.udp.{field}={value}: groups.udp.{field} = "{value}" is not valid; valid: ')
    assert f"; valid: {spelled}" in message, message


@pytest.mark.parametrize("rate", ["2Mbps", "300kb"])
def test_other_readers_of_rates_spell_them_too(rate):
    from fairdrop import _core

    with pytest.raises(ValueError, match=r"is not a rate; valid: .* counts bits"):
        _core.rate_bps(rate)


def test_a_rate_in_bytes_is_not_taken_for_bits():
    assert "MB/s counts" in fail(TWO.replace("2mbit", "2MB/s"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rate =", "rat =", "there is no field groups.udp.rat (did you mean rate?); valid: the fields "),
        ('"cbr"', '"crb"', 'groups.udp.transport = "crb" is not valid (did you mean "cbr"?); valid: one of '),
        ('"reno"', '"renno"', 'groups.tcp.transport = "renno" is not valid (did you mean "reno"?); valid: one of '),
        ("[[groups]]", '[queue]\ndiscipline = "fqcodle"\n[[groups]]', '"fqcodle" is not valid (did you mean "fq_cod'),
        ("[[groups]]", '[queue.fq-codel]\n[[groups]]', "there is no field queue.fq-codel (did you mean fq_codel?)"),
        ("[[groups]]", 'windows = ["tpc"]\n[[groups]]', '"tpc" is not valid (did you mean tcp?); valid: '),
        ('"2mbit"', '"2mbit"\nseen_as = "tpc"', 'groups.udp.seen_as = "tpc" is not valid (did you mean "tcp"?)'),
        ("[[groups]]", '[queue.red]\nthreshold_unit = "bites"\n[[groups]]', ""),
    ],
)  # fmt: skip
def test_what_was_probably_meant_is_suggested(old, new, message):
    assert message in fail(TWO.replace(old, new, 1))


def test_a_group_that_a_setting_misspells():
    message = fail(TWO, "groups.upd.rate=1mbit")
    assert message.startswith("--set groups.upd.rate=1mbit: groups.upd.rate=1mbit (did you mean udp?); valid: "), (
        message
    )


@pytest.mark.parametrize(
    ("settings", "blamed", "message"),
    [
        (["groups.tcp.transport=cbr"], "groups.tcp.transport=cbr", "groups.tcp.rate is missing"),
        (["seed=3", "duration=5s"], "duration=5s", "warm_up = 10 s is not valid; valid: a time below duration (5 s)"),
        (["duration=5s", "seed=3"], "duration=5s", "warm_up = 10 s is not valid; valid: a time below duration (5 s)"),
        (
            ["queue.red.min_th=200p"],
            "queue.red.min_th=200p",
            "queue.red.max_th = 150 is not valid; valid: above min_th",
        ),
    ],
)
def test_a_setting_is_blamed_for_what_it_makes_wrong(settings, blamed, message):
    text = 'warm_up = "10s"\nduration = "60s"\n[queue.red]\nmax_th = 150\n' + TWO
    fairdrop.Scenario(text)
    assert fail(text, *settings).startswith(f"--set {blamed}: {message}")
    # A problem of the file alone is reported with its line, whatever was set.
    assert fail(text + "rte = 1\n", *settings).splitlines()[0].startswith("s.toml:12: there is no field groups.udp.rte")


def test_groups_that_have_no_name_of_their_own_are_numbered():
    text = TWO.replace('"2mbit"', "0")
    for name in ("a.b", "7", "tcp"):
        assert "groups.1.rate = 0" in fail(text.replace('"udp"', f'"{name}"'))
    assert "links.1.rate = 0" in fail(
        '[[links]]\nfrom="a"\nto="b"\nrate=1\n[[links]]\nfrom="b"\nto="c"\nrate=0\n' + TWO
    )
    assert "links.wire.rate = 0" in fail('[[links]]\nname="wire"\nfrom="a"\nto="b"\nrate=0\n' + TWO)


@pytest.mark.parametrize("written", ["fq-codel", "FQ_CoDel", "FQ-CODEL"])
def test_a_discipline_is_known_in_other_spellings(written):
    scenario = fairdrop.Scenario(f'duration = "1s"\n[queue]\ndiscipline = "{written}"\n' + TWO)
    assert scenario.to_dict()["queue"]["discipline"] == "fq_codel"
    assert [run["discipline"] for run in scenario.run().document["runs"]] == ["fq_codel"]
    assert fairdrop.Scenario(TWO, settings=[f"queue.discipline={written}"]).to_dict() == (
        fairdrop.Scenario(TWO, settings=["queue.discipline=fq_codel"]).to_dict()
    )


def test_a_discipline_in_two_spellings_is_compared_once():
    found = fairdrop.Scenario('duration = "1s"\n' + TWO).compare(["CHOKe", "choke", "fq-codel"])
    assert [run["discipline"] for run in found.document["runs"]] == ["choke", "fq_codel"]


def test_studies_know_them_too(tmp_path):
    from fairdrop.study.axes import StudyError

    scenario = fairdrop.Scenario('duration = "1s"\n' + TWO)
    done = fairdrop.sweep(scenario, axes={"discipline": ["CHOKe", "fq-codel"]}, out=tmp_path / "out")
    assert done.axes == {"discipline": ["choke", "fq_codel"]}
    assert set(done.table.column("discipline")) == {"choke", "fq_codel"}
    with pytest.raises(StudyError, match=r"axes\.discipline has a value twice"):
        fairdrop.sweep(scenario, axes={"discipline": ["CHOKe", "choke"]}, out=tmp_path / "twice")
    stop = {"measure": "share", "group": "upd", "relative": 0.1}
    with pytest.raises(
        fairdrop.ScenarioError, match=r"stop.group = 'upd' is not valid .did you mean udp.*; valid: tcp, udp"
    ):
        fairdrop.sweep(scenario, axes={"discipline": ["choke"]}, stop=stop, out=tmp_path / "stop")
    with pytest.raises(
        StudyError, match=r"design.pionts is not known with sobol \(did you mean points\?\); valid: kind"
    ):
        fairdrop.sweep(
            scenario, axes={"discipline": ["choke"]}, design={"kind": "sobol", "pionts": 8}, out=tmp_path / "d"
        )
