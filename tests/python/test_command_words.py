"""Words of a command line: whole names of options, what was probably meant, and the usage of the command."""

from __future__ import annotations

import argparse
import json

import pytest

from fairdrop.cli import names
from fairdrop.cli.arguments import Parser
from fairdrop.cli.parser import build_parser
from fairdrop.library import catalogue
from fairdrop.nearest import nearest
from test_replay import packet, pcap

SHORT = ("--set", "duration=2s", "--set", "warm_up=1s")


def commands(parser: argparse.ArgumentParser | None = None):
    """Every command that does something."""
    parser = parser or build_parser()
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield parser
    for action in below:
        for child in {id(child): child for child in action._name_parser_map.values()}.values():
            yield from commands(child)


@pytest.mark.parametrize("parser", list(commands()), ids=lambda parser: parser.prog.removeprefix("fairdrop "))
def test_no_option_is_abbreviated(parser):
    options = [option for option in parser._option_string_actions if option.startswith("--")]
    for option in options:
        for end in range(3, len(option)):
            short = option[:end]
            if short not in options:
                with pytest.raises(SystemExit):
                    parser.parse_args([short])


def test_every_command_that_simulates_takes_a_first_seed():
    having = {parser.prog.split()[1] for parser in commands() if "--seed" in parser._option_string_actions}
    assert having >= {"run", "compare", "live", "replay", "sweep", "characterize", "advise", "reproduce"}
    assert having >= {parser.prog.split()[1] for parser in commands() if "--seeds" in parser._option_string_actions}


def test_seed_is_the_seed_and_not_the_number_of_seeds(invoke, headline):
    status, out, _ = invoke("run", headline, "--seed", "10", "--json", "--quiet", *SHORT)
    assert status == 0
    assert [run["seed"] for run in json.loads(out)["runs"]] == [10]
    _, out, _ = invoke("run", headline, "--seed", "10", "--seeds", "2", "--json", "--quiet", *SHORT)
    assert [run["seed"] for run in json.loads(out)["runs"]] == [10, 11]
    _, other, _ = invoke("run", headline, "--set", "seed=10", "--json", "--quiet", *SHORT)
    assert json.loads(out)["runs"][0] == json.loads(other)["runs"][0]


def test_a_replay_takes_a_seed(invoke, tmp_path):
    (tmp_path / "c.pcap").write_bytes(pcap([packet(number * 1_000_000, 500, 1) for number in range(50)]))
    _, out, _ = invoke("replay", "c.pcap", "--seed", "7", "--seeds", "2", "--json", "--quiet")
    assert [run["seed"] for run in json.loads(out)["runs"]] == [7, 8]


def test_a_sweep_takes_a_seed(invoke, headline, tmp_path):
    fields = f'base = "{headline}"\nsettings = ["duration=2s", "warm_up=1s"]\nseeds = 2\n'
    (tmp_path / "s.toml").write_text(f'{fields}[axes]\n"queue.limit" = ["400p"]\n')
    assert invoke("sweep", "s.toml", "--seed", "5", "--out", "o", "--quiet")[0] == 0
    from fairdrop import read_sweep

    assert sorted(set(read_sweep(tmp_path / "o").columns("seed").column("seed"))) == [5, 6]


def test_a_reproduction_has_the_seeds_that_were_asked_for():
    from fairdrop import reproduce
    from fairdrop.reproduce.execute.plan import Order, cells
    from fairdrop.reproduce.judge.document import identity

    one = reproduce.definition("choke-fig3")
    assert next(cells(one, Order(seeds=3, seed=5))).seeds == (5, 6, 7)
    assert identity(one, Order(seeds=3, seed=5)) != identity(one, Order(seeds=3))


def test_two_ways_to_give_a_seed_are_refused(invoke, headline):
    status, _, err = invoke("run", headline, "--seed", "1", "--set", "seed=2")
    assert status == 2
    assert "--seed 1 is given together with --set seed=2" in err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["rum"], ["'rum'", "did you mean run?", "usage: fairdrop [", "compare"]),
        (["run", "x.toml", "--sed", "3"], ["no option '--sed' (did you mean --seed?)", "usage: fairdrop run "]),
        (["run", "x.toml", "--sed=3"], ["there is no option '--sed' (did you mean --seed?)", "--seeds"]),
        (["compare", "x.toml", "--discipline-s", "red"], ["did you mean --disciplines?", "usage: fairdrop compare "]),
        (["advise", "--rat", "1mbit"], ["no option '--rat' (did you mean --rate?)", "usage: fairdrop advise "]),
        (["advise"], ["required: --rate", "usage: fairdrop advise "]),
        (["compare", "x.toml", "red", "choke"], ["unexpected 'red', 'choke'", "usage: fairdrop compare "]),
        (["replay", "c.pcap", "--key", "5tupel"], ["'5tupel' is not valid (did you mean 5tuple?)", "src-dst"]),
        (["new", "disciplin", "x"], ["did you mean discipline?", "usage: fairdrop new "]),
        (["conformance", "chek"], ["did you mean check?", "usage: fairdrop conformance "]),
        (["model", "front", "--mu", "1", "--rate", "1"], ["did you mean --rates?", "usage: fairdrop model front "]),
        (["model", "equilibium"], ["'equilibium' (did you mean equilibrium?)", "usage: fairdrop model "]),
        (["list", "chok"], ["'chok' (did you mean choke?)", "droptail", "reno"]),
        (["list", "newrno"], ["'newrno' (did you mean newreno?)"]),
        (["reproduce", "choke-fig33"], ["'choke-fig33' is no paper and no id (did you mean choke-fig3?)"]),
        (["reproduce", "chokee"], ["(did you mean choke?)"]),
        (["characterize", "fq_cdel"], ["'fq_cdel' is not valid (did you mean fq_codel?)"]),
        (["characterize", "--profile", "quik"], ["(did you mean quick?)"]),
        (["conformance", "run", "--discipline", "chok"], ["(did you mean choke?)"]),
        (["run", "x.toml", "--seeds", "9" * 5000], ["--seeds", "a whole number from 1 to 1000000"]),
    ],
)  # fmt: skip
def test_wrong_words_are_answered_with_what_was_meant_and_the_usage(invoke, words, expected):
    status, out, err = invoke(*words)
    assert (status, out) == (2, "")
    for text in expected:
        assert text in err, err


