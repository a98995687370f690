"""The grammar of the command line."""

from __future__ import annotations

import argparse
from typing import TypeAlias

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
    _add_run(subcommands)
    _add_compare(subcommands)
    _add_live(subcommands)
    _add_replay(subcommands)
    _add_sweep(subcommands)
    _add_merge(subcommands)
    _add_diff(subcommands)
    _add_characterize(subcommands)
    _add_advise(subcommands)
    _add_model(subcommands)
    _add_reproduce(subcommands)
    _add_report(subcommands)
    _add_show(subcommands)
    _add_list(subcommands)
    _add_schema(subcommands)
    _add_new(subcommands)
    _add_check(subcommands)
    _add_conformance(subcommands)
    _add_completions(subcommands)
    return parser


_count, _flows = whole(1, 1_000_000), whole(1, 10_000)
_seed = whole(0, 2**31)
_SCENARIO = "TOML file, or a name such as headline; see `fairdrop list`"

_Subcommands: TypeAlias = "argparse._SubParsersAction[Parser]"


def _add_run(subcommands: _Subcommands) -> None:
    parser = subcommands.add_parser("run", help="simulate a scenario", description="Simulate a scenario.")
    parser.add_argument("scenario", metavar="SCENARIO", help=_SCENARIO)
    _add_work_options(parser)
    _add_simulation_options(parser)
    parser.set_defaults(action=commands.run)


def _add_compare(subcommands: _Subcommands) -> None:
    parser = subcommands.add_parser(
        "compare",
        help="simulate a scenario under several disciplines",
        description="Simulate a scenario under several disciplines; the same seed gives the same sources.",
    )
    parser.add_argument("scenario", metavar="SCENARIO", help=_SCENARIO)
    _add_disciplines(parser, "all")
    parser.add_argument(
        "--with-model", action="store_true", help="what the model of CHOKe says beside it; see `fairdrop model`"
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="simulation and reality side by side, under the scenario's own discipline unless others are named",
    )
    _add_congestion(parser)
    _add_work_options(parser)
    _add_simulation_options(parser)
    parser.set_defaults(action=commands.compare)


def _add_live(subcommands: _Subcommands) -> None:
    parser = subcommands.add_parser(
        "live",
        help="run a scenario with real hosts",
        description="Run a scenario with kernel TCP and paced datagrams, in real time (Linux; needs fairdropd).",
    )
    parser.add_argument("scenario", metavar="SCENARIO", help=_SCENARIO)
    _add_disciplines(parser, "the scenario's own")
    _add_congestion(parser)
    _add_run_options(parser)
    _add_resume(parser)
    parser.set_defaults(action=commands.live, trace=None, threads=None, run_timeout=None)


def _add_replay(subcommands: _Subcommands) -> None:
    parser = subcommands.add_parser(
        "replay",
        help="feed a pcap or pcapng file through a queue",
        description="Feed a pcap or pcapng file (recognised by content) through a queue and its link.",
    )
    parser.add_argument("capture", metavar="CAPTURE", help="pcap or pcapng file, or - for standard input")
    parser.add_argument(
        "--rate", metavar="RATE", help="rate of the link, such as 10mbit; by default 4/5 of what the capture offers"
    )
    parser.add_argument(
        "--key", default="5tuple", choices=["5tuple", "src", "dst", "src-dst"], help="what makes a flow (5tuple)"
    )
    parser.add_argument("--speed", type=float, default=1.0, metavar="FACTOR", help="run time faster (1)")
    parser.add_argument(
        "--max-gap", default="60s", metavar="TIME", help="shorten silences to this (60s); none keeps them"
    )
    parser.add_argument("--scenario", metavar="SCENARIO", help="take [queue] from this scenario")
    _add_disciplines(parser, "the queue's own, choke unless set")
    _add_work_options(parser)
    _add_run_timeout(parser)
    parser.set_defaults(action=commands.replay)


