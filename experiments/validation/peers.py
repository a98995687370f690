"""Write what ns-2 and Linux have where a paper prints a number: ``python -m experiments.validation.peers``.

Linux's values are those of `make fidelity` (`experiments/fidelity/summary.csv.xz`), ns-2's are run here, where it is
installed; otherwise those that are there stay. The pages of the reproduction show them beside ours.

Stock ns-2 has no CHOKe, CHOKeW, WARD or FRED, so it says something of the numbers that are printed for DropTail, RED
and RIO. Those for CHOKe and WARD are of the modules of `make ns2-disciplines`, as it has stored them. In the set-ups of
1998 its senders are those of `benches/peers/ns2/dumbbell.tcl`; in those of the WARD paper, and under the modules, they
are those of 2005; under RIO they are as ns-2 2.35 has them by default, with the window and the smallest timeout of the
definition.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from experiments import ROOT
from experiments.digests import as_csv, read, store
from experiments.fidelity.cells import SUMMARY
from experiments.validation.beside_ns2 import SCRIPT, installed
from experiments.validation.ns2_values import SENDERS_2005, VALUES
from fairdrop.estimate import estimate
from fairdrop.measures import jain_index
from fairdrop.reproduce.definitions import definition

TARGET = ROOT / "python" / "fairdrop" / "papers" / "peers.csv"
NS2_SEEDS = 10
# Ids with the runs of figure 5 and of figure 3: measure, its column, axis of the rate.
FIGURE_5 = (
    ("choke-fig5", "drop", "udp_dropped"), ("choke-fig5", "udp", "udp_goodput"),
    ("choke-c3", "udp_drop", "udp_dropped"), ("X2", "share", "udp_goodput"),
)  # fmt: skip
FIGURE_3 = (
    ("choke-fig3", "udp", "udp_goodput"), ("choke-fig3", "tcp", "tcp_goodput"), ("micro-fig3", "udp", "udp_goodput"),
    ("choke-fig4", "udp_flow", "udp_goodput"),
)  # fmt: skip
SCHEMES = {"choke-1": "choke", "red": "red", "droptail": "droptail"}
#: Other places of a value: an id and its measure, where else it is printed, and at what.
SAME: dict[tuple[str, str], tuple[tuple[str, str, dict[str, Any]], ...]] = {
    ("choke-fig5", "drop"): (("choke-c3", "udp_drop", {}),),
    ("ward-fig3", "udp"): (("ward-fig3", "udp_flow", {"flow": 33}),),
}
COMMAND = "python -m experiments.validation.peers"
MODULES_COMMAND = "make ns2-disciplines"
PRINTED = Path(__file__).with_name("printed.tcl")

Flows = list[dict[str, float]]
Place = tuple[str, str, str, dict[str, Any]]


def row(place: tuple[str, str, str, dict[str, Any]], peer: str, values: list[float], command: str) -> dict[str, Any]:
    name, measure, scheme, at = place
    found = estimate(values)
    assert found is not None
    return {
        "id": name, "measure": measure, "scheme": scheme, "at": json.dumps(at), "peer": peer,
        "mean": f"{found.mean:.6g}", "half": f"{found.half or 0.0:.3g}", "runs": found.n, "command": command,
    }  # fmt: skip


def linux() -> list[dict[str, Any]]:
    """Live runs with the kernel's Reno."""
    runs = [run for run in read(SUMMARY) if (run["side"], run["control"]) == ("live", "reno")]
    found = []
    for scheme, ours in SCHEMES.items():
        for figure, wanted in (("fig5", FIGURE_5), ("fig3", FIGURE_3)):
            some = [run for run in runs if (run["figure"], run["scheme"]) == (figure, scheme)]
            for rate in dict.fromkeys(run["rate"] for run in some):
                for name, measure, column in wanted:
                    values = [float(run[column]) for run in some if run["rate"] == rate]
                    found += shown(name, measure, ours, int(rate), values)
    return found


def shown(name: str, measure: str, scheme: str, rate_kbps: int, values: list[float]) -> list[dict[str, Any]]:
    """The row of a definition that a live value goes beside; a definition need not have the scheme."""
    ours = "infocom" if (name, scheme) == ("X2", "choke") else scheme
    if ours not in {one.name for one in definition(name).schemes}:
        return []
    at: dict[str, Any] = {"rate": rate_kbps} if definition(name).simulation.vary else {}
    if measure == "udp_flow":
        at = {"flow": 33}
    if measure == "share":
        values = [value / 10 for value in values]  # kb/s of 1 Mb/s, in per cent
    return [row((name, measure, ours, at), "Linux", values, "make fidelity")]


