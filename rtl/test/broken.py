"""Wrong forms of the cores: the comparison with the library, or an assertion, has to notice each."""

import shutil
import subprocess
import sys

import collar
from random_packets import SHAPES, build
from vectors import ROOT, RTL, sources

CHOKE, AVERAGE, COLLAR = "choke/fairdrop_choke.sv", "common/fairdrop_average.sv", "collar/fairdrop_collar.sv"
# What is wrong, the core that shows it, and the text in place of another.
FORMS = [
    ("a map word is read before it is written", "choke-shared-chopped", CHOKE, "? SETTLE : STORE", "? FIND : STORE"),
    ("marked entries at the head stay", "choke-small", CHOKE, "any_live && !mark_in_packet ? HEAD : IDLE", "IDLE"),
    ("a marked entry is a candidate", "choke-small", CHOKE, "end else if (mark) begin", "end else if (1'b0) begin"),
    ("a new entry keeps the mark of the last one", "choke-small", CHOKE, "mark_value <= 1'b0", "mark_value <= mark"),
    (
        "two cells of a packet are two candidates",
        "choke-small",
        CHOKE,
        "has_candidate && !seen_before",
        "has_candidate",
    ),
    ("all draws are from bank 0", "choke-banks", CHOKE, "bank != BANKS - 1 ? bank + 1'b1 : '0", "1'b0 ? bank : '0"),
    (
        "a draw stops at another FIFO's entry",
        "choke-shared",
        CHOKE,
        "events[E_FOREIGN] <= 1'b1;\n",
        "state <= FOUND;\n",
    ),
    ("the turn does not move", "choke-shared", CHOKE, "turn <= after_f", "turn <= turn"),
    ("a tail is not linked", "choke-shared", CHOKE, "next_write <= entries[f] != '0", "next_write <= 1'b0"),
    (
        "ids lose a bit",
        "choke-small",
        CHOKE,
        "candidate_hit[found] <= entry_id == id",
        "candidate_hit[found] <= entry_id[ID_BITS-2:0] == id[ID_BITS-2:0]",
    ),
    ("refused numbers are taken", "choke-small", CHOKE, "remains < {46'b0, refuse_rest} ? TRY : PLACE", "PLACE"),
    ("an overflow keeps the count", "red", AVERAGE, "if (overflowed && count[fifo] != 16'd0)", "if (1'b0)"),
    ("idle time is not counted", "red", AVERAGE, "behind[f] = is_idle[f] &&", "behind[f] = 1'b0 && is_idle[f] &&"),
    ("u (S - count d) <= 2 d drops", "red", AVERAGE, "sum < {16'b0, d, 16'b0}", "sum < {15'b0, d, 17'b0}"),
    ("the gentle line begins at 0", "red", AVERAGE, "in_gentle ? gentle_base[47:0]", "in_gentle ? {max_th, 16'b0}"),
    (
        "counts of suspects are not halved",
        "collar",
        COLLAR,
        "{1'b0, table_data[63:25], table_data[23:0]}",
        "table_data",
    ),
    ("the memory has one row", "collar", COLLAR, "next_row <= next_row + 1'b1", "next_row <= next_row"),
    (
        "a full buffer takes one more",
        "collar",
        COLLAR,
        "waiting_packets >= buffer_limit",
        "waiting_packets > buffer_limit",
    ),
    ("missed periods are not made up for", "collar", COLLAR, "missed > times && widened == Q16", "1'b0"),
    ("all packets are marked alike", "collar", COLLAR, "ect == 2'b01 && (x << 16) < product", "1'b0"),
    ("a lone packet is judged", "collar", COLLAR, "else if (waiting_packets < 2 || base == 0)", "else if (base == 0)"),
]


def main():
    unnoticed = []
    for at, (what, name, file, right, wrong) in enumerate(FORMS):
        directory = ROOT / "build" / "rtl" / f"broken-{at}"
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        core = name.split("-")[0]
        files = []
        for source in sources(core):
            text = source.read_text(encoding="utf-8")
            if source == RTL / file:
                if text.count(right) != 1:
                    sys.exit(f"{file}: {right!r} occurs {text.count(right)} times; valid: once")
                text = text.replace(right, wrong)
            files.append(directory / source.name)
            files[-1].write_text(text, encoding="utf-8")
        if name == "collar":
            program = collar.build(directory / "build", files, properties=True)
        else:
            program = build(name, SHAPES[name], directory / "build", properties=True, files=files)
        ran = subprocess.run([program, "60000", "1"], capture_output=True, text=True, check=False)
        noticed = (ran.stdout + ran.stderr).strip().splitlines()
        if ran.returncode == 0:
            unnoticed.append(what)
        result = "not noticed" if ran.returncode == 0 else "noticed"
        print(f"{result}: {what}: {noticed[-1][:100] if noticed else ''}", flush=True)
        shutil.rmtree(directory)
    if unnoticed:
        sys.exit(f"not noticed: {', '.join(unnoticed)}")


if __name__ == "__main__":
    main()
