"""Pages are what their makers make, their links lead somewhere, and stored results survive being packed."""

from __future__ import annotations

import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure
from PIL import Image

from experiments import digests, pages
from experiments.svg import slimmed
from experiments.tracked import tracked
from fairdrop.plot.style import svg_bytes

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def ending(root: Path, suffix: str = "") -> list[Path]:
    return [root / path for path in tracked(root) if path.name.endswith(suffix)]


def dead(path: Path, text: str) -> list[str]:
    """Links and pictures of a page that lead to no file or to no heading."""
    found = []
    for target in LINK.findall(re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)):
        file, _, anchor = target.partition("#")
        to = (path.parent / file).resolve() if file else path
        if re.match(r"[a-z]+:", target):
            continue
        if not to.exists():
            found.append(f"{path.name}: {target}")
        elif anchor:
            titles = re.findall(r"^#+ (.+)$", to.read_text(encoding="utf-8"), re.MULTILINE)
            if anchor not in [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]:
                found.append(f"{path.name}: {target}")
    return found


@pytest.mark.parametrize("name", pages.STORED)
def test_pages_are_what_their_makers_make(name: str) -> None:
    assert pages.stale([name]) == []


def test_no_link_is_dead(root: Path) -> None:
    found = [(path, path.read_text(encoding="utf-8")) for path in ending(root, ".md")]
    assert sum(len(LINK.findall(text)) for _, text in found) > 400
    assert [link for path, text in found for link in dead(path, text)] == []
    assert dead(root / "README.md", "[a](docs/none.md) [b](#no-such-heading)") == [
        "README.md: docs/none.md",
        "README.md: #no-such-heading",
    ]


