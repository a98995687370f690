"""What ns-2 has with modules for CHOKe, CHOKeW and WARD in the papers' set-ups, and what we have.

Part of `make ns2-disciplines`. Stores `ns2_values.csv.xz` and, for ties, `ns2_ties.csv.xz`, from which docs/ is made.
Senders are those of the era of a set-up. SACK and Vegas of 2005 are not as ns-2 has them in our set-ups, so those are
run once more with ns-2's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from experiments.digests import as_csv, read, store
from experiments.validation.beside_ns2 import SCRIPT, installed
from experiments.validation.ns2_modules.build import MODULE
from experiments.validation.packet_by_packet import ACCESS_BPS, PACKET_BYTES
from fairdrop import Scenario
from fairdrop.estimate import estimate
from fairdrop.measures import jain_index
from fairdrop.reproduce.define.papers import scenario_text
from fairdrop.reproduce.measure.runs import link_throughput

VALUES = Path(__file__).with_name("ns2_values.csv.xz")
TIES = Path(__file__).with_name("ns2_ties.csv.xz")
PRINTED = Path(__file__).with_name("printed.tcl")
SEEDS = 10
SEED_RANGE = range(1, SEEDS + 1)
# `ns2-2005` in the words of ns-2: see ERAS in packet_by_packet.py and configure_tcp in dumbbell.tcl.
SENDERS_2005 = (
    "windowInit_ 2 windowInitOption_ 1 tcpTick_ 0.01 rtxcur_init_ 3 maxrto_ 64 rfc2988_ 1 singledup_ 1 syn_ true "
    "delay_growth_ true precisionReduce_ 0 ecn_ 0 timestamps_ 0"
)
# `ns2-1998`, as dumbbell.tcl has them by default.
SENDERS_1998 = (
    "windowInit_ 1 windowInitOption_ 1 tcpTick_ 0.1 rtxcur_init_ 6 maxrto_ 64 rfc2988_ 0 singledup_ 0 syn_ false "
    "delay_growth_ false precisionReduce_ 0 timerfix_ 0 ecn_ 0 timestamps_ 0"
)
SIDES = ("ns-2", "fairdrop", "fairdrop, ns-2's senders")

#: Values of a run by measure, and how they come from the rates of flows by group, in bit/s.
Run = dict[str, float]
Measured = Callable[[list[list[float]]], Run]
Flow = Mapping[str, Any]
Words = dict[str, Any]


class Setup(NamedTuple):
    """A set-up of a paper: what runs in ns-2 and here, and what is measured of each flow's bytes or goodput."""

    id: str
    scheme: str
    at: dict[str, Any]
    script: Path
    options: Words
    paper: str
    base: str
    settings: tuple[str, ...]
    measured: Measured
    seconds: float
    # Settings with which senders here are ns-2's, where those of the set-up are not.
    as_ns2: tuple[str, ...] = ()


def udp_and_tcp(rate_kbps: float) -> Measured:
    """Throughput of UDP and of TCP in kb/s, and how much of what UDP sends is lost, in per cent."""

    def measured(groups: list[list[float]]) -> Run:
        tcp, udp = (sum(group) / 1e3 for group in groups)
        return {"udp": udp, "tcp": tcp, "drop": 100 * (1 - udp / rate_kbps)}

    return measured


def index(groups: list[list[float]]) -> Run:
    return {"index": 100 * (jain_index([rate for group in groups for rate in group]) or 0.0)}


def each(*names: str) -> Measured:
    """Mean throughput of a flow of each group in kb/s."""

    def measured(groups: list[list[float]]) -> Run:
        return {name: sum(group) / len(group) / 1e3 for name, group in zip(names, groups, strict=True)}

    return measured


