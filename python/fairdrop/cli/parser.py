"""The grammar of the command line: each command is declared by its words, in the order in which help lists them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fairdrop._core import __version__
from fairdrop.cli import check, commands, conformance, lab, model_grammar, studies
from fairdrop.cli.arguments import Parser, whole

_EXAMPLES = """\
examples:
  fairdrop run headline --seeds 10
  fairdrop compare headline --disciplines droptail,red,choke --report report.html
  fairdrop run headline --set queue.red.max_p=0.02 --set groups.udp.rate=3mbit --json
  fairdrop replay capture.pcap --rate 10mbit --disciplines red,choke
  fairdrop model understanding-choke
  fairdrop reproduce choke-fig5
"""


@dataclass(frozen=True)
class _Word:
    """A word or option of a command."""

    names: tuple[str, ...]
    settings: dict[str, Any]


@dataclass(frozen=True)
class _Command:
    """A command: its line in the list of commands, its words, and its description, unless ``more`` sets that."""

    name: str
    help: str
    action: Callable[[argparse.Namespace], int] | None = None
    words: tuple[_Word, ...] = ()
    description: str | None = None
    #: Adds the words of a command that declares them elsewhere.
    more: Callable[[Parser], None] | None = None
    defaults: dict[str, Any] = field(default_factory=dict)


def _word(*names: str, **settings: Any) -> _Word:
    return _Word(names, settings)


def _switch(name: str, text: str) -> _Word:
    return _word(name, action="store_true", help=text)


def _each(*names: str, metavar: str, text: str, **settings: Any) -> _Word:
    """An option that may be repeated."""
    return _word(*names, action="append", default=[], metavar=metavar, help=f"{text}; repeatable", **settings)


def _seed(default: str) -> _Word:
    text = f"first seed: --seeds K takes N to N + K - 1 ({default})"
    return _word("--seed", type=_SEED, metavar="N", help=text)


def _disciplines(default: str) -> _Word:
    text = f"disciplines to compare, separated by commas, or all ({default}); see `fairdrop list`"
    return _word("--disciplines", "--discipline", metavar="NAME,...", help=text)


def _seeds_in_place_of(whose: str) -> _Word:
    return _word("--seeds", type=_COUNT, metavar="N", help=f"replications, in place of the {whose}'s")


_COUNT, _FLOWS, _SEED = whole(1, 1_000_000), whole(1, 10_000), whole(0, 2**31)
_SCENARIO = _word("scenario", metavar="SCENARIO", help="TOML file, or a name such as headline; see `fairdrop list`")
_SAVED = _word("result", metavar="RESULT", help="directory that --out wrote, or a result.json")
_THREADS = _word("--threads", type=_COUNT, metavar="N", help="threads (all cores); results do not depend on it")
_REPORT = _word("--report", metavar="FILE", help="write the HTML report here")
_AS_JSON = _switch("--json", "print as JSON")
_EXTENSION = _each(
    "--extension", "--parts", dest="extensions", metavar="FILE",
    text="user-defined disciplines and congestion controls, from a Python file or a shared object",
)  # fmt: skip
_CONGESTION = _each(
    "--congestion", metavar="GROUP=NAME",
    text="live, this group uses a congestion control of the kernel, such as tcp=bbr",
)  # fmt: skip
_RESUME = _switch("--resume", "keep each finished run in --out DIR, and reuse those found there")
_RUN_TIMEOUT = _word(
    "--run-timeout", metavar="TIME", help="end each run that takes longer, such as 60s, and go on with the others"
)
_RUN = (
    _EXTENSION,
    _each("--set", dest="settings", metavar="PATH=VALUE",
          text="change a field, such as queue.red.max_p=0.02 or groups.udp.rate=3mbit"),
    _word("--seeds", type=_COUNT, default=1, metavar="N", help="replications, each with its seed (1)"),
    _seed("the scenario's own, or 1"),
    _word("--out", metavar="DIR", help="write result.json and a Parquet file per table here"),
    _REPORT,
    _switch("--json", "print the result document on stdout"),
    _switch("--quiet", "no progress, no table, no remarks"),
    _word("--timing", metavar="FILE", help="write processor time of the event loop, and event counts"),
)  # fmt: skip
_SIMULATION = (
    _THREADS,
    *_RUN,
    _word("--trace", metavar="DIR", help="write every event at every queue of every run here, as Parquet and as pcap"),
    _RESUME,
    _RUN_TIMEOUT,
)
_OF_A_SWEEP = (_REPORT, _switch("--json", "print the content of study.json on stdout"))
_KINDS = ("scenario", "paper", "discipline", "congestion-control")
_SHELLS = ("bash", "zsh", "fish")


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command; each subcommand sets ``action``."""
    parser = Parser(
        prog="fairdrop",
        description="Fair bandwidth without per-flow state: simulate, replay and compare queue disciplines.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"fairdrop {__version__}")
    parser.set_defaults(action=parser.show_help)
    subcommands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in _COMMANDS:
        child = subcommands.add_parser(command.name, help=command.help, description=command.description)
        for word in command.words:
            child.add_argument(*word.names, **word.settings)
        if command.action is not None:
            child.set_defaults(action=command.action, **command.defaults)
        if command.more is not None:
            command.more(child)
    return parser


_COMMANDS = (
    _Command(
        "run",
        "simulate a scenario",
        commands.run,
        (_SCENARIO, *_SIMULATION),
        "Simulate a scenario.",
    ),
    _Command(
        "compare",
        "simulate a scenario under several disciplines",
        commands.compare,
        (
            _SCENARIO,
            _disciplines("all"),
            _switch("--with-model", "results of the model of CHOKe as well; see `fairdrop model`"),
            _switch("--live", "simulation and reality side by side, under the scenario's own discipline unless others "
                    "are named"),
            _CONGESTION,
            *_SIMULATION,
        ),
        "Simulate a scenario under several disciplines; the same seed gives the same sources.",
    ),
    _Command(
        "live",
        "run a scenario with real hosts",
        commands.live,
        (_SCENARIO, _disciplines("the scenario's own"), _CONGESTION, *_RUN, _RESUME),
        "Run a scenario with kernel TCP and paced datagrams, in real time (Linux; needs fairdropd).",
        defaults={"trace": None, "threads": None, "run_timeout": None},
    ),
    _Command(
        "replay",
        "feed a pcap or pcapng file through a queue",
        commands.replay,
        (
            _word("capture", metavar="CAPTURE", help="pcap or pcapng file, or - for standard input"),
            _word("--rate", metavar="RATE",
                  help="rate of the link, such as 10mbit; by default 4/5 of the capture's load"),
            _word("--key", default="5tuple", choices=["5tuple", "src", "dst", "src-dst"],
                  help="definition of a flow (5tuple)"),
            _word("--speed", type=float, default=1.0, metavar="FACTOR", help="run time faster (1)"),
            _word("--max-gap", default="60s", metavar="TIME", help="shorten silences to this (60s); none keeps them"),
            _word("--scenario", metavar="SCENARIO", help="take [queue] from this scenario"),
            _disciplines("the queue's own, choke unless set"),
            _THREADS,
            *_RUN,
            _RUN_TIMEOUT,
        ),
        "Feed a pcap or pcapng file (recognised by content) through a queue and its link.",
    ),
    _Command(
        "sweep",
        "simulate a scenario over many values of its fields",
        studies.sweep,
        (
            _word("study", metavar="STUDY", help="TOML file: base, axes, design, seeds, stop"),
            _word("--out", metavar="DIR", help="data set and finished runs (sweeps/STUDY)"),
            _seeds_in_place_of("study"),
            _seed("the scenario's own"),
            _switch("--resume", "continue with the runs in --out; refused if there are none"),
            _THREADS,
            _word("--dask", metavar="ADDRESS",
                  help="run on the workers of this scheduler, such as tcp://host:8786"),
            _word("--shard", metavar="I/N", help="only part I of N, for job arrays; see `fairdrop merge`"),
            *_OF_A_SWEEP,
            _switch("--quiet", "no progress, no summary"),
            _EXTENSION,
            _RUN_TIMEOUT,
        ),
        "Simulate the points of a study, times seeds, into one data set; no run is done twice.",
    ),
    _Command(
        "merge",
        "put the parts of a sweep together",
        studies.merge,
        (
            _word("out", metavar="DIR", help="folder of the sweep"),
            _word("shards", nargs="*", default=(), metavar="SHARD", help="folders of the parts (those in DIR)"),
            *_OF_A_SWEEP,
            _switch("--quiet", "no summary"),
            _EXTENSION,
        ),
        "Put the parts of `fairdrop sweep --shard` together.",
    ),
    _Command(
        "diff",
        "what changed between two results",
        studies.diff,
        (
            _word("before", metavar="A", help="directory that --out wrote, or a result.json"),
            _word("after", metavar="B", help="the other one"),
            _AS_JSON,
            _switch("--all", "every measure, not only those that matter"),
            _switch("--exact", "compare every field of the runs; status 1 for any that differs"),
            _switch("--quiet", "print nothing; the exit status is the outcome"),
        ),
        "What changed between two results. Exit status: 0 identical, 1 a significant difference, "
        "3 differences, none significant, 2 wrong input; with --exact 0 identical, 1 not.",
    ),
    _Command(
        "characterize",
        "what RFC 7928 asks of a discipline",
        lab.characterize,
        (
            _word("disciplines", nargs="*", default=(), metavar="DISCIPLINE",
                  help="disciplines (all); see `fairdrop list`"),
            _word("--profile", default="quick", metavar="NAME",
                  help="quick: minutes; full: hours, more values and seeds (quick)"),
            _word("--sections", metavar="SECTION,...", help="sections of the RFC, such as 5.3,6 (all)"),
            _seeds_in_place_of("profile"),
            _seed("1"),
            _word("--out", default="characterization", metavar="DIR",
                  help="scorecard, scenarios, runs (characterization)"),
            _THREADS,
            _REPORT,
            _switch("--json", "print the scorecard as JSON"),
            _switch("--quiet", "no progress, no table"),
            _EXTENSION,
        ),
        "Simulate the campaign of the IETF's guideline for AQM (RFC 7928) into a scorecard.",
    ),
    _Command(
        "advise",
        "which discipline for a link, with which parameters",
        lab.advise,
        (
            _word("--rate", required=True, metavar="RATE", help="rate of the link, such as 100mbit; 1mbit to 10gbit"),
            _word("--rtt", required=True, metavar="TIME", help="round-trip times: 50ms or 20ms..80ms; 10us to 2s"),
            _word("--flows", required=True, type=_FLOWS, metavar="N", help="long flows at once, 1 to 10000"),
            _word("--target", default="delay", metavar="NAME",
                  help="objective: delay, fairness or throughput (delay)"),
            _word("--profile", metavar="NAME",
                  help="kind of link: home, campus, satellite, mobile or datacentre (derived from rate, round trips "
                  "and flows)"),
            _word("--access", metavar="NAME",
                  help="kind of access: cable, vdsl, adsl, ethernet, unknown or none (by profile and rate)"),
            _disciplines("those of the profile, and extensions"),
            _word("--time", default="30s", metavar="TIME",
                  help="time limit; a longer one gives a surer answer (30s)"),
            _word("--seed", type=_SEED, default=1, metavar="N", help="seed of the runs (1)"),
            _word("--out", default="advice", metavar="DIR", help="scenario and finished runs (advice)"),
            _THREADS,
            _AS_JSON,
            _switch("--quiet", "no estimate of the time, no progress"),
            _EXTENSION,
        ),
        "Find by simulation, within a time limit, the discipline that suits a link, and the commands for Linux.",
    ),
    _Command("model", "solve the models of CHOKe", more=model_grammar.add_models),
    _Command(
        "reproduce",
        "the figures, tables and claims of the papers",
        commands.reproduce,
        (
            _word("what", nargs="*", metavar="PAPER|ID", help="papers or ids, see --list (all)"),
            _word("--profile", choices=["quick", "full"], default="quick", help="quick: fewer seeds (quick)"),
            _seeds_in_place_of("profile"),
            _seed("1"),
            _each("--set", dest="settings", metavar="PATH=VALUE", text="change every run"),
            _each("--papers", metavar="FOLDER", text="further papers, from a folder"),
            _switch("--resume", "continue the last request in --out"),
            _word("--out", default="reproduction", metavar="DIR", help="results, figures, page (reproduction)"),
            _THREADS,
            _switch("--list", "ids with their state"),
            _AS_JSON,
            _switch("--quiet", "no progress, no table"),
        ),
        "Reproduce figures, tables and claims of the five papers, and judge them; a page with all of it.",
    ),
    _Command(
        "report",
        "make the report of a saved result",
        commands.report,
        (_SAVED, _word("--out", metavar="FILE", help="HTML file to write (report.html beside the result)")),
        "Make the HTML report of a saved result.",
    ),
    _Command(
        "show",
        "readings of the meters of a saved result",
        commands.show,
        (
            _SAVED,
            _word("--export", choices=("flent",),
                  help="instead, write each run as a data file of Flent (NAME.flent.gz)"),
            _word("--out", metavar="DIR", help="folder for the files of --export (the current one)"),
        ),
        "Print links by group, values that disciplines decide by, and TCP senders of a saved result.",
    ),
    _Command(
        "list",
        "disciplines and transports, or the parameters of one",
        commands.list_catalogue,
        (
            _word("name", nargs="?", metavar="NAME", help="all about this discipline or transport"),
            _switch("--json", "everything, as one JSON document"),
            _EXTENSION,
        ),
        "List disciplines by family and transports, a line each; with NAME parameters, source and page.",
    ),
    _Command(
        "schema", "JSON Schema of a scenario", commands.schema,
        description="Print the JSON Schema of a scenario file.",
    ),
    _Command(
        "new",
        "begin a scenario, a paper, a discipline or a congestion control",
        commands.new,
        (
            _word("what", metavar="WHAT", choices=_KINDS, help=", ".join(_KINDS)),
            _word("name", metavar="NAME", nargs="?", help="its name, and that of its file or folder"),
            _word("--language", choices=("python", "rust", "c"),
                  help="language of the project (python; c for disciplines only)"),
            _word("--out", metavar="PATH", help="another file or folder"),
            _word("--library", metavar="DIR", help="checkout of fairdrop that a project in Rust builds with"),
        ),
        "Write files to start from, with comments: a scenario, a paper to reproduce, or a small project "
        "for a user-defined discipline or congestion control (extension), with its test. Nothing is overwritten.",
    ),
    _Command(
        "check",
        "check a user-defined discipline or congestion control (extension)",
        description="Load and run extensions: names and arguments of methods, the same results twice, work "
        "conservation, cost per packet; of two files, whether both do the same. Status 1 where a check fails.",
        more=check.add,
    ),
    _Command(
        "conformance",
        "check an implementation against the vectors",
        description="Conformance vectors: list them, run them through the library, check a foreign implementation.",
        more=conformance.add,
    ),
    _Command(
        "completions",
        "completion of words for bash, zsh or fish",
        commands.completions,
        (_word("shell", metavar="SHELL", choices=_SHELLS, help=", ".join(_SHELLS)),),
        "Print a script that completes commands, options and names in a shell.",
        defaults={"build": build_parser},
    ),
)  # fmt: skip
