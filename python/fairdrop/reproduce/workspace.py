"""The directory that a reproduction lives in: runs, documents, figures, data, and the page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from fairdrop import plot
from fairdrop.files import DOCUMENT, read_json
from fairdrop.progress import Progress
from fairdrop.reproduce.define.definition import Definition
from fairdrop.reproduce.define.papers import names, paper_of
from fairdrop.reproduce.definitions import definition
from fairdrop.reproduce.execute.plan import Order, Part, check_settings, looks
from fairdrop.reproduce.execute.store import Store, write_text
from fairdrop.reproduce.execute.work import part_weight
from fairdrop.reproduce.judge.document import identity
from fairdrop.reproduce.outcome import Reproduction, read, reproduce, write

FIGURE_KINDS = ("svg", "pdf")
NOT_RUN, STALE = "not run", "stale"


class Workspace:
    """Results under one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.store = Store(directory / "store")
        #: Folders of papers from outside the package, to be resumed with.
        self.folders: tuple[Path, ...] = ()

    def path(self, name: str) -> Path:
        return self.directory / "results" / f"{name}.json"

    def stored(self, name: str) -> Reproduction | None:
        return read(self.path(name), definition(name))

    def current(self, name: str, order: Order) -> Reproduction | None:
        """The stored document when nothing that decides it has changed since."""
        found = self.stored(name)
        same = found is not None and found.document["identity"] == identity(definition(name), order)
        return found if same else None

    def remember(self, ids: Sequence[str], order: Order) -> None:
        """What was asked for, so that it can be resumed."""
        asked = {
            "ids": list(ids), "profile": order.profile, "seeds": order.seeds, "settings": list(order.settings),
            "seed": order.seed, "papers": [str(folder.resolve()) for folder in self.folders],
        }  # fmt: skip
        write_text(self.directory / "run.json", json.dumps(asked, indent=1) + "\n")

    def remembered_folders(self) -> list[Path]:
        """Folders of papers that the last command was given."""
        try:
            asked = read_json(self.directory / "run.json", DOCUMENT, "")
            return [Path(folder) for folder in asked.get("papers", [])]
        except (OSError, ValueError, AttributeError, TypeError):
            return []

    def remembered(self) -> tuple[list[str], Order]:
        """What the last command asked for. Raises ValueError when there is none."""
        path = self.directory / "run.json"
        try:
            asked = read_json(path, DOCUMENT, "")
            order = Order(asked["profile"], asked["seeds"], tuple(asked["settings"]), asked.get("seed", 1))
            return [name for name in asked["ids"] if name in names()], order
        except (OSError, ValueError, KeyError, TypeError):
            raise ValueError(f"{path}: nothing to resume; valid: --out of an interrupted reproduction") from None

    def reproduce(
        self,
        ids: Sequence[str],
        order: Order,
        threads: int | None,
        progress: Progress,
        report: Callable[[Reproduction], None],
    ) -> list[Reproduction]:
        """Each id in turn, written as soon as it is done; what is current is not done again. Raises SettingError."""
        check_settings(map(definition, ids), order)
        self.remember(ids, order)
        found = {name: self.current(name, order) for name in ids}
        waiting = [definition(name) for name in ids if found[name] is None]
        progress.total = sum(_weight(one, order) for one in waiting)
        for one in waiting:
            progress.name = one.name
            done = reproduce(one, order, self.store, threads, progress)
            self.save(done)
            progress.clear()
            report(done)
            found[one.name] = done
        return [one for one in found.values() if one is not None]

    def save(self, found: Reproduction) -> None:
        """Document, data and figure of one id."""
        name = found.definition.name
        write(found, self.path(name))
        if found.rows:
            write_text(self.directory / "data" / f"{name}.csv", found.to_csv())
        try:
            figure = found.plot()
        except ValueError:
            return
        (self.directory / "figures").mkdir(parents=True, exist_ok=True)
        for kind in FIGURE_KINDS:
            plot.save(figure, self.directory / "figures" / f"{name}.{kind}")

    def all(self) -> list[Reproduction]:
        """Every stored document whose definition is still the same, in the order of the papers."""
        stored = [found for name in names() if (found := self.stored(name)) is not None]
        return [found for found in stored if found.follows_definition]

    def write_summary(self, found: Iterable[Reproduction]) -> None:
        """``summary.csv``: one row per claim."""
        out = io.StringIO()
        writer = csv.DictWriter(out, SUMMARY, lineterminator="\n")
        writer.writeheader()
        for one in found:
            writer.writerows(summary_rows(one))
        write_text(self.directory / "summary.csv", out.getvalue())

    def states(self) -> list[dict[str, Any]]:
        """Every id with its state: a verdict, ``not run``, or ``stale`` when definition or engine changed since."""
        return [self._state(definition(name)) for name in names()]

    def _state(self, one: Definition) -> dict[str, Any]:
        found = self.stored(one.name)
        state = NOT_RUN
        if found is not None:
            asked = found.document
            order = Order(asked["profile"], asked["asked_seeds"], tuple(asked["settings"]), asked.get("first_seed", 1))
            state = found.verdict if asked["identity"] == identity(one, order) else STALE
        return {
            "id": one.name, "paper": paper_of(one.name), "kind": one.kind, "section": one.section, "title": one.title,
            "state": state, "claims": len(one.claims),
            "profile": found.document["profile"] if found else None,
        }  # fmt: skip


SUMMARY = ("id", "claim", "text", "published", "measured", "verdict", "reason")


def summary_rows(found: Reproduction) -> list[dict[str, str]]:
    """id, claim, published, measured with its interval, verdict, reason."""
    published = "; ".join(
        f"{_at(point)}{point['label']} {point['published']:g} {point['unit']}".strip()
        for point in found.document["published"][:6]
    )
    return [
        {
            "id": found.definition.name, "claim": claim["id"], "text": claim["text"], "published": published,
            "measured": claim["measured"], "verdict": claim["verdict"], "reason": claim["why"],
        }
        for claim in found.document["claims"]
    ]  # fmt: skip


def _at(point: dict[str, Any]) -> str:
    words = [point["scheme"]] if point["scheme"] else []
    words += [f"{axis} {value}" for axis, value in point["at"].items()]
    return f"{', '.join(words)}: " if words else ""


def _weight(one: Definition, order: Order) -> float:
    try:
        return part_weight(one, order, Part(looks(one, order)[0]))
    except ValueError:
        return 0.0