def several_udp(*rates_kbps: int) -> Measured:
    """That of TCP and of each UDP flow in kb/s, and how much of what each of those sends is lost, in per cent."""

    def measured(groups: list[list[float]]) -> Run:
        found = each("tcp_each", *(f"udp{rate}" for rate in rates_kbps))(groups)
        return found | {f"drop{rate}": 100 * (1 - found[f"udp{rate}"] / rate) for rate in rates_kbps}

    return measured


def sizes(groups: list[list[float]]) -> Run:
    """TCP together, and the two UDP flows, in kb/s."""
    tcp, large, small = (sum(group) / 1e3 for group in groups)
    return {"tcp_total": tcp, "large": large, "small": small}


def head(groups: list[list[float]]) -> Run:
    """Part of what leaves that is UDP's, which is how often it stands at the head."""
    tcp, udp = (sum(group) for group in groups)
    return {"head": udp / (tcp + udp)}


def classes(groups: list[list[float]]) -> Run:
    low, high = (sum(group) / 1e3 for group in groups)
    return {"low": low, "high": high}


def choke(name: str, scheme: str, rate_kbps: int, flows: int, theirs: Words, *settings: str) -> Setup:
    """The dumbbell of the CHOKe paper."""
    low, high = ("100", "200") if name == "choke-fig3" else ("30", "60")
    modules = {"thresh_": low, "maxthresh_": high, "count_matches_": 0, **theirs}
    options = {
        "queue": "CHOKe", "settings": words(modules), "timerfix": 0, "measure": 2,
        "udp_flows": flows, "udp_rate": rate_kbps * 1000,
    }  # fmt: skip
    here = (
        f"queue.red.min_th={low}p", f"queue.red.max_th={high}p", f"groups.udp.rate={rate_kbps}kbit",
        f"groups.udp.count={flows}", *settings,
    )  # fmt: skip
    at = {} if name == "choke-fig3" else {"rate": rate_kbps}
    return Setup(name, scheme, at, SCRIPT, options, "choke", "base", here, udp_and_tcp(rate_kbps * flows), 240)


