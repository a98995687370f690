"""Every command and program that a page shows is run, and prints what the page says.

``FAIRDROP_WRITE_DOCS=1`` writes the outputs of the pages anew; those with ``...`` in them are left as they are.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
import warnings
from pathlib import Path

import pytest

import fairdrop
import pages
from fairdrop import reproduce
from fairdrop.cli.parser import build_parser
from fairdrop.conformance import FOLDER, MANIFEST
from installed import requirements_of

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "conformance" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
RUN = ("sh", "python", "console")
WRITE = "FAIRDROP_WRITE_DOCS" in os.environ


def with_blocks(*languages):
    """Pages that have a block of one of these languages."""
    return pages_with(lambda block: block.language in languages)


def pages_with(wanted):
    """Pages that have a block that is wanted."""
    return [
        pytest.param(path, id=str(path.relative_to(ROOT)))
        for path in PAGES
        if any(wanted(block) for block in pages.blocks(path.read_text(encoding="utf-8")))
    ]


def is_program(block):
    return block.language == "rust" and not block.not_run


def adds_to_the_program(path):
    return any(block.changes_the_checkout for block in pages.blocks(path.read_text(encoding="utf-8")))


class Outputs:
    """Compares the outputs of a page, and writes them anew where that is asked for."""

    def __init__(self, path):
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.differing = []
        self.replaced = []

    def compare(self, what, shown, start, found):
        if pages.same(shown, found):
            return
        if WRITE and "..." not in shown:
            self.replaced.append((start, len(shown), pages.trimmed(found) + "\n"))
        else:
            self.differing.append(f"{what}\n--- shown\n{shown}--- printed\n{found}")

    def settle(self):
        for start, length, found in reversed(self.replaced):
            self.text = self.text[:start] + found + self.text[start + length :]
        if self.replaced:
            self.path.write_text(self.text, encoding="utf-8")
        assert not self.differing, f"{self.path.relative_to(ROOT)}\n" + "\n".join(self.differing)


@pytest.mark.parametrize("path", with_blocks(*RUN))
def test_examples_print_what_the_page_says(path, tmp_path):
    outputs = Outputs(path)
    with pages.Place(ROOT, tmp_path) as place:
        for block in pages.blocks(outputs.text):
            follow(block, place, outputs)
    outputs.settle()


def follow(block, place, outputs):
    """Does what a reader of the page does with a block."""
    where = f"line {block.line}"
    if block.language == "sh":
        place.installed.install(*requirements_of(block.body))
    if re.match("make (?:ffi|install)", block.body):
        place.make(block.body)
    elif block.body.startswith("export "):
        place.export(block.body)
    elif re.search(r"^go ", block.body, re.MULTILINE) and shutil.which("go") is None:
        warnings.warn(f"{where}: not run, since there is no go", stacklevel=1)
    elif block.changes_the_checkout:
        return
    elif block.file and block.language not in ("sh", "console"):
        if not (ROOT / block.file).exists():
            place.write(block.file, block.body)
    elif block.not_run or block.builds:
        return
    elif block.language == "console":
        for command, shown, start in pages.commands(block):
            _, found = place.shell(command)
            outputs.compare(f"{where}: {command}", shown, start, found)
    elif block.language in ("sh", "python"):
        if block.language == "sh":
            status, found = place.shell(block.body)
            assert status == 0 or block.output, f"{where}: status {status}\n{found}"
        else:
            found = place.python(block.body)
        if block.output:
            outputs.compare(where, block.output.body, block.output.start, found)


@pytest.mark.parametrize("path", with_blocks("toml"))
def test_what_is_shown_of_a_file_is_in_it(path):
    for block in pages.blocks(path.read_text(encoding="utf-8")):
        if block.language == "toml" and block.file and (ROOT / block.file).exists():
            whole = tomllib.loads((ROOT / block.file).read_text(encoding="utf-8"))
            assert_within(tomllib.loads(block.body), whole, block.file)


@pytest.mark.parametrize("path", with_blocks("toml"))
def test_scenarios_of_the_page_are_valid(path):
    for block in pages.blocks(path.read_text(encoding="utf-8")):
        if block.language == "toml" and "[[groups]]" in block.body and not block.not_run:
            fairdrop.Scenario(block.body, path.name)


def assert_within(part, whole, where):
    """Every value of an excerpt is that of the file."""
    if isinstance(part, dict):
        for name, value in part.items():
            assert name in whole, f"{where}: {name}"
            assert_within(value, whole[name], f"{where}.{name}")
    elif isinstance(part, list) and part and isinstance(part[0], dict):
        for one, other in zip(part, whole, strict=True):
            assert_within(one, other, where)
    else:
        assert part == whole, where


@pytest.mark.parametrize("path", with_blocks("sh", "console", "text"))
def test_what_is_not_run_is_at_least_possible(path):
    """Targets exist, command lines parse, and nothing that looks like a command hides in a block that is not run."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for block in pages.blocks(path.read_text(encoding="utf-8")):
        if block.language == "text" and not block.not_run:
            assert not re.search(
                r"^(?:\$ |fairdrop (?:run|compare|replay|report|reproduce)\b)", block.body, re.MULTILINE
            ), f"{path.name}:{block.line}: a command in a block of text"
        if block.language not in ("sh", "console"):
            continue
        body = block.body if block.language == "sh" else "\n".join(found[0] for found in pages.commands(block))
        for target in re.findall(r"^make ([\w-]+)", body, re.MULTILINE):
            assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), f"{path.name}: make {target}"
        if not block.not_run:
            continue
        for line in body.replace("\\\n", " ").splitlines():
            # What a shell does with the output is no argument.
            words = shlex.split(re.split(r" [|>]", line)[0], comments=True)
            if words[:1] == ["fairdrop"] and words[1] != "model":
                build_parser().parse_args(words[1:])


