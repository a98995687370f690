"""Adds the wrong forms of the references that do not compile to the list that leaves them out.

    scripts/unviable_forms.py

A new form may not fit a type (`-` on a set), or may leave a value unset; `make mutate-vectors` then does not build.
Each round compiles all forms and finds those that have errors; it ends when they compile.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "crates/fairdrop-mutation/unviable.txt"
MOVED = ("E0381", "E0382", "E0499", "E0502", "E0505")
FORM = re.compile(r"crate :: forms :: on \((\d+)u32\)")


def errors() -> list[dict]:
    """Errors of the compiler, each with its place."""
    command = ["cargo", "check", "--profile", "forms", "--package", "fairdrop-mutation", "--features", "forms"]
    done = subprocess.run([*command, "--message-format=json"], cwd=ROOT, capture_output=True, text=True, check=False)
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    found = [m["message"] for m in messages if m["reason"] == "compiler-message" and m["message"]["level"] == "error"]
    if done.returncode and not found:
        sys.exit(done.stderr)
    return found


def block(code: str, start: int) -> tuple[int, int]:
    """The block that begins at the first brace from `start` on."""
    begin = code.index("{", start)
    depth = 0
    for at in range(begin, len(code)):
        depth += {"{": 1, "}": -1}.get(code[at], 0)
        if depth == 0:
            return begin, at
    raise ValueError("a block without an end")


def form_at(code: str, offset: int) -> int | None:
    """The innermost form whose block has this place; else the one that comes last before it."""
    before = list(FORM.finditer(code, 0, offset))
    for match in reversed(before):
        begin, end = block(code, match.end())
        if begin <= offset <= end:
            return int(match[1])
    return int(before[-1][1]) if before else None


def main() -> None:
    """Compiles until there is no error."""
    for _ in range(20):
        found = errors()
        if not found:
            return
        names: list[str] = []
        added = set()
        for error in found:
            place = next((span for span in error["spans"] if span["is_primary"]), None)
            if place is None:
                continue
            path = Path(place["file_name"])
            path = path if path.is_absolute() else ROOT / path
            if "/out/" not in str(path) or path.name == "forms.rs":
                sys.exit(error["rendered"])
            if not names:
                names = re.findall(r'Form \{ name: "(.*?)", line', (path.parent / "forms.rs").read_text())
            if error["code"] and error["code"]["code"] in MOVED:
                # What is left out keeps a value from being used after it was moved: a jump, or what jumps.
                function = names[(form_at(path.read_bytes().decode(), place["byte_start"]) or 1) - 1].rsplit(": ", 1)[0]
                jumps = (f"{function}: leave out {what}" for what in ("if", "break", "continue"))
                jumps = tuple(jumps)
                added.update(name for name in names if name.startswith(jumps))
                continue
            number = form_at(path.read_bytes().decode(), place["byte_start"])
            if number is None:
                sys.exit(error["rendered"][:2000])
            added.add(names[number - 1])
        lines = LIST.read_text().splitlines()
        new = sorted(added - set(lines))
        if not new:
            sys.exit("the list does not help: " + found[0]["rendered"][:2000])
        print(f"{len(found)} errors, {len(new)} forms left out", *new, sep="\n  ", file=sys.stderr, flush=True)
        LIST.write_text("\n".join([*lines, *new]) + "\n")
    sys.exit("after 20 rounds there are errors still")


if __name__ == "__main__":
    main()