def ward(
    name: str, scheme: str, at: dict[str, Any], limit: int, groups: str, *settings: str, as_ns2: tuple[str, ...] = ()
) -> Setup:
    """A dumbbell of the WARD paper, under WARD, or CHOKe with the buffer as upper threshold."""
    options = {"queue": "WARD", "limit": limit, "groups": groups, "senders": SENDERS_2005}
    if scheme == "choke":
        modules = {"thresh_": limit // 2, "maxthresh_": limit, "count_matches_": 0}
        options |= {"queue": "CHOKe", "settings": words(modules)}
    here = (
        f"queue.discipline={scheme}", f"queue.limit={limit}p", f"queue.red.min_th={limit // 2}p",
        f"queue.red.max_th={limit}p", *settings,
    )  # fmt: skip
    base, measured = ("mixes", index) if name == "ward-table3" else ("base", udp_and_tcp(at.get("rate", 2000)))
    return Setup(name, scheme, at, PRINTED, options, "ward", base, here, measured, 240, as_ns2)


def mix(scheme: str, vegas: int, buffer: int = 0) -> Setup:
    """A column of table 3, or a cell of table 2, which has a buffer. Twenty flows of one kind are two groups of ten."""
    reno = 20 - vegas
    name = f"{vegas}-{reno}"
    first, second = ("vegas", vegas), ("reno", reno)
    if vegas in (0, 20):
        first = second = ("reno" if reno else "vegas", 10)
    groups = " ".join(f"{{{kind.title()} {count}}}" for kind, count in (first, second))
    settings = [
        f"groups.{place}.{field}={value}"
        for place, (kind, count) in (("first", first), ("second", second))
        for field, value in (("transport", kind), ("count", count))
    ]
    pair = (("first", first), ("second", second))
    as_ns2 = tuple(f"groups.{place}.ns2_vegas=true" for place, (kind, _) in pair if kind == "vegas")
    if buffer:
        here = ("queue.red.min_th=20p", "queue.red.max_th=40p", *settings)
        found = in_dumbbell("ward-table2", {"mix": name, "buffer": buffer}, buffer, groups, "mixes", index, *here)
        return found._replace(as_ns2=as_ns2)
    return ward("ward-table3", scheme, {"mix": name}, 120, groups, *settings, as_ns2=as_ns2)


def in_dumbbell(
    name: str, at: dict[str, Any], limit: int, groups: str, base: str, measured: Measured, *settings: str
) -> Setup:
    """WARD in another dumbbell of its paper."""
    options = {"queue": "WARD", "limit": limit, "groups": groups, "senders": SENDERS_2005}
    return Setup(name, "ward", at, PRINTED, options, "ward", base, (f"queue.limit={limit}p", *settings), measured, 240)


def rising(*rates_kbps: int) -> Setup:
    """A case of table 1: each UDP flow takes the place of a TCP flow but for one."""
    tcp, count = 33 - len(rates_kbps), len(rates_kbps)
    groups = " ".join([f"{{Reno {tcp}}}", *(f"{{CBR 1 {rate}e3}}" for rate in rates_kbps)])
    return in_dumbbell("ward-table1", {"case": f"{count} UDP"}, 200, groups, f"udp-{count}", several_udp(*rates_kbps))


def round_trips(case: int) -> Setup:
    """A case of figure 6: ten flows each with 20 ms, 40 ms and so on."""
    times = range(20, 20 * (case + 2), 20)
    groups = " ".join(f"{{Reno 10 0 {(ms - 2) / 4:g}ms}}" for ms in times)
    measured = each(*(f"rtt{ms}" for ms in times))
    return in_dumbbell("ward-fig6", {"case": str(case)}, 200, groups, f"rtt-{case}", measured)


def chopping() -> Setup:
    """Figure 5 of the second paper: packets of 400 and of 800 B."""
    options = {
        "queue": "CHOKe", "limit": 300, "window": 300, "min_rto": 0.2, "senders": SENDERS_1998,
        "groups": "{Reno 15 0 1ms 400} {CBR 1 1e6 1ms 800} {CBR 1 1e6 1ms 400}",
        "settings": words({"thresh_": 30, "maxthresh_": 60, "count_matches_": 0}),
    }  # fmt: skip
    return Setup("micro-fig5", "choke", {}, PRINTED, options, "micro", "sizes", (), sizes, 240)


def positions(ratio: float) -> Setup:
    """Figure 6 of the third paper: early drops are independent of each other there."""
    options = {
        "queue": "CHOKe", "limit": 1000, "window": 1000, "access": "100mb", "senders": SENDERS_2005,
        "groups": f"{{Newreno 32 0 24.5ms}} {{CBR 1 {ratio}e6 24.5ms}}",
        "settings": words({"thresh_": 20, "maxthresh_": 520, "max_p_": 0.5, "independent_": 1, "count_matches_": 0}),
    }  # fmt: skip
    here = (f"groups.udp.rate={ratio}mbit",)
    return Setup("under-fig6", "choke", {"ratio": ratio}, PRINTED, options, "under", "base", here, head, 240)


def chokew(flows: int) -> Setup:
    """A point of figure 5: half of the flows in each class."""
    half = flows // 2
    options = {
        "queue": "CHOKeW", "limit": 500, "window": 1000, "min_rto": 0.2, "duration": 500, "warm_up": 100,
        "groups": f"{{Sack1 {half}}} {{Sack1 {half}}}", "senders": SENDERS_2005,
    }  # fmt: skip
    here = (f"groups.low.count={half}", f"groups.high.count={half}")
    as_ns2 = ("groups.low.ns2_sack1=true", "groups.high.ns2_sack1=true")
    at = {"flows": flows}
    return Setup("chokew-fig5", "chokew", at, PRINTED, options, "chokew", "two", here, classes, 400, as_ns2)


def words(settings: Mapping[str, Any]) -> str:
    return " ".join(f"{name} {value}" for name, value in settings.items())


MIXES = (20, 15, 10, 5, 0)
SETUPS = (
    choke("choke-fig3", "choke", 2000, 1, {}),
    *(choke("choke-fig5", "choke", rate, 1, {}) for rate in (100, 500, 1000, 3000, 10000)),
    *(choke("choke-fig9", "basic", rate, 5, {}) for rate in (500, 10000)),
    *(choke("choke-fig9", "5 drops", rate, 5, {"candidates_": 4}, "queue.choke.candidates=4") for rate in (500, 10000)),
    *(
        choke("choke-fig10", "self-adjusting", rate, 5, {"regions_": 3}, "queue.choke.schedule=odd")
        for rate in (500, 10000)
    ),
    *(ward("ward-fig4", scheme, {}, 200, "{Reno 32} {CBR 1 2e6}") for scheme in ("choke", "ward")),
    *(
        ward("ward-fig5", "ward", {"rate": rate}, 200, f"{{Reno 32}} {{CBR 1 {rate}e3}}", f"groups.udp.rate={rate}kbit")
        for rate in (1000, 5000, 10000)
    ),
    in_dumbbell(
        "ward-fig3",
        {},
        132,
        "{Reno 32} {CBR 1 2e6}",
        "base",
        udp_and_tcp(2000),
        "queue.red.min_th=66p",
        "queue.red.max_th=132p",
    ),
    rising(2000, 1000),
    rising(2000, 1000, 100, 30),
    *(mix("ward", vegas, buffer) for vegas in MIXES for buffer in range(60, 130, 10)),
    *(round_trips(case) for case in (1, 2, 3)),
    chopping(),
    positions(0.1),
    *(mix(scheme, vegas) for scheme in ("choke", "ward") for vegas in MIXES),
    *(chokew(flows) for flows in (40, 80, 120, 160, 200, 240, 280)),
)


def in_ns2(command: str, script: Path, options: Words, seed: int) -> Any:
    """What a script prints, and how many packets the congested queue refused, where it is traced."""
    with tempfile.NamedTemporaryFile(suffix=".tr") as trace:
        given = {**options, "seed": seed} | ({"trace": trace.name} if "trace" in options else {})
        argv = [word for name, value in given.items() for word in (f"-{name}", str(value))]
        done = subprocess.run(
            [command, str(script), *argv], capture_output=True, text=True, check=True, timeout=1800
        )  # fmt: skip
        dropped = sum(line.startswith("d") for line in Path(trace.name).read_text(encoding="utf-8").splitlines())
    return json.loads(done.stdout), dropped


def theirs(command: str, setup: Setup, seed: int) -> Run:
    report, _ = in_ns2(command, setup.script, {"module": MODULE, **setup.options}, seed)
    if setup.script == SCRIPT:
        rows = [("tcp", "udp").index(flow["kind"]) for flow in report["flows"]]
        flows = report["flows"]
        if report["access_drops"]:
            raise RuntimeError(f"ns-2 lost {report['access_drops']} packets on access links")
    else:
        flows, rows = report, [flow["group"] for flow in report]
    counted = "acked" if setup.id.startswith("chokew") else "bytes"
    rates: list[list[float]] = [[] for _ in set(rows)]
    for group, flow in zip(rows, flows, strict=True):
        rates[group].append(flow[counted] * 8 / setup.seconds)
    return setup.measured(rates)


def ours(setup: Setup, *more: str) -> list[Run]:
    settings = (*setup.settings, *more)
    scenario = Scenario(scenario_text(setup.paper, setup.base), f"{setup.base}.toml", settings)
    result = scenario.run(seeds=SEEDS, threads=2)
    counted = "goodput_bps" if setup.id.startswith("chokew") else "throughput_bps"
    runs: dict[int, dict[str, list[float]]] = {}
    for flow in result.flows.rows():
        runs.setdefault(flow["seed"], {}).setdefault(flow["group"], []).append(flow[counted])
    return [setup.measured(list(groups.values())) for groups in runs.values()]


def row(setup: Setup, side: str, runs: list[Run]) -> list[dict[str, Any]]:
    """A row for each measure: mean and half of the 95 % interval."""
    place = {"id": setup.id, "scheme": setup.scheme, "at": json.dumps(setup.at), "side": side}
    return [{**place, "measure": name, **summed([run[name] for run in runs])} for name in runs[0]]


def summed(values: list[float]) -> dict[str, Any]:
    found = estimate(values)
    assert found is not None
    return {"mean": f"{found.mean:.6g}", "half": f"{found.half or 0.0:.3g}", "runs": found.n}


MATCHES, EARLY = ("match_arriving", "match_queued"), ("red_early", "red_forced")
#: Flows of the CHOKe paper's dumbbell are numbered from 1, UDP last; the time from which their drops count.
UDP_ID, COUNTED_FROM_S = 33, 60.0


def causes(command: str) -> list[dict[str, Any]]:
    """Which part of UDP's drops in figure 3 are matches, and of TCP's RED's, in per cent."""
    setup = choke("choke-fig3", "choke", 2000, 1, {})._replace(id="choke-c1")
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda seed: parted(*logged(command, setup, seed)), SEED_RANGE))
    scenario = Scenario(scenario_text(setup.paper, setup.base), f"{setup.base}.toml", setup.settings)
    mine = []
    for run in scenario.run(seeds=SEEDS, threads=2).document["runs"]:
        of_group = {group["name"]: group["drops"] for group in run["groups"]}
        mine.append(parted(of_group["tcp"], of_group["udp"]))
    return [*row(setup, SIDES[0], found), *row(setup, SIDES[1], mine)]


