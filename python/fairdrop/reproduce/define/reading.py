"""Reading a definition, strictly: every problem names file and field."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from fairdrop import _core
from fairdrop.designs import DRAWN, Span, draw
from fairdrop.reproduce.define.definition import (
    BASE_READING,
    FIGURE_KINDS,
    KINDS,
    RELATIONS,
    Axis,
    Claim,
    Definition,
    Erratum,
    FigureSpec,
    Finding,
    Measure,
    Model,
    Panel,
    Paper,
    PaperReading,
    Published,
    QueueHost,
    Reading,
    Scheme,
    Simulation,
    Unexplained,
    axis_name,
)
from fairdrop.reproduce.define.fields import DefinitionError, Fields, is_number
from fairdrop.reproduce.define.papers import findings_text, paper_text, papers
from fairdrop.wording.disciplines import discipline_name

_SILENT = tuple(f"S{number}" for number in range(1, 22))
_DECISION = re.compile(r"A-\d{1,2}")
QUICK_SEEDS, FULL_SEEDS, LEAST_SEEDS = 5, 10, 3
#: Tolerance of a printed number where its definition has none: a part of it, or points for what is in per cent.
RELATIVE, POINTS = 0.05, 1.0


@dataclass(frozen=True)
class Vocabulary:
    """The names that a definition may use, each that of a function elsewhere."""

    measures: Collection[str]
    host_measures: Collection[str]
    #: Measures that give a curve, and the axis it runs over.
    curves: Mapping[str, str]
    models: Collection[str]
    drawings: Collection[str]
    predicates: Collection[str]
    #: What is wrong with the arguments of a predicate.
    argument_problems: Callable[[str, Mapping[str, Any]], list[str]]


@cache
def paper(name: str) -> Paper:
    """The facts about a paper as a whole. Raises DefinitionError."""
    top, problems = _open(*paper_text(name))
    found = Paper(
        name=name,
        title=top.text("title"),
        authors=top.text("authors", ""),
        venue=top.text("venue", ""),
        year=top.count("year", 2000),
        claimed=top.text("claimed"),
        silent=_silent(top),
        left_open=top.texts("left_open", ()),
        errata=tuple(_erratum(item) for item in top.list_of("errata")),
        readings=tuple(_paper_reading(item) for item in top.list_of("readings")),
    )
    listed = [one.name for one in found.readings]
    if len(set(listed)) < len(listed) or BASE_READING in listed:
        top.wrong("readings.name", listed, f"names that differ, and none {BASE_READING!r}")
    top.finish()
    _raise(problems)
    return found


@cache
def headlines() -> tuple[Finding, ...]:
    """What was found across the papers. Raises DefinitionError."""
    top, problems = _open(*findings_text())
    found = []
    for item in top.list_of("findings"):
        found.append(
            Finding(
                paper=item.text("paper"),
                section=item.text("section"),
                claim=item.text("claim"),
                text=item.text("text"),
                figure=item.text("figure"),
                author=item.text("author"),
                proof=item.texts("proof"),
            )
        )
        item.finish()
    _unexplained(top)
    top.finish()
    _raise(problems)
    return tuple(found)


@cache
def unexplained() -> tuple[Unexplained, ...]:
    """What differs and has no known cause. Raises DefinitionError."""
    top, problems = _open(*findings_text())
    found = _unexplained(top)
    _raise(problems)
    return found


def _unexplained(top: Fields) -> tuple[Unexplained, ...]:
    found = []
    for item in top.list_of("unexplained"):
        found.append(Unexplained(item.text("what"), item.text("text")))
        item.finish()
    return tuple(found)


def parse(text: str, file: str, name: str, vocabulary: Vocabulary) -> Definition:
    """Read one definition. Raises DefinitionError with every problem in it."""
    top, problems = _open(text, file)
    kind = top.one_of("kind", KINDS)
    simulation = _simulation(top.inner("simulation"))
    host = _queue_host(top.inner("queue_host"))
    measures = tuple(_measure(item, host is not None, vocabulary) for item in top.list_of("measures"))
    units = {measure.name: measure.unit for measure in measures}
    found = Definition(
        name=top.text("id"),
        paper=top.one_of("paper", papers()),
        kind=kind,
        section=top.text("section"),
        title=top.text("title"),
        about=top.text("about"),
        silent=_silent(top),
        decisions=_decisions(top),
        left_open=top.text("left_open", ""),
        cause=top.text("cause", ""),
        simulation=simulation,
        queue_host=host,
        model=_model(top.inner("model"), vocabulary),
        measures=measures,
        readings=tuple(_reading(item) for item in top.list_of("readings")),
        published=tuple(point for item in top.list_of("published") for point in _published(item, units)),
        claims=tuple(_claim(item, vocabulary) for item in top.list_of("claims")),
        figure=_figure(top.inner("figure"), vocabulary),
        text=text,
    )
    top.finish()
    if found.name != name:
        top.wrong("id", found.name, f"{name!r}, as the file is called")
    _cross_check(found, top)
    _raise(problems)
    return found


def _open(text: str, file: str) -> tuple[Fields, list[str]]:
    problems: list[str] = []
    try:
        table = _core.parse_toml(text, file)
    except ValueError as error:
        raise DefinitionError(str(error)) from None
    return Fields(table, file, "", problems), problems


def _raise(problems: list[str]) -> None:
    if problems:
        raise DefinitionError("\n".join(problems))


def _silent(top: Fields) -> dict[str, str]:
    table = top.table("silent")
    for name, value in table.items():
        if name not in _SILENT or not isinstance(value, str):
            top.wrong(f"silent.{name}", value, "S1 to S21 with a text")
    return table


def _decisions(top: Fields) -> tuple[str, ...]:
    listed = top.texts("decisions", ())
    for item in listed:
        if not _DECISION.fullmatch(item):
            top.wrong("decisions", item, "A-1, A-2, ...")
    return listed


def _erratum(item: Fields) -> Erratum:
    found = Erratum(item.text("where"), item.text("text"), item.text("proof"))
    item.finish()
    return found


def _paper_reading(item: Fields) -> PaperReading:
    found = PaperReading(
        name=item.text("name"),
        question=item.text("question"),
        text=item.text("text"),
        settings=item.texts("settings"),
        disciplines=item.texts("disciplines", ()),
        transports=item.texts("transports", ()),
    )
    item.finish()
    return found


def _simulation(item: Fields | None) -> Simulation | None:
    if item is None:
        return None
    found = Simulation(
        base=item.text("base"),
        settings=item.texts("settings", ()),
        schemes=tuple(_scheme(scheme) for scheme in item.list_of("schemes")) or (Scheme("all", "all", "all"),),
        vary=tuple(_axis(axis) for axis in item.list_of("vary")),
        quick_settings=item.texts("quick_settings", ()),
        quick_seeds=item.count("quick_seeds", QUICK_SEEDS),
        full_seeds=item.count("full_seeds", FULL_SEEDS),
        most_seeds=_most_seeds(item),
        is_traced=item.flag("trace"),
    )
    _few_seeds(item, found.quick_seeds, found.full_seeds)
    item.finish()
    return found


def _most_seeds(item: Fields) -> int | None:
    return item.count("most_seeds") if item.has("most_seeds") else None


def _few_seeds(item: Fields, quick: int, full: int) -> None:
    for name, value in (("quick_seeds", quick), ("full_seeds", full)):
        if value < LEAST_SEEDS:
            item.wrong(name, value, f"{LEAST_SEEDS} or more: fewer decide nothing")


def _scheme(item: Fields) -> Scheme:
    name = item.text("name")
    discipline = item.text("discipline", "")
    settings = item.texts("settings", ())
    if discipline:
        settings = (f"queue.discipline={discipline}", *settings)
    label = item.text("label", discipline_name(discipline or name))
    found = Scheme(name, label, item.text("colour", discipline or name), settings)
    item.finish()
    return found


def _axis(item: Fields) -> Axis:
    name = item.text("name")
    if item.has("design"):
        return _design(item, name)
    values = item.raw("values")
    quick = item.raw("quick", values)
    for field, listed in (("values", values), ("quick", quick)):
        if not isinstance(listed, list) or not listed:
            item.wrong(field, listed, "a list of values")
            return Axis(name, name, (), ())
    if any(value not in values for value in quick):
        item.wrong("quick", quick, "some of values")
    for index, value in enumerate(values):
        own = value.get("set", []) if isinstance(value, Mapping) else []
        if not isinstance(own, list) or not all(isinstance(text, str) for text in own):
            item.wrong(f"values[{index}].set", own, "a list of settings, such as [\"groups.udp.count=5\"]")
    found = Axis(name, item.text("label", name), tuple(values), tuple(quick), item.texts("set"))
    item.finish()
    return found


def _design(item: Fields, name: str) -> Axis:
    """Points drawn over many parameters at once: ``design``, and ``[parameters]`` with ends.

    ``[products]`` names what is set from several of them, numbers and inverses: ``each = ["rate", "1/flows", 2]``.
    """
    found = item.inner("design")
    assert found is not None
    kind, seed = found.one_of("kind", DRAWN), found.count("seed", 1)
    points = found.count("points")
    quick = found.count("quick", points)
    found.finish()
    for field, number in (("design.points", points), ("design.quick", quick)):
        if number & (number - 1) or number > points:
            item.wrong(field, number, "a power of two, quick at most points")
            return Axis(name, name, (), ())
    spans = {key: _span(item, key, ends) for key, ends in item.table("parameters").items()}
    products = item.table("products")
    for key, factors in products.items():
        listed = factors if isinstance(factors, list) else [None]
        named = {factor.removeprefix("1/") for factor in listed if isinstance(factor, str)}
        if not named <= set(spans) or not all(isinstance(factor, str | int | float) for factor in listed):
            valid = f"a list of numbers and some of {', '.join(spans)}, or 1/ before them"
            item.wrong(f"products.{key}", factors, valid)
            return Axis(name, name, (), ())
    values = []
    drawn = draw(kind, points, len(spans), seed) if spans and kind in DRAWN else []
    for number, parts in enumerate(drawn, start=1):
        at = {key: span.at(part) for (key, span), part in zip(spans.items(), parts, strict=True)}
        made = {key: math.prod(_factor(factor, at) for factor in factors) for key, factors in products.items()}
        values.append({"name": number, "drawn": at, **at, **made})
    if not spans:
        item.wrong("parameters", {}, "a table of parameters, each with from and to")
    return Axis(name, item.text("label", name), tuple(values), tuple(values[:quick]), item.texts("set"))


def _factor(factor: str | float, at: Mapping[str, float]) -> float:
    if not isinstance(factor, str):
        return factor
    return 1.0 / at[factor[2:]] if factor.startswith("1/") else at[factor]


def _span(item: Fields, name: str, ends: Any) -> Span:
    inner = Fields(ends, item.file, item.where(f"parameters.{name}"), item.problems)
    low, high, log = inner.number("from"), inner.number("to"), inner.flag("log")
    whole = inner.flag("whole")
    inner.finish()
    if not (low < high and (low > 0.0 or not log)):
        item.wrong(f"parameters.{name}", ends, "from below to, and above 0 with log")
        return Span(1.0, 2.0, False, False)
    return Span(low, high, log, whole)


def _queue_host(item: Fields | None) -> QueueHost | None:
    if item is None:
        return None
    cases = item.raw("cases")
    found = QueueHost(
        cases=tuple(cases) if isinstance(cases, list) else (),
        settings=item.texts("settings", ()),
        arrivals=item.count("arrivals", 4_000_000),
        quick_arrivals=item.count("quick_arrivals", 1_000_000),
        service_rate=item.number("service_rate", 1.0),
        quick_seeds=item.count("quick_seeds", QUICK_SEEDS),
        full_seeds=item.count("full_seeds", FULL_SEEDS),
        most_seeds=_most_seeds(item),
    )
    _few_seeds(item, found.quick_seeds, found.full_seeds)
    allowed = {"name", "poisson", "constant", "settings", "service_rate"}
    for index, case in enumerate(found.cases):
        if not isinstance(case, Mapping) or not set(case) <= allowed or "name" not in case:
            item.wrong(f"cases[{index}]", case, f"a table with name and some of {', '.join(sorted(allowed))}")
    item.finish()
    return found


def _model(item: Fields | None, vocabulary: Vocabulary) -> Model | None:
    if item is None:
        return None
    return Model(item.one_of("function", sorted(vocabulary.models)), item.rest())


def _measure(item: Fields, host: bool, vocabulary: Vocabulary) -> Measure:
    valid = sorted({*vocabulary.measures, *(vocabulary.host_measures if host else ()), "model"})
    name, of = item.text("name"), item.one_of("of", valid)
    at = {axis: _listed(value) for axis, value in item.table("at").items()}
    axis = item.text("axis", vocabulary.curves.get(of, "")) or None
    label, unit = item.text("label", name.replace("_", " ")), item.text("unit", "")
    scale, colour = item.number("scale", 1.0), item.text("colour", name)
    return Measure(name, of, item.rest(), label, unit, scale, colour, axis, at)


def _reading(item: Fields) -> Reading:
    name, text = item.text("name"), item.text("text")
    settings, schemes = item.texts("settings"), item.texts("schemes", ())
    found = Reading(name, text, settings, schemes, item.flag("admitted", default=True))
    item.finish()
    return found


def _published(item: Fields, units: Mapping[str, str]) -> list[Published]:
    """One point, or with ``along`` and ``values`` a whole series."""
    measure, scheme = item.text("measure"), item.text("scheme", "") or None
    at = item.table("at")
    source = item.one_of("source", ("paper", "derived"), "paper")
    relation, within = item.one_of("relation", RELATIONS, "="), item.optional_number("within")
    cites = item.text("cites", "")
    judged = item.flag("judged", default=True) and not cites
    if item.has("along"):
        along, values = item.text("along"), item.raw("values")
        pairs = values if isinstance(values, list) else []
        if not pairs or not all(isinstance(pair, list) and len(pair) == 2 and is_number(pair[1]) for pair in pairs):
            item.wrong("values", values, "a list of [axis value, published value] pairs")
            pairs = []
        values_at = [({**at, along: x}, float(y)) for x, y in pairs]
    else:
        values_at = [(at, item.number("value"))]
    item.finish()
    return [
        Published(measure, scheme, where, value, source, relation, room, judged, cites)
        for where, value in values_at
        for room in (_tolerance(value, units.get(measure, "")) if within is None else within,)
    ]


def _tolerance(value: float, unit: str) -> float:
    """How far a mean may be from a printed number and still be it, where the definition has no tolerance."""
    return POINTS if unit == "%" else RELATIVE * abs(value)


def _claim(item: Fields, vocabulary: Vocabulary) -> Claim:
    name, text = item.text("id"), item.text("text")
    undecidable = item.text("undecidable", "") or None
    kind = item.one_of("kind", sorted(vocabulary.predicates)) if not undecidable else "undecidable"
    given = {"printed": "that of the numbers"}.get(kind, "none") if undecidable or kind == "printed" else None
    tolerance = item.text("tolerance") if given is None else item.text("tolerance", given)
    reason, number, claimed = item.text("reason", ""), item.optional_number("number"), item.text("claimed", "")
    arguments = item.rest()
    if not undecidable and kind in vocabulary.predicates:
        for problem in vocabulary.argument_problems(kind, arguments):
            item.problems.append(f"{item.file}: {item.path} ({name}): {problem}")
    return Claim(name, text, kind, arguments, tolerance, reason, undecidable, number, claimed)


def _figure(item: Fields | None, vocabulary: Vocabulary) -> FigureSpec | None:
    if item is None:
        return None
    kind = item.one_of("kind", FIGURE_KINDS)
    found = FigureSpec(
        kind=kind,
        x=item.text("x", ""),
        x_label=item.text("x_label", ""),
        log_x=item.flag("log_x"),
        panels=tuple(_panel(panel) for panel in item.list_of("panels")),
        note=item.text("note", ""),
        drawing=item.one_of("drawing", sorted(vocabulary.drawings), "") or None,
        highlight=item.table("highlight"),
    )
    item.finish()
    return found


def _panel(item: Fields) -> Panel:
    found = Panel(
        y=item.texts("y"),
        label=item.text("label"),
        schemes=item.texts("schemes", ()),
        log=item.flag("log"),
        bottom=item.optional_number("bottom") if item.has("bottom") else 0.0,
        top=item.optional_number("top"),
        reference=item.optional_number("reference"),
        reference_label=item.text("reference_label", ""),
    )
    item.finish()
    return found


def _cross_check(found: Definition, top: Fields) -> None:
    """Names in one part of a definition that must exist in another."""
    measures = {measure.name for measure in found.measures}
    schemes = {scheme.name for scheme in found.schemes} if found.simulation else None
    axes = {axis.name: tuple(map(axis_name, axis.values)) for axis in found.simulation.vary} if found.simulation else {}
    if not found.claims:
        top.problems.append(f"{top.file}: claims is missing: every id needs at least one claim")
    for index, point in enumerate(found.published):
        if point.measure not in measures:
            top.wrong(f"published[{index}].measure", point.measure, ", ".join(sorted(measures)))
        if schemes and found.model is None and point.scheme and point.scheme not in schemes:
            top.wrong(f"published[{index}].scheme", point.scheme, ", ".join(sorted(schemes)))
    for claim in found.claims:
        if claim.kind == "printed" and not any(point.is_about(claim.arguments) for point in found.published):
            top.problems.append(f"{top.file}: claims ({claim.name}): no published number is judged there")
        _check_claim(claim, found, measures, axes, top)
    seen = [claim.name for claim in found.claims]
    if len(set(seen)) < len(seen):
        top.wrong("claims.id", seen, "ids that differ")
    for index, reading in enumerate(found.readings):
        if schemes is not None and not set(reading.schemes) <= schemes:
            top.wrong(f"readings[{index}].schemes", list(reading.schemes), ", ".join(sorted(schemes)))
    if any(reading.name == BASE_READING for reading in found.readings):
        top.wrong("readings.name", BASE_READING, "another name than that of the base reading")


def _check_claim(
    claim: Claim, found: Definition, measures: set[str], axes: Mapping[str, tuple[Any, ...]], top: Fields
) -> None:
    own = found.simulation is not None and found.model is None
    valid_schemes = {scheme.name for scheme in found.schemes}
    for where, chosen in _selections(claim.arguments):
        field = f"claims ({claim.name}){where}"
        for name in _listed(chosen.get("measure")):
            if not isinstance(name, str) or name not in measures:
                top.wrong(f"{field}.measure", name, ", ".join(sorted(measures)))
        for name in _listed(chosen.get("scheme")) if own else ():
            if not isinstance(name, str) or name not in valid_schemes:
                top.wrong(f"{field}.scheme", name, ", ".join(sorted(valid_schemes)))
        at = chosen.get("at", {})
        if not isinstance(at, Mapping):
            top.wrong(f"{field}.at", at, "a table of axes and their values")
            continue
        for axis, value in at.items():
            for single in _listed(value) if axis in axes else ():
                if single not in axes[axis]:
                    top.wrong(f"{field}.at.{axis}", single, ", ".join(map(str, axes[axis])))


def _selections(arguments: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    inner = [(f".{name}", arguments[name]) for name in ("than", "to") if isinstance(arguments.get(name), Mapping)]
    return [("", arguments), *inner]


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
