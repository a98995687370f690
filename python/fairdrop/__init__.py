"""Fair bandwidth without per-flow state: queue disciplines, a simulator, replay of captures, models, reports.

>>> import fairdrop
>>> result = fairdrop.load("scenarios/headline.toml").compare(["red", "choke"], seeds=10)  # doctest: +SKIP
>>> result.groups.to_pandas()  # doctest: +SKIP
>>> result.report("report.html")  # doctest: +SKIP
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairdrop import advise, characterize, measures, models, plot, report, reproduce
    from fairdrop._core import __version__
    from fairdrop.capture import replay
    from fairdrop.changes import diff
    from fairdrop.extension import CongestionControl, Discipline, param, register
    from fairdrop.host import queue_host
    from fairdrop.library import catalogue, schema
    from fairdrop.result import Result, read_result
    from fairdrop.scenario import Scenario, ScenarioError, load
    from fairdrop.study.axes import StudyError
    from fairdrop.study.sweep import Sweep, merge, read_sweep, sweep
    from fairdrop.table import Table

__all__ = [
    "CongestionControl",
    "Discipline",
    "Result",
    "Scenario",
    "ScenarioError",
    "StudyError",
    "Sweep",
    "Table",
    "__version__",
    "advise",
    "catalogue",
    "characterize",
    "diff",
    "load",
    "measures",
    "merge",
    "models",
    "param",
    "plot",
    "queue_host",
    "read_result",
    "read_sweep",
    "register",
    "replay",
    "report",
    "reproduce",
    "schema",
    "sweep",
]

# Where each name lives: modules load when they are asked for, so that `fairdrop --help` answers at once, and so that
# Ctrl-C finds the command ready.
_HOMES = {
    "__version__": "_core",
    "CongestionControl": "extension.congestion",
    "Discipline": "extension.discipline",
    "Result": "result",
    "Scenario": "scenario",
    "ScenarioError": "scenario",
    "StudyError": "study.axes",
    "Sweep": "study.sweep",
    "Table": "table",
    "catalogue": "library",
    "diff": "changes",
    "load": "scenario",
    "merge": "study.sweep",
    "queue_host": "host",
    "read_result": "result",
    "read_sweep": "study.sweep",
    "register": "extension.registry",
    "replay": "capture",
    "schema": "library",
    "sweep": "study.sweep",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "param":
        return import_module(f"{__name__}.extension.param")
    if name in ("advise", "characterize", "measures", "models", "plot", "report", "reproduce"):
        return import_module(f"{__name__}.{name}")
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
