"""`fairdrop conformance`: the library passes, a foreign program that is right passes, one that is wrong is caught."""

from __future__ import annotations

import json
import lzma
import os
import re
import shutil
import subprocess
import sys

import pytest

from fairdrop.conformance.vectors import FORMAT, MANIFEST, PACKED, SCHEMA, read_vectors

STANDARD = "droptail,red,choke"


@pytest.fixture(scope="module")
def vectors(root):
    return root / "conformance" / "vectors"


@pytest.fixture(scope="module")
def example(root):
    return root / "conformance" / "examples" / "red_choke.py"


@pytest.fixture
def check(fairdrop, vectors):
    """Checks a Python program; ``options`` come before the two dashes."""

    def run(program, *arguments, options=(), timeout="20"):
        command = ("conformance", "check", "--vectors", vectors, "--timeout", timeout, *options)
        return fairdrop(*command, "--", sys.executable, program, *arguments, timeout=600)

    return run


@pytest.fixture
def mutated(example, tmp_path):
    """The example with one thing changed."""

    def change(old, new):
        text = example.read_text()
        assert text.count(old) == 1, old
        path = tmp_path / "mutated.py"
        path.write_text(text.replace(old, new))
        return path

    return change


@pytest.fixture
def program(tmp_path):
    """A program from its text."""

    def write(text):
        path = tmp_path / "program.py"
        path.write_text(text)
        return path

    return write


def text_of(vectors, name):
    return next(vector.text for vector in read_vectors(vectors, [name.partition("/")[0]]) if vector.name == name)


def events_of(vectors, name):
    header, *events = map(json.loads, text_of(vectors, name).splitlines())
    assert header["events"] == len(events)
    return events


def first_divergence(done):
    """Number of the event, and the text of what differs."""
    assert done.returncode == 1, done.stdout + done.stderr
    assert "failed" in done.stdout
    found = re.search(r"event (\d+) is the first that differs\n((?:      .*\n)+)", done.stdout)
    assert found, done.stdout
    return int(found[1]), found[2]


def unit(bits):
    return (int(bits, 16) >> 11) / 2**53


def only(name, case):
    return ("--discipline", name, "--case", case)


def test_the_library_passes(fairdrop, vectors):
    done = fairdrop("conformance", "run", "--vectors", vectors)
    assert done.returncode == 0, done.stdout
    count = len(json.loads((vectors / MANIFEST).read_text())["crc32"])
    assert f"{count} vectors: {count} passed" in done.stderr


def test_a_changed_vector_fails_in_the_library(fairdrop, vectors, tmp_path):
    folder = tmp_path / "vectors" / "red"
    folder.mkdir(parents=True)
    text = text_of(vectors, "red/basic")
    (folder / "basic.jsonl").write_text(text.replace('"name":"max_p","value":0.1', '"name":"max_p","value":0.2'))
    done = fairdrop("conformance", "run", "--vectors", tmp_path / "vectors")
    assert done.returncode == 1
    assert re.search(r"failed +red/basic +event \d+: ", done.stdout)


def test_every_vector_is_listed(fairdrop, vectors):
    done = fairdrop("conformance", "list", "--vectors", vectors)
    assert done.returncode == 0
    named = json.loads((vectors / MANIFEST).read_text())["crc32"]
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(named)
    assert fairdrop("conformance", "list", "--discipline", "red", "--case", "idle").stdout.count("\n") == 1


def test_exported_vectors_are_plain_text(fairdrop, vectors, tmp_path):
    done = fairdrop("conformance", "export", "out", "--vectors", vectors, "--discipline", "red")
    assert done.returncode == 0, done.stderr
    written = sorted((tmp_path / "out" / "red").iterdir(), key=lambda path: path.stem)
    texts = [path.read_text() for path in written]
    assert "".join(texts) == lzma.decompress((vectors / f"red{PACKED}").read_bytes()).decode()
    assert fairdrop("conformance", "run", "--vectors", "out").returncode == 0
    for name in (MANIFEST, SCHEMA):
        assert (tmp_path / "out" / name).read_text() == (vectors / name).read_text()


def test_of_both_forms_the_plain_one_is_read(fairdrop, vectors, tmp_path):
    (tmp_path / "v" / "red").mkdir(parents=True)
    shutil.copy(vectors / f"red{PACKED}", tmp_path / "v")
    text = text_of(vectors, "red/basic").replace('"description":"', '"description":"Changed. ')
    (tmp_path / "v" / "red" / "basic.jsonl").write_text(text)
    done = fairdrop("conformance", "list", "--vectors", "v")
    assert done.stdout.count("Changed. ") == 1
    assert done.stdout.count("red/basic ") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{}", "not LZMA"),
        (lzma.compress(b"{}", lzma.FORMAT_ALONE)[:-9], "not LZMA"),
        (lzma.compress(b" " * (65 << 20), lzma.FORMAT_ALONE), "more than 64 MiB when decompressed"),
        (lzma.compress(b'{"format": "", "events": 1.5}', lzma.FORMAT_ALONE), "events is no whole number"),
    ],
    ids=["plain", "cut", "long", "fraction"],
)
def test_a_file_that_does_not_decompress_is_named(fairdrop, tmp_path, content, message):
    (tmp_path / f"red{PACKED}").write_bytes(content)
    done = fairdrop("conformance", "list", "--vectors", tmp_path)
    assert done.returncode == 2
    assert f"red{PACKED} is not a vector: {message}" in done.stderr


