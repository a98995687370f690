"""Nonsensical values are refused or warned of, and control characters are not passed on to terminals."""

from __future__ import annotations

import json
import unicodedata

import jsonschema
import pytest

import fairdrop as library
from test_scenario_errors import GROUP, problems

SHORT = ("--set", "duration=2s", "--set", "warm_up=1s")
CHAIN = '[chain]\nrates = ["1mbit", "1mbit"]\nqueues = ["plain", "red"]\n'
LINKS = '[[links]]\nfrom = "a"\nto = "b"\nrate = "1mbit"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            GROUP + 'start = "400s"\n',
            "s.toml:4: groups.g.start = 400 s is not valid; valid: a time below duration (300 s)",
        ),
        (
            GROUP + 'start = "300s"\n',
            "s.toml:4: groups.g.start = 300 s is not valid; valid: a time below duration (300 s)",
        ),
        (GROUP + 'stop = "0s"\n', "s.toml:4: groups.g.stop = 0 s is not valid; valid: a time after start (0 s)"),
        (
            GROUP + 'start = "20s"\nstop = "20s"\n',
            "s.toml:5: groups.g.stop = 20 s is not valid; valid: a time after start (20 s)",
        ),
        ('name = ""\n' + GROUP, 's.toml:1: name = "" is not valid; valid: a text of 1 to 200 characters'),
        (GROUP.replace('"g"', '""'), 's.toml:2: groups.0.name = "" is not valid; valid: a text of 1 to 200 characters'),
        ('[[links]]\nname = ""\nfrom = "a"\nto = "b"\nrate = 1\n' + GROUP, 's.toml:2: links.0.name = "" is not valid'),
        ('[[links]]\nfrom = ""\nto = "b"\nrate = 1\n' + GROUP, 's.toml:2: links.0.from = "" is not valid'),
        (f'name = "{"x" * 201}"\n' + GROUP, "s.toml:1: name = "),
    ],
)
def test_what_cannot_be_meant_is_refused(text, expected):
    assert any(line.startswith(expected) for line in problems(text)), problems(text)


CONTROLS = ["\\u001b[31m", "\\u0007", "\\n", "\\t", "\\u007f", "\\u009b", "\\u202e", "\\u2028"]


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("field", ["name", "title", "groups.0.name", "links.0.name", "links.0.from", "groups.0.from"])
def test_control_characters_are_refused_and_shown_escaped(field, control):
    values = {
        "name": "n",
        "title": "t",
        "groups.0.name": "g",
        "links.0.name": "l",
        "links.0.from": "a",
        "groups.0.from": "a",
    }
    values[field] += control
    text = (
        f'name = "{values["name"]}"\ntitle = "{values["title"]}"\n'
        f'[[links]]\nname = "{values["links.0.name"]}"\nfrom = "{values["links.0.from"]}"\nto = "b"\nrate = 1\n'
        f'[[groups]]\nname = "{values["groups.0.name"]}"\ntransport = "reno"\n'
        f'from = "{values["groups.0.from"]}"\nto = "b"\n'
    )
    lines = [
        line
        for line in problems(text)
        if line.split(": ")[1].startswith(
            (f"{field} = ", f"{field.replace('groups.0', 'groups.g').replace('links.0', 'links.l')} = ")
        )
    ]
    assert len(lines) == 1
    assert lines[0].isprintable()
    assert "control characters" in lines[0]


def test_keys_and_settings_are_shown_escaped():
    lines = problems('"\\u001b[2J\\n" = 1\n' + GROUP)
    assert lines == [line for line in lines if line.isprintable()]
    assert any("there is no field \\u{1b}[2J\\n" in line for line in lines)
    with pytest.raises(library.ScenarioError) as caught:
        library.Scenario(GROUP, "a\x1b\n.toml", ["groups.\x07.rate=1"])
    assert str(caught.value).isprintable()


