"""The figures: drawn for every document, with the numbers and colours they should have."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zlib
from collections.abc import Callable
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest
from matplotlib import rcParams
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

import sample_document as sample
from fairdrop import plot
from fairdrop.document import document_of
from fairdrop.estimate import Estimate
from fairdrop.library import catalogue
from fairdrop.plot import colours
from fairdrop.plot.distributions import cumulative
from fairdrop.plot.drop_causes import mean_drops, seen_causes
from fairdrop.plot.flows import layout, mean_flows
from fairdrop.plot.frame import spread
from fairdrop.plot.queue_time import thin
from fairdrop.plot.size import SIZES, Width
from fairdrop.plot.style import svg_bytes
from fairdrop.plot.thresholds import thresholds
from fairdrop.result import Plots

FUNCTIONS: dict[str, Callable[..., Figure]] = {
    name: getattr(plot, name)
    for name in ("throughput_per_flow", "shares", "queue_over_time", "queue_length", "drops", "sojourn")
}
DOCUMENTS = {name: make() for name, make in sample.ALL.items()}


def words(figure: Figure) -> list[str]:
    root = ElementTree.fromstring(svg_bytes(figure))
    return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("width", ["phone", "screen"])
@pytest.mark.parametrize("document", sorted(DOCUMENTS))
@pytest.mark.parametrize("function", sorted(FUNCTIONS))
@pytest.mark.filterwarnings("error::UserWarning")
def test_every_figure_of_every_document(function: str, document: str, width: Width) -> None:
    figure = FUNCTIONS[function](DOCUMENTS[document], width=width)
    assert isinstance(figure, Figure)
    assert figure.get_figwidth() == SIZES[width].width_in
    assert words(figure), "a figure says something, were it only that there is nothing to show"


@pytest.mark.parametrize("document", ["simulation", "replay", "lonely_groups", "many"])
@pytest.mark.parametrize("function", sorted(FUNCTIONS))
@pytest.mark.parametrize("width", ["column", "page"])
def test_no_text_overlaps_text_or_leaves_the_figure(
    function: str, document: str, width: Width, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = FUNCTIONS[function](DOCUMENTS[document], width=width)
    boxes = list(drawn_texts(figure, monkeypatch).values())
    assert len(boxes) > 5
    for index, (label, box) in enumerate(boxes):
        assert box.x0 >= -1, label
        assert box.x1 <= figure.bbox.x1 + 1, label
        assert box.y0 >= -1, label
        assert box.y1 <= figure.bbox.y1 + 1, label
        for other, place in boxes[index + 1 :]:
            across = min(box.x1, place.x1) - max(box.x0, place.x0)
            along = min(box.y1, place.y1) - max(box.y0, place.y0)
            assert across <= 1 or along <= 1, f"{label!r} lies on {other!r}"


def drawn_texts(figure: Figure, monkeypatch: pytest.MonkeyPatch) -> dict[int, tuple[str, Any]]:
    """Text and box of what is really drawn: axes also hold tick labels that are not."""
    found: dict[int, tuple[str, Any]] = {}
    draw = Text.draw

    def recorded(self: Text, renderer: Any, *args: Any, **kwargs: Any) -> None:
        draw(self, renderer, *args, **kwargs)
        if self.get_visible() and self.get_text().strip():
            found[id(self)] = (self.get_text(), self.get_window_extent(renderer))

    monkeypatch.setattr(Text, "draw", recorded)
    FigureCanvasAgg(figure).draw()
    return found


def test_flow_means_and_intervals_are_those_of_the_document() -> None:
    document = DOCUMENTS["simulation"]
    found = mean_flows(document_of(document), "choke")
    rates = [dict(run["queues"][0]["throughput_bps_by_flow"])["tcp[3]"] for run in document["runs"][20:]]
    assert len(found) == 33
    assert found["tcp[3]"].mean == pytest.approx(mean(rates))
    assert found["tcp[3]"].half == pytest.approx(2.2621571628 * stdev(rates) / 10**0.5)


@pytest.mark.parametrize(
    ("document", "expected"), [("simulation", "log bars"), ("lonely_groups", "bars"), ("replay", "points")]
)
def test_flows_are_drawn_as_their_number_and_range_demand(document: str, expected: str) -> None:
    assert layout(document_of(DOCUMENTS[document])) == expected
    axes = plot.throughput_per_flow(DOCUMENTS[document]).axes[0]
    assert axes.get_yscale() == ("linear" if expected == "bars" else "log")


def test_bars_on_a_logarithmic_axis_start_at_the_fair_share() -> None:
    figure = plot.throughput_per_flow(DOCUMENTS["simulation"])
    bars = list(figure.axes[0].patches)
    assert len(bars) == 33
    assert {round(patch.get_y(), 6) for patch in bars} == {round(1e3 / 33, 6)}  # type: ignore[attr-defined]
    assert "fair share, 30.3 kb/s" in words(figure)


def test_notes_give_the_number_of_seeds() -> None:
    assert "mean of 10 seeds" in " ".join(words(plot.shares(DOCUMENTS["simulation"])))
    assert "no interval" in " ".join(words(plot.shares(DOCUMENTS["tcp_only"])))
    assert "Incomplete" in " ".join(words(plot.shares(DOCUMENTS["incomplete"])))
    assert "24.5 % (±0.4)" in words(plot.shares(DOCUMENTS["simulation"]))


def test_single_seed_has_no_whiskers() -> None:
    assert len(plot.throughput_per_flow(DOCUMENTS["tcp_only"]).axes[0].lines) == 1, "only the fair share"
    assert len(plot.throughput_per_flow(DOCUMENTS["lonely_groups"]).axes[0].lines) == 4


def test_drops_are_means_by_cause() -> None:
    document = DOCUMENTS["simulation"]
    counts = [run["groups"][1]["drops"]["match_queued"] for run in document["runs"][20:]]
    assert mean_drops(document_of(document), "choke", "udp", "match_queued") == pytest.approx(mean(counts))
    assert seen_causes(document_of(DOCUMENTS["no_drops"])) == []
    assert "No packet was dropped" in " ".join(words(plot.drops(DOCUMENTS["no_drops"])))


def test_queue_over_time_takes_the_seed_that_is_asked_for() -> None:
    document = DOCUMENTS["simulation"]
    assert "with seed 1." in " ".join(words(plot.queue_over_time(document)))
    assert "with seed 7." in " ".join(words(plot.queue_over_time(document, seed=7)))
    assert "No run" in " ".join(words(plot.queue_over_time(document, seed=99)))


def test_thresholds_come_from_the_scenario_and_only_to_whom_they_belong() -> None:
    document = DOCUMENTS["simulation"]
    assert thresholds(document_of(document), "red") == {"min_th": 100.0, "max_th": 200.0}
    assert thresholds(document_of(document), "choke") == {"min_th": 100.0, "max_th": 200.0}
    listed = {"scenario": {"queues": [{"disciplines": [{"name": "choke", "min_th": 5, "max_th": 9}]}]}}
    assert thresholds(document_of(listed), "choke") == {"min_th": 5.0, "max_th": 9.0}
    assert thresholds(document_of({"scenario": None}), "red") == {}
    apart = {"scenario": {"red": {"min_th": 5, "max_th": 9}, "choke": {"min_th": 1, "max_th": 2}}}
    assert thresholds(document_of(apart), "red") == {"min_th": 5.0, "max_th": 9.0}
    assert thresholds(document_of(apart), "mine") == {}
    shown = words(plot.queue_over_time(document))
    assert shown.count("min_th 100") == 2, "for RED and CHOKe, not for DropTail"
    assert shown.count("max_th 200") == 2
    assert "limit 300" in shown


def test_cumulative_and_thinning() -> None:
    assert cumulative({3.0: 1.0, 1.0: 3.0}) == ([1.0, 3.0], [75.0, 100.0])
    values, parts = cumulative({float(index): 1.0 for index in range(5000)})
    assert len(values) <= 401
    assert (values[-1], parts[-1]) == (4999.0, 100.0)
    assert thin([1, 3, None, 5, None], 2)[:2] == [2.0, 5.0]
    assert spread([0, 1, 50], 10) == [0, 10, 50]


def test_colours_are_fixed_by_name() -> None:
    assert colours.groups(["udp", "tcp"]) == {"tcp": colours.BLUE, "udp": colours.VERMILLION}
    assert colours.groups(["zebra", "tcp"])["zebra"] == colours.groups(["tcp", "zebra"])["zebra"]
    several = colours.groups(["tcp", "udp", "a", "b", "c", "d"])
    assert len(set(several.values())) == 6
    assert set(colours.DARK) == set(colours.VARIABLES)


def contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_in_both_modes() -> None:
    assert contrast(colours.INK, colours.PAPER) > 7
    assert contrast(colours.MUTED, colours.PAPER) > 4.5
    assert contrast(colours.DARK[colours.INK], colours.DARK[colours.PAPER]) > 7
    assert contrast(colours.DARK[colours.MUTED], colours.DARK[colours.PAPER]) > 4.5
    known = {*colours.KNOWN_GROUPS.values(), *colours.KNOWN_DISCIPLINES.values()}
    for colour in known:
        assert contrast(colours.DARK[colour], colours.DARK[colours.PAPER]) > 3


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
def test_svg_is_deterministic(function: str, tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        plot.save(FUNCTIONS[function](copy.deepcopy(DOCUMENTS["incomplete"])), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert b"<dc:date>" not in (tmp_path / "a.svg").read_bytes()


def fonts_of(data: bytes) -> set[bytes]:
    """Kinds of the fonts in a PDF file, those in compressed objects included, or in a PostScript file."""
    if data.startswith(b"%!PS"):
        return set(re.findall(rb"/FontType (\d+) def", data))
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL)
    whole = [data, *(zlib.decompressobj().decompress(stream) for stream in streams if stream[:1] == b"x")]
    return {kind for text in whole for kind in re.findall(rb"/Subtype\s*/(Type[13]|TrueType|CIDFontType2)\b", text)}


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
def test_print_has_true_type_fonts(function: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Publishers refuse Type 3; PostScript has no transparency, of which Matplotlib warns."""
    figure = FUNCTIONS[function](DOCUMENTS["incomplete"], width="column")
    for name in ("a.pdf", "a.ps", "a.eps"):
        plot.save(figure, tmp_path / f"saved-{name}")
        figure.savefig(tmp_path / name)
        for file in (tmp_path / name, tmp_path / f"saved-{name}"):
            assert fonts_of(file.read_bytes()) <= {b"TrueType", b"CIDFontType2", b"42"}, file
            assert fonts_of(file.read_bytes()), file
    assert caplog.records == []


