"""The lists of CHOKe's core, proved with SymbiYosys and Z3; wrong forms of the core must not be proved."""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

FORMAL = Path(__file__).resolve().parent
RTL = FORMAL.parent
BUILD = RTL.parent / "build" / "rtl" / "formal"
CORE = RTL / "choke" / "fairdrop_choke.sv"
# What is wrong, and the text in place of another.
FORMS = [
    ("a marked entry is a candidate", "end else if (mark) begin", "end else if (1'b0) begin"),
    ("a new entry keeps the mark of the last one", "mark_value <= 1'b0", "mark_value <= mark"),
    ("marked entries at the head stay", "any_live && !mark_in_packet ? HEAD : IDLE", "IDLE"),
    ("a packet is two candidates", "has_candidate && !seen_before", "has_candidate"),
    ("a tail is not linked", "next_write <= entries[f] != '0", "next_write <= 1'b0"),
    ("a full list takes one more", "+ occupied <= list_size", "+ occupied <= list_size + 1"),
    (
        "a departure keeps its place in the bank",
        "if (!by_mark) live_in[f*BANKS+head_bank]",
        "if (1'b0) live_in[f*BANKS+head_bank]",
    ),
    ("an unoccupied address is a candidate", "end else if (!is_occupied) begin", "end else if (1'b0) begin"),
]


def tool(name):
    return str(Path(sys.executable).with_name(f"yowasp-{name}"))


def solve(task, core, directory):
    """Whether SymbiYosys passes the task on this text of the core, and its output."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    (directory / CORE.name).write_text(core, encoding="utf-8")
    parts = [RTL / "common" / f"fairdrop_{name}.sv" for name in ("average", "mul", "ram")]
    for path in (*parts, FORMAL / "choke_lists.svh", FORMAL / "choke.sby"):
        shutil.copy(path, directory)
    command = [
        tool("sby"),
        "--yosys",
        tool("yosys"),
        "--smtbmc",
        tool("yosys-smtbmc"),
        "--witness",
        tool("yosys-witness"),
    ]
    ran = subprocess.run(
        [*command, "-f", "choke.sby", task], cwd=directory, capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout + ran.stderr


def broken(text, right, wrong):
    if text.count(right) != 1:
        sys.exit(f"{CORE}: {right!r} occurs {text.count(right)} times; valid: once")
    return text.replace(right, wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--forms", action="store_true", help="wrong forms as well")
    options = parser.parse_args()
    if not shutil.which("z3"):
        sys.exit("formal: missing: apt-get install z3")
    text = CORE.read_text(encoding="utf-8")
    for task in ("prove", "cover"):
        status, output = solve(task, text, BUILD / task)
        if status:
            sys.exit(f"formal: {task}: {output[-2000:]}")
        print(f"{task}: passed", flush=True)
    for at, (what, right, wrong) in enumerate(FORMS if options.forms else []):
        # 2: the property fails; anything else is an error of a tool.
        status, output = solve("prove", broken(text, right, wrong), BUILD / f"broken-{at}")
        if status not in (2, 4):
            sys.exit(f"formal: a wrong form is proved, or a tool failed: {what}: status {status}: {output[-1500:]}")
        print(f"not proved: {what}", flush=True)


if __name__ == "__main__":
    main()