def _add_sweep(subcommands: _Subcommands) -> None:
    parser = subcommands.add_parser(
        "sweep",
        help="simulate a scenario over many values of its fields",
        description="Simulate the points of a study, times seeds, into one data set; no run is done twice.",
    )
    parser.add_argument("study", metavar="STUDY", help="TOML file: base, axes, design, seeds, stop")
    parser.add_argument("--out", metavar="DIR", help="data set and finished runs (sweeps/STUDY)")
    parser.add_argument("--seeds", type=_count, metavar="N", help="replications, in place of the study's")
    _add_seed(parser, "the scenario's own")
    parser.add_argument("--resume", action="store_true", help="go on with what --out has; refused if it has nothing")
    parser.add_argument("--threads", type=_count, metavar="N", help="threads (all cores); results do not depend on it")
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="run on the workers of this scheduler, such as tcp://host:8786"
    )
    parser.add_argument("--shard", metavar="I/N", help="only part I of N, for job arrays; see `fairdrop merge`")
    parser.add_argument("--report", metavar="FILE", help="write the HTML report here")
    parser.add_argument("--json", action="store_true", help="print what study.json says on stdout")
    parser.add_argument("--quiet", action="store_true", help="no progress, no summary")
    _add_extensions(parser)
    _add_run_timeout(parser)
    parser.set_defaults(action=studies.sweep)


def _add_merge(subcommands: _Subcommands) -> None:
    parser = subcommands.add_parser(
        "merge",
        help="put the parts of a sweep together",
        description="Put the parts of `fairdrop sweep --shard` together.",
    )
    parser.add_argument("out", metavar="DIR", help="folder of the sweep")
    parser.add_argument("shards", nargs="*", default=(), metavar="SHARD", help="folders of the parts (those in DIR)")
    parser.add_argument("--report", metavar="FILE", help="write the HTML report here")
    parser.add_argument("--json", action="store_true", help="print what study.json says on stdout")
    parser.add_argument("--quiet", action="store_true", help="no summary")
    _add_extensions(parser)
    parser.set_defaults(action=studies.merge)


