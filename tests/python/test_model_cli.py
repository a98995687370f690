"""``fairdrop model``: its numbers against the equations written out again, its refusals, and its place in compare."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

import fairdrop
from fairdrop import models, plot
from fairdrop.cli import main
from fairdrop.model_scenario import NotModelledError
from fairdrop.plot.size import SIZES, Width
from fairdrop.result import read_document

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "scenarios"
CASE = SCENARIOS / "understanding-choke.toml"
HEADLINE = SCENARIOS / "headline.toml"


def cut(text: str) -> list[str]:
    """The words of a command line."""
    return text.split()


LINK = cut("--capacity 125 --tcp-flows 32 --delay 0.1 --min-th 20 --max-th 520 --max-p 0.5")
KINDS: dict[str, list[str]] = {
    "front": cut("front --mu 1 --rates 0.5,1,1.5"),
    "back": cut("back --rates 1,1,1,7 --memory 2 --mu 6"),
    "equilibrium": ["equilibrium", *LINK, "--udp-rate", "125"],
    "spatial": ["spatial", *LINK, "--udp-rate", "1250"],
    "scenario": [str(CASE)],
}
Run = Callable[..., tuple[int, str, str]]
Document = dict[str, Any]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main([str(word) for word in words])
        text = capsys.readouterr()
        return status, text.out, text.err

    return call


@pytest.fixture
def solved(run: Run) -> Callable[..., Document]:
    """The document of a model, read as strictly as JSON is defined."""

    def call(*words: str) -> Document:
        status, out, err = run("model", *words, "--json")
        assert (status, err) == (0, "")
        return dict(json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON")))

    return call


def test_front_is_equation_1(solved: Callable[..., Document]) -> None:
    found = solved(*KINDS["front"])
    expected = [rate / (1 + 2 * rate) for rate in (0.5, 1.0, 1.5)]
    assert found["p"] == pytest.approx(expected, rel=1e-12)
    assert found["goodput"] == pytest.approx(expected, rel=1e-12)
    assert found["stable"] is True
    assert (found["schema"], found["kind"], found["mu"]) == ("fairdrop/model/1", "front", 1.0)


def test_back_counts_the_memories(solved: Callable[..., Document]) -> None:
    rates, memory = [1.0, 1.0, 1.0, 7.0], 2
    found = solved(*KINDS["back"])
    weights = {chosen: math.prod(rates[k] for k in chosen) for chosen in combinations(range(4), memory)}
    admitted = [
        rates[k] * sum(weight for chosen, weight in weights.items() if k not in chosen) / sum(weights.values())
        for k in range(4)
    ]
    assert found["rates"] == pytest.approx(admitted, rel=1e-12)
    assert found["shares"] == pytest.approx([rate / sum(admitted) for rate in admitted], rel=1e-12)
    assert found["goodput"] == found["rates"]
    assert solved(*cut("back --rates 1,1,1,7 --memory 2"))["goodput"] is None


def check_equilibrium(found: Document, capacity: float, constant: dict[str, float], delay: float) -> None:
    """Equations (3) to (9), one candidate, evenly spaced arrivals."""
    b, r, tau = found["b"], found["r"], found["tau"]
    assert r == pytest.approx((b - 20) * 0.001, rel=1e-9)
    count = found["count"]
    for k, name in enumerate(found["names"]):
        h, p, x = found["h"][k], found["p"][k], found["x"][k]
        assert p == pytest.approx(2 * h + r - r * h, rel=1e-9)
        assert found["survival"][k] == pytest.approx((1 - h) * (1 - r) * (1 - 1 / b) ** (x * tau), rel=1e-9)
        expected = constant[name] if name in constant else math.sqrt(2 * (1 - p) / p) / (delay + tau)
        assert x == pytest.approx(expected, rel=1e-9)
        assert found["mu"][k] == pytest.approx(x * found["survival"][k] / capacity, rel=1e-9)
    assert sum(n * h for n, h in zip(count, found["h"], strict=True)) == pytest.approx(1, rel=1e-9)
    assert sum(n * g for n, g in zip(count, found["goodput"], strict=True)) == pytest.approx(capacity, rel=1e-9)


def test_equilibrium_solves_the_equations(solved: Callable[..., Document]) -> None:
    found = solved(*KINDS["equilibrium"])
    check_equilibrium(found, 125, {"udp": 125}, 0.1)
    assert found["names"] == ["udp", "tcp"]
    assert found["residual"] < 1e-9
    assert found["parameters"]["udp_rate"] == [125.0]


def test_each_udp_rate_is_a_flow(solved: Callable[..., Document]) -> None:
    found = solved("equilibrium", *LINK, *cut("--udp-rate 125 --udp-rate 10 --udp-rate 125"))
    check_equilibrium(found, 125, {"udp[0]": 125, "udp[1]": 10, "udp[2]": 125}, 0.1)
    assert found["mu"][0] == pytest.approx(found["mu"][2], rel=1e-9)
    assert found["h"][0] > found["h"][1]


@pytest.mark.parametrize(
    ("words", "law"),
    [
        (["--tcp", "reno-small-loss"], lambda p, tau: math.sqrt(2 / p) / (0.1 + tau)),
        (["--tcp", "vegas", "--alpha", "3"], lambda _, tau: 3 / tau),
    ],
)
def test_rate_laws(solved: Callable[..., Document], words: list[str], law: Callable[..., float]) -> None:
    found = solved("equilibrium", *LINK, "--udp-rate", "125", *words)
    assert found["x"][1] == pytest.approx(law(found["p"][1], found["tau"]), rel=1e-9)


def test_candidates_survival_and_jump_reach_the_model(solved: Callable[..., Document]) -> None:
    base = solved(*KINDS["equilibrium"])
    drawn = solved(*KINDS["equilibrium"], "--candidates", "3", "--survival", "poisson")
    assert drawn["beta"] == pytest.approx(3 / drawn["b"], rel=1e-12)
    assert base["beta"] == pytest.approx(-math.log1p(-1 / base["b"]), rel=1e-12)
    many = ["--udp-rate", "1250"] * 4
    low = [*LINK[:-1], "0.1"]
    assert solved("equilibrium", *low, *many)["regime"] == "active"
    pinned = solved("equilibrium", *low, *many, "--jump")
    assert (pinned["regime"], pinned["b"]) == ("sliding", 520)


@pytest.mark.parametrize("variant", ["III-C", "order", "three"])
def test_approximate_models(solved: Callable[..., Document], variant: str) -> None:
    found = solved(*KINDS["equilibrium"], "--variant", variant)
    full = solved(*KINDS["equilibrium"])
    assert found["p"][1] == pytest.approx(found["r"])
    assert found["h"][1] == 0
    assert found["mu"][0] == pytest.approx(full["mu"][0], rel=0.15)
    if variant == "three":  # (18) to (22): mu/(1-mu) = ln(a)/a with h = (a-1)/(2a-1)
        a = (1 - found["h"][0]) / (1 - 2 * found["h"][0])
        assert found["mu"][0] / (1 - found["mu"][0]) == pytest.approx(math.log(a) / a, rel=1e-9)


def test_spatial_profile_ends_in_the_share_of_the_link(solved: Callable[..., Document]) -> None:
    found = solved(*KINDS["spatial"], "--points", "31")
    shape, count = found["profile"], found["count"]
    assert len(shape["y"]) == 31
    assert (shape["y"][0], shape["t"][0]) == (0, 0)
    assert shape["t"][-1] == pytest.approx(found["tau"], rel=1e-9)
    assert shape["v"][-1] == pytest.approx(125, rel=1e-9)
    for k in range(2):
        assert shape["rho"][k][-1] == pytest.approx(found["mu"][k], rel=1e-9)
    for at in range(31):
        assert sum(n * rho[at] for n, rho in zip(count, shape["rho"], strict=True)) == pytest.approx(1)
    assert found["inflexion"]["shape"] == "concave-convex"
    assert solved("spatial", *LINK, "--udp-rate", "9", "--udp-rate", "90")["inflexion"] is None


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_field_is_documented(solved: Callable[..., Document], kind: str) -> None:
    page = (ROOT / "docs" / "reference" / "model.md").read_text(encoding="utf-8")
    names = re.findall(r"`([a-z_.]+)(?:\[\])*`", page)
    documented = {part for name in names for part in name.split(".")}
    found = solved(*KINDS[kind])
    inner = {key for name in ("profile", "inflexion", "link") for key in found.get(name) or {}}
    groups = {key for group in found.get("groups", []) for key in group}
    assert set(found) | inner | groups <= documented
    assert found["kind"] == kind
    assert found["version"] == fairdrop.__version__
    assert found["command"] == ["fairdrop", "model", *KINDS[kind], "--json"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("front", [r"^1 +1 +33\.33 % +0\.33333 +66\.67 % +0$", r"stable, empty 4\.17 %"]),
        ("back", [r"^3 +7 +31\.82 % +0\.875 +0\.875$", r"load 2\.75 of 6; stable"]),
        ("equilibrium", [r"^udp +1 +125 +75\.26 %", r"24\.74 %", r"queue 128\.5 packets, wait 886\.2 ms"]),
        ("spatial", [r"^ +0\.0 +0\.0000", r"concave-convex, turning at 92\.8"]),
        ("scenario", [r"^udp +1 +10 Mb/s +21\.06 kb/s +2\.11 %", r"100 ms propagation \+ 8\.49 ms transmission"]),
    ],
)
def test_tables(run: Run, kind: str, expected: list[str]) -> None:
    status, out, err = run("model", *KINDS[kind])
    assert (status, err) == (0, "")
    for pattern in expected:
        assert re.search(pattern, out, re.MULTILINE), f"{pattern!r} is not in\n{out}"


def test_overload_and_below_mu_are_stated(run: Run) -> None:
    assert "overloaded" in run("model", *cut("front --mu 1 --rates 9,9,9"))[1]
    assert "overloaded" in run("model", *cut("back --rates 1,1,1,7 --memory 2 --mu 2"))[1]
    assert "with --mu also goodput" in run("model", *cut("back --rates 1,1,1,7 --memory 2"))[1]


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        ("front --mu 0 --rates 1", "--mu"),
        ("front --mu nan --rates 1", "--mu"),
        ("front --mu 1 --rates=-1,2", "--rates"),
        ("front --mu 1 --rates inf", "--rates"),
        ("back --rates 0,0 --memory 0", "--rates"),
        ("back --rates 1,2 --memory 2", "--memory"),
        ("back --rates 1,2 --memory 1 --mu -3", "--mu"),
        ("{} --udp-rate -1", "--udp-rate"),
        ("{} --udp-rate 1 --udp-rate -1", "--udp-rate"),
        ("{} --udp-rate 1 --capacity 0", "--capacity"),
        ("{} --udp-rate 1 --tcp-flows 0", "--tcp-flows"),
        ("{} --udp-rate 1 --delay -1", "--delay"),
        ("{} --udp-rate 1 --min-th -1", "--min-th"),
        ("{} --udp-rate 1 --max-th 10", "--max-th"),
        ("{} --udp-rate 1 --max-p 1.5", "--max-p"),
        ("{} --udp-rate 1 --candidates 0", "--candidates"),
        ("{} --udp-rate 1 --alpha 3", "--alpha"),
        ("{} --udp-rate 1 --tcp vegas", "--alpha"),
        ("{} --udp-rate 1 --tcp vegas --alpha 0", "--alpha"),
        ("{} --udp-rate 1 --udp-rate 2 --variant three", "--udp-rate"),
        ("{} --udp-rate -1 --variant three", "--udp-rate"),
        ("{} --udp-rate 1 --plot share.gif", "--plot"),
    ],
)
def test_input_that_no_queue_can_have(run: Run, words: str, flag: str) -> None:
    head = " ".join(["equilibrium", *LINK])
    status, out, err = run("model", *words.format(head).split())
    assert (status, out) == (2, "")
    assert err.startswith(f"fairdrop: error: {flag} "), err
    assert err.count("\n") == 1


def test_points_and_files_are_named(run: Run, tmp_path: Path) -> None:
    assert run("model", *KINDS["spatial"], "--points", "1")[2].startswith("fairdrop: error: --points ")
    status, _, err = run("model", str(tmp_path / "none.toml"))
    assert status == 2
    assert err.startswith(f"fairdrop: error: {tmp_path / 'none.toml'}: No such file or directory; valid: a TOML file")


def test_no_equilibrium_is_reported(run: Run) -> None:
    status, out, err = run("model", "equilibrium", *LINK, "--udp-rate", "125", "--tcp-flows", "3")
    assert (status, out) == (2, "")
    assert "no equilibrium: the flows cannot keep the link full and 20 packets queued" in err


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from fairdrop.cli.parser import build_parser; build_parser();"
        "sys.exit(', '.join({'numpy', 'scipy', 'matplotlib', 'jinja2', 'fairdrop.models'} & set(sys.modules)) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# Scenarios


def scenario_parameters(path: Path, *settings: str) -> Document:
    return dict(fairdrop.load(path, settings).model()["parameters"])


def test_scenario_becomes_these_parameters() -> None:
    found = scenario_parameters(CASE)
    ack, data = 40 * 8, 1000 * 8
    transmission = (data + ack) / 1e6 + 2 * (data + ack) / 1e8
    assert found["capacity"] == 125
    assert (found["min_th"], found["max_th"], found["max_p"], found["jump"]) == (20, 520, 0.5, True)
    tcp, udp = found["flows"]
    assert tcp["propagation"] == pytest.approx(2 * (0.001 + 2 * 0.0245), rel=1e-12)
    assert tcp["transmission"] == pytest.approx(transmission, rel=1e-12)
    assert tcp["delay"] == pytest.approx(0.1 + transmission, rel=1e-12)
    assert (tcp["count"], udp["count"], udp["rate"]) == (32, 1, 1250)


def test_scenario_is_the_general_equilibrium_in_bits() -> None:
    found = fairdrop.load(CASE).model()
    check_equilibrium(found, 125, {"udp": 1250}, found["parameters"]["flows"][0]["delay"])
    tcp, udp = found["groups"]
    assert udp["throughput_bps"] == pytest.approx(found["goodput"][1] * 8000)
    assert tcp["throughput_bps"] + udp["throughput_bps"] == pytest.approx(1e6, rel=1e-9)
    assert tcp["share"] == pytest.approx(32 * found["mu"][0])
    assert tcp["mean_packets"] + udp["mean_packets"] == pytest.approx(found["link"]["mean_packets"], rel=1e-9)
    assert (udp["drop_fraction"], tcp["offered_bps"]) == (found["p"][1], pytest.approx(32 * found["x"][0] * 8000))


def test_groups_keep_their_order_and_their_round_trips(tmp_path: Path) -> None:
    text = CASE.read_text(encoding="utf-8")
    far = '[[groups]]\nname = "far"\ntransport = "reno"\ncount = 8\naccess_delay = "99.5ms"\nera = "ns2-2005"\n'
    path = tmp_path / "two.toml"
    path.write_text(text.replace("[[groups]]", f"{far}[[groups]]", 1), encoding="utf-8")
    found = fairdrop.load(path).model()
    assert found["names"] == ["far", "tcp", "udp"]
    far_flow, near = found["parameters"]["flows"][:2]
    assert far_flow["propagation"] == pytest.approx(0.4)
    assert found["x"][0] < found["x"][1]
    assert far_flow["delay"] - near["delay"] == pytest.approx(0.3)


def test_spaced_drops_are_twice_independent_ones(run: Run) -> None:
    assert scenario_parameters(HEADLINE)["max_p"] == pytest.approx(0.2)
    assert scenario_parameters(HEADLINE, "queue.red.independent=true")["max_p"] == pytest.approx(0.1)
    waiting = scenario_parameters(HEADLINE, "queue.red.wait=true")["max_p"]
    assert waiting == pytest.approx(0.1 / 1.45)
    assert "note: RED spaces its drops (independent = false)" in run("model", str(HEADLINE))[1]


def test_spaced_drops_rate_is_that_of_the_rule() -> None:
    """The mean gap between drops by the rule of ``red.rs``, against the rate that the mapping takes."""
    for wait, p in ((False, 0.1), (False, 0.02), (True, 0.1), (True, 0.02)):
        mean, alive, gap = 0.0, 1.0, 0
        while alive > 1e-15:
            gap += 1
            progress = gap * p
            reach = 2.0 if wait else 1.0
            drop = 0.0 if wait and progress < 1 - 1e-9 else 1.0
            if drop and progress < reach - 1e-9:
                drop = min(1.0, p / (reach - progress))
            mean += alive * drop * gap
            alive *= 1 - drop
        modelled = p / (1.5 - 0.5 * p) if wait else 2 * p
        assert 1 / mean == pytest.approx(modelled, rel=1e-9)


def test_delayed_acknowledgements_halve_the_constant() -> None:
    found = fairdrop.load(CASE, ["groups.tcp.delayed_ack=true"]).model()
    p, delay = found["p"][0], found["parameters"]["flows"][0]["delay"]
    assert found["x"][0] == pytest.approx(math.sqrt((1 - p) / p) / (delay + found["tau"]), rel=1e-9)
    assert any("delayed" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (["queue.discipline=droptail"], "the models describe CHOKe, the queue's discipline is 'droptail'"),
        (["queue.discipline=red"], "the queue's discipline is 'red'"),
        (["queue.choke.draw=head"], "choke.draw = 'head'"),
        (["queue.choke.candidates=0"], "choke.candidates = 0"),
        (["groups.udp.packet_size=500B"], "packets of one size, the groups send 500, 1000 bytes"),
        (["groups.udp.start=100s"], "group 'udp' starts after the warm-up"),
        (["groups.tcp.stop=200s"], "group 'tcp' stops before the end"),
        (["groups.tcp.count=3"], "no equilibrium: the flows cannot keep the link full and 20 packets queued"),
        (
            ["queue.red.gentle=true", "queue.red.max_th=60p", "queue.limit=60p", "queue.red.max_p=0.04"],
            "does not fit the limit of 60",
        ),
        (["groups.tcp.max_window=2p"], "exceeds max_window = 2"),
        (["queue.red.max_p=0"], "red.max_p = 0"),
        (["queue.red.independent=false", "queue.red.max_p=0.7"], "not a ramp"),
        (["queue.red.gentle=true", "queue.red.max_th=60p", "queue.red.max_p=0.04"], "gentle region"),
        (["queue.red.byte_mode=true", "queue.red.mean_packet_size=500B"], "byte_mode"),
        (["dumbbell.access_rate=5mbit"], "into an access link of 5e+06 bit/s"),
        (["dumbbell.loss_back=0.01"], "link 'return' loses packets at random"),
    ],
)
def test_scenarios_that_are_refused(run: Run, settings: list[str], reason: str) -> None:
    words = [word for setting in settings for word in ("--set", setting)]
    status, out, err = run("model", str(CASE), *words)
    assert (status, out) == (2, "")
    assert err.startswith(f"fairdrop: error: {CASE}: "), err
    assert reason in err
    with pytest.raises(NotModelledError, match=re.escape(reason)):
        fairdrop.load(CASE, settings).model()


def test_schedules_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "schedule.toml"
    text = CASE.read_text(encoding="utf-8")
    path.write_text(text.replace("candidates = 1", "schedule = [1, 2]"), encoding="utf-8")
    with pytest.raises(NotModelledError, match=r"choke\.schedule"):
        fairdrop.load(path).model()


GRAPH = """
warm_up = "60s"
duration = "300s"
[queue]
discipline = "choke"
limit = "1000p"
[queue.red]
min_th = "20p"
max_th = "520p"
max_p = 0.5
independent = true
[[links]]
from = "A"
to = "B"
rate = "{first}"
delay = "10ms"
queue = {queue}
[[links]]
from = "B"
to = "C"
rate = "1mbit"
delay = "15ms"
queue = true
[[groups]]
name = "tcp"
transport = "newreno"
count = 32
from = "A"
to = "{to}"
max_window = "1000p"
[[groups]]
name = "udp"
transport = "cbr"
rate = "2mbit"
from = "A"
to = "C"
"""


def graph(**fields: str) -> fairdrop.Scenario:
    return fairdrop.Scenario(GRAPH.format(**{"first": "100mbit", "queue": "false", "to": "C", **fields}))


def test_graphs_with_one_queue_under_study() -> None:
    tcp = graph().model()["parameters"]["flows"][0]
    assert tcp["propagation"] == pytest.approx(0.05)
    assert tcp["transmission"] == pytest.approx(1040 * 8 * (1e-6 + 1e-8))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"queue": "true"}, "one queue under study, the flows cross 2"),
        ({"first": "2500kbit"}, "may be a second bottleneck"),
        ({"to": "B"}, "group 'tcp' does not send through"),
    ],
)
def test_graphs_that_are_refused(fields: dict[str, str], reason: str) -> None:
    with pytest.raises(NotModelledError, match=re.escape(reason)):
        graph(**fields).model()


# compare --with-model

SHORT = ["--set", "duration=20s", "--set", "warm_up=5s", "--disciplines", "red,choke", "--with-model"]


def test_compare_puts_the_model_beside_the_measurement(run: Run) -> None:
    status, out, _ = run("compare", str(HEADLINE), *SHORT)
    assert status == 0
    lines = out.splitlines()
    model = fairdrop.load(HEADLINE).model()
    rows = [line.split() for line in lines if line.startswith(("choke ", "(model) "))]
    assert [row[:2] for row in rows] == [["choke", "tcp"], ["choke", "udp"], ["(model)", "tcp"], ["(model)", "udp"]]
    assert rows[3][5] == f"{100 * model['groups'][1]['share']:.2f}"
    assert f"model: queue {model['b']:.1f} packets, wait {1e3 * model['tau']:.1f} ms" in out
    assert "model: RED spaces its drops" in out


def test_model_in_the_result_document_and_on_disk(run: Run, tmp_path: Path) -> None:
    out_dir = tmp_path / "out"
    _, out, _ = run("compare", str(HEADLINE), *SHORT, "--json", "--quiet", "--out", str(out_dir))
    document = json.loads(out)
    expected = fairdrop.load(HEADLINE).model()
    assert document["model"] == json.loads(json.dumps(expected))
    assert read_document(out_dir) == document
    assert read_document(out_dir / "result.json") == document
    assert not list(out_dir.glob("*.tmp"))
    (out_dir / "other.json").write_bytes((out_dir / "result.json").read_bytes())
    assert "model" not in read_document(out_dir / "other.json"), "model.json belongs to result.json alone"
    without = SHORT[:-1]
    _, out, _ = run("compare", str(HEADLINE), *without, "--json", "--quiet", "--out", str(out_dir))
    assert "model" not in json.loads(out)
    assert read_document(out_dir) == json.loads(out)
    assert not (out_dir / "model.json").exists(), "a model of an earlier result must not go with this one"


def test_model_file_that_is_none_is_refused(run: Run, tmp_path: Path) -> None:
    run("compare", str(HEADLINE), *SHORT, "--quiet", "--out", str(tmp_path))
    (tmp_path / "model.json").write_text('{"schema": "fairdrop/result/1"}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"model\.json: schema = 'fairdrop/result/1' is not valid"):
        read_document(tmp_path)


def test_report_of_a_saved_result_shows_the_theory(run: Run, tmp_path: Path) -> None:
    run("compare", str(HEADLINE), *SHORT, "--quiet", "--out", str(tmp_path))
    assert run("report", str(tmp_path))[0] == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Theory beside measurement" in page
    run("compare", str(HEADLINE), *SHORT[:-1], "--quiet", "--out", str(tmp_path))
    run("report", str(tmp_path))
    assert "Theory beside measurement" not in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--disciplines", "red", "--with-model"], "not among the disciplines (red)"),
        (["--with-model", "--set", "queue.choke.draw=head"], "choke.draw = 'head'"),
    ],
)
def test_compare_refuses_before_it_simulates(run: Run, tmp_path: Path, words: list[str], reason: str) -> None:
    status, out, err = run("compare", str(HEADLINE), *words, "--out", str(tmp_path / "out"))
    assert (status, out) == (2, "")
    assert reason in err
    assert not (tmp_path / "out").exists()


# Figures


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_plot_is_written(run: Run, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"model.{suffix}"
    status, out, err = run("model", *KINDS["equilibrium"], "--plot", str(target))
    assert (status, err) == (0, f"plot: {target}\n")
    assert "24.74 %" in out
    start = target.read_bytes()[:5]
    assert start == {"svg": b"<?xml", "png": b"\x89PNG\r", "pdf": b"%PDF-"}[suffix]


PLOTTED = {
    **KINDS,
    "back without mu": cut("back --rates 0.1,1,1,1,70 --memory 2"),
    "many flows": ["front", "--mu", "1", "--rates", ",".join(["0.01"] * 60)],
    "several udp": ["equilibrium", *LINK, *cut("--udp-rate 125 --udp-rate 250 --udp-rate 20")],
    "approximate": ["equilibrium", *LINK, *cut("--udp-rate 125 --variant order")],
}


@pytest.mark.parametrize("width", sorted(SIZES))
@pytest.mark.parametrize("kind", sorted(PLOTTED))
@pytest.mark.filterwarnings("error::UserWarning")
def test_no_text_of_a_figure_lies_on_another(
    solved: Callable[..., Document], kind: str, width: Width, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = plot.model(solved(*PLOTTED[kind]), width=width)
    boxes: dict[int, tuple[str, Any]] = {}
    draw = Text.draw

    def recorded(self: Text, renderer: Any, *args: Any, **kwargs: Any) -> None:
        draw(self, renderer, *args, **kwargs)
        if self.get_visible() and self.get_text().strip():
            boxes[id(self)] = (self.get_text(), self.get_window_extent(renderer))

    monkeypatch.setattr(Text, "draw", recorded)
    FigureCanvasAgg(figure).draw()
    found = list(boxes.values())
    assert len(found) > 5
    for index, (label, box) in enumerate(found):
        assert box.x0 >= -1, label
        assert box.x1 <= figure.bbox.x1 + 1, label
        for other, place in found[index + 1 :]:
            across = min(box.x1, place.x1) - max(box.x0, place.x0)
            along = min(box.y1, place.y1) - max(box.y0, place.y0)
            assert across <= 1 or along <= 1, f"{label!r} lies on {other!r}"


def test_bars_add_up_and_carry_the_shares(solved: Callable[..., Document]) -> None:
    found = solved(*PLOTTED["several udp"])
    axes = plot.model(found).axes[0]
    widths = [patch.get_width() for patch in axes.patches]  # type: ignore[attr-defined]
    assert len(widths) == 12
    for row in range(3):
        assert sum(widths[4 * row : 4 * row + 4]) == pytest.approx(100)
    assert widths[8:] == pytest.approx([100 * n * mu for n, mu in zip(found["count"], found["mu"], strict=True)])


# The chapter


def chapter_rows(name: str) -> list[list[float]]:
    """The table that ``experiments/leaky_buffer`` writes under this name."""
    text = (ROOT / "docs" / "background" / "leaky-buffer.md").read_text(encoding="utf-8")
    table = re.search(rf"<!-- measured: {name} -->\n\n((?:\|.*\n)+)", text)
    assert table, name
    return [
        [float(cell.split("±")[0]) for cell in line.strip().strip("|").split("|")] for line in table[1].splitlines()[2:]
    ]


def test_the_chapter_prints_what_the_model_says() -> None:
    rows = chapter_rows("shares")
    assert [row[0] for row in rows] == [0.1, 0.5, 1, 2, 5, 10]
    for ratio, _, share, _, queue, _, tcp in rows:
        found = fairdrop.load(CASE, [f"groups.udp.rate={round(ratio * 1e6)}"]).model()
        assert share == pytest.approx(100 * found["groups"][1]["share"], abs=0.0051)
        assert queue == pytest.approx(found["b"], abs=0.051)
        assert tcp == pytest.approx(found["groups"][0]["throughput_bps"] / 1e3, abs=0.051)


def test_the_chapter_prints_what_the_simulator_says() -> None:
    """One row again, all seeds: the share within 5 % of the model, the queue shorter by about a sixth."""
    _, share, model_share, queue, model_queue, tcp, _ = chapter_rows("shares")[2]
    result = fairdrop.load(CASE, ["groups.udp.rate=1mbit"]).run(5)
    runs = result.document["runs"]
    shares = [100 * run["groups"][1]["share"] for run in runs]
    queues = [run["queues"][0]["mean_packets"] for run in runs]
    rates = [run["groups"][0]["throughput_bps"] / 1e3 for run in runs]
    assert sum(shares) / 5 == pytest.approx(share, abs=0.0051)
    assert sum(queues) / 5 == pytest.approx(queue, abs=0.051)
    assert sum(rates) / 5 == pytest.approx(tcp, abs=0.051)
    assert share == pytest.approx(model_share, rel=0.05)
    assert 1.1 < model_queue / queue < 1.25


def test_the_notebook_is_executed_small_and_anonymous() -> None:
    path = ROOT / "docs" / "background" / "models.ipynb"
    text = path.read_text(encoding="utf-8")
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert len(text) < 1_000_000
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert not [out for cell in cells for out in cell["outputs"] if out["output_type"] == "error"]
    assert not re.search(r"(?<![\w.])/(?:home|root|tmp|work|Users)/", text)
    found = models.tcp_equilibrium(
        capacity=125, tcp_flows=32, delay=0.1, min_th=20, max_th=520, max_p=0.5, udp_rate=125
    )
    assert f"UDP: {found.h[0]:.3f} of the queue, {found.mu[0]:.3f} of the link" in text


# The other models


SOURCES = cut("--capacity 125 --tcp-flows 32 --delay 0.006 --udp-rate 250")
MORE: dict[str, list[str]] = {
    "chokew": ["chokew", *SOURCES, "--udp-weight", "2"],
    "ward": ["ward", *SOURCES, "--buffer", "200"],
    "collar": cut("collar --capacity 125000 --tcp-flows 2 --delay 0.042 --udp-rate 125000"),
    "peak": ["peak", *LINK],
    "asymptote": ["asymptote", *LINK],
    "minimum-flows": cut("minimum-flows --capacity 125 --delay 0.1 --min-th 20 --udp-rate 1250"),
    "sweep": cut(
        "sweep --capacity 125 --tcp-flows 32 --delay 0.1 --min-th 20 --max-p 0.5 "
        "--over max_th=10,520 --over udp_rate=log:12.5:1250:3"
    ),
}


@pytest.mark.parametrize("kind", sorted(MORE))
def test_other_models_are_documented_and_strict(solved: Callable[..., Document], kind: str) -> None:
    page = (ROOT / "docs" / "reference" / "model.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`([a-z_0-9]+)(?:\[\])*`", page))
    found = solved(*MORE[kind])
    assert set(found) <= documented
    assert found["kind"] == kind


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("chokew", [r"^note: tcp loses 1\d\.\d %: above a loss of 10 to 20 %", r"^udp +1 +250", r"drawing factor p0 "]),
        ("ward", [r"^note: tcp loses 12\.6 %", r"pinned at a stair, wait 920\.1 ms, compared 74\.41 % of the time"]),
        (
            "collar",
            [r"^udp +1 +1\.25e\+05 +66\.07 %.* 33\.93 %", r"0\.4492 \(does not hold\)", r"phase margin 16 degrees"],
        ),
        ("peak", [r"^udp +1 +144\.33 .*24\.86 %"]),
        ("asymptote", [r"^tcp +32 +4\.6292 +15\.62 %", r"UDP ends 67\.6 packets from the tail"]),
        ("minimum-flows", [r"min-th: 7\.14$", r"fast UDP flow: 8\.08\)"]),
        (
            "sweep",
            [r"^ +10 +12\.5 +invalid +–", r"^ +520 +125 +active +128\.5 +886\.2", r"^\(invalid: max_th must be above"],
        ),
    ],
)
def test_other_tables(run: Run, kind: str, expected: list[str]) -> None:
    status, out, err = run("model", *MORE[kind])
    assert (status, err) == (0, "")
    for pattern in expected:
        assert re.search(pattern, out, re.MULTILINE), f"{pattern!r} is not in\n{out}"


def test_a_sweep_is_written_whole(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    assert run("model", *MORE["sweep"], "--csv", path)[0] == 0
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 7
    assert lines[0].startswith("max_th,udp_rate,regime,b,r,tau,residual,error,x_udp,x_tcp")


def test_theory_in_its_range_has_no_note(run: Run) -> None:
    assert "note:" in run("model", *KINDS["equilibrium"])[1]
    mild = cut("--capacity 12500 --tcp-flows 100 --delay 0.1 --min-th 20 --max-th 520 --max-p 0.1 --udp-rate 12")
    assert "note:" not in run("model", "equilibrium", *mild)[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sweep", *LINK, "--over", "delay=0.1"], "--udp-rate must be given"),
        (["sweep", *LINK, "--over", "delay=0.1", "--udp-rate", "-1"], "--udp-rate must not be below 0"),
        (["sweep", *LINK, "--udp-rate", "1", "--over", "speed=1"], "--over must name parameters"),
        (["chokew", *SOURCES, "--udp-weight", "0"], "--udp-weight must be positive"),
        (["chokew", *SOURCES, "--backlog", "0"], "--backlog must be positive"),
        (["collar", *SOURCES, "--share", "0"], "--share must be positive"),
        (["collar", *SOURCES, "--variation", "-1"], "--variation must not be negative"),
        (["ward", *SOURCES, "--buffer", "0"], "--buffer must be positive"),
    ],
)
def test_input_that_other_models_refuse(run: Run, words: list[str], message: str) -> None:
    status, out, err = run("model", *words)
    assert (status, out) == (2, "")
    assert err.startswith(f"fairdrop: error: {message}"), err


def test_vegas_flows_without_an_equilibrium_are_refused(run: Run) -> None:
    words = cut("chokew --capacity 125 --tcp-flows 100 --delay 0.1 --udp-rate 0 --tcp vegas --alpha 50 --backlog 50")
    status, out, err = run("model", *words)
    assert (status, out) == (2, "")
    assert "no equilibrium: no queueing delay makes the throughput equal the capacity" in err
