"""Files named by others: one that is not regular, or has no end, is refused by name, kind and valid kinds."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import fairdrop as library
from test_replay import packet, pcap

SHORT = ("--set", "duration=2s", "--set", "warm_up=1s")
KINDS = {
    "/dev/zero": "a character device",
    "/dev/urandom": "a character device",
    "pipe": "a FIFO",
    "folder": "a directory",
    "socket": "a socket",
    "huge": "larger than",
    "link-to-pipe": "a FIFO",
}
SCENARIO, CAPTURE, RESULT, LIST = "16 MiB", "16 GiB", "4 GiB", "1 GiB"


@pytest.fixture
def special(tmp_path):
    """A folder with a file of each kind that is not to be read."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link-to-pipe").symlink_to("pipe")
    with (tmp_path / "huge").open("wb") as huge:
        # Sparse: takes no room.
        huge.truncate(1 << 40)
    before = Path.cwd()
    # The path of a socket has at most a hundred bytes.
    os.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        os.chdir(before)
        yield tmp_path


READERS = [
    (["run", "FILE"], SCENARIO),
    (["compare", "FILE", "--disciplines", "red"], SCENARIO),
    (["model", "FILE"], SCENARIO),
    (["replay", "CAPTURE", "--scenario", "FILE"], SCENARIO),
    (["replay", "FILE"], CAPTURE),
]
DOCUMENTS = [(["show", "FILE"], RESULT), (["report", "FILE", "--out", "r.html"], RESULT)]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(("words", "limit"), [*READERS, *DOCUMENTS], ids=lambda value: str(value))
def test_only_regular_files_are_read(fairdrop, special, capture, words, limit, name):
    if words[0] in ("show", "report") and name == "folder":
        pytest.skip("a folder is what these commands read")
    done = fairdrop(*({"FILE": name, "CAPTURE": capture}.get(word, word) for word in words))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"fairdrop: error: {name}: is {KINDS[name]}")
    assert f"valid: a regular file of at most {limit}" in done.stderr
    assert done.stderr.count("\n") == 1
    assert ("or - for standard input" in done.stderr) == (
        words == ["replay", "FILE"] and name not in ("folder", "huge")
    )


@pytest.mark.parametrize("name", KINDS)
def test_a_list_of_arrivals_is_a_regular_file(fairdrop, special, name):
    text = f'[[groups]]\nname = "g"\ntransport = "trace"\nfile = "{name}"\n'
    (special / "s.toml").write_text(text)
    done = fairdrop("run", "s.toml", *SHORT)
    assert done.returncode == 2
    assert done.stderr.startswith(f'fairdrop: error: s.toml:4: groups.g.file = "{name}" is not valid')
    assert f"{name}: is {KINDS[name]}" in done.stderr
    assert f"valid: a regular file of at most {LIST}" in done.stderr


@pytest.mark.parametrize("name", ["pipe", "/dev/zero", "huge"])
def test_the_library_says_the_same(special, name):
    for read in (library.load, library.read_result, library.replay):
        with pytest.raises(OSError, match=KINDS[name]) as caught:
            read(special / name)
        assert str(special / name) in str(caught.value)


@pytest.mark.parametrize("name", ["pipe", "/dev/zero"])
def test_files_inside_of_folders_are_looked_at_too(fairdrop, special, headline, name):
    """What a result, a set of vectors or work to resume consists of."""
    source = special / name

    def in_the_place_of(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(source)

    assert fairdrop("run", headline, "--out", "o", "--quiet", *SHORT).returncode == 0
    in_the_place_of(special / "o" / "model.json")
    shown = fairdrop("show", "o")
    in_the_place_of(special / "p" / "runs" / "work.json")
    resumed = fairdrop("run", headline, "--out", "p", "--resume", *SHORT)
    in_the_place_of(special / "v" / "red" / "idle.jsonl")
    listed = fairdrop("conformance", "list", "--vectors", "v")
    in_the_place_of(special / "r" / "run.json")
    reproduced = fairdrop("reproduce", "--resume", "--out", "r")
    for done, file in ((shown, "model.json"), (resumed, "work.json"), (listed, "idle.jsonl")):
        assert done.returncode == 2
        assert file in done.stderr
        assert KINDS[name] in done.stderr
    assert reproduced.returncode == 2
    assert "nothing to resume" in reproduced.stderr


@pytest.mark.parametrize("option", ["--report", "--timing", "--out", "--trace"])
@pytest.mark.parametrize("name", ["/dev/full", "pipe", "socket"])
def test_nothing_takes_the_place_of_a_special_file(fairdrop, special, headline, option, name):
    before = os.lstat(special / name)
    done = fairdrop("run", headline, option, name, "--quiet", *SHORT)
    assert done.returncode == 2
    kind = "no folder" if option in ("--out", "--trace") else KINDS.get(name, "a character device")
    assert done.stderr.startswith(f"fairdrop: error: {name}: is {kind}; valid: ")
    after = os.lstat(special / name)
    assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)