def test_the_schema_refuses_the_same_texts():
    validator = jsonschema.Draft202012Validator(library.schema())
    group = {"name": "g", "transport": "reno"}
    assert validator.is_valid({"name": "héadline 1", "groups": [group]})
    for name in ("", "x" * 201, "\x1b", "a\nb", "\x9b", "\u202e"):
        assert not validator.is_valid({"name": name, "groups": [group]}), repr(name)
        assert not validator.is_valid({"groups": [group | {"name": name}]}), repr(name)
    assert validator.is_valid({"title": "", "groups": [group]})
    assert not validator.is_valid({"title": "\x07", "groups": [group]})


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (CHAIN + GROUP, 's.toml:3: chain.queues: no link has the discipline of [queue] (choke); valid: "queue" for at'),
        (
            LINKS + GROUP + 'from = "a"\nto = "b"\n',
            "s.toml:1: links: no link has the discipline of [queue] (choke); valid: queue = true",
        ),
    ],
)
def test_disciplines_that_no_link_has_are_not_compared(fairdrop, tmp_path, text, place):
    (tmp_path / "s.toml").write_text(text)
    compared = fairdrop("compare", "s.toml", "--disciplines", "choke,red", *SHORT)
    assert compared.returncode == 2
    assert compared.stderr.startswith(f"fairdrop: error: {place}")
    alone = fairdrop("run", "s.toml", "--json", "--quiet", *SHORT)
    (warning,) = json.loads(alone.stdout)["warnings"]
    assert warning.startswith(place)
    assert "labelled with that discipline all the same" in warning


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            GROUP + 'start = "1500ms"\nstart_spread = "1s"\n',
            "some flows of group g may never start: they start up to 2.5 s",
        ),
        (
            GROUP + 'stop = "900ms"\nstart_spread = "0s"\n',
            "nothing of group g is measured: it stops at 0.9 s, and warm_up",
        ),
        ("[dumbbell]\nloss = 1.0\n" + GROUP, "link bottleneck loses every packet"),
        ('sample = "5s"\n' + GROUP, "sample is 5 s, longer than the run"),
        ('positions = "5s"\n' + GROUP, "positions is 5 s, longer than the run"),
        (
            '[[groups]]\nname = "g"\ntransport = "trace"\nfile = "late.csv"\n',
            "group g sends nothing: its first packet is at 9 s",
        ),
        (GROUP, None),
        (GROUP + 'start = "1s"\nstart_spread = "1s"\n', None),
        (GROUP + 'stop = "10s"\n', None),
    ],
)
def test_what_was_probably_not_meant_is_warned_of(fairdrop, tmp_path, text, expected):
    (tmp_path / "late.csv").write_text("time_s,size_bytes\n9,100\n")
    (tmp_path / "s.toml").write_text(text)
    done = fairdrop("run", "s.toml", "--json", "--quiet", *SHORT)
    assert done.returncode == 0, done.stderr
    warnings = json.loads(done.stdout)["warnings"]
    if expected is None:
        assert warnings == []
    else:
        assert any(warning.startswith(expected) for warning in warnings), warnings


HOSTILE = "\x1b[31mred\x07\x9b2J\nchoke\u202e"


def test_names_out_of_a_file_do_not_reach_the_terminal(fairdrop, headline, tmp_path):
    """A result document that somebody else wrote."""
    assert fairdrop("run", headline, "--out", "o", "--quiet", *SHORT).returncode == 0
    text = (tmp_path / "o" / "result.json").read_text()
    (tmp_path / "o" / "result.json").write_text(text.replace('"tcp', f'"{json.dumps(HOSTILE)[1:-1]}'))
    shown = fairdrop("show", "o")
    assert shown.returncode == 0, shown.stderr
    assert is_harmless(shown.stdout)
    assert "\\u001b[31mred\\u0007\\u009b2J\\nchoke\\u202e" in shown.stdout
    assert fairdrop("report", "o", "--out", "r.html").returncode == 0
    assert is_harmless((tmp_path / "r.html").read_text(encoding="utf-8"))


def is_harmless(text: str) -> bool:
    return all(
        character in "\n\t\u00ad" or unicodedata.category(character) not in ("Cc", "Cf", "Zl") for character in text
    )


@pytest.mark.parametrize(
    "words",
    [["run", HOSTILE], ["list", HOSTILE], ["show", HOSTILE], ["replay", HOSTILE], ["model", HOSTILE], [HOSTILE],
     ["reproduce", HOSTILE], ["conformance", "list", "--vectors", HOSTILE], ["conformance", "list", "--case", HOSTILE],
     ["run", "HEADLINE", "--set", f"queue.{HOSTILE}=1"], ["compare", "HEADLINE", "--disciplines", HOSTILE],
     ["run", "HEADLINE", "--seeds", HOSTILE], ["run", "HEADLINE", "--out", f"/dev/null/{HOSTILE}"]],
)  # fmt: skip
def test_messages_do_not_pass_on_what_they_quote(fairdrop, headline, words):
    done = fairdrop(*(str(headline) if word == "HEADLINE" else word for word in words))
    assert done.returncode == 2
    assert is_harmless(done.stderr)
    assert "Traceback" not in done.stderr


def test_json_means_the_same_after_escaping(fairdrop, tmp_path, headline):
    """A capture and a scenario may lie in a folder of any name."""
    folder = tmp_path / "\x9bfolder\x7f"
    folder.mkdir()
    (folder / "s.toml").write_text(headline.read_text())
    done = fairdrop("run", folder / "s.toml", "--json", "--quiet", *SHORT)
    assert is_harmless(done.stdout)
    assert json.loads(done.stdout)["command"][2] == str(folder / "s.toml")


def test_a_gap_of_nothing_is_refused(fairdrop, tmp_path):
    (tmp_path / "c.pcap").write_bytes(b"")
    done = fairdrop("replay", "c.pcap", "--max-gap", "0s")
    assert done.returncode == 2
    assert "max_gap = 0" in done.stderr
