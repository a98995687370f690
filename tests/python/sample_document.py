"""Plausible result documents for tests of the report and the figures; no simulator needed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from math import exp, log
from typing import Any

from fairdrop.measures import jain_index

Document = dict[str, Any]

LINK_BPS = 1e6
CAUSES = ("overflow", "red_early", "red_forced", "match_arriving", "match_queued")
GREEDY_SHARE = {"droptail": 0.971, "red": 0.968, "choke": 0.246}
MEAN_QUEUE = {"droptail": 292.0, "red": 118.0, "choke": 82.0}
SCENARIO = """\
# One greedy sender against 32 TCP flows
schema = "fairdrop/scenario/1"
name = "one-greedy-sender"
duration = "300s"
warm_up = "50s"

[dumbbell]
rate = "1mbit"
delay = "1ms"

[queue]
discipline = "choke"
limit = "300p"

[queue.red]
min_th = "100p"
max_th = "200p"

[[groups]]
name = "tcp"
transport = "reno"
count = 32

[[groups]]
name = "udp"
transport = "cbr"
rate = "2mbit"
"""


def causes(discipline: str, total: int) -> dict[str, int]:
    parts = {
        "droptail": {"overflow": 1.0},
        "red": {"red_early": 0.8, "red_forced": 0.15, "overflow": 0.05},
        "choke": {"red_early": 0.2, "red_forced": 0.02, "match_arriving": 0.39, "match_queued": 0.39},
    }.get(discipline, {"overflow": 1.0})
    return {cause: int(total * parts.get(cause, 0.0)) for cause in CAUSES}


def flow_row(
    name: str,
    group: str,
    transport: str,
    offered: float,
    through: float,
    discipline: str,
    goodput: bool,
    seconds: float = 200.0,
) -> dict[str, Any]:
    packets = offered * seconds / 8e3
    fraction = max(0.0, 1 - through / offered) if offered else 0.0
    reacts = transport not in ("cbr",) and goodput
    lost = int(packets * fraction)
    return {
        "name": name,
        "group": group,
        "transport": transport,
        "offered_bps": offered,
        "throughput_bps": through,
        "goodput_bps": through * 0.98 if goodput else None,
        "share": through / LINK_BPS,
        "drop_fraction": fraction,
        "drops": causes(discipline, lost),
        "retransmissions": lost if reacts else 0,
        "timeouts": lost // 5 if reacts else 0,
        "fast_retransmits": lost // 3 if reacts else 0,
    }


def group_rows(flows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    by_group: dict[str, list[dict[str, Any]]] = {}
    for flow in flows:
        by_group.setdefault(flow["group"], []).append(flow)
    for name, members in by_group.items():
        offered = sum(flow["offered_bps"] for flow in members)
        row: dict[str, Any] = {"name": name, "flows": len(members), "transport": members[0]["transport"]}
        for field in ("throughput_bps", "share", "retransmissions", "timeouts", "fast_retransmits"):
            row[field] = sum(flow[field] for flow in members)
        row["offered_bps"] = offered
        good = [flow["goodput_bps"] for flow in members]
        row["goodput_bps"] = None if None in good else sum(good)
        row["drop_fraction"] = max(0.0, 1 - row["throughput_bps"] / offered) if offered else 0.0
        row["drops"] = {cause: sum(flow["drops"][cause] for flow in members) for cause in CAUSES}
        rates = [flow["throughput_bps"] for flow in members]
        row["jain_index"] = jain_index(rates) if len(rates) > 1 else None
        rows.append(row)
    return rows


def series(
    rng: random.Random, discipline: str, mean: float, shares: Mapping[str, float], samples: int
) -> dict[str, Any]:
    level = mean
    average = mean
    packets: list[int] = []
    averages: list[float] = []
    parts: dict[str, list[int]] = {name: [] for name in shares}
    for _ in range(samples):
        level += 0.2 * (mean - level) + rng.gauss(0, mean * 0.06 + 0.2)
        now = max(0, min(300, round(level)))
        average += 0.05 * (now - average)
        packets.append(now)
        averages.append(average)
        left = now
        names = list(shares)
        for name in names[:-1]:
            part = min(left, round(now * min(1.0, max(0.0, shares[name] + rng.gauss(0, 0.02)))))
            parts[name].append(part)
            left -= part
        parts[names[-1]].append(left)
    return {
        "interval_s": 0.5,
        "t_s": [index * 0.5 for index in range(samples)],
        "packets": packets,
        "red_avg": None if discipline == "droptail" else averages,
        "packets_by_group": parts,
    }


def sojourn(rng: random.Random, mean_s: float, packets: int) -> tuple[dict[str, float], list[list[float]]]:
    bounds = [1e-3 * 10 ** (index / 20) for index in range(90)]
    centre = log(max(mean_s, 2e-3))
    width = rng.uniform(0.2, 0.24)
    weights = [exp(-((log(bound) - centre) ** 2) / (2 * width**2)) for bound in bounds]
    total = sum(weights)
    counts = [round(packets * weight / total) for weight in weights]
    running, quantiles = 0, {}
    for bound, number in zip(bounds, counts, strict=True):
        running += number
        for name, part in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)):
            if name not in quantiles and running >= part * sum(counts):
                quantiles[name] = bound
    summary = {"mean": mean_s, **quantiles, "max": max(b for b, c in zip(bounds, counts, strict=True) if c)}
    return summary, [[bound, number] for bound, number in zip(bounds, counts, strict=True) if number]


def queue_row(
    rng: random.Random, discipline: str, flows: list[dict[str, Any]], mean: float, samples: int
) -> dict[str, Any]:
    total = sum(flow["throughput_bps"] for flow in flows) or 1.0
    shares: dict[str, float] = {}
    for flow in flows:
        shares[flow["group"]] = shares.get(flow["group"], 0.0) + flow["throughput_bps"] / total
    line = series(rng, discipline, mean, shares, samples)
    counts: dict[int, int] = {}
    for packets in line["packets"]:
        counts[packets] = counts.get(packets, 0) + 1
    summary, histogram = sojourn(rng, mean * 8e3 / LINK_BPS, 25_000)
    drops = sum(sum(flow["drops"].values()) for flow in flows)
    return {
        "name": "bottleneck",
        "discipline": discipline,
        "rate_bps": LINK_BPS,
        "limit_packets": 300,
        "arrivals": 25_000 + drops,
        "departures": 25_000,
        "drops": drops,
        "drop_fraction": drops / (25_000 + drops),
        "utilisation": min(1.0, sum(flow["throughput_bps"] for flow in flows) / LINK_BPS),
        "mean_packets": mean,
        "max_packets": max(line["packets"]),
        "mean_bytes": mean * 1000,
        "mean_packets_by_group": {name: mean * share for name, share in shares.items()},
        "throughput_bps_by_flow": [[flow["name"], flow["throughput_bps"]] for flow in flows],
        "sojourn_s": summary,
        "sojourn_histogram": histogram,
        "series": line,
        "length_histogram": [[packets, number / samples] for packets, number in sorted(counts.items())],
    }


def run_row(
    rng: random.Random,
    discipline: str,
    seed: int,
    flows: list[dict[str, Any]],
    mean: float,
    samples: int = 600,
) -> dict[str, Any]:
    rates = [flow["throughput_bps"] for flow in flows]
    fair = LINK_BPS / len(flows)
    queue = queue_row(rng, discipline, flows, mean, samples)
    return {
        "discipline": discipline,
        "seed": seed,
        "measured_from_s": 50.0,
        "measured_to_s": 300.0,
        "link": "bottleneck",
        "link_rate_bps": LINK_BPS,
        "fair_share_bps": fair,
        "jain_index": jain_index(rates),
        "largest_over_fair_share": max(rates) / fair,
        "utilisation": queue["utilisation"],
        "events": 1_234_567 + seed,
        "valid": True,
        "problems": [],
        "groups": group_rows(flows),
        "flows": flows,
        "queues": [queue],
    }


def shell(kind: str, name: str, title: str, runs: list[dict[str, Any]]) -> Document:
    thresholds = {"min_th": 100, "max_th": 200}
    return {
        "schema": "fairdrop/result/1",
        "version": "0.1.0",
        "kind": kind,
        "name": name,
        "title": title,
        "complete": True,
        "scenario_source": SCENARIO,
        "warnings": [],
        "runs": runs,
        "scenario": {"queue": {"discipline": "choke", "limit": 300, "red": thresholds}},
    }


def greedy_flows(rng: random.Random, discipline: str, share: float, tcp: int = 32) -> list[dict[str, Any]]:
    greedy = share + rng.gauss(0, 0.004)
    weights = [max(0.05, rng.gauss(1, 0.25)) for _ in range(tcp)]
    left = (0.995 - greedy) * LINK_BPS
    flows = [
        flow_row(f"tcp[{index}]", "tcp", "reno", rate * 1.06, rate, discipline, True)
        for index, rate in enumerate(left * weight / sum(weights) for weight in weights)
    ]
    return [*flows, flow_row("udp[0]", "udp", "cbr", 2e6, greedy * LINK_BPS, discipline, True)]


def simulation(shares: Mapping[str, float] = GREEDY_SHARE, seeds: int = 10, samples: int = 600) -> Document:
    """32 TCP flows and one UDP sender on 1 Mb/s; ``shares`` says what UDP takes under each discipline."""
    runs = []
    for discipline, share in shares.items():
        for seed in range(1, seeds + 1):
            rng = random.Random(f"{discipline}/{seed}")
            flows = greedy_flows(rng, discipline, share)
            runs.append(run_row(rng, discipline, seed, flows, MEAN_QUEUE.get(discipline, 150.0), samples))
    return shell("simulation", "one-greedy-sender", "One greedy sender against 32 TCP flows", runs)


def replay(flows: int = 220) -> Document:
    """A capture with four groups, long flow names and a heavy tail."""
    offered: list[tuple[str, str, float]] = []
    rng = random.Random("capture")
    for index in range(flows):
        group = ("tcp", "udp", "icmp", "non-ip")[0 if index < flows - 20 else 1 + index % 3]
        source = f"2001:db8:{index:x}::{rng.randrange(65536):x}:{rng.randrange(1024, 65536)}"
        key = f"{source}→[2001:db8::1]:443/{group}"
        offered.append((key, group, 2.2e6 / (index + 1) ** 1.3 if index != 7 else 9e5))
    runs = []
    for discipline, keep in (("droptail", 0.44), ("red", 0.43), ("choke", 0.2)):
        rng = random.Random(discipline)
        rows = []
        for key, group, bps in offered:
            part = keep if bps > 2e5 else 1 - 0.4 * keep
            through = 0.0 if bps < 2100 else bps * part * rng.uniform(0.97, 1.0)
            rows.append(flow_row(key, group, group, bps, through * 0.2, discipline, False))
        runs.append(run_row(rng, discipline, 1, rows, MEAN_QUEUE[discipline]))
    document = shell("replay", "uplink.pcap", "uplink.pcap", runs)
    document["warnings"] = [
        "3 packets were cut short by the capture's snap length; their wire length was used."
    ]
    return document


def tcp_only() -> Document:
    """A single run without a greedy sender."""
    rng = random.Random("tcp only")
    weights = [max(0.3, rng.gauss(1, 0.2)) for _ in range(10)]
    flows = [
        flow_row(f"web[{index}]", "web", "newreno", 1.05 * rate, rate, "red", True)
        for index, rate in enumerate(0.98 * LINK_BPS * weight / sum(weights) for weight in weights)
    ]
    return shell("simulation", "tcp-only", "Ten TCP flows", [run_row(rng, "red", 1, flows, 60.0)])


def no_drops() -> Document:
    """An idle link: everything that is offered gets through."""
    runs = []
    for discipline in ("droptail", "choke"):
        for seed in (1, 2, 3):
            rng = random.Random(seed)
            flows = [
                flow_row(f"tcp[{index}]", "tcp", "reno", 1e5, 1e5, discipline, True) for index in range(3)
            ]
            flows.append(flow_row("udp[0]", "udp", "cbr", 1.2e5, 1.2e5, discipline, True))
            runs.append(run_row(rng, discipline, seed, flows, 0.3))
    return shell("simulation", "idle", "An idle link", runs)


def incomplete() -> Document:
    """Interrupted after a few seeds, with problems in one run."""
    document = simulation(seeds=4, samples=120)
    document["complete"] = False
    document["runs"] = document["runs"][:6]
    document["runs"][2]["valid"] = False
    document["runs"][2]["problems"] = ["12 packets were lost at the access link 'left'"]
    document["warnings"] = ["The buffer holds less than one bandwidth-delay product."]
    return document


def lonely_groups() -> Document:
    """Groups of one flow each, with names that mean nothing."""
    runs = []
    for discipline, share in (("droptail", 0.9), ("choke", 0.5)):
        for seed in (1, 2, 3):
            rng = random.Random(f"{discipline}{seed}")
            greedy = (share + rng.gauss(0, 0.01)) * LINK_BPS
            flows = [
                flow_row("backup[0]", "backup", "cbr", 1.5e6, greedy, discipline, True),
                flow_row("_alice[0]", "_alice", "reno", 1e6 - greedy, (1e6 - greedy) * 0.6, discipline, True),
                flow_row("$bob$[0]", "$bob$", "reno", 1e6 - greedy, (1e6 - greedy) * 0.4, discipline, True),
            ]
            runs.append(run_row(rng, discipline, seed, flows, MEAN_QUEUE[discipline], 100))
    return shell("simulation", "lonely", "Groups of one flow", runs)


def hostile() -> Document:
    """Names that try to be markup."""
    document = replay(30)
    evil = '<script>alert("x")</script>&\x00\u202e'
    document["title"] = evil
    document["scenario_source"] = f"# </pre>{evil} https://example.org/\n"
    document["warnings"] = [evil]
    for run in document["runs"]:
        run["flows"][0]["name"] = evil
        run["queues"][0]["throughput_bps_by_flow"][0][0] = evil
    return document


def empty() -> Document:
    """Interrupted before the first run was finished."""
    document = shell("simulation", "empty", "Nothing yet", [])
    document["complete"] = False
    return document


def many() -> Document:
    """Seven disciplines, one of them unknown; three seeds."""
    shares = {
        "droptail": 0.97,
        "red": 0.96,
        "choke": 0.25,
        "codel": 0.95,
        "sfq": 0.031,
        "pie": 0.9,
        "mine": 0.6,
    }
    return simulation(shares, seeds=3, samples=100)


def many_groups(number: int) -> Document:
    """Groups of one flow each, with names that are long or markup."""
    runs = []
    for discipline in ("droptail", "choke"):
        rng = random.Random(discipline)
        weights = [rng.expovariate(1.0) for _ in range(number)]
        flows = []
        for index, weight in enumerate(weights):
            name = f"$g_{index}$<b>{'x' * (index % 200)}"
            rate = LINK_BPS * weight / sum(weights)
            flows.append(flow_row(f"{name}[0]", name, "reno", 1.05 * rate, rate, discipline, True))
        runs.append(run_row(rng, discipline, 1, flows, MEAN_QUEUE[discipline], 20))
    return shell("simulation", "groups", "Very many groups", runs)


ALL = {
    "simulation": simulation,
    "replay": replay,
    "tcp_only": tcp_only,
    "no_drops": no_drops,
    "incomplete": incomplete,
    "lonely_groups": lonely_groups,
    "hostile": hostile,
    "empty": empty,
    "many": many,
}
