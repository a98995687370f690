"""The examples of a page of the documentation: which there are, and what each of them prints when it is run.

A block of `sh` or `python` is run, and a block of `text` straight below it is what it prints. In a block of `console`
a line `$ COMMAND` is run and what follows is its output. Output is compared line by line; a line `...` stands for any
number of lines, `...` inside a line for any text.

A block whose paragraph above begins with a file name in code type and ends with a colon is that file. A comment
`<!-- not run: REASON -->` above a block excludes it; a file is written all the same. Commands that set something up
(`make`, `cargo`, `pip`, `git`) are not run; what `pip install` names is there from that line on, and no other package.
`make ffi` and `make install` are run, and what a block of `export` says holds for the blocks that follow.

Files below `crates` and `docs` are what a page adds to the program: they are written into a copy of the checkout, in
which the tests of the page then run.

A comment `<!-- measured: fairdrop run SCENARIO --seeds N -->` above a table says how its numbers are measured: each row
with the `--set` of its column `settings`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from experiments.tracked import tracked
from installed import Installed, Interpreter
from processes import QUICK_BUILD

_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_NOT_RUN = re.compile(r"<!-- not run: ([^>]+) -->\s*\Z")
_FILE = re.compile(r"`([\w./-]+\.\w+)`.*:\s*\Z", re.DOTALL)
_BUILDS = re.compile(r"^(?:make|cargo|(?:\S*/)?pip|git)\b", re.MULTILINE)
_EXPORTED = re.compile(r"\b(\w+)=")
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n", re.MULTILINE)
# Long enough for a busy machine; only a command that hangs meets it.
_PATIENCE = 600


_MEASURED = re.compile(r"^<!-- measured: fairdrop run (\S+) --seeds (\d+) -->\n\n((?:\|.*\n)+)", re.MULTILINE)


@dataclass
class Table:
    """A table of measured values."""

    scenario: str
    seeds: int
    text: str
    # Where it is in the text of the page.
    start: int

    def rewritten(self, measure: Callable[[list[str], str], float]) -> str:
        """With the values that are measured, in as many digits as there are."""
        head, rule, *rows = self.text.splitlines()
        titles = [cell.strip() for cell in head.strip("|").split("|")]
        lines = [head, rule]
        for row in rows:
            cells = row.strip("|").split("|")
            settings = re.findall(r"--set (\S+)", cells[titles.index("settings")].replace("`", " "))
            for place, title in enumerate(titles):
                if number := re.match(r" (\d+)(?:\.(\d+))?(?= (?:%|s)\b| %)", cells[place]):
                    value = f"{measure(settings, title):.{len(number[2] or '')}f}"
                    cells[place] = f" {value}{cells[place][number.end() :]}"
            lines.append("|" + "|".join(cells) + "|")
        return "\n".join(lines) + "\n"


def tables(text: str) -> list[Table]:
    """The tables of measured values of a page."""
    return [Table(found[1], int(found[2]), found[3], found.start(3)) for found in _MEASURED.finditer(text)]


@dataclass
class Block:
    """A fenced block: its place, its language, and the remarks on it."""

    line: int
    language: str
    body: str
    # Where the body is in the text of the page.
    start: int
    file: str | None
    not_run: str | None
    # The paragraph before it.
    above: str = ""
    # The block of its output.
    output: Block | None = None

    @property
    def changes_the_checkout(self) -> bool:
        """Whether it is a file, or a line of one, that a reader adds to the program."""
        return self.language in ("rust", "markdown") and (self.file or "").startswith(("crates/", "docs/"))

    @property
    def builds(self) -> bool:
        """Whether it is a command that sets something up."""
        return self.language == "sh" and bool(_BUILDS.search(self.body))


def blocks(text: str) -> list[Block]:
    """The blocks of a page in order, outputs apart."""
    found: list[Block] = []
    end = 0
    for match in _FENCE.finditer(text):
        above = text[end : match.start()]
        end = match.end()
        language = match["language"]
        if language == "text" and found and not above.strip() and found[-1].language in ("sh", "python", "rust", "c"):
            found[-1].output = Block(0, "text", match["body"], match.start("body"), None, None)
            continue
        reason = _NOT_RUN.search(above)
        above = above[: reason.start()] if reason else above
        paragraph = above.rstrip().rpartition("\n\n")[2].strip()
        file = _FILE.match(paragraph)
        found.append(
            Block(
                text.count("\n", 0, match.start()) + 1,
                language,
                match["body"],
                match.start("body"),
                file[1] if file else None,
                " ".join(reason[1].split()) if reason else None,
                paragraph,
            )
        )
    return found


def same(expected: str, found: str) -> bool:
    """Whether an output is the one that is shown, in which ``...`` stands for anything."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line).replace(r"\.\.\.", ".*?") + r"\n"
        for line in trimmed(expected).split("\n")
    )
    return re.fullmatch(pattern, trimmed(found) + "\n") is not None


def trimmed(output: str) -> str:
    """Without white space at the ends of lines, and without empty lines at the ends."""
    return "\n".join(line.rstrip() for line in output.split("\n")).strip("\n")


