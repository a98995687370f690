"""An empty environment with the packages of ``make dist``."""

from __future__ import annotations

import os
import subprocess
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIST = Path(os.environ.get("FAIRDROP_DIST", ROOT / "dist"))


class Stranger:
    """A directory with nothing in it, and an environment in which the packages are installed."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "empty"
        self.directory.mkdir()
        self.bin = directory / "environment" / "bin"
        venv.EnvBuilder(with_pip=True).create(self.bin.parent)
        install = [self.bin / "python", "-m", "pip", "install", "--quiet", "--find-links", DIST]
        subprocess.run([*install, "fairdrop[live]"], check=True)

    def run(self, *words: str | Path, script: bool = False) -> subprocess.CompletedProcess[str]:
        """A command, found in the environment, without Rust and without a C compiler."""
        clean = {
            name: value for name, value in os.environ.items() if not name.startswith(("FAIRDROP", "PYTHON", "CARGO"))
        }
        environment = clean | {
            "PATH": f"{self.bin}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "MPLBACKEND": "agg",
            "COLUMNS": "100",
        }
        command = ["bash", "-e", "-c", *words] if script else list(map(str, words))
        return subprocess.run(
            command, cwd=self.directory, env=environment, capture_output=True, text=True, timeout=900, check=False
        )