def test_the_built_pages_are_whole(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make docs` fills what is too long for git, and links lead where they did."""
    monkeypatch.setattr(pages, "BUILT", tmp_path / "docs")
    pages.build()
    for name, least in (("python", 80_000), ("characterization", 80_000)):
        kept = (root / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
        built = (tmp_path / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
        assert "make docs" in kept and "make docs" not in built.partition("<!-- built")[2]
        assert len(kept) < 12_000 and len(built) > least
    built = sorted((tmp_path / "docs").rglob("*.md"))
    assert len(built) > 80
    assert [link for path in built for link in dead(path, path.read_text(encoding="utf-8"))] == []


def test_the_tree_is_light(root: Path) -> None:
    """Generated bulk leaves git or is packed: 15.25 MiB, of it 4 of results and pictures, no file beyond 200 kB."""
    sizes = {path: path.stat().st_size for path in ending(root) if not path.is_symlink()}
    assert sum(sizes.values()) < 15.25 * 2**20
    stored = {".csv", ".gz", ".ipynb", ".lzma", ".png", ".svg", ".xz"}
    assert sum(size for path, size in sizes.items() if path.suffix in stored) < 4 * 2**20
    assert [path.name for path, size in sizes.items() if size > 200_000] == []


def test_sections_are_filled_by_name(tmp_path: Path) -> None:
    page, other = tmp_path / "a.md", tmp_path / "b.md"
    text = "a\n<!-- kind: x 1 -->\n\nold\n\n<!-- end -->\nb\n"
    page.write_text(text)
    other.write_text("none\n")
    assert pages.filled(text, "kind", {"x 1": "new"}) == text.replace("old", "new")
    assert pages.filled(text, "another", {}) == text
    with pytest.raises(KeyError):
        pages.filled(text, "kind", {})
    assert dict(pages.pages_with("kind", {"x 1": "new"}, page, other))[page] == text.replace("old", "new")
    with pytest.raises(ValueError, match="no page has a place for kind: y"):
        list(pages.pages_with("kind", {"x 1": "new", "y": ""}, page, other))


def test_a_page_that_was_changed_by_hand_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "files", lambda name: iter([(page, "made"), (tmp_path / "drawn.svg", Figure())]))
    pages.write(["one"], figures=False)
    assert page.read_text() == "made"
    assert pages.stale(["one"]) == ["drawn.svg: python -m experiments.pages one"]
    page.write_text("by hand")
    assert pages.stale(["one"])[0].startswith("page.md")


def drawing() -> Figure:
    figure = Figure()
    axes = figure.subplots()
    axes.plot([0, 1, 3], [2, 5, 4], label="line & mark", marker="o")
    axes.bar([0, 1], [1, 2], hatch="//", alpha=0.5)
    axes.legend()
    return figure


def test_figures_lose_no_mark_and_no_text() -> None:
    plain = svg_bytes(drawing()).decode()
    small = slimmed(plain)
    assert len(small) < 0.5 * len(plain)
    trees = [ElementTree.fromstring(text) for text in (plain, small)]
    texts = [[one.text for one in tree.iter() if one.tag.endswith("}text")] for tree in trees]
    uses = [[one for one in tree.iter() if one.tag.endswith("}use")] for tree in trees]
    assert texts[0] == texts[1] and "line & mark" in texts[0] and len(uses[0]) == len(uses[1])
    ids = {one.get("id") for one in trees[1].iter()}
    assert set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", small)) == ids - {None}


def test_coordinates_do_not_drift() -> None:
    """A thousand steps of a third: where the last one ends is rounded once."""
    path = "M 0 0 " + " ".join(f"L {step / 3:.6f} {step / 7:.6f}" for step in range(1, 1001))
    small = slimmed(f'<svg xmlns="http://www.w3.org/2000/svg"><path d="{path}" style="stroke: red"/></svg>')
    numbers = [float(word) for word in re.findall(r"-?\d*\.?\d+", small.partition(' d="')[2].partition('"')[0])]
    assert sum(numbers[0::2]) == pytest.approx(1000 / 3, abs=0.006)
    assert sum(numbers[1::2]) == pytest.approx(1000 / 7, abs=0.006)


def test_pictures_keep_their_size() -> None:
    png = pages.drawn(drawing(), ".png")
    image = Image.open(io.BytesIO(png))
    assert image.mode == "P" and image.size == (1024, 768) and len(image.getcolors()) <= 64


def test_digests_are_the_same_bytes_again(tmp_path: Path) -> None:
    rows = [{"a": "1", "b": "x"}, {"a": "2", "c": "y, z"}]
    for name in ("plain.csv", "packed.csv.xz"):
        digests.store(tmp_path / name, digests.as_csv(rows))
        first = (tmp_path / name).read_bytes()
        assert digests.read(tmp_path / name) == [{"a": "1", "b": "x", "c": ""}, {"a": "2", "b": "", "c": "y, z"}]
        digests.store(tmp_path / name, digests.as_csv(digests.read(tmp_path / name)))
        assert (tmp_path / name).read_bytes() == first
    assert digests.read(tmp_path / "none.csv") == []


def double(number: int) -> dict[str, object]:
    return {"n": number, "twice": 2.0 * number}


def test_runs_are_made_once(tmp_path: Path) -> None:
    """Runs in the digest or in the file of work are not made again; a line that was cut off is."""
    digest, work = tmp_path / "d.csv.xz", tmp_path / "results" / "work.csv"
    tasks = [((str(number),), number) for number in (1, 2, 3)]

    def made(wanted: list[tuple[tuple[str], int]]) -> digests.Runs:
        runs = digests.Runs(digest, work, ("n",), ("twice",))
        runs.make(wanted, double, 1)
        return runs

    assert made(tasks[:2]).made == 2
    work.write_text(work.read_text()[:-2])
    runs = made(tasks)
    assert runs.made == 2 and runs.done["3",] == {"n": "3", "twice": "6"}
    runs.keep([("3",), ("1",)])
    work.unlink()
    runs = made(tasks)
    assert runs.made == 1 and [row["n"] for row in digests.read(digest)] == ["3", "1"]
