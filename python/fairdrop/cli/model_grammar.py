"""The grammar of ``fairdrop model``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairdrop.cli import model, model_schemes
from fairdrop.cli.arguments import Parser
from fairdrop.nearest import did_you_mean
from fairdrop.packaged import scenarios

if TYPE_CHECKING:
    from collections.abc import Sequence

_DESCRIPTION = """\
Solve the models of CHOKe: rates in packets per second, times in seconds, queues in packets.
In place of a model's name, a scenario file as `fairdrop run` takes it: the equilibrium of its flows.
"""
_EXAMPLES = """\
examples:
  fairdrop model front --mu 1 --rates 0.5,1,1.5
  fairdrop model back --rates 1,1,1,7 --memory 2 --mu 6
  fairdrop model equilibrium --capacity 125 --tcp-flows 32 --delay 0.1 \\
      --min-th 20 --max-th 520 --max-p 0.5 --udp-rate 125 --plot share.svg
  fairdrop model sweep --capacity 125 --delay 0.1 --min-th 20 --max-th 520 --max-p 0.5 \\
      --over tcp_flows=16,32,64 --over udp_rate=log:12.5:1250:9 --csv shares.csv
  fairdrop model understanding-choke --set groups.udp.rate=1mbit --json
"""


class _NamesOrScenario(argparse._SubParsersAction):  # type: ignore[type-arg]
    """A first word that is the name of no model is the path of a scenario."""

    def __init__(self, *words: Any, **settings: Any) -> None:
        super().__init__(*words, **settings)
        self.choices = None  # type: ignore[assignment]

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        words = list(values or ())
        if words and words[0] not in self._name_parser_map:
            known = words[0] in scenarios() or Path(words[0]).exists()
            if not known and (meant := did_you_mean(words[0], self._name_parser_map)):
                parser.error(f"there is no model and no file {words[0]!r}{meant}")
            words.insert(0, "scenario")
        super().__call__(parser, namespace, words, option_string)


def add_models(parser: Parser) -> None:
    """Give the parser of ``fairdrop model`` its models."""
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.set_defaults(action=parser.show_help)
    names = parser.add_subparsers(title="models", metavar="MODEL | SCENARIO", action=_NamesOrScenario)

    front = names.add_parser("front", help="compare arrivals with the head of the queue; Poisson arrivals")
    front.add_argument("--mu", type=float, required=True, metavar="RATE", help="service rate, packets/s")
    front.add_argument("--rates", type=_rates, required=True, metavar="R,R,...", help="arrival rates, packets/s")
    front.set_defaults(action=model.front)

    back = names.add_parser("back", help="drop arrivals whose flow is among the last M admitted; Poisson arrivals")
    back.add_argument("--rates", type=_rates, required=True, metavar="R,R,...", help="arrival rates, packets/s")
    back.add_argument("--memory", type=int, required=True, metavar="M", help="flows remembered, fewer than there are")
    back.add_argument("--mu", type=float, metavar="RATE", help="service rate, packets/s; needed for goodput")
    back.set_defaults(action=model.back)

    equilibrium = names.add_parser("equilibrium", help="TCP and constant-rate flows under CHOKe with RED")
    _add_equilibrium(equilibrium)
    equilibrium.add_argument(
        "--variant",
        default="full",
        choices=["full", "III-C", "order", "three"],
        help="equations (full): all, or an approximate model of section III; those have one UDP flow",
    )
    equilibrium.set_defaults(action=model.equilibrium)

    spatial = names.add_parser("spatial", help="who is where in that queue, and how fast it moves")
    _add_equilibrium(spatial)
    spatial.add_argument("--points", type=int, default=201, metavar="N", help="positions from tail to head (201)")
    spatial.set_defaults(action=model.spatial)

    others = _add_schemes(names)

    scenario = names.add_parser("scenario", help="the equilibrium of a scenario file (the word may be left out)")
    scenario.add_argument("scenario", metavar="SCENARIO", help="TOML file, or a name such as understanding-choke")
    scenario.add_argument(
        "--set", action="append", default=[], dest="settings", metavar="PATH=VALUE", help="change a field; repeatable"
    )
    _add_survival(scenario)
    scenario.set_defaults(action=model.scenario)

    for child in (front, back, equilibrium, spatial, scenario, *others):
        child.add_argument("--json", action="store_true", help="print one JSON document, see docs/reference/model.md")
        if child in others:
            child.set_defaults(plot=None)
        else:
            child.add_argument("--plot", metavar="FILE", help="draw into FILE.svg, FILE.png or FILE.pdf")


def _add_schemes(names: Any) -> list[argparse.ArgumentParser]:
    """CHOKeW, WARD, COLLAR, a FIFO, the limits of CHOKe, and sweeps."""
    chokew = names.add_parser("chokew", help="TCP and constant-rate flows under CHOKeW: weights in place of RED")
    _add_sources(chokew)
    _number(chokew, "--udp-weight", "weight of the constant-rate flows (1); once, or once for each",
            action="append", default=[], dest="udp_weights")  # fmt: skip
    _number(chokew, "--tcp-weight", "weight of the TCP flows (1)", default=1.0)
    _number(chokew, "--backlog", "packets queued, between the thresholds of the drawing factor (150)", default=150.0)
    chokew.set_defaults(action=model_schemes.chokew)

    ward = names.add_parser("ward", help="TCP and constant-rate flows under WARD: two packets compared")
    _add_sources(ward)
    _number(ward, "--buffer", "packets that fit", required=True)
    ward.add_argument(
        "--arrival-lost", action="store_true", help="an arrival is lost with a pair of another flow (it is queued)"
    )
    ward.set_defaults(action=model_schemes.ward)

    collar = names.add_parser("collar", help="TCP and constant-rate flows under COLLAR, and how steady it is")
    _add_sources(collar)
    _number(collar, "--share", "limit of a suspect, as a fraction of s (0.9)", default=0.9)
    _number(collar, "--target", "wait that the controller aims at, s (0.015)", default=0.015)
    _number(collar, "--buffer", "packets that fit (no limit)")
    _number(collar, "--variation", "squared variation of the shares of TCP flows within the memory (0.2)", default=0.2)
    collar.set_defaults(action=model_schemes.collar)

    fifo = names.add_parser("fifo", help="TCP and constant-rate flows in a FIFO without leaks, under RED or DropTail")
    _add_sources(fifo)
    _add_red(fifo, required=False)
    _number(fifo, "--buffer", "DropTail in place of RED: packets that fit")
    fifo.set_defaults(action=model_schemes.fifo)

    peak = names.add_parser("peak", help="the rate at which a UDP flow gets most under CHOKe, and what it gets")
    _add_equilibrium(peak, udp=False)
    peak.set_defaults(action=model_schemes.peak, udp_rates=[])

    asymptote = names.add_parser("asymptote", help="TCP beside a UDP flow that sends without end, under CHOKe")
    _add_equilibrium(asymptote, udp=False)
    asymptote.add_argument(
        "--form", default="exact", choices=["exact", "log", "linear"],
        help="the queueing delay (exact): the limit of all equations, (41), or (42)",
    )  # fmt: skip
    asymptote.set_defaults(action=model_schemes.asymptote, udp_rates=[])

    fewest = names.add_parser("minimum-flows", help="the fewest TCP flows that keep CHOKe's queue above min-th")
    _number(fewest, "--capacity", "rate of the link, packets/s", required=True)
    _number(fewest, "--delay", "round-trip time of a TCP flow without the queue, s", required=True)
    _number(fewest, "--min-th", "queue from which packets are compared, packets", required=True)
    _number(fewest, "--udp-rate", "rate of the constant-rate flow, packets/s", required=True)
    fewest.add_argument("--candidates", type=int, default=1, metavar="M", help="packets compared per arrival (1)")
    _add_law(fewest)
    _add_survival(fewest)
    fewest.set_defaults(action=model_schemes.minimum_flows)

    sweep = names.add_parser("sweep", help="the equilibrium of UDP and TCP over values of any of its parameters")
    _add_equilibrium(sweep, required=False)
    sweep.add_argument(
        "--over", action="append", required=True, type=_over, metavar="NAME=VALUES",
        help="a parameter and its values, V,V,... or FROM:TO:N or log:FROM:TO:N; repeat for all combinations",
    )  # fmt: skip
    sweep.add_argument("--csv", metavar="FILE", help="write the points, one a row")
    sweep.set_defaults(action=model_schemes.sweep)
    return [chokew, ward, collar, fifo, peak, asymptote, fewest, sweep]


def _number(parser: argparse.ArgumentParser, flag: str, text: str, **settings: Any) -> None:
    parser.add_argument(flag, type=float, metavar="X", help=text, **settings)


def _add_sources(parser: argparse.ArgumentParser, required: bool = True, udp: bool = True) -> None:
    """The link and who sends over it."""
    _number(parser, "--capacity", "rate of the link, packets/s", required=required)
    _number(parser, "--tcp-flows", "number of TCP flows", required=required)
    _number(parser, "--delay", "round-trip time of a TCP flow without the queue, s", required=required)
    if udp:
        _number(
            parser,
            "--udp-rate",
            "rate of a constant-rate flow, packets/s; once for each flow",
            required=required,
            action="append",
            dest="udp_rates",
        )
    _add_law(parser)


def _add_equilibrium(parser: argparse.ArgumentParser, required: bool = True, udp: bool = True) -> None:
    _add_sources(parser, required, udp)
    _add_red(parser, required)
    parser.add_argument("--candidates", type=int, default=1, metavar="M", help="packets compared per arrival (1)")
    _add_survival(parser)


def _add_red(parser: argparse.ArgumentParser, required: bool) -> None:
    _number(parser, "--min-th", "RED: queue from which packets are compared and dropped, packets", required=required)
    _number(parser, "--max-th", "RED: queue at which the drop probability is max-p, packets", required=required)
    _number(parser, "--max-p", "RED: drop probability at max-th", required=required)
    parser.add_argument("--jump", action="store_true", help="RED drops everything above max-th, as in 1993")


def _add_law(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tcp",
        default="reno",
        choices=["reno", "reno-small-loss", "pftk", "vegas"],
        help="rate law (reno): sqrt(2(1-p)/p)/rtt, sqrt(2/p)/rtt, Padhye's with timeouts, or alpha/queueing delay",
    )
    _number(parser, "--min-rto", "TCP's shortest timeout, s (1); with --tcp pftk")
    _number(parser, "--alpha", "packets that a Vegas flow keeps queued; with --tcp vegas")


def _add_survival(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--survival",
        default="cbr",
        choices=["cbr", "poisson"],
        help="how queued packets survive own arrivals (cbr): evenly spaced arrivals, or Poisson ones",
    )


def _rates(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not valid; valid: numbers with commas between them") from None


def _over(text: str) -> tuple[str, list[Any]]:
    """A parameter and its values; words stay words."""
    name, equals, values = text.partition("=")
    name = name.strip().replace("-", "_")
    try:
        if not equals:
            raise ValueError
        if ":" in values:
            return name, _range(values)
        return name, [_value(word.strip()) for word in values.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not valid; valid: NAME=V,V,... or NAME=FROM:TO:N or NAME=log:FROM:TO:N, N from 2 to 100000"
        ) from None


def _range(values: str) -> list[float]:
    words = values.split(":")
    even = words[0] != "log"
    low, high, count = (float(words[-3]), float(words[-2]), int(words[-1]))
    if len(words) != (3 if even else 4) or not 2 <= count <= 100_000:
        raise ValueError
    if even:
        return [low + (high - low) * step / (count - 1) for step in range(count)]
    if low <= 0.0 or high <= 0.0:
        raise ValueError
    return [low * (high / low) ** (step / (count - 1)) for step in range(count)]


def _value(word: str) -> float | bool | str:
    if word in ("true", "false"):
        return word == "true"
    return word if word in ("cbr", "poisson") else float(word)
