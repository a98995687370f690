"""What ``fairdrop model`` does: solve, show, draw."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairdrop.cli import model_text, names

if TYPE_CHECKING:
    from fairdrop.models import ChokeLink, Equilibrium, FlowClass, RateLaw

Document = dict[str, Any]
_FORMATS = (".svg", ".png", ".pdf")
# Names in messages of the models that are not the flag's.
_FLAGS = {"rate": "udp-rate", "count": "tcp-flows", "form": "variant", "b": "backlog", "weights": "udp-weight"}


def front(options: Namespace) -> int:
    """``fairdrop model front``."""

    def solve() -> Document:
        from fairdrop.models import front_choke

        return front_choke(options.mu, options.rates).to_dict()

    return answer(options, "front", {"mu": options.mu, "rates": options.rates}, solve)


def back(options: Namespace) -> int:
    """``fairdrop model back``."""

    def solve() -> Document:
        from fairdrop.models import back_choke

        return back_choke(options.rates, options.memory, options.mu).to_dict()

    asked = {"rates": options.rates, "memory": options.memory, "mu": options.mu}
    return answer(options, "back", asked, solve)


def equilibrium(options: Namespace) -> int:
    """``fairdrop model equilibrium``."""
    asked = {**equilibrium_parameters(options), "variant": options.variant}
    solve = _full if options.variant == "full" else _approximate
    return answer(options, "equilibrium", asked, lambda: solve(options))


def spatial(options: Namespace) -> int:
    """``fairdrop model spatial``."""

    def solve() -> Document:
        from fairdrop.models import inflexion, profile

        found = solved(options)
        single = len(found.flows) == 2
        return {
            **as_document(found),
            "profile": profile(found, points=options.points).to_dict(),
            "inflexion": inflexion(found).to_dict() if single else None,
        }

    return answer(options, "spatial", {**equilibrium_parameters(options), "points": options.points}, solve)


def scenario(options: Namespace) -> int:
    """``fairdrop model SCENARIO``."""
    _check_plot(options)
    from fairdrop.scenario import load

    loaded = load(options.scenario, names.settings(options.settings))
    with naming_flags():
        document = loaded.model(survival=options.survival, command=options.command_line)
    return _show(options, document)


def answer(options: Namespace, kind: str, parameters: Document, solve: Callable[[], Document]) -> int:
    """Solve, and say what it was asked; errors name flags."""
    _check_plot(options)
    from fairdrop._core import __version__
    from fairdrop.model_scenario import SCHEMA

    with naming_flags():
        found = solve()
    head = {"schema": SCHEMA, "version": __version__, "kind": kind, "command": options.command_line}
    return _show(options, {**head, "parameters": parameters, "notes": found.pop("notes", []), **found})


@contextmanager
def naming_flags() -> Iterator[None]:
    """Messages of the models start with the name of an argument; here with the flag's."""
    from fairdrop.models import ConvergenceError, NoEquilibriumError

    try:
        yield
    except NoEquilibriumError as error:
        raise ValueError(f"no equilibrium: {error}") from None
    except ConvergenceError as error:
        print(f"fairdrop: error: the solver failed: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except ValueError as error:
        text = str(error)
        start = re.match(r"[a-z]+(?:_[a-z]+)*(?= (?:must|gives))", text)
        if start is None:
            raise
        flag = _FLAGS.get(start[0], start[0].replace("_", "-"))
        raise ValueError(f"--{flag}{text[start.end() :]}") from None


def _check_plot(options: Namespace) -> None:
    """Before any work: a file of a kind that can be drawn."""
    if options.plot and not options.plot.lower().endswith(_FORMATS):
        raise ValueError(f"--plot {options.plot} is not valid; valid: a name ending in {', '.join(_FORMATS)}")


def equilibrium_parameters(options: Namespace) -> Document:
    names = ("capacity", "tcp_flows", "delay", "min_th", "max_th", "max_p", "jump", "candidates", "survival", "tcp")
    given = {name: getattr(options, name) for name in names}
    return {**given, **law_parameters(options), "udp_rate": options.udp_rates}


def law_parameters(options: Namespace) -> Document:
    """What the rate law was given, beside its name."""
    return {"min_rto": options.min_rto, "alpha": options.alpha}


def rate_law(options: Namespace) -> RateLaw:
    from fairdrop.models import Pftk, Reno, Vegas

    if options.tcp != "pftk" and options.min_rto is not None:
        raise ValueError("min_rto must be left out without --tcp pftk")
    if options.tcp != "vegas":
        if options.alpha is not None:
            raise ValueError("alpha must be left out without --tcp vegas")
        if options.tcp == "pftk":
            return Pftk() if options.min_rto is None else Pftk(options.min_rto)
        return Reno(small_loss=options.tcp == "reno-small-loss")
    if options.alpha is None:
        raise ValueError("alpha must be given with --tcp vegas")
    return Vegas(options.alpha)


def choke_link(options: Namespace) -> ChokeLink:
    from fairdrop.models import ChokeLink, Red

    red = Red(options.min_th, options.max_th, options.max_p, options.jump)
    return ChokeLink(options.capacity, red, options.candidates, options.survival)


def flow_classes(options: Namespace) -> list[FlowClass]:
    from fairdrop.models import ConstantRate, Responsive

    rates = options.udp_rates
    names = ["udp"] if len(rates) == 1 else [f"udp[{index}]" for index in range(len(rates))]
    udp: list[FlowClass] = [ConstantRate(rate, 1.0, name) for rate, name in zip(rates, names, strict=True)]
    return [*udp, Responsive(options.tcp_flows, options.delay, rate_law(options))]


def solved(options: Namespace) -> Equilibrium:
    from fairdrop.models import solve

    return solve(choke_link(options), flow_classes(options))


def _full(options: Namespace) -> Document:
    return as_document(solved(options))


def as_document(found: Any) -> Document:
    """A result with classes of flows as a document, and where it is not to be trusted."""
    from fairdrop.models import doubts

    return {**found.to_dict(), "notes": doubts(found.flows, found.p)}


def _approximate(options: Namespace) -> Document:
    from fairdrop.models import doubts, tcp_approximate

    if len(options.udp_rates) != 1:
        raise ValueError("udp_rate must be given once with --variant: the approximate models have one UDP flow")
    found = tcp_approximate(
        capacity=options.capacity,
        tcp_flows=options.tcp_flows,
        delay=options.delay,
        min_th=options.min_th,
        max_th=options.max_th,
        max_p=options.max_p,
        udp_rate=options.udp_rates[0],
        candidates=options.candidates,
        survival=options.survival,
        law=rate_law(options),
        jump=options.jump,
        variant=options.variant,
    )
    names = {"names": ["udp", "tcp"], "count": [1.0, options.tcp_flows]}
    return {**names, **found.to_dict(), "notes": doubts(flow_classes(options), found.p)}


def _show(options: Namespace, document: Document) -> int:
    """The document or its table on stdout, the figure where ``--plot`` says."""
    import json

    shown = json.dumps(document, indent=2, allow_nan=False) if options.json else model_text.lines(document)
    if options.plot:
        from fairdrop import plot

        plot.save(plot.model(document), options.plot)
    print(shown)
    if options.plot:
        print(f"plot: {options.plot}", file=sys.stderr)
    return 0
