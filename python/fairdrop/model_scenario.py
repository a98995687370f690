"""The model of a scenario: parameters of CHOKe's equations, or the reason why they do not apply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fairdrop.models import (
    ChokeLink,
    ConstantRate,
    Equilibrium,
    FlowClass,
    NoEquilibriumError,
    Red,
    Reno,
    Responsive,
    doubts,
    solve,
)

__all__ = ["SCHEMA", "ModelCase", "NotModelledError", "model_case", "model_document"]

SCHEMA = "fairdrop/model/1"


class NotModelledError(ValueError):
    """The scenario is valid, but the models do not describe it; the message says why."""


@dataclass(frozen=True)
class ModelCase:
    """A scenario in the terms of the models. ``flows`` holds a class for each group, in the scenario's order."""

    name: str
    link_name: str
    link: ChokeLink
    flows: tuple[FlowClass, ...]
    packet_size_bytes: int
    link_rate_bps: float
    groups: tuple[Mapping[str, Any], ...]
    limit: float
    gentle: bool
    notes: tuple[str, ...]

    def solve(self) -> Equilibrium:
        """The equilibrium. Raises NotModelledError when there is none, or when it lies outside the model."""
        try:
            found = solve(self.link, self.flows)
        except NoEquilibriumError as error:
            raise NotModelledError(f"no equilibrium: {error}") from error
        red = self.link.red
        if found.b >= self.limit:
            raise NotModelledError(
                f"the model's queue of {found.b:.4g} packets does not fit the limit of {self.limit:g}: "
                "drops for lack of room are not modelled"
            )
        if self.gentle and found.b > red.max_th:
            raise NotModelledError(
                f"the model's queue of {found.b:.4g} packets is beyond max_th = {red.max_th:g}: the gentle region "
                "is not modelled"
            )
        for flow, group, rate in zip(self.flows, self.groups, found.x, strict=True):
            if isinstance(flow, Responsive):
                window, most = float(rate) * (flow.delay + found.tau), float(group["settings"]["max_window"])
                if window > most:
                    raise NotModelledError(
                        f"group {flow.name!r}: the model's window of {window:.4g} packets exceeds "
                        f"max_window = {most:g}, which is not modelled"
                    )
        return found


def model_document(
    scenario: Mapping[str, Any], *, survival: Literal["cbr", "poisson"] = "cbr", command: list[str] | None = None
) -> dict[str, Any]:
    """The model's answer for a scenario (``Scenario.to_dict()``); see ``docs/reference/model.md``.

    Raises NotModelledError with the reason when the models do not describe the scenario.
    """
    from fairdrop._core import __version__

    case = model_case(scenario, survival=survival)
    found = case.solve()
    red, wire = case.link.red, 8.0 * case.packet_size_bytes
    return {
        "schema": SCHEMA,
        "version": __version__,
        "kind": "scenario",
        "command": command,
        "name": case.name,
        "parameters": {
            "capacity": case.link.capacity,
            "link_rate_bps": case.link_rate_bps,
            "packet_size_bytes": case.packet_size_bytes,
            "min_th": red.min_th,
            "max_th": red.max_th,
            "max_p": red.max_p,
            "jump": red.jump,
            "candidates": case.link.candidates,
            "survival": case.link.survival,
            "flows": [_flow_parameters(flow, group) for flow, group in zip(case.flows, case.groups, strict=True)],
        },
        "notes": [*case.notes, *doubts(found.flows, found.p)],
        **found.to_dict(),
        "link": {
            "name": case.link_name,
            "mean_packets": found.b,
            "wait_s": found.tau,
            "red_drop": found.r,
        },
        "groups": [
            {
                "name": flow.name,
                "flows": int(flow.count),
                "transport": group["transport"],
                "offered_bps": float(found.x[k] * flow.count * wire),
                "throughput_bps": float(found.goodput[k] * flow.count * wire),
                "share": float(found.mu[k] * flow.count),
                "drop_fraction": float(found.p[k]),
                "mean_packets": float(found.backlog[k] * flow.count),
            }
            for k, (flow, group) in enumerate(zip(case.flows, case.groups, strict=True))
        ],
    }


