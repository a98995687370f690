"""The command line as a person meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from patience import OnTerminal

SHORT = ("--set", "duration=20s", "--set", "warm_up=5s")


def test_json_is_one_document_on_stdout_and_nothing_else(fairdrop, headline):
    done = fairdrop("compare", headline, "--disciplines", "droptail,red,choke", "--seeds", "2", "--json", *SHORT)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "fairdrop/result/1"
    assert [(run["discipline"], run["seed"]) for run in document["runs"]] == [
        (discipline, seed) for discipline in ("droptail", "red", "choke") for seed in (1, 2)
    ]
    run = document["runs"][-1]
    for group in run["groups"]:
        for field in ("name", "flows", "throughput_bps", "goodput_bps", "share", "drop_fraction", "drops"):
            assert field in group
    assert sum(group["flows"] for group in run["groups"]) == len(run["flows"]) == 33
    assert set(run["groups"][0]["drops"]) >= {
        "overflow", "red_early", "red_forced", "match_arriving", "match_queued", "memory", "ward_pair_queued",
        "blue", "codel", "pie",
    }  # fmt: skip
    assert run["queues"][0]["discipline"] == "choke"
    assert sum(group["share"] for group in run["groups"]) == pytest.approx(run["utilisation"])
    assert "discipline" in done.stderr, "the table goes to stderr beside --json"


def test_documented_fields_are_there(fairdrop, headline, root):
    """Every field that the reference names in a table of runs, groups, flows or queues exists in a document."""
    document = json.loads(fairdrop("run", headline, "--json", "--quiet", *SHORT).stdout)
    run = document["runs"][0]
    sections = {
        "## `runs[]`": [run],
        "## `groups[]` and `flows[]`": [run["groups"][0] | run["flows"][0]],
        "## `queues[]`": [run["queues"][0]],
        "## `queues[].total`, `queues[].groups[]` and `queues[].flows[]`": [
            run["queues"][0]["groups"][0] | run["queues"][0]["flows"][0]
        ],
        "## Drop causes": [run["queues"][0]["drops"]],
    }
    text = (root / "docs" / "reference" / "result.md").read_text()
    for title, (found,) in sections.items():
        body = text.split(title)[1].split("\n## ")[0]
        cells = [line.split("|")[1] for line in body.splitlines() if line.startswith("| `")]
        names = [name for cell in cells for name in cell.replace("[]", "").replace("`", "").replace(" ", "").split(",")]
        assert names
        missing = [name for name in names if name not in found]
        assert not missing, f"{title}: {missing}"


def test_quiet_says_nothing(fairdrop, headline):
    done = fairdrop("run", headline, "--quiet", *SHORT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_out_report_and_timing_files(fairdrop, headline, tmp_path):
    done = fairdrop(
        "run", headline, "--out", "made/here", "--report", "r.html", "--timing", "t.json", "--quiet", *SHORT
    )
    assert done.returncode == 0, done.stderr
    files = {path.name for path in (tmp_path / "made" / "here").iterdir()}
    assert files == {"result.json"} | {
        f"{name}.parquet"
        for name in (
            "runs", "groups", "flows", "queues", "drops", "series", "queue_lengths", "sojourns", "positions",
            "link_flows", "link_groups", "link_drops", "link_marks", "internals", "internals_series", "velocity",
            "windows", "transfers", "link_losses",
        )
    }
    timing = json.loads((tmp_path / "t.json").read_text())
    assert timing["loop_cpu_s"] > 0
    assert timing["events"] > timing["bottleneck_packets"] > 1000
    assert (tmp_path / "r.html").read_text().startswith("<!")
    again = fairdrop("report", "made/here", "--out", "again.html")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again.html").read_bytes() == (tmp_path / "r.html").read_bytes()


def test_help_answers_fast_and_imports_nothing_heavy():
    """What is heavy is known by name; a clock would depend on the machine."""
    code = (
        "import sys; from fairdrop.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted(m for m in ('numpy', 'scipy', 'matplotlib', 'jinja2', 'pandas') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_list_names_everything_with_units_defaults_and_sources(fairdrop):
    listed = json.loads(fairdrop("list", "--json").stdout)
    assert {"droptail", "red", "choke"} <= {entry["name"] for entry in listed["disciplines"]}
    assert {"reno", "newreno", "cbr"} <= {entry["name"] for entry in listed["transports"]}
    for entry in [*listed["disciplines"], *listed["transports"]]:
        assert entry["source"], entry["name"]
        for parameter in entry["parameters"]:
            assert parameter["doc"], parameter
            assert parameter["valid"], parameter
    assert fairdrop("list", "tea").returncode == 2


def test_list_has_a_line_for_each_and_list_name_the_rest(invoke, root):
    listed = json.loads(invoke("list", "--json")[1])
    disciplines, transports = listed["disciplines"], listed["transports"]
    lines = invoke("list")[1].partition("\nScenarios ")[0].splitlines()
    assert len(lines) < len(disciplines) + len(transports) + 25
    families = {entry["family"] for entry in disciplines}
    assert families < set(lines)
    for entry in [*disciplines, *transports]:
        (line,) = (line for line in lines if line.split()[:1] == [entry["name"]])
        assert line.endswith(entry["doc"]), "what is piped is not cut"
        text = invoke("list", entry["name"])[1]
        for part in (entry["title"], entry["source"], *(parameter["doc"] for parameter in entry["parameters"])):
            assert part in text
        (page,) = (line.split()[1] for line in text.splitlines() if line.startswith("page "))
        assert (root / page).is_file()


def test_on_a_terminal_no_line_of_a_list_is_longer_than_it(invoke, monkeypatch):
    monkeypatch.setattr("fairdrop.terminal.Stream.isatty", lambda _stream: True)
    monkeypatch.setenv("COLUMNS", "60")
    for words in (["list"], ["list", "red"]):
        out = invoke(*words)[1]
        assert max(map(len, out.splitlines())) == 60
    assert "…" in invoke("list")[1]


def test_extensions_are_listed_apart(invoke):
    assert invoke("new", "discipline", "mine")[0] == invoke("new", "congestion-control", "my_tcp")[0] == 0
    words = ("--parts", "mine/mine.py", "--extension", "my_tcp/my_tcp.py")
    own = invoke("list", *words)[1].partition("Extensions\n")[2]
    assert [line.split()[0] for line in own.splitlines()[:2]] == ["mine", "my_tcp"]
    assert invoke("list", *words, "mine")[0] == 0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "missing.toml"], ["missing.toml", "No such file"]),
        (["run", "."], ["is a directory; valid: a regular file"]),
        (["compare", "HEADLINE", "--disciplines", "red,tea"], ["'tea'|\"tea\"", "one of blue, droptail"]),
        (["run", "HEADLINE", "--set", "queue.red.max_p=2"], ["queue.red.max_p = 2", "0 to 1"]),
        (["run", "HEADLINE", "--set", "groups.udp.rate=2mbps"], ["2mbps", "1mbit"]),
        (["run", "HEADLINE", "--set", "groups.sctp.rate=1mbit"], ["sctp", "tcp, udp"]),
        (["run", "HEADLINE", "--set", "nonsense"], ["path=value"]),
        (["compare", "HEADLINE", "--disciplines", ","], ["--disciplines ','", "fairdrop list"]),
        (["replay", "HEADLINE", "--set", "groups.udp.rate=1mbit"], ["--set groups.udp.rate=1mbit", "queue."]),
        (["run", "HEADLINE", "--seeds", "0"], ["--seeds", "1 to 1000000"]),
        (["replay", "missing.pcap"], ["missing.pcap"]),
        (["replay", "HEADLINE"], ["headline.toml", "pcap"]),
        (["replay", "EMPTY"], ["empty"]),
        (["replay", "HEADLINE", "--speed", "-1"], ["speed = -1", "above 0"]),
        (["replay", "HEADLINE", "--rate", "fast"], ["fast", "1mbit"]),
        (["report", "nowhere"], ["nowhere"]),
        (["report", "HEADLINE"], ["not JSON"]),
    ],
)
def test_bad_input_names_itself_and_what_is_valid(fairdrop, headline, tmp_path, words, expected):
    (tmp_path / "empty").touch()
    places = {"HEADLINE": str(headline), "EMPTY": "empty"}
    done = (
        fairdrop(*(places.get(word, word) for word in words), "--out", "o")
        if words[0] != "report"
        else fairdrop(*(places.get(word, word) for word in words))
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for text in expected:
        assert any(choice in done.stderr for choice in text.split("|")), done.stderr
    assert not (tmp_path / "o").exists(), "nothing is written for bad input"


def test_a_closed_pipe_is_no_traceback(headline, tmp_path):
    command = f"{sys.executable} -m fairdrop compare {headline} --seeds 3 --json --quiet | head -c 10"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "Traceback" not in done.stderr
    assert done.stdout == '{"schema":'


def test_ctrl_c_keeps_what_is_finished(headline, tmp_path):
    """Long work, interrupted: exit status 130, a valid result that says it is not complete."""
    words = ["compare", headline, "--disciplines", "choke", "--seeds", "100", "--threads", "2", "--out", "o", "--json"]
    work = OnTerminal([sys.executable, "-m", "fairdrop", *map(str, words)], tmp_path)
    # Of 100 runs, two at a time: at 3 % the first is finished.
    work.wait_until_shown(rb" ([3-9]|[1-9]\d+) %")
    status, stdout, terminal = work.end(signal.SIGINT)
    assert status == 130, terminal
    assert "Traceback" not in terminal
    document = json.loads(stdout)
    assert document["complete"] is False
    assert 0 < len(document["runs"]) < 100
    assert json.loads((tmp_path / "o" / "result.json").read_text()) == document


def test_results_do_not_depend_on_threads_or_time(fairdrop, headline):
    one = fairdrop("compare", headline, "--seeds", "3", "--threads", "1", "--json", "--quiet", *SHORT)
    two = fairdrop("compare", headline, "--seeds", "3", "--threads", "2", "--json", "--quiet", *SHORT)
    strip = [json.loads(done.stdout) | {"command": None} for done in (one, two)]
    assert strip[0] == strip[1]


def test_an_unwritable_place_is_an_error_not_a_half_result(fairdrop, headline, tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = fairdrop("run", headline, "--out", "file/below", "--quiet", *SHORT)
    assert done.returncode == 2
    assert "file/below" in done.stderr


def test_module_and_script_are_the_same_command():
    script = Path(sys.executable).parent / "fairdrop"
    by_script = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    by_module = subprocess.run(
        [sys.executable, "-m", "fairdrop", "--version"], capture_output=True, text=True, check=True, env=os.environ
    )
    assert by_script.stdout == by_module.stdout != ""


def test_a_limit_below_min_th_is_warned_of(fairdrop, tmp_path):
    (tmp_path / "s.toml").write_text('[[groups]]\nname = "g"\ntransport = "cbr"\nrate = "2mbit"\n')
    words = ("compare", "s.toml", "--disciplines", "droptail,choke", "--set", "queue.limit=50p", "--json", *SHORT)
    (warning,) = json.loads(fairdrop(*words).stdout)["warnings"]
    assert "choke" in warning
    assert "acts as DropTail" in warning
    words = ("run", "s.toml", "--set", "queue.limit=101p", "--json", *SHORT)
    assert json.loads(fairdrop(*words).stdout)["warnings"] == []


def test_draws_are_counted(fairdrop, headline):
    queue = json.loads(fairdrop("run", headline, "--json", "--quiet", *SHORT).stdout)["runs"][0]["queues"][0]
    assert 0 < queue["drops"]["match_arriving"] < queue["candidates_drawn"] <= queue["arrivals"]