def _add_diff(subcommands: _Subcommands) -> None:
    parser = subcommands.add_parser(
        "diff",
        help="what changed between two results",
        description="What changed between two results. Exit status: 0 identical, 1 a significant difference, "
        "3 differences, none significant, 2 wrong input; with --exact 0 identical, 1 not.",
    )
    parser.add_argument("before", metavar="A", help="directory that --out wrote, or a result.json")
    parser.add_argument("after", metavar="B", help="the other one")
    parser.add_argument("--json", action="store_true", help="print as JSON")
    parser.add_argument("--all", action="store_true", help="every measure, not only those that matter")
    parser.add_argument(
        "--exact", action="store_true", help="compare every field of the runs; status 1 for any that differs"
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing: the exit status tells")
    parser.set_defaults(action=studies.diff)


def _add_characterize(subcommands: _Subcommands) -> None:
    parser = subcommands.add_parser(
        "characterize",
        help="what RFC 7928 asks of a discipline",
        description="Simulate what the IETF's guideline for AQM (RFC 7928) asks for, into a scorecard.",
    )
    parser.add_argument(
        "disciplines", nargs="*", default=(), metavar="DISCIPLINE", help="disciplines (all); see `fairdrop list`"
    )
    parser.add_argument(
        "--profile", default="quick", metavar="NAME", help="quick: minutes; full: hours, more values and seeds (quick)"
    )
    parser.add_argument("--sections", metavar="SECTION,...", help="sections of the RFC, such as 5.3,6 (all)")
    parser.add_argument("--seeds", type=_count, metavar="N", help="replications, in place of the profile's")
    _add_seed(parser, "1")
    parser.add_argument(
        "--out", default="characterization", metavar="DIR", help="scorecard, scenarios, runs (characterization)"
    )
    parser.add_argument("--threads", type=_count, metavar="N", help="threads (all cores); results do not depend on it")
    parser.add_argument("--report", metavar="FILE", help="write the HTML report here")
    parser.add_argument("--json", action="store_true", help="print the scorecard as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress, no table")
    _add_extensions(parser)
    parser.set_defaults(action=lab.characterize)


def _add_advise(subcommands: _Subcommands) -> None:
    parser = subcommands.add_parser(
        "advise",
        help="which discipline for a link, with which parameters",
        description="Find by simulation, within a time, which discipline suits a link, and how Linux is told.",
    )
    parser.add_argument("--rate", required=True, metavar="RATE", help="of the link, such as 100mbit; 1mbit to 10gbit")
    parser.add_argument("--rtt", required=True, metavar="TIME", help="round-trip times: 50ms or 20ms..80ms; 10us to 2s")
    parser.add_argument("--flows", required=True, type=_flows, metavar="N", help="long flows at once, 1 to 10000")
    parser.add_argument(
        "--target", default="delay", metavar="NAME", help="what is wanted: delay, fairness or throughput (delay)"
    )
    parser.add_argument(
        "--profile",
        metavar="NAME",
        help="kind of link: home, campus, satellite, mobile or datacentre (told from rate, round trips and flows)",
    )
    parser.add_argument(
        "--access",
        metavar="NAME",
        help="what it is made of: cable, vdsl, adsl, ethernet, unknown or none (by profile and rate)",
    )
    _add_disciplines(parser, "those of the profile, and extensions")
    parser.add_argument(
        "--time", default="30s", metavar="TIME", help="when there is to be an answer; more gives a surer one (30s)"
    )
    parser.add_argument("--seed", type=_seed, default=1, metavar="N", help="of the runs (1)")
    parser.add_argument("--out", default="advice", metavar="DIR", help="scenario and finished runs (advice)")
    parser.add_argument("--threads", type=_count, metavar="N", help="threads (all cores); results do not depend on it")
    parser.add_argument("--json", action="store_true", help="print as JSON")
    parser.add_argument("--quiet", action="store_true", help="no estimate of the time, no progress")
    _add_extensions(parser)
    parser.set_defaults(action=lab.advise)


def _add_model(subcommands: _Subcommands) -> None:
    model_grammar.add_models(subcommands.add_parser("model", help="solve the models of CHOKe"))


def _add_reproduce(subcommands: _Subcommands) -> None:
    parser = subcommands.add_parser(
        "reproduce",
        help="the figures, tables and claims of the papers",
        description="Reproduce figures, tables and claims of the five papers, and judge them; a page with all of it.",
    )
    parser.add_argument("what", nargs="*", metavar="PAPER|ID", help="papers or ids, see --list (all)")
    parser.add_argument("--profile", choices=["quick", "full"], default="quick", help="quick: fewer seeds (quick)")
    parser.add_argument("--seeds", type=_count, metavar="N", help="replications, in place of the profile's")
    _add_seed(parser, "1")
    parser.add_argument(
        "--set", action="append", default=[], dest="settings", metavar="PATH=VALUE", help="change every run; repeatable"
    )
    parser.add_argument(
        "--papers", action="append", default=[], metavar="FOLDER", help="further papers, from a folder; repeatable"
    )
    parser.add_argument("--resume", action="store_true", help="go on with what was asked last in --out")
    parser.add_argument("--out", default="reproduction", metavar="DIR", help="results, figures, page (reproduction)")
    parser.add_argument("--threads", type=_count, metavar="N", help="threads (all cores); results do not depend on it")
    parser.add_argument("--list", action="store_true", help="ids with their state")
    parser.add_argument("--json", action="store_true", help="print as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress, no table")
    parser.set_defaults(action=commands.reproduce)


def _add_report(subcommands: _Subcommands) -> None:
    parser = subcommands.add_parser(
        "report", help="make the report of a saved result", description="Make the HTML report of a saved result."
    )
    parser.add_argument("result", metavar="RESULT", help="directory that --out wrote, or a result.json")
    parser.add_argument("--out", metavar="FILE", help="HTML file to write (report.html beside the result)")
    parser.set_defaults(action=commands.report)


def _add_show(subcommands: _Subcommands) -> None:
    parser = subcommands.add_parser(
        "show",
        help="what the meters of a saved result found",
        description="Print links by group, what disciplines decide by, and TCP senders of a saved result.",
    )
    parser.add_argument("result", metavar="RESULT", help="directory that --out wrote, or a result.json")
    parser.add_argument(
        "--export", choices=("flent",), help="instead, write each run as a data file of Flent (NAME.flent.gz)"
    )
    parser.add_argument("--out", metavar="DIR", help="folder for what --export writes (the current one)")
    parser.set_defaults(action=commands.show)


def _add_list(subcommands: _Subcommands) -> None:
    parser = subcommands.add_parser(
        "list",
        help="disciplines and transports, or the parameters of one",
        description="List disciplines by family and transports, a line each; with NAME parameters, source and page.",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="all about this discipline or transport")
    parser.add_argument("--json", action="store_true", help="all there is to know, as one JSON document")
    _add_extensions(parser)
    parser.set_defaults(action=commands.list_catalogue)


def _add_schema(subcommands: _Subcommands) -> None:
    parser = subcommands.add_parser(
        "schema", help="JSON Schema of a scenario", description="Print the JSON Schema of a scenario file."
    )
    parser.set_defaults(action=commands.schema)


def _add_new(subcommands: _Subcommands) -> None:
    parser = subcommands.add_parser(
        "new",
        help="begin a scenario, a paper, a discipline or a congestion control",
        description="Write files to start from, with comments: a scenario, a paper to reproduce, or a small project "
        "for a user-defined discipline or congestion control (extension), with its test. Nothing is overwritten.",
    )
    kinds = ("scenario", "paper", "discipline", "congestion-control")
    parser.add_argument("what", metavar="WHAT", choices=kinds, help=", ".join(kinds))
    parser.add_argument("name", metavar="NAME", nargs="?", help="its name, and that of its file or folder")
    languages = "(python; c for disciplines only)"
    parser.add_argument("--language", choices=("python", "rust", "c"), help=f"language of the project {languages}")
    parser.add_argument("--out", metavar="PATH", help="another file or folder")
    parser.add_argument("--library", metavar="DIR", help="checkout of fairdrop that a project in Rust builds with")
    parser.set_defaults(action=commands.new)


def _add_check(subcommands: _Subcommands) -> None:
    check.add(
        subcommands.add_parser(
            "check",
            help="check a user-defined discipline or congestion control (extension)",
            description="Load and run extensions: names and arguments of methods, the same results twice, work "
            "conservation, cost per packet; of two files, whether both do the same. Status 1 where a check fails.",
        )
    )


def _add_conformance(subcommands: _Subcommands) -> None:
    conformance.add(
        subcommands.add_parser(
            "conformance",
            help="check an implementation against the vectors",
            description="Conformance vectors: list them, run them through the library, check a foreign implementation.",
        )
    )


def _add_completions(subcommands: _Subcommands) -> None:
    parser = subcommands.add_parser(
        "completions",
        help="completion of words for bash, zsh or fish",
        description="Print a script that completes commands, options and names in a shell.",
    )
    shells = ("bash", "zsh", "fish")
    parser.add_argument("shell", metavar="SHELL", choices=shells, help=", ".join(shells))
    parser.set_defaults(action=commands.completions, build=build_parser)


def _add_disciplines(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--disciplines",
        "--discipline",
        metavar="NAME,...",
        help=f"disciplines to compare, separated by commas, or all ({default}); see `fairdrop list`",
    )


def _add_extensions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--extension",
        "--parts",
        dest="extensions",
        action="append",
        default=[],
        metavar="FILE",
        help="user-defined disciplines and congestion controls, from a Python file or a shared object; repeatable",
    )