def parted(tcp: Mapping[str, int], udp: Mapping[str, int]) -> Run:
    """Of drops by cause."""
    of_udp, of_tcp = (sum(drops[cause] for cause in wanted) for drops, wanted in ((udp, MATCHES), (tcp, EARLY)))
    return {"udp_matched": 100 * of_udp / sum(udp.values()), "tcp_red": 100 * of_tcp / sum(tcp.values())}


def logged(command: str, setup: Setup, seed: int) -> tuple[Counter[str], Counter[str]]:
    """Drops of TCP and of UDP by cause in ns-2, from its log of arrivals."""
    drops: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        in_ns2(command, setup.script, {"module": MODULE, **setup.options, "log": log.name}, seed)
        for line in Path(log.name).read_text(encoding="utf-8").splitlines():
            time, flow, _, outcome, *discarded = line.split()
            if outcome != "queued" and float(time) >= COUNTED_FROM_S:
                of_flow = drops[int(flow) == UDP_ID]
                of_flow[outcome] += 1
                of_flow["match_queued"] += len(discarded)
    return drops


CHAIN = Path(__file__).with_name("chain.tcl")
#: Groups of table 1 of the CHOKe paper: name, kind, flows, and the router at which they leave.
CHAIN_GROUPS = (("early", "Reno", 5, 3), ("middle", "Reno", 10, 4), ("late", "Reno", 10, 5), ("udp", "CBR", 1, 5))
CHAIN_UDP_KBPS = 2000