def modules() -> list[dict[str, Any]]:
    """What ns-2 has with our modules where a paper prints a number."""
    found = []
    for run in read(VALUES):
        shown = {name: run[name] for name in ("mean", "half", "runs")}
        at = json.loads(run["at"])
        for name, measure, more in ((run["id"], run["measure"], {}), *SAME.get((run["id"], run["measure"]), ())):
            printed_at = [(one.measure, one.scheme or main_scheme(name), one.at) for one in definition(name).published]
            if run["side"] == "ns-2" and (measure, run["scheme"], at | more) in printed_at:
                place = {"id": name, "measure": measure, "scheme": run["scheme"], "at": json.dumps(at | more)}
                found.append({**place, "peer": "ns-2", **shown, "command": MODULES_COMMAND})
    return found


def main_scheme(name: str) -> str:
    """That of a printed value that names none."""
    return definition(name).schemes[0].name


def dumbbell(command: str) -> list[dict[str, Any]]:
    """Figure 3 under RED and DropTail, with the senders of 1998."""
    found = []
    for queue in ("red", "droptail"):
        options = ["-queue", queue, "-measure", "2", "-timerfix", "0"]
        runs = [report["flows"] for report in repeated([command, str(SCRIPT), *options])]
        for name, measure, _ in FIGURE_3:
            if measure != "udp_flow":
                values = [sum(f["bytes"] for f in flows if f["kind"] == measure) * 8e-3 / 240 for flows in runs]
                found.append(row((name, measure, queue, {}), "ns-2", values, COMMAND))
    return found


def repeated(argv: list[str]) -> list[Any]:
    """What ns-2 prints, seed by seed."""

    def run(seed: int) -> Any:
        done = subprocess.run(
            [*argv, "-seed", str(seed)], capture_output=True, text=True, check=True, timeout=600
        )  # fmt: skip
        return json.loads(done.stdout)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(run, range(1, NS2_SEEDS + 1)))


def printed(command: str, options: dict[str, str], places: Iterable[tuple[Place, Callable[[Flows], float]]]) -> Any:
    """Rows of a set-up that `printed.tcl` runs: places, and what is measured there."""
    words = [word for name, value in options.items() for word in (f"-{name}", value)]
    runs = repeated([command, str(PRINTED), *words])
    return [row(place, "ns-2", [measure(flows) for flows in runs], COMMAND) for place, measure in places]


def rate(flows: Flows, group: int, seconds: float) -> float:
    """Throughput of a group in kb/s."""
    return sum(flow["bytes"] for flow in flows if flow["group"] == group) * 8e-3 / seconds


def goodputs(flows: Flows, group: int, seconds: float) -> list[float]:
    """Of each flow of a group in kb/s."""
    return [flow["acked"] * 8e-3 / seconds for flow in flows if flow["group"] == group]


def index(flows: Flows) -> float:
    """Jain's index of throughput, in per cent."""
    return 100.0 * (jain_index([flow["bytes"] for flow in flows]) or 0.0)


def ward(command: str) -> list[dict[str, Any]]:
    """Figure 4 and table 3 of the WARD paper, under DropTail and RED."""
    found = []
    for queue in ("droptail", "red"):
        common = {"queue": queue, "senders": SENDERS_2005}
        setup = {**common, "limit": "200", "red": "100 200 0.1", "groups": "{Reno 32} {CBR 1 2e6}"}
        found += printed(command, setup, [(("ward-fig4", "udp", queue, {}), lambda flows: rate(flows, 1, 240))])
        (mixes,) = definition("ward-table3").simulation.vary
        for mix in mixes.values:
            groups = f"{{{mix['a'].title()} {mix['n']}}} {{{mix['b'].title()} {mix['k']}}}"
            setup = {**common, "limit": "120", "red": "60 120 0.1", "groups": groups}
            found += printed(command, setup, [(("ward-table3", "index", queue, {"mix": mix["name"]}), index)])
    return found


def rio(command: str) -> list[dict[str, Any]]:
    """Figure 4 of the CHOKeW paper, under RIO; the flows of low priority are OUT."""
    found = []
    for number, low in enumerate((150, 130, 110), start=1):
        setup = {
            "queue": "rio", "limit": "500", "red": "100 200 0.02", "in": f"{low} {low + 100} 0.01", "gentle": "1",
            "window": "1000", "min_rto": "0.2", "duration": "500", "warm_up": "100",
            "groups": "{Sack1 100} {Sack1 100}",
        }  # fmt: skip
        scheme = f"rio_{number}"
        places: list[tuple[Place, Callable[[Flows], float]]] = [
            (("chokew-fig4", "starved_low", scheme, {}), lambda flows: goodputs(flows, 0, 400).count(0.0)),
            (("chokew-fig4", "least_in", scheme, {}), lambda flows: min(goodputs(flows, 1, 400))),
        ]
        found += printed(command, setup, places)
    return found


def ns2(command: str) -> list[dict[str, Any]]:
    return [*dumbbell(command), *ward(command), *rio(command)]


def main() -> None:
    """Write the table."""
    command = installed()
    theirs = ns2(command) if command else [one for one in read(TARGET) if one["command"] == COMMAND]
    store(TARGET, as_csv([*theirs, *modules(), *linux()]))


if __name__ == "__main__":
    main()
