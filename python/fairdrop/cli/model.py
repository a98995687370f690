"""What ``fairdrop model`` does: solve, show, draw."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairdrop.models import ChokeLink, Equilibrium, FlowClass, RateLaw

_Document = dict[str, Any]
_FORMATS = (".svg", ".png", ".pdf")
# Names in messages of the models that are not the flag's.
_FLAGS = {"rate": "udp-rate", "count": "tcp-flows", "form": "variant"}


def front(options: Namespace) -> int:
    """``fairdrop model front``."""

    def solve() -> _Document:
        from fairdrop.models import front_choke

        return front_choke(options.mu, options.rates).to_dict()

    return _answer(options, "front", {"mu": options.mu, "rates": options.rates}, solve)


def back(options: Namespace) -> int:
    """``fairdrop model back``."""

    def solve() -> _Document:
        from fairdrop.models import back_choke

        return back_choke(options.rates, options.memory, options.mu).to_dict()

    asked = {"rates": options.rates, "memory": options.memory, "mu": options.mu}
    return _answer(options, "back", asked, solve)


def equilibrium(options: Namespace) -> int:
    """``fairdrop model equilibrium``."""
    asked = {**_equilibrium_parameters(options), "variant": options.variant}
    solve = _full if options.variant == "full" else _approximate
    return _answer(options, "equilibrium", asked, lambda: solve(options))


def spatial(options: Namespace) -> int:
    """``fairdrop model spatial``."""

    def solve() -> _Document:
        from fairdrop.models import inflexion, profile

        found = _solved(options)
        single = len(found.flows) == 2
        return {
            **found.to_dict(),
            "profile": profile(found, points=options.points).to_dict(),
            "inflexion": inflexion(found).to_dict() if single else None,
        }

    return _answer(options, "spatial", {**_equilibrium_parameters(options), "points": options.points}, solve)


def scenario(options: Namespace) -> int:
    """``fairdrop model SCENARIO``."""
    _check_plot(options)
    from fairdrop.scenario import load

    loaded = load(options.scenario, options.settings)
    with _naming_flags():
        document = loaded.model(survival=options.survival, command=options.command_line)
    return _show(options, document)


def _answer(options: Namespace, kind: str, parameters: _Document, solve: Callable[[], _Document]) -> int:
    """Solve, and say what it was asked; errors name flags."""
    _check_plot(options)
    from fairdrop._core import __version__
    from fairdrop.model_scenario import SCHEMA

    with _naming_flags():
        found = solve()
    head = {"schema": SCHEMA, "version": __version__, "kind": kind, "command": options.command_line}
    return _show(options, {**head, "parameters": parameters, "notes": [], **found})


@contextmanager
def _naming_flags() -> Iterator[None]:
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


def _equilibrium_parameters(options: Namespace) -> _Document:
    names = ("capacity", "tcp_flows", "delay", "min_th", "max_th", "max_p", "jump", "candidates", "survival", "tcp")
    return {**{name: getattr(options, name) for name in names}, "alpha": options.alpha, "udp_rate": options.udp_rates}


def _law(options: Namespace) -> RateLaw:
    from fairdrop.models import Reno, Vegas

    if options.tcp != "vegas":
        if options.alpha is not None:
            raise ValueError("alpha must be left out without --tcp vegas")
        return Reno(small_loss=options.tcp == "reno-small-loss")
    if options.alpha is None:
        raise ValueError("alpha must be given with --tcp vegas")
    return Vegas(options.alpha)


def _link(options: Namespace) -> ChokeLink:
    from fairdrop.models import ChokeLink, Red

    red = Red(options.min_th, options.max_th, options.max_p, options.jump)
    return ChokeLink(options.capacity, red, options.candidates, options.survival)


def _flows(options: Namespace) -> list[FlowClass]:
    from fairdrop.models import ConstantRate, Responsive

    rates = options.udp_rates
    names = ["udp"] if len(rates) == 1 else [f"udp[{index}]" for index in range(len(rates))]
    udp: list[FlowClass] = [ConstantRate(rate, 1.0, name) for rate, name in zip(rates, names, strict=True)]
    return [*udp, Responsive(options.tcp_flows, options.delay, _law(options))]


def _solved(options: Namespace) -> Equilibrium:
    from fairdrop.models import solve

    return solve(_link(options), _flows(options))


def _full(options: Namespace) -> _Document:
    return _solved(options).to_dict()


def _approximate(options: Namespace) -> _Document:
    from fairdrop.models import tcp_approximate

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
        law=_law(options),
        jump=options.jump,
        variant=options.variant,
    ).to_dict()
    return {"names": ["udp", "tcp"], "count": [1.0, options.tcp_flows], **found}


def _show(options: Namespace, document: _Document) -> int:
    """The document or its table on stdout, the figure where ``--plot`` says."""
    import json

    text = json.dumps(document, indent=2, allow_nan=False) if options.json else model_text(document)
    if options.plot:
        from fairdrop import plot

        plot.save(plot.model(document), options.plot)
    print(text)
    if options.plot:
        print(f"plot: {options.plot}", file=sys.stderr)
    return 0


def model_text(document: Mapping[str, Any]) -> str:
    """A model's document as a table."""
    lines = {"front": _front_text, "back": _back_text, "scenario": _scenario_text}.get(
        document["kind"], _equilibrium_text
    )(document)
    return "\n".join([*(f"note: {note}" for note in document["notes"]), *lines])