def test_first_command_of_each_reader_is_possible():
    """README gives one command for a researcher, an operator, the author of a data plane and a teacher."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    rows = (ROOT / "README.md").read_text(encoding="utf-8").partition("| you are |")[2].partition("\n\n")[0]
    found = re.findall(r"^\| (?:a|the) [^|]+ \| `([^`]+)` \| .*\]\(docs/", rows, re.MULTILINE)
    assert len(found) == 4
    for command in found:
        program, *words = command.split()
        if program == "make":
            assert re.search(rf"^{words[0]}:", makefile, re.MULTILINE), command
        else:
            assert program == "fairdrop"
            assert words[0] == "model" or build_parser().parse_args(words), command


def measured(scenario, seeds):
    """What a heading of a table of measured values stands for, as mean over seeds."""
    results = {}

    def mean(rows, column):
        values = [row[column] for row in rows]
        return sum(values) / seeds

    def measure(settings, title):
        key = tuple(settings)
        if key not in results:
            results[key] = fairdrop.load(ROOT / scenario, settings).run(seeds=seeds)
        result = results[key]
        if title == "link used":
            return 100 * mean(result.queues.rows(), "utilisation")
        if title == "mean wait":
            return mean(result.queues.rows(), "sojourn_mean_s")
        group, what = re.fullmatch(r"`(\w+)` (share|dropped)", title).groups()
        rows = [row for row in result.groups.rows() if row["group"] == group]
        assert rows, group
        return 100 * mean(rows, {"share": "share", "dropped": "drop_fraction"}[what])

    return measure


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=str(path.relative_to(ROOT)))
        for path in PAGES
        if pages.tables(path.read_text(encoding="utf-8"))
    ],
)
def test_measured_values_are_those_of_the_page(path):
    outputs = Outputs(path)
    for table in pages.tables(outputs.text):
        found = table.rewritten(measured(table.scenario, table.seeds))
        outputs.compare(table.scenario, table.text, table.start, found)
    outputs.settle()


def manifest(name):
    """A package of a host that embeds the library."""
    library = ROOT / "crates" / "fairdrop"
    return (
        f'[package]\nname = "{name}"\nversion = "0.0.0"\nedition = "2024"\n\n'
        f'[dependencies]\nfairdrop = {{ path = "{library}" }}\n\n[workspace]\n'
    )


@pytest.mark.parametrize("path", [path for path in pages_with(is_program) if not adds_to_the_program(*path.values)])
def test_rust_of_the_page_compiles_and_prints_what_it_says(path):
    """A block under the name of a file is that file; any other is a program of its own."""
    if shutil.which("cargo") is None:
        pytest.skip("there is no cargo")
    outputs = Outputs(path)
    package = ROOT / "target" / "docs" / path.stem
    shutil.rmtree(package, ignore_errors=True)
    (package / "src" / "bin").mkdir(parents=True)
    (package / "Cargo.toml").write_text(manifest("embed"))
    binaries = []
    for block in pages.blocks(outputs.text):
        if not is_program(block):
            continue
        if block.file:
            (package / block.file).write_text(block.body)
            continue
        code = block.body
        if not re.search(r"^fn main\(", code, re.MULTILINE):
            inside = re.search(r"^(?:let|assert)", code, re.MULTILINE)
            code = f"fn main() {{\n{code}}}\n" if inside else f"{code}fn main() {{}}\n"
        name = f"line{block.line}"
        (package / "src" / "bin" / f"{name}.rs").write_text(f"#![allow(dead_code)]\n{code}")
        binaries.append((name, block))
    options = ("--quiet", "--offline", "--target-dir", ROOT / "target")
    built = subprocess.run(
        ["cargo", "build", *options, "--bins"], cwd=package, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    for name, block in binaries:
        command = ["cargo", "run", *options, "--bin", name]
        done = subprocess.run(command, cwd=package, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        if block.output:
            outputs.compare(name, block.output.body, block.output.start, done.stdout)
    outputs.settle()


@pytest.mark.parametrize(
    ("shown", "printed", "equal"),
    [
        ("a\nb\n", "a  \nb\n\n", True),
        ("a\nb\n", "a\nc\n", False),
        ("...\nb\n", "b\n", True),
        ("...\nb\n", "a\nb\n", True),
        ("a\n...\n", "a\n", True),
        ("a\n...\n", "a\nb\nc\n", True),
        ("a\n...\nd\n", "a\nb\nc\n", False),
        ("took ... s\n", "took 1.5 s\n", True),
        ("took ... s\n", "took 1.5 s\nmore\n", False),
    ],
)
def test_outputs_are_compared_line_by_line(shown, printed, equal):
    assert pages.same(shown, printed) is equal


def test_numbers_that_grow_are_those_of_today():
    """Counts of disciplines, vectors and experiments, where a page states them."""
    own = [entry for entry in fairdrop.catalogue()["disciplines"] if not entry["form_of"]]
    today = {
        r"(\d+) (?:queue )?disciplines\*?\*?": len(own),
        r"(\d+) (?:conformance )?vectors\b": len(json.loads((FOLDER / MANIFEST).read_text(encoding="utf-8"))["crc32"]),
        r"(\d+) ids, \d+ hold": len(reproduce.names()),
    }
    found = 0
    for path in (
        ROOT / "README.md",
        ROOT / "conformance" / "README.md",
        ROOT / "docs" / "how-to" / "reproduce-the-papers.md",
    ):
        text = path.read_text(encoding="utf-8")
        for pattern, count in today.items():
            if WRITE:
                text = re.sub(pattern, lambda match, count=count: match[0].replace(match[1], str(count), 1), text)
                path.write_text(text, encoding="utf-8")
            for seen in re.findall(pattern, text):
                assert int(seen) == count, f"{path.name}: {seen} where there are {count}: {pattern}; make generate"
                found += 1
    assert found >= 3