def _flow_parameters(flow: FlowClass, group: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(flow, ConstantRate):
        return {"name": flow.name, "count": int(flow.count), "rate": flow.rate}
    return {
        "name": flow.name,
        "count": int(flow.count),
        "delay": flow.delay,
        "propagation": group["propagation_s"],
        "transmission": group["transmission_s"],
    }


def model_case(scenario: Mapping[str, Any], *, survival: Literal["cbr", "poisson"] = "cbr") -> ModelCase:
    """The scenario (``Scenario.to_dict()``) as parameters of the models; raises NotModelledError with the reason."""
    links = {str(link["name"]): link for link in scenario["links"]}
    groups: list[Mapping[str, Any]] = list(scenario["groups"])
    name = _bottleneck(links, groups)
    bottleneck = links[name]
    if bottleneck.get("rate_schedule") or bottleneck.get("trace"):
        raise NotModelledError(f"the rate of link {name!r} changes; the models have no transients")
    lossy = [link for link, described in links.items() if described.get("loss")]
    if lossy:
        raise NotModelledError(f"link {lossy[0]!r} loses packets at random; the models have losses at the queue only")
    queue = scenario["queue"] if bottleneck["queue"] == "study" else bottleneck["queue"]
    size = _packet_size(groups)
    notes: list[str] = []
    red = _red(queue, size, notes)
    candidates = _candidates(queue, notes)
    rate = float(bottleneck["rate_bps"])
    _check_times(scenario, groups)
    _check_other_links(links, name, groups)
    flows: list[FlowClass] = []
    known: list[Mapping[str, Any]] = []
    for group in groups:
        flow, described = _flow(group, links)
        flows.append(flow)
        known.append(described)
    for note in dict.fromkeys(str(described["note"]) for described in known if described.get("note")):
        notes.append(note)
    return ModelCase(
        name=str(scenario["name"]),
        link_name=name,
        link=ChokeLink(rate / (8.0 * size), red, candidates, survival),
        flows=tuple(flows),
        packet_size_bytes=size,
        link_rate_bps=rate,
        groups=tuple(known),
        limit=float(queue["limit"]),
        gentle=bool(queue["red"]["gentle"]),
        notes=tuple(notes),
    )


def _bottleneck(links: Mapping[str, Mapping[str, Any]], groups: Sequence[Mapping[str, Any]]) -> str:
    """The one link under study that all groups cross towards their sinks."""
    if not groups:
        raise NotModelledError("the scenario has no flows")
    crossed = {link for group in groups for link in (*group["forward"], *group["backward"])}
    studied = [name for name, link in links.items() if name in crossed and link["queue"] != "plain"]
    if len(studied) != 1:
        found = ", ".join(studied) if studied else "none"
        raise NotModelledError(f"the models describe one queue under study, the flows cross {len(studied)} ({found})")
    name = studied[0]
    for group in groups:
        if name not in group["forward"]:
            raise NotModelledError(f"group {group['name']!r} does not send through {name!r}; the models have one queue")
        if name in group["backward"]:
            raise NotModelledError(f"acknowledgements of group {group['name']!r} cross {name!r}: unequal packet sizes")
    return name


def _packet_size(groups: Sequence[Mapping[str, Any]]) -> int:
    sizes = sorted({int(group["packet_size_bytes"]) for group in groups})
    if len(sizes) > 1:
        listed = ", ".join(str(size) for size in sizes)
        raise NotModelledError(f"the models count packets of one size, the groups send {listed} bytes")
    return sizes[0]


def _red(queue: Mapping[str, Any], size: int, notes: list[str]) -> Red:
    discipline = queue["discipline"]
    if discipline != "choke":
        raise NotModelledError(f"the models describe CHOKe, the queue's discipline is {discipline!r}")
    red = queue["red"]
    if red["byte_mode"] and int(red["mean_packet_size"]) != size:
        raise NotModelledError("red.byte_mode with packets of another size than mean_packet_size is not modelled")
    max_p = float(red["max_p"])
    if max_p <= 0.0:
        raise NotModelledError("red.max_p = 0: the models need a drop probability that rises with the queue")
    if not red["independent"]:
        # Gaps between drops are uniform, on 1 .. 1/p - 1 (mean 1/2p) or, with wait, 1/p .. 2/p - 1.
        mean_rate = max_p / (1.5 - 0.5 * max_p) if red["wait"] else 2.0 * max_p
        if mean_rate > 1.0:
            raise NotModelledError(f"red.max_p = {max_p:g} with spaced drops (independent = false) is not a ramp")
        notes.append(
            f"RED spaces its drops (independent = false): the mean drop rate is {mean_rate / max_p:.3g} times that of "
            f"independent draws, so max_p = {mean_rate:.4g} here"
        )
        max_p = mean_rate
    return Red(float(red["min_th"]), float(red["max_th"]), max_p, jump=not red["gentle"])


def _candidates(queue: Mapping[str, Any], notes: list[str]) -> int:
    choke = queue["choke"]
    if choke["draw"] != "uniform":
        raise NotModelledError(
            f"choke.draw = {choke['draw']!r}: the equilibrium is that of uniform draws; "
            "`fairdrop model front` has draws from the head, for Poisson arrivals"
        )
    fixed = int(choke["candidates"])
    if choke["schedule"] != "fixed":
        raise NotModelledError("choke.schedule: the models take one number of candidates, whatever the average")
    if fixed < 1:
        raise NotModelledError("choke.candidates = 0 compares nothing: that is RED, which the models do not describe")
    if choke["replacement"] and fixed > 1:
        notes.append("draws with replacement are modelled as draws without; the queue holds many more than are drawn")
    if fixed >= float(queue["red"]["max_th"]):
        raise NotModelledError(f"choke.candidates = {fixed} is not below red.max_th = {queue['red']['max_th']:g}")
    return fixed


def _check_times(scenario: Mapping[str, Any], groups: Sequence[Mapping[str, Any]]) -> None:
    """The models describe a steady state: every flow sends throughout the measuring window."""
    for group in groups:
        latest = float(group["start_s"]) + float(group["start_spread_s"])
        if latest > float(scenario["warm_up_s"]):
            raise NotModelledError(f"group {group['name']!r} starts after the warm-up; the models have no transients")
        if group["stop_s"] is not None and float(group["stop_s"]) < float(scenario["duration_s"]):
            raise NotModelledError(f"group {group['name']!r} stops before the end; the models have no transients")


def _check_other_links(
    links: Mapping[str, Mapping[str, Any]], bottleneck: str, groups: Sequence[Mapping[str, Any]]
) -> None:
    """No other link may queue: what reaches it must be below its rate."""
    rate = float(links[bottleneck]["rate_bps"])
    constant: dict[str, float] = {}
    back: dict[str, float] = {}
    for group in groups:
        offered = float(group["settings"].get("rate_bps", 0.0)) * group["count"]
        before = list(group["forward"])[: list(group["forward"]).index(bottleneck)]
        for name in before:
            constant[name] = constant.get(name, rate) + offered
        for name in group["forward"][len(before) + 1 :]:
            constant.setdefault(name, rate)
        acks = rate * float(group["settings"].get("ack_size", 0)) / float(group["packet_size_bytes"])
        for name in group["backward"]:
            back[name] = max(back.get(name, 0.0), acks)
    for name, load in (*constant.items(), *back.items()):
        if load > float(links[name]["rate_bps"]):
            raise NotModelledError(f"link {name!r} may be a second bottleneck ({load:g} bit/s); the models have one")


def _flow(group: Mapping[str, Any], links: Mapping[str, Mapping[str, Any]]) -> tuple[FlowClass, Mapping[str, Any]]:
    settings, access = group["settings"], group["access_rate_bps"]
    name, wire = str(group["name"]), 8.0 * int(group["packet_size_bytes"])
    if group["transport"] == "cbr":
        rate = float(settings["rate_bps"])
        if access is not None and rate > float(access):
            raise NotModelledError(f"group {name!r} sends {rate:g} bit/s into an access link of {access:g} bit/s")
        return ConstantRate(rate / wire, float(group["count"]), name), group
    if group["transport"] not in ("reno", "newreno"):
        raise NotModelledError(f"group {name!r}: transport {group['transport']!r} has no rate law in the models")
    if settings.get("transfer_bytes") is not None or settings.get("app_rate_bps") is not None:
        raise NotModelledError(f"group {name!r} does not always have data to send; the models have greedy senders")
    propagation, transmission = _round_trip(group, links)
    known = {**group, "propagation_s": propagation, "transmission_s": transmission}
    constant = 2.0
    if settings["delayed_ack"]:
        constant = 1.0
        known["note"] = "delayed acknowledgements: the window grows half as fast, so the rate law has 1 in place of 2"
    return Responsive(float(group["count"]), propagation + transmission, Reno(constant=constant), name), known


def _round_trip(group: Mapping[str, Any], links: Mapping[str, Mapping[str, Any]]) -> tuple[float, float]:
    """Propagation and transmission time, both ways, without any wait; hosts have links of their own."""
    access = group["access_rate_bps"]
    propagation, transmission = 4.0 * float(group["access_delay_s"]), 0.0
    ways = ((group["forward"], group["packet_size_bytes"]), (group["backward"], group["settings"]["ack_size"]))
    for names, size in ways:
        bits = 8.0 * float(size)
        propagation += sum(float(links[name]["delay_s"]) for name in names)
        transmission += sum(bits / float(links[name]["rate_bps"]) for name in names)
        transmission += 0.0 if access is None else 2.0 * bits / float(access)
    return propagation, transmission