def chain(command: str) -> list[dict[str, Any]]:
    """Table 1 of the CHOKe paper: throughput at the two congested links, and losses there."""
    groups = " ".join(f"{{{kind} {count} {router}}}" for _, kind, count, router in CHAIN_GROUPS)
    options: Words = {
        "module": MODULE, "groups": groups, "senders": SENDERS_1998,
        "settings": words({"thresh_": 30, "maxthresh_": 60, "count_matches_": 0}),
    }  # fmt: skip
    setup = Setup("choke-table1", "choke", {}, CHAIN, options, "choke", "chain", (), index, 240)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda seed: chained(command, setup, seed), SEED_RANGE))
    result = Scenario(scenario_text("choke", "chain"), "chain.toml").run(seeds=SEEDS, threads=2)
    mine = []
    for run in result.document["runs"]:
        names = [name for name, *_ in CHAIN_GROUPS]
        at_links = [{name: link_throughput(run, link, name) / 1e3 for name in names} for link in ("R2-R3", "R3-R4")]
        mine.append(lost(*at_links))
    return [*row(setup, SIDES[0], found), *row(setup, SIDES[1], mine)]


def chained(command: str, setup: Setup, seed: int) -> Run:
    """In ns-2. What leaves the first congested link arrives at the second, or has left the network."""
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        sent, _ = in_ns2(command, setup.script, {**setup.options, "log": log.name}, seed)
        arrived: Counter[int] = Counter()
        for line in Path(log.name).read_text(encoding="utf-8").splitlines():
            time, flow, *_ = line.split()
            arrived[int(flow)] += float(time) >= COUNTED_FROM_S
    first, second, flow = {}, {}, 0
    for name, _, count, router in CHAIN_GROUPS:
        flows = range(flow + 1, flow + count + 1)
        second[name] = sum(sent[number - 1] for number in flows) * 8e-3 / setup.seconds
        first[name] = sum(arrived[number] for number in flows) * 8 / setup.seconds if router > 3 else second[name]
        flow += count
    return lost(first, second)