def test_type_3_fonts_would_be_found(tmp_path: Path) -> None:
    """The check above can fail: Matplotlib writes that by default."""
    figure = Figure()
    figure.text(0.5, 0.5, "text")
    for name, kind in (("a.pdf", b"Type3"), ("a.ps", b"3")):
        figure.savefig(tmp_path / name)
        assert fonts_of((tmp_path / name).read_bytes()) == {kind}


def test_presets_are_the_columns_of_a_journal(tmp_path: Path) -> None:
    plots = Plots(DOCUMENTS["simulation"])
    assert plots.shares(width="column").get_figwidth() == 3.5
    assert plots.shares(width="page").get_figwidth() == 7.16
    assert plots.shares().get_figwidth() == 9.0
    with pytest.raises(ValueError, match="width = 'wide' is not valid; valid: screen, phone, column, page"):
        plots.shares(width="wide")  # type: ignore[arg-type]


@pytest.mark.parametrize("width", ["column", "page"])
def test_text_is_legible_at_its_final_width(width: Width) -> None:
    figures = [function(DOCUMENTS["lonely_groups"], width=width) for function in FUNCTIONS.values()]
    sizes = [text.get_fontsize() for figure in figures for text in figure.findobj(Text) if text.get_text()]
    assert len(sizes) > 50
    assert min(sizes) >= 8 and max(sizes) <= 10


