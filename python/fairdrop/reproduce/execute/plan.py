"""From a definition to the runs it needs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fairdrop.engine import key_of
from fairdrop.host import queue_host
from fairdrop.library import tables_of
from fairdrop.nearest import choices
from fairdrop.reproduce.define.definition import (
    BASE_READING,
    Axis,
    Definition,
    PaperReading,
    Reading,
    Simulation,
    located,
)
from fairdrop.reproduce.define.fields import DefinitionError
from fairdrop.reproduce.define.papers import scenario_text
from fairdrop.reproduce.measure.looks import seeds_of_looks
from fairdrop.scenario import Scenario, ScenarioError
from fairdrop.warmup import changes

PROFILES = ("quick", "full")
#: Version of what is kept of a run.
KEPT = 2
#: Values of the queue in a measuring window, for runs that record none; a prime, lest it lock with a source's gaps.
SAMPLES = 401
#: A scheme, and where its set-up is.
Place = tuple[str, tuple[tuple[str, Any], ...]]
BASE = Reading(BASE_READING, "as decided", ())
#: Disciplines that the papers compare their schemes with. They also replace the schemes, to test the claims.
YARDSTICKS = ("red", "droptail")


@dataclass(frozen=True)
class Order:
    """How a person asked for it."""

    profile: str = "quick"
    seeds: int | None = None
    settings: tuple[str, ...] = ()
    #: The first seed.
    seed: int = 1

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise ValueError(f"profile = {self.profile!r} is not valid{choices(self.profile, PROFILES)}")
        if self.seeds is not None and self.seeds < 1:
            raise ValueError(f"seeds = {self.seeds} is not valid; valid: 1 or more")
        if self.seed < 0:
            raise ValueError(f"seed = {self.seed} is not valid; valid: 0 or more")

    @property
    def quick(self) -> bool:
        return self.profile == "quick"


class SettingError(ValueError):
    """The settings of an order do not fit what it asks for."""

    def __init__(self, order: Order, *reasons: str) -> None:
        asked = [f"--set {text}" for text in order.settings]
        # A scenario may call another field wrong, which a setting of the order made so.
        named = (why if any(text in why for text in asked) else f"{' '.join(asked)}: {why}" for why in reasons)
        super().__init__("\n".join(named))


@dataclass(frozen=True)
class Cell:
    """One set-up, simulated under several seeds."""

    reading: str
    scheme: str
    at: Mapping[str, Any]
    scenario: Scenario
    seeds: tuple[int, ...]
    content: Mapping[str, Any] = field(repr=False)
    is_traced: bool = False

    def key(self, seed: int) -> str:
        kept = {"kept": KEPT, "trace": True} if self.is_traced else {"kept": KEPT}
        return key_of({"scenario": self.content, "seed": seed, **kept})

    @property
    def place(self) -> Place:
        return self.scheme, located(self.at)

    @property
    def is_to_settle(self) -> bool:
        """Whether it has a warm-up after which nothing is meant to change."""
        return self.content["warm_up_s"] > 0 and not changes(self.content)

    @property
    def grid_us(self) -> int:
        """A sampling interval in microseconds that is fine enough to judge the warm-up by."""
        return max(1, int((self.content["duration_s"] - self.content["warm_up_s"]) / SAMPLES * 1e6))

    @property
    def weight(self) -> float:
        """Rough work per run, for the estimate of the time left: packets of the sources and of the links."""
        resolved = self.content
        offered = sum((group["settings"].get("rate_bps") or 0) * group["count"] for group in resolved["groups"])
        carried = sum(link["rate_bps"] for link in resolved["links"])
        return float(resolved["duration_s"] * (offered + carried))


@dataclass(frozen=True)
class HostCell:
    """One case of the queue host."""

    name: str
    arguments: Mapping[str, Any]
    seeds: tuple[int, ...]

    def key(self, seed: int) -> str:
        return key_of({"queue_host": dict(self.arguments), "seed": seed})


def scenario_of(definition: Definition, base: str) -> tuple[str, str]:
    """The text of a base scenario, and what messages call its file."""
    return scenario_text(definition.paper, base), f"{definition.paper}/{base}.toml"


def readings(definition: Definition) -> tuple[Reading, ...]:
    """The base reading and the others."""
    return (BASE, *definition.readings)


def looks(definition: Definition, order: Order) -> tuple[int, ...]:
    """How many seeds there are at each look; a person who asks for a number gets one look."""
    plan = definition.simulation or definition.queue_host
    if plan is None:
        return (0,)
    if order.seeds is not None:
        return (order.seeds,)
    return seeds_of_looks(plan.quick_seeds if order.quick else plan.full_seeds, plan.most_seeds)


@dataclass(frozen=True)
class Part:
    """What of a definition is run: under which readings, with how many seeds, and with which discipline instead."""

    seeds: int
    readings: tuple[Reading, ...] = (BASE,)
    #: A discipline that takes the place of those that a paper proposes.
    mutant: str | None = None
    #: Readings of the whole paper, together.
    wide: tuple[PaperReading, ...] = ()
    #: Only these set-ups, and all of the run as it was is their warm-up; another window as long follows.
    longer: frozenset[Place] | None = None


def cells(definition: Definition, order: Order, part: Part | None = None) -> Iterator[Cell]:
    """Every set-up to simulate. Raises ScenarioError when one asks for what the engine does not have."""
    if definition.simulation is None:
        return
    plan = definition.simulation
    chosen = part or Part(looks(definition, order)[0], readings(definition))
    texts = {base: scenario_of(definition, base) for base in plan.bases}
    for reading in chosen.readings:
        for scheme in plan.schemes:
            for point in _points(plan, order):
                base = texts[_base(plan, point)]
                yield from _cell(base, plan, order, reading, scheme.name, scheme.settings, point, chosen)


def host_cells(definition: Definition, order: Order, part: Part | None = None) -> Iterator[HostCell]:
    """Every case to run without a network."""
    host = definition.queue_host
    chosen = part or Part(looks(definition, order)[0])
    if host is None or chosen.mutant or BASE not in chosen.readings:
        return
    for case in host.cases:
        arguments = {
            "poisson": list(case.get("poisson", ())),
            "constant": list(case.get("constant", ())),
            "service_rate": float(case.get("service_rate", host.service_rate)),
            "arrivals": host.quick_arrivals if order.quick else host.arrivals,
            "settings": [*host.settings, *case.get("settings", ()), *order.settings],
        }
        yield HostCell(str(case["name"]), arguments, _seeds(order, chosen.seeds))


def check_settings(definitions: Iterable[Definition], order: Order) -> None:
    """Raises SettingError where the settings of the order keep an id from being set up, or change none of the ids."""
    if not order.settings:
        return
    simulated = [one for one in definitions if one.simulation or one.queue_host]
    if not simulated:
        raise SettingError(order, "no id that was asked for is simulated; valid: an id that is, see `--list`")
    problems = ((one, _problem(one, order)) for one in simulated)
    refused = [f"{one.name}: {text}" for one, text in problems if text is not None and is_blamed(one, order)]
    if refused:
        raise SettingError(order, *refused)


def is_blamed(definition: Definition, order: Order) -> bool:
    """Whether an error of a scenario is due to the settings of the order: without them the id can be set up."""
    return bool(order.settings) and _problem(definition, replace(order, settings=())) is None


def _problem(definition: Definition, order: Order) -> ScenarioError | None:
    """Why a run of the id cannot be set up."""
    try:
        for _ in cells(definition, order):
            pass
        for case in host_cells(definition, order):
            queue_host(**{**case.arguments, "arrivals": 1})
    except ScenarioError as error:
        return error
    return None


def _seeds(order: Order, number: int) -> tuple[int, ...]:
    return tuple(range(order.seed, order.seed + number))


def _points(plan: Simulation, order: Order) -> Iterator[dict[str, Any]]:
    axes = [axis.quick if order.quick else axis.values for axis in plan.vary]
    for values in itertools.product(*axes):
        yield {axis.name: value for axis, value in zip(plan.vary, values, strict=True)}


def _base(plan: Simulation, point: Mapping[str, Any]) -> str:
    named = [str(value["base"]) for value in point.values() if isinstance(value, Mapping) and "base" in value]
    return named[-1] if named else plan.base


def _cell(
    base: tuple[str, str],
    plan: Simulation,
    order: Order,
    reading: Reading,
    scheme: str,
    scheme_settings: tuple[str, ...],
    point: Mapping[str, Any],
    part: Part,
) -> Iterator[Cell]:
    settings = [*plan.settings]
    settings += plan.quick_settings if order.quick else ()
    settings += () if reading.schemes else reading.settings
    settings += scheme_settings
    settings += reading.settings if scheme in reading.schemes else ()
    varied = [text for axis in plan.vary for text in axis_settings(axis, point[axis.name])]
    scenario = Scenario(*base, (*settings, *varied, *order.settings))
    content = scenario.to_dict()
    for wide in part.wide:
        settings += wide_settings(wide, content)
    settings += varied
    if part.wide:
        scenario = Scenario(*base, (*settings, *order.settings))
        content = scenario.to_dict()
    if part.longer is not None:
        if (scheme, located(point)) not in part.longer:
            return
        duration, warm_up = content["duration_s"], content["warm_up_s"]
        scenario = scenario.with_settings(f"duration={2 * duration - warm_up}s", f"warm_up={duration}s")
        content = scenario.to_dict()
    if part.mutant:
        if content["queue"]["discipline"] in YARDSTICKS:
            return
        scenario = Scenario(*base, (*settings, f"queue.discipline={part.mutant}", *order.settings))
        content = scenario.to_dict()
    seeds = _seeds(order, part.seeds)
    yield Cell(reading.name, scheme, dict(point), scenario, seeds, deciding(content), plan.is_traced)


def deciding(content: Mapping[str, Any]) -> dict[str, Any]:
    """What of a resolved scenario decides its runs: no name, and of queues what their discipline reads."""
    found = {name: value for name, value in content.items() if name not in ("name", "title", "seed")}
    found["queue"] = _read_by_its_discipline(content["queue"])
    found["links"] = [
        {**link, "queue": _read_by_its_discipline(link["queue"])} if isinstance(link["queue"], Mapping) else link
        for link in content["links"]
    ]
    return found


def _read_by_its_discipline(queue: Mapping[str, Any]) -> dict[str, Any]:
    """A queue without the parameters of other disciplines."""
    tables = tables_of(queue["discipline"])
    return {name: value for name, value in queue.items() if name in tables or not isinstance(value, Mapping)}


def check_readings(definition: Definition, order: Order) -> None:
    """Raises DefinitionError where a reading has the runs of another, or changes none of a scheme that it names.

    It would be another name of that reading, and "holds under it as well" would say nothing.
    """
    contents = {
        reading.name: {cell.place: cell.content for cell in cells(definition, order, Part(1, (reading,)))}
        for reading in readings(definition)
    }
    base, names = contents[BASE.name], list(contents)
    for reading in definition.readings:
        own = contents[reading.name]
        changed = {place[0] for place, content in own.items() if content != base[place]}
        others = names[1 : names.index(reading.name)]
        if (same := next((name for name in others if contents[name] == own), None)) is not None:
            raise DefinitionError(f"{definition.name}: reading {reading.name!r} has the runs of reading {same!r}")
        if not changed:
            raise DefinitionError(f"{definition.name}: reading {reading.name!r} changes no run: {_overridden(reading)}")
        if unchanged := [name for name in reading.schemes if name not in changed]:
            schemes = ", ".join(unchanged)
            raise DefinitionError(f"{definition.name}: reading {reading.name!r} changes no run of {schemes}")


def _overridden(reading: Reading) -> str:
    if reading.schemes:
        return "its settings are those of the base"
    return "its settings are those of the base, or the schemes set them themselves; valid: schemes that it changes"


def wide_settings(reading: PaperReading, content: Mapping[str, Any]) -> list[str]:
    """The settings of a reading of the whole paper for a run that is ``content`` without it."""
    queue, found = content["queue"], []
    if reading.disciplines and queue["discipline"] not in reading.disciplines:
        return []
    wanted = reading.transports
    names = [group["name"] for group in content["groups"] if not wanted or group["transport"] in wanted]
    shown = {name: _written(value) for name, value in queue.get(queue["discipline"], {}).items()}
    for text in reading.settings:
        found += [text.format(group=name, **shown) for name in (names if "{group}" in text else [""])]
    return found


def _written(value: Any) -> str:
    """A value of a resolved scenario as a setting has it."""
    return value if isinstance(value, str) else json.dumps(value)


def axis_settings(axis: Axis, value: Any) -> list[str]:
    """The settings that put an axis at a value; a table names what stands in ``{name}``, and may have further ones."""
    if isinstance(value, Mapping):
        return [*(text.format(**value) for text in axis.set), *value.get("set", ())]
    shown = json.dumps(value) if isinstance(value, bool) else str(value)
    return [text.format(shown) for text in axis.set]
