"""A measure, a model and a predicate of the CSFQ paper, for ``fairdrop reproduce --papers``."""

import math

from fairdrop.reproduce.judge.parts import Part, outcome
from fairdrop.reproduce.measure.data import Row, Sample


def largest_of_fair(run):
    """What the flow that gets most gets, over an equal part of the link."""
    rates = [float(flow["throughput_bps"]) for flow in run["flows"]]
    return max(rates) * len(rates) / float(run["link_rate_bps"])


def fair_allocation(definition, flows, link):
    """Every flow sends its equal part or more, so the max-min fair rates are equal."""
    for flow in range(1, flows + 1):
        yield Row("max-min", {"flow": float(flow)}, "each", (link / flows,), exact=True)
    yield Row("max-min", {}, "excess", (1.0,), exact=True)


def follows_rates(data, arguments):
    """Throughput goes with the rate: the correlation of both, seed by seed, is above ``least`` under each scheme."""
    parts = []
    for scheme in arguments["scheme"]:
        rows = sorted(data.select(arguments["measure"], scheme), key=lambda row: row.at["flow"])
        by_seed = zip(*(row.values for row in rows), strict=True)
        values = tuple(_correlation([row.at["flow"] for row in rows], seed) for seed in by_seed)
        parts.append(Part(Sample(values, rows[0].error), low=float(arguments["least"]), point=scheme))
    return outcome(parts)


def _correlation(x, y):
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    both = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return both / math.sqrt(sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y))


MEASURES = {"largest_of_fair": largest_of_fair}
MODELS = {"fair_allocation": fair_allocation}
# The predicate, the fields that it needs, and further ones that it takes.
PREDICATES = {"follows_rates": (follows_rates, {"measure", "scheme", "least"}, {"at"})}
