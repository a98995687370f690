"""Throughput against delay, a mark with its name for each discipline (RFC 7928, 2.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.figure import Figure

from fairdrop.estimate import Estimate
from fairdrop.plot import colours
from fairdrop.plot.frame import note, nothing, single
from fairdrop.plot.style import SMALL, styled
from fairdrop.plot.sweeps import front

# Marks nearer than this, as a part of the axes, share a label; so many names are in one.
_NEAR = (0.13, 0.06)
_NAMES = 3


@dataclass
class _Cluster:
    """Marks that are too near for labels of their own."""

    x: float
    y: float
    names: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        rest = len(self.names) - _NAMES
        return ", ".join(self.names[:_NAMES]) + (f" and {rest} more" if rest > 0 else "")


@styled
def draw(
    points: Sequence[tuple[str, Estimate, Estimate]], x_label: str, y_label: str, text: str, narrow: bool
) -> Figure:
    if not points:
        return nothing("There is no run to show.", narrow)
    figure, axes = single(4.6, narrow)
    axes.errorbar(
        [x.mean for _, x, _ in points], [y.mean for _, _, y in points],
        xerr=[x.half or 0.0 for _, x, _ in points], yerr=[y.half or 0.0 for _, _, y in points],
        linestyle="none", marker="o", markersize=4.5, elinewidth=0.8, color=colours.BLUE,
    )  # fmt: skip
    best = front((x.mean, y.mean) for _, x, y in points)
    axes.step([x for x, _ in best], [y for _, y in best], where="post", color=colours.INK, linewidth=1.0, zorder=1)
    axes.margins(x=0.14, y=0.08)
    left, right = axes.get_xlim()
    low, high = axes.get_ylim()
    found = _clusters(points, _NEAR[0] * (right - left) * (2 if narrow else 1), _NEAR[1] * (high - low))
    for number, cluster in enumerate(sorted(found, key=lambda one: one.x)):
        aside = cluster.x > (left + right) / 2
        above = 4 if number % 2 else -10
        axes.annotate(
            cluster.label, (cluster.x, cluster.y), xytext=(-6 if aside else 6, above), textcoords="offset points",
            ha="right" if aside else "left", fontsize=SMALL, color=colours.INK,
        )  # fmt: skip
    axes.grid(axis="x", visible=True)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    note(figure, text, narrow)
    return figure


def _clusters(points: Sequence[tuple[str, Estimate, Estimate]], near_x: float, near_y: float) -> list[_Cluster]:
    found: list[_Cluster] = []
    for name, x, y in points:
        some = [one for one in found if abs(one.x - x.mean) <= near_x and abs(one.y - y.mean) <= near_y]
        if not some:
            some = [_Cluster(x.mean, y.mean)]
            found += some
        some[0].names.append(name)
    return found