@pytest.mark.parametrize("arguments", [(), ("ring",)], ids=["picks", "ring"])
def test_the_example_passes(check, example, arguments):
    done = check(example, *arguments, options=("--discipline", STANDARD))
    assert done.returncode == 0, done.stdout
    results = [line.split()[:2] for line in done.stdout.splitlines()]
    skipped = {name for result, name in results if result == "skipped"}
    assert {result for result, _ in results} == {"passed", "skipped"}
    assert all(name.startswith(("choke/", "red/linux")) for name in skipped)
    assert sum(result == "passed" for result, _ in results) >= 24


def test_a_probability_that_equals_the_draw_keeps_the_packet(check, mutated, vectors):
    """`<=` for `<`: the first random draw that equals the probability."""
    wrong = mutated('numbers.unit("early_drop") < p', 'numbers.unit("early_drop") <= p')
    event, text = first_divergence(check(wrong, options=only("red", "independent")))

    def equal(event):
        draws = event.get("random", {}).get("early_drop")
        return draws and unit(draws[0]) == 0.5 * (event["outcome"]["internals"]["avg"] - 4) / 4

    assert event == next(e["event"] for e in events_of(vectors, "red/independent") if equal(e))
    assert "dropped: expected [], got [[" in text


def test_the_count_is_reset_by_an_early_drop(check, mutated, vectors):
    wrong = mutated('            self.count = 0\n            return "red_early"', '            return "red_early"')
    event, text = first_divergence(check(wrong, options=only("red", "count")))
    right_count = wrong_count = -1
    for at in events_of(vectors, "red/count"):
        if at["type"] != "enqueue":
            continue
        avg = at["outcome"]["internals"]["avg"]
        if avg < 2:
            right_count = wrong_count = -1
            continue
        right_count, wrong_count = right_count + 1, wrong_count + 1
        p = 0.6 * (avg - 2) / 18
        falls = [
            unit(at["random"]["early_drop"][0]) < (p / (1 - count * p) if count * p < 1 else 1)
            for count in (right_count, wrong_count)
        ]
        if falls[0] != falls[1]:
            break
        right_count = 0 if falls[0] else right_count
    assert event == at["event"]
    assert "red_early" in text


def test_the_average_at_max_th_is_above_it(check, mutated, vectors):
    wrong = mutated("if self.avg < self.max_th:", "if self.avg <= self.max_th:")
    event, text = first_divergence(check(wrong, options=only("red", "thresholds")))
    at_max_th = (e for e in events_of(vectors, "red/thresholds") if e["outcome"]["internals"]["avg"] == 8)
    assert event == next(at_max_th)["event"]
    assert "early_drop: expected 0, got 1" in text


def test_a_candidate_counted_from_the_tail_is_another(check, mutated, vectors):
    wrong = mutated("waiting[rank] for rank", "waiting[-1 - rank] for rank")
    event, text = first_divergence(check(wrong, options=only("choke", "basic")))
    waiting = 0
    for at in events_of(vectors, "choke/basic"):
        if any(2 * rank != waiting - 1 for rank in at.get("picks", [])):
            break
        waiting = at["outcome"]["backlog"][0]
    assert event == at["event"]
    assert "compared: expected [" in text


def test_the_number_of_draws_is_checked_or_reported_unchecked(check, example, mutated, program, vectors):
    """A program that wants two candidates for one, and stops when the picks run out."""
    options = only("choke", "basic")
    unchecked = r"; the number of draws was not checked at \d+ events\n"
    uncounted = "1 vector passed without a check of how many candidates were drawn"
    wrong = mutated("missing = min(self.candidates,", "missing = min(self.candidates + 1,")
    _, text = first_divergence(check(wrong, options=options))
    assert re.search(r"compared: expected \[\d+\], got \[\d+, -1\]", text)

    silent = wrong.read_text()
    for reported in (
        ', "compared": []}',
        'answer["compared"] = [candidate.id for candidate in drawn] + [-1] * missing',
    ):
        assert silent.count(reported) == 1
        silent = silent.replace(reported, "}" if reported.endswith("}") else "pass")
    done = check(program(silent), options=options)
    assert done.returncode == 0, done.stdout
    assert re.search(unchecked, done.stdout)
    assert uncounted in done.stderr
    events = sum("picks" in event for event in events_of(vectors, "choke/basic"))
    assert f"at {events} events" in done.stdout

    for arguments in ((), ("ring",)):
        done = check(example, *arguments, options=options)
        assert "not checked" not in done.stdout
        assert "without a check" not in done.stderr
    # One of both is enough: the ring's numbers are counted.
    done = check(program(silent), "ring", options=options)
    assert done.returncode == 0, done.stdout
    assert "not checked" not in done.stdout
    # What is reported and not compared is not checked either.
    assert re.search(unchecked, check(example, options=(*options, "--decisions-only")).stdout)