def _add_seed(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--seed", type=_seed, metavar="N", help=f"first seed: --seeds K takes N to N + K - 1 ({default})"
    )


def _add_congestion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--congestion",
        action="append",
        default=[],
        metavar="GROUP=NAME",
        help="live, this group uses a congestion control of the kernel, such as tcp=bbr; repeatable",
    )


def _add_work_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=_count, metavar="N", help="threads (all cores); results do not depend on it")
    _add_run_options(parser)


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    _add_extensions(parser)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="PATH=VALUE",
        help="change a field, such as queue.red.max_p=0.02 or groups.udp.rate=3mbit; repeatable",
    )
    parser.add_argument("--seeds", type=_count, default=1, metavar="N", help="replications, each with its seed (1)")
    _add_seed(parser, "the scenario's own, or 1")
    parser.add_argument("--out", metavar="DIR", help="write result.json and a Parquet file per table here")
    parser.add_argument("--report", metavar="FILE", help="write the HTML report here")
    parser.add_argument("--json", action="store_true", help="print the result document on stdout")
    parser.add_argument("--quiet", action="store_true", help="no progress, no table, no remarks")
    parser.add_argument("--timing", metavar="FILE", help="write processor time of the event loop, and event counts")


def _add_simulation_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trace", metavar="DIR", help="write every event at every queue of every run here, as Parquet and as pcap"
    )
    _add_resume(parser)
    _add_run_timeout(parser)


def _add_run_timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--run-timeout", metavar="TIME", help="end each run that takes longer, such as 60s, and go on with the others"
    )


def _add_resume(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--resume", action="store_true", help="keep each finished run in --out DIR, and reuse those found there"
    )
