"""A figure, table or claim of a paper: set-up, varied parameters, measures and published values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

KINDS = ("simulation", "queue_host", "model", "structural", "campaign", "cited")
RELATIONS = ("=", ">=", "<=")
FIGURE_KINDS = ("lines", "bars", "stacked", "flows", "grid", "schemes", "sensitivity", "diagram")
BASE_READING = "base"


#: In a point of a design: where it is on each axis that was drawn.
DRAWN = "drawn"


def located(point: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Where rows of a point are: axes and values; a point of a design is on each of its own."""
    found: list[tuple[str, Any]] = []
    for axis, value in point.items():
        drawn = value.get(DRAWN) if isinstance(value, Mapping) else None
        found += drawn.items() if drawn else [(axis, axis_name(value))]
    return tuple(found)


def axis_name(value: Any) -> Any:
    """A value of an axis as rows have it: a table by its name."""
    return value.get("name", str(value)) if isinstance(value, Mapping) else value


@dataclass(frozen=True)
class Scheme:
    """One of the things compared: a discipline with settings, or another change of the set-up."""

    name: str
    label: str
    colour: str
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Axis:
    """What is varied. ``set`` are settings in which ``{}`` stands for the value.

    A value that is a table has a ``name``; its ``base`` is the scenario there in place of that of the simulation, its
    ``set`` are further settings there. The values of a design are such tables, with what was drawn.
    """

    name: str
    label: str
    values: tuple[Any, ...]
    quick: tuple[Any, ...]
    set: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measure:
    """A number, or a curve over ``axis``, taken from each run: ``of`` names a function of `measure.runs`.

    ``at`` says where: values of axes, all when it is empty.
    """

    name: str
    of: str
    arguments: Mapping[str, Any]
    label: str
    unit: str
    scale: float
    colour: str
    axis: str | None
    at: Mapping[str, Any] = field(default_factory=dict)

    def taken(self, point: Mapping[str, Any]) -> bool:
        """Whether it is measured at a point."""
        return all(axis_name(point[axis]) in wanted for axis, wanted in self.at.items())


@dataclass(frozen=True)
class Reading:
    """Another way to read what the paper leaves open, run when the base reading does not bear every claim out.

    With ``schemes`` it changes these, whatever they set themselves; otherwise all, but for what they set themselves.
    ``admitted`` says that the text can be read so. What it cannot be is run to find a cause, and bears nothing out.
    """

    name: str
    text: str
    settings: tuple[str, ...]
    schemes: tuple[str, ...] = ()
    admitted: bool = True


@dataclass(frozen=True)
class Published:
    """A value that the paper gives (``paper``), or that follows from its numbers (``derived``).

    ``relation`` is how the paper gives it: ``=`` (also "about"), ``>=`` (at least, more than), ``<=``. ``within`` is
    the tolerance in the measure's unit, that of `define.reading` where the definition has none. What is not ``judged``
    is drawn only: single flows, say, whose means are published values of their own. ``cites`` names the id (or
    ``ID/CLAIM``) that judges the number, where it stands in several: one number has one verdict.
    """

    measure: str
    scheme: str | None
    at: Mapping[str, Any]
    value: float
    source: str
    relation: str = "="
    within: float = 0.0
    judged: bool = True
    cites: str = ""

    def is_about(self, arguments: Mapping[str, Any]) -> bool:
        """Whether a claim with these arguments is about this number; bounds are no numbers."""
        at = arguments.get("at") or {}
        return (
            self.judged
            and self.relation == "="
            and arguments.get("measure") in (None, self.measure)
            and arguments.get("scheme") in (None, self.scheme)
            and all(self.at.get(axis) == value for axis, value in at.items())
        )


@dataclass(frozen=True)
class Claim:
    """A statement of the paper as a predicate on the measurements.

    What is printed as a number is a claim of the kind ``printed``: it has the verdict of the published values that it
    selects, and their tolerance. Where a number follows from measures in a way that none of them gives, ``number`` has
    it: what fails is then off by so much, and not contradicted. ``claimed`` says which paper claims it and where, in a
    campaign of our own, whose other claims are hypotheses.
    """

    name: str
    text: str
    kind: str
    arguments: Mapping[str, Any]
    tolerance: str
    reason: str
    undecidable: str | None
    number: float | None = None
    claimed: str = ""