def test_drawing_leaves_the_settings_of_the_caller_alone() -> None:
    before = dict(rcParams)
    plot.shares(DOCUMENTS["tcp_only"])
    assert dict(rcParams) == before


@pytest.mark.parametrize("module", ["fairdrop.plot", "fairdrop.report"])
def test_import_is_light(module: str) -> None:
    code = f"import sys, {module}; print([m for m in ('matplotlib', 'jinja2', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_shares_mark_what_the_model_says_under_choke() -> None:
    document = sample.simulation(seeds=2, samples=10)
    document["model"] = {"groups": [{"name": "tcp", "share": 0.7}, {"name": "udp", "share": 0.3}]}
    axes = plot.shares(document).axes[0]
    diamonds = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "D"]
    assert sorted(diamonds) == pytest.approx([30.0, 70.0]), "one mark per group, under one of the disciplines"
    del document["model"]
    assert not [line for line in plot.shares(document).axes[0].lines if line.get_marker() == "D"]


def test_no_whisker_of_a_share_leaves_what_shares_can_be() -> None:
    document = sample.simulation({"droptail": 0.9, "choke": 0.1}, seeds=3, samples=10)
    for run, share in zip(document["runs"], (1.0, 1.0, 0.7, 0.0, 0.0, 0.3), strict=True):
        run["groups"][1]["share"] = share
    axes = plot.shares(document).axes[0]
    ends = [float(x) for line in axes.lines for x in line.get_xdata()]  # type: ignore[union-attr]
    assert (min(ends), max(ends)) == (0.0, 100.0)
    assert axes.get_xticks()[-1] == 100, "the last tick has its number"
    points = [("A", Estimate(5.0, 9.0, 3), Estimate(0.99, 0.2, 3)), ("B", Estimate(9.0, 1.0, 3), Estimate(0.1, 0.3, 3))]
    lines = plot.trade_off(points, "x", "y", "", most=1.0).axes[0].lines
    assert max(float(y) for line in lines for y in line.get_ydata()) <= 1.0  # type: ignore[union-attr]
    assert min(float(v) for line in lines for v in [*line.get_xdata(), *line.get_ydata()]) >= 0.0  # type: ignore[union-attr]


@pytest.mark.parametrize("document", ["simulation", "many"])
def test_the_axis_of_time_ends_in_a_tick(document: str) -> None:
    axes = plot.queue_over_time(DOCUMENTS[document]).axes[-1]
    assert axes.get_xlim()[1] == 300.0
    assert 300.0 in axes.get_xticks()


def test_curves_can_be_distinguished() -> None:
    names = [str(entry["name"]) for entry in catalogue()["disciplines"]]
    for start in range(len(names)):
        some = (names[start:] + names[:start])[:6]
        assert len(set(colours.lines(some).values())) == 6, some
