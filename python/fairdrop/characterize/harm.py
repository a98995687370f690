"""Disciplines that win nothing in a trial: by the verdict they shut out, starve, or leave the link idle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairdrop.characterize.trials import Measure
from fairdrop.document import Document, Flow, Run
from fairdrop.report.effects import SHUT_OUT, effects
from fairdrop.study.observed import Observed

#: Rows of it are there for disciplines that do harm, and have this value.
HARM = Measure("harm", "1: shuts out or starves; 2: leaves the link idle", "", "", lambda run: None)
STARVES, IDLE = 1.0, 2.0


def harms(scenario: Mapping[str, Any], runs: Mapping[str, Sequence[Observed]]) -> dict[str, float]:
    """The harm that disciplines do in runs of one scenario, of those that do some."""
    document = Document(runs=tuple(_runs(scenario, runs)), scenario=scenario)
    found = effects(document).found if document.runs else ()
    return {one.discipline: IDLE if one.link == SHUT_OUT else STARVES for one in found if one.harms}


def _runs(scenario: Mapping[str, Any], runs: Mapping[str, Sequence[Observed]]) -> Iterator[Run]:
    """The runs as a result document has them, as far as effects go; flows of a group have equal parts of it."""
    link = next(str(link["name"]) for link in scenario["links"] if link["queue"] != "plain")
    crossing = [str(group["name"]) for group in scenario["groups"] if link in group["forward"]]
    for discipline, some in runs.items():
        for run in some:
            yield Run(
                discipline=discipline,
                seed=run.seed,
                link=link,
                link_rate_bps=run.link["link_rate_bps"],
                utilisation=run.link["link_utilisation"],
                measured_from_s=scenario["warm_up_s"],
                measured_to_s=scenario["duration_s"],
                groups=(),
                flows=tuple(flow for name in crossing for flow in _flows(run.groups[name])),
            )


def _flows(group: Mapping[str, Any]) -> Iterator[Flow]:
    number = int(group["flows"])
    share, throughput_bps, offered_bps = (
        (group[name] or 0.0) / number for name in ("share", "throughput_bps", "offered_bps")
    )
    for index in range(number):
        yield Flow(
            name=f"{group['group']}[{index}]",
            group=group["group"],
            transport=group["transport"],
            base_rtt_s=group["base_rtt_s"],
            share=share,
            throughput_bps=throughput_bps,
            offered_bps=offered_bps,
        )
