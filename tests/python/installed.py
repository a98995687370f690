"""Environments that hold what an installation of fairdrop brings, and nothing else."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import venv
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

_LOOP = """
import contextlib, io, json, os, sys, traceback
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
names = {"__name__": "__main__"}
for line in sys.stdin:
    printed, failed = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(json.loads(line), "<page>", "exec"), names)
        except BaseException:
            failed = traceback.format_exc()
    print(json.dumps([printed.getvalue(), failed]), file=answers, flush=True)
"""


class Installed:
    """A virtual environment of links to some distributions of this one, and to those that they require."""

    def __init__(self, root: Path, directory: Path) -> None:
        """What ``pip install .`` of a checkout installs."""
        self.root, self.directory = root, directory
        self._names: set[str] = set()
        venv.EnvBuilder(symlinks=True).create(directory)
        self._packages = next(directory.glob("lib/python*/site-packages"))
        (self._packages / "fairdrop").symlink_to(root / "python" / "fairdrop")
        command = f"#!{self.python}\nimport sys\nfrom fairdrop.cli import main\nsys.exit(main())\n"
        (directory / "bin" / "fairdrop").write_text(command)
        (directory / "bin" / "fairdrop").chmod(0o755)
        (directory / "bin" / "pip").symlink_to(Path(sys.prefix) / "bin" / "pip")
        # The tests in Rust build it.
        (directory / "bin" / "fairdropd").symlink_to(root / "target" / "debug" / "fairdropd")
        self._project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        self.install(".")

    @property
    def python(self) -> Path:
        return self.directory / "bin" / "python"

    def install(self, *requirements: str) -> None:
        """As ``pip install`` does: names, and ``.`` or ``fairdrop`` with extras."""
        for text in requirements:
            own = re.fullmatch(r"(?:\.|fairdrop)(?:\[([\w,]+)\])?", text)
            if own is None:
                self._add(Requirement(text))
                continue
            extras = own[1].split(",") if own[1] else []
            optional = self._project["optional-dependencies"]
            for each in (self._project["dependencies"], *(optional[extra] for extra in extras)):
                for requirement in each:
                    self._add(Requirement(requirement))

    def _add(self, requirement: Requirement) -> None:
        if requirement.name in self._names:
            return
        self._names.add(requirement.name)
        found = distribution(requirement.name)
        assert requirement.specifier.contains(found.version, prereleases=True), f"{requirement} beside {found.version}"
        for top in {Path(file).parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            link = self._packages / top
            if not link.exists():
                link.symlink_to(found.locate_file(top))
        for text in found.requires or ():
            one = Requirement(text)
            if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *requirement.extras)):
                self._add(one)


class Interpreter:
    """Python of an environment, which runs one piece of code after the other."""

    def __init__(self, installed: Installed, directory: Path) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        self._process = subprocess.Popen(
            [installed.python, "-c", _LOOP],
            cwd=directory,
            env=environment | {"MPLBACKEND": "agg", "COLUMNS": "100"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Interpreter:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, code: str) -> tuple[str, str | None]:
        """What code prints, and the traceback where it fails."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        print(json.dumps(f"import importlib; importlib.invalidate_caches()\n{code}"), file=stdin, flush=True)
        answer: list[Any] = json.loads(stdout.readline())
        return answer[0], answer[1]


def requirements_of(script: str) -> list[str]:
    """What the lines ``pip install`` of a script name."""
    lines = re.findall(r"^(?:\S*/)?pip install (.*)$", script, re.MULTILINE)
    return [word for line in lines for word in shlex.split(line, comments=True) if not word.startswith("-")]