@pytest.mark.parametrize(
    "case, old, new",
    [
        ("holes", "if len(self.slots) > 2 * len(self.waiting()) + 8:", "if False:"),
        ("draw-again", "wide % 2**64 < 2**64 % bound and", "False and"),
        ("basic", "while self.slots and self.slots[-1] is FREE:", "while False:"),
    ],
)
def test_draws_from_the_ring_are_exact(check, mutated, case, old, new):
    wrong = mutated(old, new)
    assert check(wrong, options=only("choke", case)).returncode == 0, "places need no ring"
    _, text = first_divergence(check(wrong, "ring", options=only("choke", case)))
    assert "candidate" in text or "compared" in text


def test_tolerance_and_decisions_only(check, mutated):
    wrong = mutated('{"avg": self.red.avg}', '{"avg": self.red.avg * 1.001}')
    options = only("red", "basic")
    _, text = first_divergence(check(wrong, options=options))
    assert "avg: expected" in text
    assert check(wrong, options=(*options, "--tolerance", "0.01")).returncode == 0
    assert check(wrong, options=(*options, "--decisions-only")).returncode == 0
    wrong = mutated('"red_early"\n', '"another cause"\n')
    assert "another cause" in first_divergence(check(wrong, options=options))[1]
    assert check(wrong, options=(*options, "--decisions-only")).returncode == 0


READS_ALL = """
import json, sys
lines = sys.stdin.read().splitlines()
limit, queue = json.loads(lines[0])["limit"], []
for event in map(json.loads, lines[1:]):
    answer = {}
    if event["type"] == "dequeue" and queue:
        answer["departed"] = queue.pop(0)
    if event["type"] == "enqueue" and len(queue) >= limit:
        answer["dropped"] = [event["id"]]
    elif event["type"] == "enqueue":
        queue.append(event["id"])
    print(json.dumps(answer))
"""

TEXT = """
import sys
limit, queue, lengths = 0, [], []
for line in sys.stdin:
    letter, *words = line.split()
    if letter == "L":
        limit = int(words[0])
    if letter == "+":
        lengths.append(int(words[3]))
        if len(queue) >= limit:
            print("D", words[1], "overflow", "B", len(queue), sum(lengths[i] for i in queue))
        else:
            queue.append(int(words[1]))
            print("B", len(queue), sum(lengths[i] for i in queue))
    if letter == "-":
        print(f"S {queue.pop(0)}" if queue else ".")
"""


def test_a_program_may_read_everything_first_and_leave_causes_out(check, program):
    done = check(program(READS_ALL), options=("--discipline", "droptail"))
    assert done.returncode == 0, done.stdout


def test_the_text_form(check, program):
    done = check(program(TEXT), options=("--discipline", "droptail", "--format", "text"))
    assert done.returncode == 0, done.stdout
    assert "decisions, backlog" in done.stdout
    wrong = check(
        program(TEXT.replace(">= limit", "> limit")), options=(*only("droptail", "basic"), "--format", "text")
    )
    assert "overflow" in first_divergence(wrong)[1]


def test_text_has_every_part_of_an_event():
    from fairdrop.conformance import plain_text

    event = {"time_ns": 28937090, "type": "enqueue", "id": 28, "flow": 1, "len": 1000}
    event |= {"random": {"candidate": ["0123456789abcdef"], "early_drop": ["89abcdef01234567"]}, "picks": [4]}
    line = "+ 28937090 28 1 1000 0 0 0 1 4 2 0 0123456789abcdef 1 89abcdef01234567"
    assert plain_text.event(event) == line, "as conformance/README.md has it"
    answer = plain_text.answer("D 28 red_early M 3 codel S 7 C 1 C 2 B 3 3000 U 1 2 I avg 0.25")
    assert answer == {
        "dropped": [[28, "red_early"]], "marked": [[3, "codel"]], "departed": 7, "compared": [1, 2],
        "backlog": [3, 3000], "used": {"early_drop": 2}, "internals": {"avg": 0.25},
    }  # fmt: skip
    for line in ("D 1", "Z 1", "S x", "U 99 1"):
        with pytest.raises(ValueError):
            plain_text.answer(line)