class Place:
    """A directory in which a page is followed: it looks like a checkout, and keeps what the page makes.

    Its environment, ``.venv``, holds the packages that ``make demo`` or ``pip install .`` and the page install.
    """

    def __init__(self, root: Path, directory: Path) -> None:
        """An empty directory with links to what a page names."""
        self.directory = directory
        shown = ("scenarios", "tests", "crates", "conformance", "docs", "integrations", "target")
        for name in (*shown, "Cargo.toml", "Cargo.lock"):
            (directory / name).symlink_to(root / name)
        self._root = root
        self._exported: dict[str, str] = {}
        self.installed = Installed(root, directory / ".venv")

    def write(self, name: str, body: str) -> None:
        """A file that the page shows."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body, encoding="utf-8")

    def shell(self, script: str) -> tuple[int, str]:
        """Exit status of a script and what a terminal shows of it."""
        path = f"{self.installed.python.parent}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | {"PATH": path, "PYTHONUNBUFFERED": "1", "MPLBACKEND": "agg", "COLUMNS": "100"}
        # Go caches the output of pkg-config for another place unless the flags differ.
        environment |= {"CGO_CPPFLAGS": f"-I{self.directory}"} | self._exported
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=self.directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
        return done.returncode, done.stdout

    def make(self, body: str) -> None:
        """A command `make` of the page, which the checkout does."""
        status, output = self.shell(re.sub(r"^make\b", f"make --directory={self._root}", body, flags=re.MULTILINE))
        assert status == 0, output

    def export(self, body: str) -> None:
        """Variables for the commands that follow."""
        status, output = self.shell(body + "".join(f'echo "{name}=${name}"\n' for name in _EXPORTED.findall(body)))
        assert status == 0, output
        self._exported |= dict(line.split("=", 1) for line in output.splitlines())

    @cached_property
    def _interpreter(self) -> Interpreter:
        return self._open.enter_context(Interpreter(self.installed, self.directory))

    def python(self, code: str) -> str:
        """What code prints, after the code before it on the page."""
        printed, failed = self._interpreter.run(code)
        assert failed is None, failed
        return printed

    def __enter__(self) -> Place:
        self._open = contextlib.ExitStack()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()


class Checkout:
    """A copy of the files under version control, to which a page adds."""

    def __init__(self, root: Path, directory: Path) -> None:
        self.root, self.directory = root, directory
        for name in tracked(root):
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, path)

    def add(self, block: Block) -> None:
        """A new file; or lines of an old one.

        Where the first line stands in the old file, the others follow it. Otherwise the block is one line: it replaces
        the line that begins with the same word, and the modules that the sentence above it names are added.
        """
        path = self.directory / block.file
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.body, encoding="utf-8")
            return
        before = path.read_text(encoding="utf-8")
        first = block.body.splitlines(keepends=True)[0]
        if before.splitlines(keepends=True).count(first) == 1:
            path.write_text(before.replace(f"\n{first}", f"\n{block.body}"), encoding="utf-8")
            return
        word = block.body.split()[0]
        text, replaced = re.subn(rf"^{re.escape(word)} .*\n", block.body, before, flags=re.MULTILINE)
        assert replaced == 1, f"{block.file}: {word}"
        modules = "".join(f"{module}\n" for module in re.findall(r"`(mod \w+;)`", block.above))
        path.write_text(re.sub(r"^mod ", f"{modules}mod ", text, count=1, flags=re.MULTILINE), encoding="utf-8")

    def keep_tests(self, package: str, modules: Collection[str]) -> None:
        """Removes the other tests of a package, which take minutes to compile and which no page changes."""
        folder = self.directory / "crates" / package / "tests"
        for path in folder.glob("*.rs"):
            if path.stem not in (*modules, "all"):
                path.unlink()
        lines = (folder / "all.rs").read_text(encoding="utf-8").splitlines(keepends=True)
        named = [f"mod {module};\n" for module in modules]
        kept = [line for line in lines if not line.startswith("mod ") or line in named]
        (folder / "all.rs").write_text("".join(kept), encoding="utf-8")

    def cargo(self, words: Sequence[str]) -> tuple[int, str]:
        """Exit status and output of a command of the page; what others have built is used.

        That it works is what is asked, so the program is not optimised: compiling would take most of the time.
        """
        quick = QUICK_BUILD | {"CARGO_PROFILE_TEST_OPT_LEVEL": "0", "PROPTEST_CASES": "16"}
        done = subprocess.run(
            [*words[:2], "--offline", "--target-dir", self.root / "target", *words[2:]],
            cwd=self.directory,
            env=os.environ | quick,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout


def commands(block: Block) -> Iterator[tuple[str, str, int]]:
    """The commands of a console block, each with the output that is shown and where that begins in the page."""
    found = list(_COMMAND.finditer(block.body))
    for match, after in zip(found, [*found[1:], None], strict=True):
        yield match[1], block.body[match.end() : after.start() if after else None], block.start + match.end()