def lost(first: Run, second: Run) -> Run:
    """From the kb/s of groups after each congested link."""
    flows = {name: count for name, _, count, _ in CHAIN_GROUPS}
    each_first = {f"{name}_first": first[name] / flows[name] for name in flows}
    each_second = {f"{name}_second": second[name] / flows[name] for name in ("middle", "late")}
    return each_first | each_second | {
        "udp_end": second["udp"], "first_loss": 100 * (1 - first["udp"] / CHAIN_UDP_KBPS),
        "second_loss": 100 * (1 - second["udp"] / first["udp"]),
        "tcp_second_loss": 100 * (1 - second["late"] / first["late"]),
    }  # fmt: skip


# The papers' sizes, at which packets of two flows come in one nanosecond, and others: bytes, and hosts' links in bit/s.
SIZES = {"the papers'": (1000, 10_000_000), "off the tie": (PACKET_BYTES, ACCESS_BPS)}
TIED_FLOWS, TIED_LIMIT, TIED_S = 32, 60, 400
ORDERS = ("as_scheduled", "arrivals_first", "ends_first")
# Most of the random delay before each packet that is ns-2's own remedy, s; hosts that are so much apart in ours, s.
OVERHEAD_S, APART_S = 1e-5, 1e-7


def ties(command: str) -> list[dict[str, Any]]:
    """Packets that DropTail drops of 32 Reno flows in 400 s: in stock ns-2, and here under each order of ties."""
    rows = []
    tcp_alone = scenario_text("choke", "base").partition('[[groups]]\nname = "udp"')[0]
    head, _, group = tcp_alone.partition("[[groups]]")
    for sizes, (size, access) in SIZES.items():
        options = {
            "queue": "droptail", "limit": TIED_LIMIT, "tcp_flows": TIED_FLOWS, "udp_flows": 0, "packet_size": size,
            "access_rate": access, "timerfix": 0, "duration": TIED_S, "warm_up": 0, "scheduler": "List", "trace": "",
        }  # fmt: skip
        for how, more in (("as it is", {}), ("random delays", {"overhead": OVERHEAD_S})):
            with ThreadPoolExecutor(2) as pool:
                found = list(pool.map(lambda seed, o=options | more: in_ns2(command, SCRIPT, o, seed)[1], SEED_RANGE))
            rows.append({"sizes": sizes, "side": "ns-2", "order": how, **ranged(found)})
        settings = (
            "queue.discipline=droptail", f"queue.limit={TIED_LIMIT}p", f"duration={TIED_S}s", "warm_up=0s",
        )  # fmt: skip
        of_hosts = f"dumbbell.access_rate={access}bit"
        texts: dict[str, tuple[str, tuple[str, ...]]] = {
            order: (tcp_alone, (of_hosts, f"ties={order}", f"groups.tcp.packet_size={size}B")) for order in ORDERS
        }
        for how, sign in (("first flows nearer", 1), ("last flows nearer", -1)):
            one_by_one = head
            for number in range(TIED_FLOWS):
                delay_s = 0.001 + sign * number * APART_S
                own = group.replace('name = "tcp"', f'name = "tcp{number}"').replace("count = 32", "count = 1")
                own = own.replace('"1000B"', f'"{size}B"')
                one_by_one += f'[[groups]]{own}access_delay = "{delay_s:.9f}s"\n\n'
            texts[how] = (one_by_one, (of_hosts,))
        texts["jitter of hosts' links"] = delayed(head, group, size, access), ()
        for how, (text, own_settings) in texts.items():
            result = Scenario(text, "ties.toml", (*settings, *own_settings)).run(seeds=SEEDS, threads=2)
            drops = [queue["dropped"] for queue in result.queues.rows()]
            rows.append({"sizes": sizes, "side": "fairdrop", "order": how, **ranged(drops)})
    return rows


