"""`make p4`: the programs compile, and those of `limits` are refused for the reason they name."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

P4 = Path(__file__).resolve().parent
COMPILER = "p4c-bm2-ss"
# Programs that must be refused, with part of the message.
REFUSED = {"limits/division.p4": "could not evaluate expression at compilation time"}


def compile_one(name, folder):
    """Status and messages of the compiler."""
    command = [COMPILER, "--std", "p4-16", "-o", str(Path(folder) / "out.json"), str(P4 / name)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def main():
    if not shutil.which(COMPILER):
        sys.exit(f"p4: no {COMPILER} in PATH; valid: p4c, built from https://github.com/p4lang/p4c")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("choke.p4", "collar.p4"):
            status, messages = compile_one(name, folder)
            if status or "warning" in messages:
                sys.exit(f"p4: {name}: {messages}")
            print(f"{name}: compiled")
        for name, reason in REFUSED.items():
            status, messages = compile_one(name, folder)
            if status == 0 or reason not in messages:
                sys.exit(f"p4: {name} must be refused because it {reason}: {messages or 'compiled'}")
            print(f"{name}: refused, as it must be")


if __name__ == "__main__":
    main()