def test_streams_are_those_of_the_format(root):
    from fairdrop.conformance import plain_text

    text = (root / "conformance" / "README.md").read_text()
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", text, re.MULTILINE)
    assert [(int(number), name) for number, name in rows] == list(enumerate(plain_text.STREAMS))


def test_declined_vectors_are_skipped_but_something_must_pass(check, program):
    declines = program('import sys; sys.stdin.readline(); print(\'{"unsupported": "no such thing"}\')')
    done = check(declines, options=("--discipline", "droptail"))
    assert done.returncode == 1
    assert done.stdout.count("skipped") == 3
    assert "no such thing" in done.stdout


@pytest.mark.parametrize(
    "text, expected",
    [
        ("import sys; sys.exit('out of ideas')", "ended with status 1 and left no answer to event 0"),
        ("import os; os.abort()", "was killed by signal 6"),
        ("print('hello')", "the answer to event 0 cannot be read: 'hello'"),
        ("print('[1]')", "the answer to event 0 is not an object"),
        ("print('{\"dropped\": 3}', flush=True); input()", "has not the form that the format asks for"),
        ("import time; time.sleep(60)", "no answer to event 0 within 1 s"),
        ("import sys; sys.stdout.close(); sys.stdin.read()", "left no answer to event 0"),
        (READS_ALL + "print('{}')", "more lines than the 233 events"),
        (READS_ALL + "sys.exit(3)", "ended with status 3 after the last event"),
        (READS_ALL + "sys.stdout.flush(); import time; time.sleep(60)", "did not end within 1 s after the last event"),
    ],
)  # fmt: skip
def test_programs_that_do_not_answer_as_they_should(check, program, text, expected):
    # Only those that hang are cut off soon: another may take its time on a busy machine.
    done = check(program(text), options=only("droptail", "basic"), timeout="1" if "within 1 s" in expected else "60")
    assert done.returncode == 1, done.stdout + done.stderr
    assert expected in done.stdout


def test_errors_of_a_program_that_died_are_shown(check, program):
    done = check(program("import sys; sys.exit('out of ideas')"), options=only("droptail", "basic"))
    assert "out of ideas" in done.stdout


def test_bad_input(fairdrop, vectors, tmp_path):
    def refusal(*words):
        done = fairdrop("conformance", *words)
        assert done.returncode == 2, done.stdout
        return done.stderr

    assert "there are no vectors of 'nothing'" in refusal("list", "--vectors", vectors, "--discipline", "nothing")
    assert "there is no vector 'nothing'" in refusal("list", "--vectors", vectors, "--case", "nothing")
    assert "is not a folder" in refusal("run", "--vectors", tmp_path / "nothing")
    assert "cannot be started" in refusal("check", "--vectors", vectors, "--", "./no-such-program")
    assert "PROGRAM" in refusal("check", "--vectors", vectors)
    (tmp_path / "red").mkdir()
    (tmp_path / "red" / "x.jsonl").write_text('{"format": "fairdrop/conformance/1", "events": 0}\n')
    assert "this command reads 'fairdrop/conformance/2'" in refusal("list", "--vectors", tmp_path)


@pytest.mark.parametrize(
    "header", ["{}", "[]", "1", '{"case": 1, "discipline": "red"}', '{"discipline": "red"}', "[" * 9999]
)
def test_a_header_that_lacks_something_is_named(fairdrop, tmp_path, header):
    (tmp_path / "red").mkdir()
    text = header.replace("{", f'{{"format": "{FORMAT}", "events": 0, ').replace(", }", "}")
    (tmp_path / "red" / "x.jsonl").write_text(text + "\n")
    done = fairdrop("conformance", "list", "--vectors", tmp_path)
    assert done.returncode == 2
    assert "x.jsonl is not a vector: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_c_program_over_the_c_interface_passes_every_vector(fairdrop, root, vectors, tmp_path):
    """Its scripted random numbers, its marks and its internals go through the header that is checked in."""
    compiler = os.environ.get("CC", "cc")
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no C compiler ({compiler})")
    subprocess.run(["make", "--silent", "ffi"], cwd=root, check=True)
    interface = root / "crates" / "fairdrop-ffi"
    sources = [interface / "examples" / "conformance.c", root / "target" / "c" / "libfairdrop_ffi.a"]
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I", interface / "include"]
    program = tmp_path / "conformance"
    subprocess.run([compiler, *flags, *sources, "-o", program], check=True)
    command = ("conformance", "check", "--format", "text", "--vectors", vectors)
    result = fairdrop(*command, "--", program, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    headers = [vector.header for vector in read_vectors(vectors)]
    count, bursts = len(headers), sum("burst_mode" in header for header in headers)
    assert bursts >= 7
    assert f"{count} vectors: {count - bursts} passed, {bursts} skipped" in result.stderr