def delayed(head: str, group: str, size: int, access_bps: int) -> str:
    """The dumbbell as links of each flow's hosts, on which each packet to the queue takes up to `OVERHEAD_S` longer."""
    before, _, rest = head.partition("[dumbbell]")
    parts = ['[[links]]\nname = "bottleneck"\nfrom = "R1"\nto = "R2"\nrate = "1mbit"\ndelay = "1ms"\nqueue = true\n']
    for number in range(TIED_FLOWS):
        link = f'rate = {access_bps}\ndelay = "1ms"\n'
        parts.append(f'[[links]]\nfrom = "a{number}"\nto = "R1"\n{link}impairments = {{ jitter = {OVERHEAD_S:.6f} }}\n')
        parts.append(f'[[links]]\nfrom = "R2"\nto = "b{number}"\n{link}')
        own = group.replace('name = "tcp"', f'name = "tcp{number}"').replace("count = 32", "count = 1")
        own = own.replace('"1000B"', f'"{size}B"').rstrip("\n")
        parts.append(f'[[groups]]{own}\nfrom = "a{number}"\nto = "b{number}"\n')
    return before + rest.partition("\n\n")[2] + "\n".join(parts)


def ranged(values: list[int]) -> dict[str, Any]:
    return {**summed([float(value) for value in values]), "least": min(values), "most": max(values)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="ID", help="these ids; stored values of others stay")
    only = parser.parse_args().only
    command = installed()
    if command is None or not MODULE.exists():
        sys.exit("ns2_values: needs ns-2 (Debian's package ns2) and `make ns2-modules`")
    if not only:
        store(TIES, as_csv(ties(command)))
    rows: list[dict[str, Any]] = [row for row in read(VALUES) if only and row["id"] not in only]
    for name, made in (("choke-c1", causes), ("choke-table1", chain)):
        if not only or name in only:
            rows += made(command)
            store(VALUES, as_csv(rows))
    for setup in SETUPS:
        if only and setup.id not in only:
            continue
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda seed, s=setup: theirs(command, s, seed), SEED_RANGE))
        new = [*row(setup, SIDES[0], found), *row(setup, SIDES[1], ours(setup))]
        if setup.as_ns2:
            new += row(setup, SIDES[2], ours(setup, *setup.as_ns2))
        for one in new:
            print(", ".join(map(str, one.values())), file=sys.stderr)
        rows += new
        store(VALUES, as_csv(rows))


if __name__ == "__main__":
    main()
