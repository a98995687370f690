"""A document of ``fairdrop model`` as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def lines(document: Mapping[str, Any]) -> str:
    """A model's document as a table."""
    writers = {
        "front": _front_text, "back": _back_text, "scenario": _scenario_text, "asymptote": _asymptote_text,
        "minimum-flows": _minimum_text, "sweep": _sweep_text, "collar": _collar_text,
    }  # fmt: skip
    shown = writers.get(document["kind"], _equilibrium_text)(document)
    return "\n".join([*(f"note: {note}" for note in document["notes"]), *shown])


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


def _collar_text(document: Mapping[str, Any]) -> list[str]:
    keys = ("names", "count", "x", "p", "goodput", "mu", "over")
    head = ("flows", "number", "each sends", "lost", "each gets", "of link", "together", "of its limit")
    lines = [
        (
            name,
            f"{count:g}",
            _number(x),
            _percent(p),
            _number(goodput),
            _percent(mu),
            _percent(mu * count),
            f"{over:.3f}",
        )
        for name, count, x, p, goodput, mu, over in zip(*(document[key] for key in keys), strict=True)
    ]
    points = ", ".join(
        f"{s:.4g} ({'holds' if slope < 1.0 else 'does not hold'})"
        for s, slope in zip(document["fixed_points"], document["slopes"], strict=True)
    )
    noise, margin = document["noise"], document["margin"]
    state = f"wait {1e3 * document['tau']:.1f} ms, s {document['s']:.4g} ± {_percent(noise['deviation'])}"
    lines_of_state = [
        _table(head, lines),
        f"(rates in packets/s; {state}, root {document['root']:.4g}; fixed points of s: {points})",
    ]
    if margin is None:
        return [*lines_of_state, "(the controller: TCP's windows are too small for its model)"]
    return [
        *lines_of_state,
        f"(the controller: phase margin {margin['phase_margin']:.0f} degrees, gain margin {margin['gain_margin']:.2f})",
    ]


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
    text = f"queue {document['b']:.1f} packets{_pinned(document)}, wait {1e3 * document['tau']:.1f} ms, "
    if "w" in document:
        return f"{text}compared {_percent(document['w'])} of the time"
    if "p0" in document:
        return f"{text}drawing factor p0 {_number(document['p0'])}"
    if document["parameters"].get("buffer") is not None:
        return f"{text}the buffer is full"
    return f"{text}RED drops {_percent(document['r'])}"


def _pinned(document: Mapping[str, Any]) -> str:
    return f", pinned at {'a stair' if 'w' in document else 'max_th'}" if document.get("regime") == "sliding" else ""


def _asymptote_text(document: Mapping[str, Any]) -> list[str]:
    udp, tcp = document["h"]
    head = ("flows", "number", "each sends", "lost", "of queue", "together")
    count = document["tcp_flows"]
    rows = [
        ("udp", "1", "without end", "100.00 %", _percent(udp), _percent(udp)),
        ("tcp", f"{count:g}", _number(document["x"]), _percent(document["p"]), _percent(tcp), _percent(tcp * count)),
    ]
    end = f"UDP ends {document['y_star']:.1f} packets from the tail"
    return [_table(head, rows), f"(rates in packets/s; {_state(document)}; {end})"]


def _minimum_text(document: Mapping[str, Any]) -> list[str]:
    return [
        f"TCP flows that keep the queue at min-th: {document['tcp_flows_needed']:.2f}",
        f"(estimate of section VI, for a fast UDP flow: {document['estimate']:.2f})",
    ]


def _sweep_text(document: Mapping[str, Any]) -> list[str]:
    varied = document["parameters"]["over"]
    head = (*varied, "regime", "queue", "wait, ms", "RED drops", "udp of link", "tcp each", "tcp lost")
    rows = []
    for k, regime in enumerate(document["regime"]):
        given = (value if isinstance(value := document["points"][name][k], str) else f"{value:g}" for name in varied)
        if document["b"][k] is None:
            rows.append((*given, regime, *["–"] * 6))
            continue
        udp, tcp = document["mu"][k]
        rows.append(
            (
                *given, regime, f"{document['b'][k]:.1f}", f"{1e3 * document['tau'][k]:.1f}",
                _percent(document["r"][k]), _percent(udp), _percent(tcp), _percent(document["p"][k][1]),
            )
        )  # fmt: skip
    failures = zip(document["regime"], document["error"], strict=True)
    reasons = dict.fromkeys(f"{regime}: {error}" for regime, error in failures if error)
    return [_table(head, rows, left=0), *(f"({reason})" for reason in list(reasons)[:5])]


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
    from fairdrop.cli.tables import table_text

    return table_text(head, lines, left)
