"""The grammar of ``fairdrop model``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from fairdrop.cli import model

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
  fairdrop model scenarios/understanding-choke.toml --set groups.udp.rate=1mbit --json
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
            words.insert(0, "scenario")
        super().__call__(parser, namespace, words, option_string)


def add_models(parser: argparse.ArgumentParser) -> None:
    """Give the parser of ``fairdrop model`` its models."""
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    names = parser.add_subparsers(title="models", metavar="MODEL | SCENARIO", required=True, action=_NamesOrScenario)

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

    scenario = names.add_parser("scenario", help="the equilibrium of a scenario file (the word may be left out)")
    scenario.add_argument("scenario", metavar="SCENARIO", help="TOML file, see `fairdrop schema`")
    scenario.add_argument(
        "--set", action="append", default=[], dest="settings", metavar="PATH=VALUE", help="change a field; repeatable"
    )
    _add_survival(scenario)
    scenario.set_defaults(action=model.scenario)

    for child in (front, back, equilibrium, spatial, scenario):
        child.add_argument("--json", action="store_true", help="print one JSON document, see docs/reference/model.md")
        child.add_argument("--plot", metavar="FILE", help="draw into FILE.svg, FILE.png or FILE.pdf")


def _add_equilibrium(parser: argparse.ArgumentParser) -> None:
    def number(flag: str, text: str, **settings: Any) -> None:
        parser.add_argument(flag, type=float, metavar="X", help=text, **settings)

    number("--capacity", "rate of the link, packets/s", required=True)
    number("--tcp-flows", "number of TCP flows", required=True)
    number("--delay", "round-trip time of a TCP flow without the queue, s", required=True)
    number("--min-th", "RED: queue from which packets are compared and dropped, packets", required=True)
    number("--max-th", "RED: queue at which the drop probability is max-p, packets", required=True)
    number("--max-p", "RED: drop probability at max-th", required=True)
    number(
        "--udp-rate",
        "rate of a constant-rate flow, packets/s; once for each flow",
        required=True,
        action="append",
        dest="udp_rates",
    )
    parser.add_argument("--candidates", type=int, default=1, metavar="M", help="packets compared per arrival (1)")
    parser.add_argument("--jump", action="store_true", help="RED drops everything above max-th, as in 1993")
    parser.add_argument(
        "--tcp",
        default="reno",
        choices=["reno", "reno-small-loss", "vegas"],
        help="rate law (reno): sqrt(2(1-p)/p)/rtt, sqrt(2/p)/rtt, or alpha/queueing delay",
    )
    number("--alpha", "packets that a Vegas flow keeps queued; with --tcp vegas")
    _add_survival(parser)


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