@dataclass(frozen=True)
class Simulation:
    """Runs of a scenario for every scheme, every combination of axis values, and every seed.

    ``most_seeds`` limits how many are added while a claim is undecided. With ``is_traced`` measures find every event
    at every queue in their runs, by link.
    """

    base: str
    settings: tuple[str, ...]
    schemes: tuple[Scheme, ...]
    vary: tuple[Axis, ...]
    quick_settings: tuple[str, ...]
    quick_seeds: int
    full_seeds: int
    most_seeds: int | None = None
    is_traced: bool = False

    @property
    def bases(self) -> tuple[str, ...]:
        """Every scenario that it runs."""
        others = [value.get("base") for axis in self.vary for value in axis.values if isinstance(value, Mapping)]
        return tuple(dict.fromkeys([self.base, *(str(base) for base in others if base)]))


@dataclass(frozen=True)
class QueueHost:
    """Runs of a discipline alone, fed with Poisson flows. Rates come from a row of ``cases``."""

    cases: tuple[Mapping[str, Any], ...]
    settings: tuple[str, ...]
    arrivals: int
    quick_arrivals: int
    service_rate: float
    quick_seeds: int
    full_seeds: int
    most_seeds: int | None = None


@dataclass(frozen=True)
class Model:
    """A function of `measure.models` and its arguments."""

    function: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Panel:
    """One pair of axes of a figure."""

    y: tuple[str, ...]
    label: str
    schemes: tuple[str, ...]
    log: bool = False
    bottom: float | None = 0.0
    top: float | None = None
    reference: float | None = None
    reference_label: str = ""


@dataclass(frozen=True)
class FigureSpec:
    """How the paper draws it."""

    kind: str
    x: str
    x_label: str
    log_x: bool
    panels: tuple[Panel, ...]
    note: str
    drawing: str | None = None
    highlight: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Definition:
    """One id of the papers."""

    name: str
    paper: str
    kind: str
    section: str
    title: str
    about: str
    silent: Mapping[str, str]
    decisions: tuple[str, ...]
    left_open: str
    cause: str
    simulation: Simulation | None
    queue_host: QueueHost | None
    model: Model | None
    measures: tuple[Measure, ...]
    readings: tuple[Reading, ...]
    published: tuple[Published, ...]
    claims: tuple[Claim, ...]
    figure: FigureSpec | None
    text: str = field(repr=False, default="")

    @property
    def is_own(self) -> bool:
        """A hypothesis of ours, that no paper claims."""
        return self.kind == "campaign"

    @property
    def schemes(self) -> tuple[Scheme, ...]:
        """The schemes simulated, in order."""
        return self.simulation.schemes if self.simulation else ()


@dataclass(frozen=True)
class Erratum:
    """A mistake in a paper, and what proves it."""

    where: str
    text: str
    proof: str


@dataclass(frozen=True)
class Finding:
    """What a reader should know first, and the claims (``ID/CLAIM``) that prove it.

    ``claim`` is the paper's in its own words; ``author`` is what an author should do about it; ``figure`` the id whose
    figure and set-up show it.
    """

    paper: str
    section: str
    claim: str
    text: str
    figure: str
    author: str
    proof: tuple[str, ...]


@dataclass(frozen=True)
class Unexplained:
    """A difference that no cause was found for."""

    what: str
    text: str


@dataclass(frozen=True)
class PaperReading:
    """Another answer to a question that a paper leaves open, for all of its ids at once.

    Its settings come after those of an id and its schemes, and before what the id varies. In them ``{group}`` stands
    for each group whose transport is one of ``transports`` (any when empty), other names in braces for parameters of
    the discipline. With ``disciplines`` it changes runs under these only. Readings of one ``question`` exclude each
    other.
    """

    name: str
    question: str
    text: str
    settings: tuple[str, ...]
    disciplines: tuple[str, ...] = ()
    transports: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paper:
    """One of the five papers (or the campaigns across them)."""

    name: str
    title: str
    authors: str
    venue: str
    year: int
    claimed: str
    silent: Mapping[str, str]
    left_open: tuple[str, ...]
    errata: tuple[Erratum, ...]
    readings: tuple[PaperReading, ...] = ()
