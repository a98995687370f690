"""Throughput against delay, a mark with its name for each discipline (RFC 7928, 2.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox, BboxBase

from fairdrop.estimate import Estimate
from fairdrop.plot import colours
from fairdrop.plot.frame import note, nothing, single
from fairdrop.plot.size import Size
from fairdrop.plot.style import SMALL, styled
from fairdrop.plot.sweeps import front

# Marks nearer than this, as a part of the axes, share a label; so many names are in one.
_NEAR = (0.13, 0.06)
_NAMES = 3
# Half the width of what a mark takes, in pixels.
_MARK = 3.0
# Where a label may begin, or end, beside its mark, in points, in the order in which they are tried.
_PLACES = [(6, 4), (6, -11), (-6, 4), (-6, -11), (6, 16), (-6, 16), (6, -23), (-6, -23), (-6, -36), (6, -36)]


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
    points: Sequence[tuple[str, Estimate, Estimate]], x_label: str, y_label: str, text: str, size: Size
) -> Figure:
    if not points:
        return nothing("There is no run to show.", size)
    figure, axes = single(4.6, size)
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
    found = _clusters(points, _NEAR[0] * (right - left) * (2 if size.narrow else 1), _NEAR[1] * (high - low))
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
                break
            label.remove()


def _is_in(outer: BboxBase, inner: BboxBase) -> bool:
    return outer.x0 <= inner.x0 and inner.x1 <= outer.x1 and outer.y0 <= inner.y0 and inner.y1 <= outer.y1


def _clusters(points: Sequence[tuple[str, Estimate, Estimate]], near_x: float, near_y: float) -> list[_Cluster]:
    found: list[_Cluster] = []
    for name, x, y in points:
        some = [one for one in found if abs(one.x - x.mean) <= near_x and abs(one.y - y.mean) <= near_y]
        if not some:
            some = [_Cluster(x.mean, y.mean)]
            found += some
        some[0].names.append(name)
    return found
