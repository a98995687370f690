"""What the other commands of ``fairdrop model`` do: CHOKeW, WARD, COLLAR, the limits of CHOKe, sweeps."""

from __future__ import annotations

import csv
import sys
from argparse import Namespace
from typing import Any

from fairdrop.cli.model import (
    Document,
    answer,
    as_document,
    choke_link,
    equilibrium_parameters,
    flow_classes,
    law_parameters,
    rate_law,
)


def _sources(options: Namespace) -> Document:
    names = ("capacity", "tcp_flows", "delay", "tcp")
    given = {name: getattr(options, name) for name in names}
    return {**given, **law_parameters(options), "udp_rate": options.udp_rates}


def chokew(options: Namespace) -> int:
    """``fairdrop model chokew``."""

    def solve() -> Document:
        from fairdrop.models import chokew_equilibrium

        flows = flow_classes(options)
        weights = list(options.udp_weights) or [1.0]
        if len(weights) not in (1, len(flows) - 1):
            raise ValueError(f"weights must be given once, or once for each --udp-rate, got {len(weights)}")
        weights = weights * (len(flows) - 1) if len(weights) == 1 else weights
        return as_document(chokew_equilibrium(options.capacity, flows, [*weights, options.tcp_weight], options.backlog))

    asked = {"udp_weight": options.udp_weights, "tcp_weight": options.tcp_weight, "backlog": options.backlog}
    return answer(options, "chokew", {**_sources(options), **asked}, solve)


def ward(options: Namespace) -> int:
    """``fairdrop model ward``."""

    def solve() -> Document:
        from fairdrop.models import ward_equilibrium

        lost = options.arrival_lost
        return as_document(ward_equilibrium(options.capacity, flow_classes(options), options.buffer, arrival_lost=lost))

    asked = {"buffer": options.buffer, "arrival_lost": options.arrival_lost}
    return answer(options, "ward", {**_sources(options), **asked}, solve)


def collar(options: Namespace) -> int:
    """``fairdrop model collar``."""
    names = ("share", "target", "buffer", "variation")
    asked = {name: getattr(options, name) for name in names}

    def solve() -> Document:
        from fairdrop.models import NoEquilibriumError, collar_equilibrium, collar_margin, collar_noise

        flows = flow_classes(options)
        buffer = {} if options.buffer is None else {"buffer": options.buffer}
        given = {"share": options.share, "target": options.target, "variation": options.variation}
        found = collar_equilibrium(options.capacity, flows, **given, **buffer)
        noise = collar_noise(found.mu, [flow.count for flow in flows])
        greedy = float(found.mu[:-1].sum())
        try:
            margin = collar_margin(
                options.capacity, options.tcp_flows, options.delay, greedy=greedy, target=options.target
            ).to_dict()
        except NoEquilibriumError:
            margin = None
        return {**as_document(found), "noise": noise.to_dict(), "margin": margin}

    return answer(options, "collar", {**_sources(options), **asked}, solve)


def fifo(options: Namespace) -> int:
    """``fairdrop model fifo``."""

    def solve() -> Document:
        from fairdrop.models import Red, leaky_buffer

        asked = (options.min_th, options.max_th, options.max_p)
        if any(value is not None for value in asked) == (options.buffer is not None):
            raise ValueError("buffer must be given for DropTail, or min-th, max-th and max-p for RED, and not both")
        if options.buffer is None and None in asked:
            missing = ("min_th", "max_th", "max_p")[asked.index(None)]
            raise ValueError(f"{missing} must be given with the other two of RED")
        red = None if options.buffer is not None else Red(*asked, options.jump)
        flows = flow_classes(options)
        found = as_document(leaky_buffer(options.capacity, flows, leak="none", red=red, buffer=options.buffer))
        return {**found, "tau": found["tau"][0]}

    asked = {name: getattr(options, name) for name in ("min_th", "max_th", "max_p", "jump", "buffer")}
    return answer(options, "fifo", {**_sources(options), **asked}, solve)