def _front_text(document: Mapping[str, Any]) -> list[str]:
    rows = zip(*(document[key] for key in ("rates", "p", "goodput", "drop_fraction", "growth")), strict=True)
    head = ("flow", "arrives", "at the head", "goodput", "dropped", "piles up")
    lines = [
        (str(index), _number(rate), _percent(p), _number(goodput), _percent(dropped), _number(growth))
        for index, (rate, p, goodput, dropped, growth) in enumerate(rows)
    ]
    state = f"stable, empty {_percent(document['idle'])} of the time"
    if not document["stable"]:
        state = "overloaded: the queue grows without end"
    return [_table(head, lines), f"(rates in packets/s; {state})"]


def _back_text(document: Mapping[str, Any]) -> list[str]:
    goodput: Sequence[float] | None = document["goodput"]
    columns = [document["arrival_rates"], document["shares"], document["rates"], goodput or document["rates"]]
    head = ("flow", "arrives", "share", "admitted", "goodput")
    lines = [
        (str(index), _number(rate), _percent(share), _number(admitted), _number(good))
        for index, (rate, share, admitted, good) in enumerate(zip(*columns, strict=True))
    ]
    caption = f"rates in packets/s; load {_number(document['load'])}"
    if goodput is None:
        return [_table(head[:-1], [line[:-1] for line in lines]), f"({caption}; with --mu also goodput)"]
    state = "stable" if document["stable"] else "overloaded: goodput is the share of the service rate"
    return [_table(head, lines), f"({caption} of {_number(document['mu'])}; {state})"]


def _equilibrium_text(document: Mapping[str, Any]) -> list[str]:
    keys = ("names", "count", "x", "p", "goodput", "mu", "h")
    head = ("flows", "number", "each sends", "lost", "each gets", "of link", "together", "of queue", "together")
    lines = [
        (
            name, f"{count:g}", _number(x), _percent(p), _number(goodput),
            _percent(mu), _percent(mu * count), _percent(h), _percent(h * count),
        )
        for name, count, x, p, goodput, mu, h in zip(*(document[key] for key in keys), strict=True)
    ]  # fmt: skip
    text = [_table(head, lines), f"(rates in packets/s; {_state(document)})"]
    if document["kind"] == "spatial":
        text += ["", *_profile_text(document)]
    return text


def _profile_text(document: Mapping[str, Any]) -> list[str]:
    """Eleven of the positions, tail to head."""
    profile, count = document["profile"], document["count"]
    last = len(profile["y"]) - 1
    head = ("position", "age", "speed", *document["names"])
    lines = [
        (
            f"{profile['y'][at]:.1f}",
            f"{profile['t'][at]:.4f}",
            _number(profile["v"][at]),
            *(_percent(count[k] * profile["rho"][k][at]) for k in range(len(count))),
        )
        for at in dict.fromkeys(round(last * step / 10) for step in range(11))
    ]
    bend = document["inflexion"]
    shape = "" if bend is None else f"; the share of UDP is {bend['shape']}"
    if bend is not None and bend["y"] is not None:
        shape += f", turning at {bend['y']:.1f}"
    return [
        _table(head, lines, left=0),
        f"(packets from the tail, s, packets/s, probability that the packet there is one of theirs{shape})",
    ]


def _scenario_text(document: Mapping[str, Any]) -> list[str]:
    head = ("group", "flows", "offered", "throughput", "share", "dropped", "queued packets")
    lines = [
        (
            group["name"],
            str(group["flows"]),
            rate_text(group["offered_bps"]),
            rate_text(group["throughput_bps"]),
            _percent(group["share"]),
            _percent(group["drop_fraction"]),
            f"{group['mean_packets']:.1f}",
        )
        for group in document["groups"]
    ]
    return [_table(head, lines), f"({_state(document)}{_delays(document)})"]


def _delays(document: Mapping[str, Any]) -> str:
    return "".join(
        f"; round trip of {flow['name']}: {1e3 * flow['propagation']:.4g} ms propagation + "
        f"{1e3 * flow['transmission']:.3g} ms transmission"
        for flow in document["parameters"]["flows"]
        if "delay" in flow
    )


def _state(document: Mapping[str, Any]) -> str:
    pinned = ", pinned at max_th" if document["regime"] == "sliding" else ""
    return (
        f"queue {document['b']:.1f} packets{pinned}, wait {1e3 * document['tau']:.1f} ms, "
        f"RED drops {_percent(document['r'])}"
    )


def rate_text(bps: float) -> str:
    """A rate with its unit."""
    from fairdrop.cli import show

    return show.rate_text(bps)


def _number(value: float) -> str:
    return f"{value:.5g}"


def _percent(fraction: float) -> str:
    """Two decimals, more where that would hide a small share."""
    value = 100 * fraction
    return f"{value:.2f} %" if value == 0 or abs(value) >= 0.005 else f"{value:.1e} %"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]], left: int = 1) -> str:
    from fairdrop.cli import show

    return show.table_text(head, lines, left)