def test_a_report_or_plot_of_a_special_file_is_refused(fairdrop, special, headline):
    assert fairdrop("run", headline, "--out", "o", "--quiet", *SHORT).returncode == 0
    plotted = ["model", "front", "--mu", "1", "--rates", "0.5,1", "--plot", "pipe.svg"]
    (special / "pipe.svg").symlink_to("pipe")
    for words in (["report", "o", "--out", "pipe"], plotted):
        done = fairdrop(*words)
        assert done.returncode == 2
        assert "is a FIFO; valid: a regular file, or a name that is not taken" in done.stderr
        assert (special / "pipe").is_fifo()


def test_a_link_to_a_report_stays_a_link(fairdrop, tmp_path, headline):
    (tmp_path / "real.html").write_text("<!doctype html>old")
    (tmp_path / "link.html").symlink_to("real.html")
    assert fairdrop("run", headline, "--report", "link.html", "--quiet", *SHORT).returncode == 0
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "real.html").read_text().startswith("<!")


def test_places_are_looked_at_before_the_work(fairdrop, headline):
    """A hundred thousand runs would not be done in time."""
    for option, name in (("--report", "nowhere/r.html"), ("--timing", "nowhere/t"), ("--out", "/dev/null")):
        done = fairdrop("run", headline, "--seeds", "100000", option, name)
        assert done.returncode == 2
        assert name in done.stderr


@pytest.fixture
def capture(tmp_path):
    path = tmp_path / "c.pcap"
    path.write_bytes(pcap([packet(i * 1_000_000, 500, 1) for i in range(50)]))
    return path


def test_a_capture_from_standard_input(fairdrop, tmp_path, capture):
    from_file = fairdrop("replay", "c.pcap", "--rate", "1mbit", "--json", "--quiet")
    assert from_file.returncode == 0, from_file.stderr
    replay = f"{sys.executable} -m fairdrop replay - --rate 1mbit --json --quiet"
    for script in (f"cat c.pcap | {replay}", f"{replay} < c.pcap"):
        done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split('"runs":')[1] == from_file.stdout.split('"runs":')[1]
        assert '"title":"Replay of standard input"' in done.stdout
    nothing = subprocess.run(["sh", "-c", f"{replay} <&-"], capture_output=True, text=True, check=False)
    assert nothing.returncode == 2
    assert "standard input: the file is empty" in nothing.stderr


def test_an_endless_capture_on_standard_input_is_refused(tmp_path):
    """What is no capture is known by its first bytes, however much follows."""
    replay = f"yes | {sys.executable} -m fairdrop replay -"
    done = subprocess.run(["sh", "-c", replay], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert "standard input: not a capture" in done.stderr


@pytest.mark.parametrize(
    "text", ['{"schema":"fairdrop/result/1"}', "[" * 100_000, '{"schema":"fairdrop/result/1","runs":[1]}']
)
def test_a_document_that_is_none_is_no_traceback(fairdrop, tmp_path, text):
    (tmp_path / "result.json").write_text(text)
    # A document without runs has a report, which says so.
    for words in (["show", "result.json"], *([["report", "result.json"]] if "runs" in text or "[" in text else [])):
        done = fairdrop(*words)
        assert done.returncode == 2
        assert done.stderr.startswith("fairdrop: error: result.json: not ")
        assert "valid: " in done.stderr
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "report.html").exists()


def test_an_unreadable_folder_of_results_is_named(fairdrop, tmp_path):
    (tmp_path / "o").mkdir()
    done = fairdrop("show", "o")
    assert done.returncode == 2
    assert "o: holds no result.json, so that no complete result was written there" in done.stderr
    shutil.rmtree(tmp_path / "o")
    assert "No such file" in fairdrop("show", "o").stderr