def _tcp(options: Namespace) -> Document:
    """Arguments of the limits: one UDP flow and TCP."""
    link = choke_link(options)
    red = link.red
    return {
        "capacity": link.capacity, "tcp_flows": options.tcp_flows, "delay": options.delay, "min_th": red.min_th,
        "max_th": red.max_th, "max_p": red.max_p, "candidates": link.candidates, "survival": link.survival,
        "jump": red.jump, "law": rate_law(options),
    }  # fmt: skip


def peak(options: Namespace) -> int:
    """``fairdrop model peak``."""

    def solve() -> Document:
        from fairdrop.models import peak as find

        return as_document(find(**_tcp(options)))

    return answer(options, "peak", equilibrium_parameters(options), solve)


def asymptote(options: Namespace) -> int:
    """``fairdrop model asymptote``."""

    def solve() -> Document:
        from fairdrop.models import Responsive, doubts
        from fairdrop.models import asymptote as limit

        found = limit(**_tcp(options), form=options.form)
        tcp = Responsive(options.tcp_flows, options.delay, rate_law(options))
        return {**found.to_dict(), "notes": doubts([tcp], [found.p])}

    return answer(options, "asymptote", {**equilibrium_parameters(options), "form": options.form}, solve)


def minimum_flows(options: Namespace) -> int:
    """``fairdrop model minimum-flows``."""
    names = ("capacity", "delay", "min_th", "udp_rate", "candidates", "survival")
    same = {name: getattr(options, name) for name in names}

    def solve() -> Document:
        from fairdrop.models import minimum_flows as fewest
        from fairdrop.models import minimum_flows_estimate

        return {
            "tcp_flows_needed": fewest(**same, law=rate_law(options)),
            "estimate": minimum_flows_estimate(options.capacity, options.delay, options.min_th),
        }

    return answer(options, "minimum-flows", {**same, "tcp": options.tcp, **law_parameters(options)}, solve)


def sweep(options: Namespace) -> int:
    """``fairdrop model sweep``."""
    fixed: Document = {
        name: getattr(options, name)
        for name in ("capacity", "tcp_flows", "delay", "min_th", "max_th", "max_p")
        if getattr(options, name) is not None
    }
    fixed |= {"candidates": options.candidates, "survival": options.survival, "jump": options.jump}
    if options.udp_rates:
        fixed["udp_rate"] = options.udp_rates[0] if len(options.udp_rates) == 1 else options.udp_rates
    over = dict(options.over)
    fixed = {name: value for name, value in fixed.items() if name not in over or name in ("tcp_flows", "udp_rate")}

    def solve() -> Document:
        from fairdrop.models import Responsive, doubts, tcp_grid
        from fairdrop.terminal import printable

        if len(over) != len(options.over):
            raise ValueError("over must name each parameter once")

        def show_progress(done: int, points: int) -> None:
            if sys.stderr.isatty() and (done % 50 == 0 or done == points):
                print(printable(f"{done} of {points} points"), end="\r" if done < points else "\n", file=sys.stderr)

        law = rate_law(options)
        found = tcp_grid(over, progress=show_progress, **fixed, law=law)
        document = found.to_dict()
        points = document.pop("parameters")
        document.pop("axes")
        worst = max((row[1] for row in document["p"] if row[1] is not None), default=0.0)
        if options.csv:
            _write(options.csv, document, points)
        return {**document, "points": points, "notes": doubts([Responsive(1.0, 0.0, law)], [worst])}

    asked = {**equilibrium_parameters(options), "over": over}
    return answer(options, "sweep", asked, solve)


def _write(path: str, document: Document, points: Document) -> None:
    """One row per point."""
    import io

    from fairdrop.files import write_text

    scalars, pairs = ("regime", "b", "r", "tau", "residual", "error"), ("x", "p", "h", "mu", "goodput")
    text = io.StringIO()
    rows: Any = csv.writer(text, lineterminator="\n")
    rows.writerow([*points, *scalars, *(f"{name}_{flow}" for name in pairs for flow in ("udp", "tcp"))])
    for k in range(len(document["regime"])):
        both = [document[name][k][flow] for name in pairs for flow in (0, 1)]
        rows.writerow([*(values[k] for values in points.values()), *(document[name][k] for name in scalars), *both])
    write_text(path, text.getvalue())
