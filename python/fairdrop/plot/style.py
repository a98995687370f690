"""The one look of all figures, and how they are written."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from io import BytesIO
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ParamSpec

import matplotlib
from matplotlib.figure import Figure

from fairdrop.files import write_bytes
from fairdrop.plot.colours import GRID, INK, MUTED

P = ParamSpec("P")

SMALL = 8.0
# PDF and PostScript with TrueType fonts: publishers refuse Matplotlib's Type 3.
TRUE_TYPE: Any = {"pdf.fonttype": 42, "ps.fonttype": 42}

# Typed loosely: the keys that Matplotlib knows differ between its releases.
STYLE: Any = {
    **TRUE_TYPE,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    "text.color": INK,
    "text.parse_math": False,
    "axes.labelcolor": INK,
    "axes.labelsize": 9.0,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 7.0,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "xtick.major.size": 3.0,
    "ytick.major.size": 0.0,
    "xtick.minor.size": 0.0,
    "ytick.minor.size": 0.0,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handlelength": 1.9,
    "legend.handletextpad": 0.5,
    "legend.columnspacing": 1.4,
    "legend.borderaxespad": 0.0,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "lines.linewidth": 1.8,
    "hatch.linewidth": 2.2,
    "svg.fonttype": "none",
    "svg.hashsalt": "fairdrop",
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.h_pad": 0.05,
    "figure.constrained_layout.w_pad": 0.05,
}


class StyledFigure(Figure):
    """A figure that is saved with TrueType fonts by its own ``savefig``, too."""

    def savefig(self, fname: Any, **kwargs: Any) -> None:
        with matplotlib.rc_context(TRUE_TYPE):
            super().savefig(fname, **kwargs)


def styled(function: Callable[P, Figure]) -> Callable[P, Figure]:
    """Draw under the style without touching the caller's settings."""

    @wraps(function)
    def inner(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with matplotlib.rc_context(STYLE):
            return function(*args, **kwargs)

    return inner


def svg_bytes(figure: Figure) -> bytes:
    """The figure as SVG, without date or other trace of when it was drawn."""
    out = BytesIO()
    _write(figure, out, "svg", {"Date": None, "Creator": None})
    return out.getvalue()


def save_figure(figure: Figure, path: str | PathLike[str]) -> None:
    kind = Path(fspath(path)).suffix.lstrip(".").lower() or "svg"
    plain = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
    out = BytesIO()
    _write(figure, out, kind, plain.get(kind))
    write_bytes(path, out.getvalue())


def _write(figure: Figure, target: Any, kind: str, metadata: dict[str, Any] | None) -> None:
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        # A name may hold letters that the measuring font lacks; the reader's own font draws them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        facecolor = "none" if kind == "svg" else "white"
        figure.savefig(target, format=kind, metadata=metadata, dpi=160, facecolor=facecolor)
