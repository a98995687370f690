"""Throughput against delay, a mark with its name for each discipline (RFC 7928, 2.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox, BboxBase

from fairdrop.estimate import Estimate
from fairdrop.plot import colours
from fairdrop.plot.frame import note, nothing, plain_log, single
from fairdrop.plot.marks import mark
from fairdrop.plot.size import Size
from fairdrop.plot.style import SMALL, styled
from fairdrop.plot.sweeps import front
from fairdrop.wording.numbers import with_half

# Marks nearer than this, as a part of the axes, share a label, with this many names at most.
_NEAR = (0.05, 0.04)
_NAMES = 3
# Ratio of the longest delay to the shortest from which the axis has a scale of ratios.
_LOG_FROM = 30.0
# Half the width of what a mark takes, in pixels.
_MARK = 3.0
# Where a label may begin, or end, beside its mark, in points, in the order in which they are tried.
_PLACES = [(6, 4), (6, -11), (-6, 4), (-6, -11), (6, 16), (-6, 16), (6, -23), (-6, -23)]


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
    points: Sequence[tuple[str, Estimate, Estimate]], x_label: str, y_label: str, text: str, size: Size, most: float
) -> Figure:
    """``most`` is the largest value of ``y`` that there can be: no whisker goes beyond it."""
    if not points:
        return nothing("There is no run to show.", size)
    figure, axes = single(4.6, size)
    for name, x, y in points:
        dot = axes.plot([x.mean], [y.mean], "o", markersize=4.5, color=colours.BLUE)
        mark(dot, name, f"{name}: {with_half(x, 1, x_label)}; {with_half(y, 1, y_label)}")
        if x.half:
            ends = [max(x.low, 0.0), x.high]
            mark(axes.plot(ends, [y.mean, y.mean], color=colours.BLUE, linewidth=0.8), name)
        if y.half:
            ends = [max(y.low, 0.0), min(y.high, most)]
            mark(axes.plot([x.mean, x.mean], ends, color=colours.BLUE, linewidth=0.8), name)
    best = front((x.mean, y.mean) for _, x, y in points)
    axes.step([x for x, _ in best], [y for _, y in best], where="post", color=colours.INK, linewidth=1.0, zorder=1)
    axes.margins(x=0.14, y=0.08)
    delays = [x.mean for _, x, _ in points]
    if min(delays) > 0 and max(delays) / min(delays) > _LOG_FROM:
        axes.set_xscale("log")
        plain_log(axes.xaxis, max(delays) / min(delays))
    found = _clusters(axes, points, _NEAR[0] * (2 if size.narrow else 1), _NEAR[1])
    axes.grid(axis="x", visible=True)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    note(figure, text)
    first = sorted(found, key=lambda one: ((one.x, one.y) not in best, len(one.names), one.x))
    _label(axes, first, [(x.mean, y.mean) for _, x, y in points])
    return figure


def _label(axes: Axes, clusters: Sequence[_Cluster], marks: Sequence[tuple[float, float]]) -> None:
    """Gives each cluster, the first of them first, a label where there is room beside it; else none."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    places = [axes.transData.transform(mark) for mark in marks]
    taken = [Bbox.from_bounds(x - _MARK, y - _MARK, 2 * _MARK, 2 * _MARK) for x, y in places]
    for cluster in clusters:
        for right, above in _PLACES:
            label = axes.annotate(
                cluster.label, (cluster.x, cluster.y), xytext=(right, above), textcoords="offset points",
                ha="left" if right > 0 else "right", fontsize=SMALL, color=colours.INK,
            )  # fmt: skip
            box = label.get_window_extent()
            if not any(box.overlaps(other) for other in taken) and _is_in(axes.bbox, box):
                taken.append(box)
                mark(label, cluster.names)
                break
            label.remove()


def _is_in(outer: BboxBase, inner: BboxBase) -> bool:
    return outer.x0 <= inner.x0 and inner.x1 <= outer.x1 and outer.y0 <= inner.y0 and inner.y1 <= outer.y1


def _clusters(
    axes: Axes, points: Sequence[tuple[str, Estimate, Estimate]], near_x: float, near_y: float
) -> list[_Cluster]:
    """Marks that are nearer to the first of them than these parts of the axes."""
    place = axes.transData + axes.transAxes.inverted()
    found: list[tuple[float, float, _Cluster]] = []
    for name, x, y in points:
        across, up = place.transform((x.mean, y.mean))
        some = [one for left, low, one in found if abs(left - across) <= near_x and abs(low - up) <= near_y]
        if not some:
            some = [_Cluster(x.mean, y.mean)]
            found.append((across, up, some[0]))
        some[0].names.append(name)
    return [one for _, _, one in found]