@pytest.mark.parametrize("words", [[], ["model"], ["conformance"]])
def test_a_command_that_only_has_commands_shows_its_help(invoke, words):
    status, out, err = invoke(*words)
    assert (status, err) == (0, "")
    assert out.startswith(" ".join(["usage: fairdrop", *words]))
    assert "commands:" in out or "models:" in out


def test_what_follows_two_dashes_is_no_option_of_ours():
    parser = Parser()
    parser.add_argument("program", nargs="+")
    assert parser.parse_args(["--", "program", "--unknown"]).program[-1] == "--unknown"


@pytest.mark.parametrize(
    ("word", "meant"),
    [("fqcodel", "fq_codel"), ("FQ-CoDel", "fq_codel"), ("chokee", "choke"), ("tea", None), ("x" * 10_000, None)],
)
def test_a_misspelt_name_is_found(word, meant):
    assert nearest(word, ["choke", "fq_codel", "red", "droptail"]) == meant


@pytest.mark.parametrize("name", ["fq-codel", "FQ_CoDel", " FQ-CODEL "])
def test_disciplines_are_known_however_they_are_spelt(invoke, headline, name):
    status, out, err = invoke("compare", headline, "--disciplines", f"{name},CHOKe", "--json", "--quiet", *SHORT)
    assert status == 0, err
    assert [run["discipline"] for run in json.loads(out)["runs"]] == ["fq_codel", "choke"]
    assert invoke("list", name)[1] == invoke("list", "fq_codel")[1]


def test_settings_too_know_names_however_they_are_spelt(invoke, headline):
    words = ("--set", "queue.discipline=FQ-CoDel", "--set", "groups.tcp.transport=NewReno")
    status, out, err = invoke("run", headline, *words, "--json", "--quiet", *SHORT)
    assert status == 0, err
    scenario = json.loads(out)["scenario"]
    assert scenario["queue"]["discipline"] == "fq_codel"
    assert "newreno" in json.dumps(scenario["groups"])


def test_an_own_part_is_known_however_it_is_spelt(invoke, headline):
    assert invoke("new", "discipline", "my_fifo")[0] == 0
    words = ("--parts", "my_fifo/my_fifo.py", "--disciplines", "My-FIFO", "--json", "--quiet", *SHORT)
    status, out, err = invoke("compare", headline, *words)
    assert status == 0, err
    assert {run["discipline"] for run in json.loads(out)["runs"]} == {"my_fifo"}


@pytest.mark.parametrize(
    ("study", "meant"),
    [
        ('bas = "x"', "base"), ('[axes]\n"queue.limit" = { values = ["400p"], rol = "design" }', "role"),
        ('design = "prodct"\n[axes]\n"queue.limit" = ["400p"]', "product"),
        ('[stop]\nmeasur = "share"\n[axes]\n"queue.limit" = ["400p"]', "measure"),
        ('[stop]\nmeasure = "shar"\nrelative = 0.1\n[axes]\n"queue.limit" = ["400p"]', "share"),
        ('[stop]\nmeasure = "share"\nrelative = 0.1\ngroup = "utp"\n[axes]\n"queue.limit" = ["400p"]', "udp"),
    ],
)  # fmt: skip
def test_a_study_says_what_was_meant(invoke, headline, tmp_path, study, meant):
    base = "" if study.startswith("bas ") else f'base = "{headline}"\n'
    (tmp_path / "s.toml").write_text(base + study)
    status, _, err = invoke("sweep", "s.toml", "--out", "o")
    assert status == 2
    assert f"(did you mean {meant}?)" in err
    assert not (tmp_path / "o").exists()


def test_all_stands_for_every_discipline():
    assert names.disciplines("all") == [entry["name"] for entry in catalogue()["disciplines"]]
