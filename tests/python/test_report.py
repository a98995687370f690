"""The report: numbers against a calculation by hand, and the page against what may go wrong in it."""

from __future__ import annotations

import copy
import json
import os
import random
import re
import resource
import warnings
from base64 import b64encode
from collections import Counter
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest

import fairdrop
import sample_document as sample
from fairdrop import report
from fairdrop.document import disciplines, document_of, group_names
from fairdrop.estimate import Estimate, estimate
from fairdrop.few_groups import few_groups
from fairdrop.report.command import rerun_command
from fairdrop.report.effects import effects
from fairdrop.report.greedy import find_subject
from fairdrop.report.judge import judge
from fairdrop.report.notices import notices
from fairdrop.report.ranking import ranked
from fairdrop.report.series import kept_samples, page_data
from fairdrop.report.tables import group_table, link_table, theory_table
from fairdrop.wording.numbers import digits, number_and_half, percent
from fairdrop.wording.phrases import clean, keep_together, ranges, shorten

T_9 = 2.2621571628  # Student's t, 9 degrees of freedom, 97.5 %
VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """Tags, ids, addresses and visible text of a page; notes tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.loads: list[str] = []
        self.references: list[str] = []
        self.labels: list[str] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.unmatched: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href", "data", "srcset", "action"):
                self.loads.append(value or "")
            if name == "aria-label" and tag == "svg":
                self.labels.append(value or "")
            self.references += re.findall(r"url\(([^)]*)\)", value or "")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.unmatched.append(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def documents() -> dict[str, sample.Document]:
    return {name: make() for name, make in sample.ALL.items()}


@pytest.fixture(scope="module")
def pages(documents: dict[str, sample.Document]) -> dict[str, str]:
    return {name: report.render(document) for name, document in documents.items()}


def shares(document: sample.Document, discipline: str, flow: str) -> list[float]:
    return [
        row["share"]
        for run in document["runs"]
        if run["discipline"] == discipline
        for row in run["flows"]
        if row["name"] == flow
    ]


def test_interval_equals_one_worked_by_hand() -> None:
    # mean 3, standard deviation sqrt(2.5), t(4) = 2.7764451052
    found = estimate([1, 2, 3, 4, 5])
    assert found is not None
    assert found.mean == 3
    assert found.half == pytest.approx(2.7764451052 * 2.5**0.5 / 5**0.5, rel=1e-9)
    assert (found.low, found.high) == pytest.approx((1.0367568, 4.9632432), abs=1e-6)


def test_one_value_has_no_interval_and_none_has_no_mean() -> None:
    assert estimate([7.0, None]) == Estimate(7.0, None, 1)
    assert estimate([None, None]) is None


def test_verdict_numbers_are_those_of_the_document(documents: dict[str, sample.Document]) -> None:
    document = documents["simulation"]
    held = shares(document, "choke", "udp[0]")
    half = 100 * T_9 * stdev(held) / 10**0.5
    starved = [
        f"{label} lets it take {percent(estimate(shares(document, name, 'udp[0]')))} and starves TCP"
        for name, label in (("red", "RED"), ("droptail", "DropTail"))
    ]
    expected = (
        "No discipline here holds the greedy sender udp[0] to its fair share (3.0 % of the link): "
        f"CHOKe lets it take {100 * mean(held):.1f} % (±{half:.1f}); {'; '.join(starved)}."
    )
    assert report.verdict(document) == expected


@pytest.mark.parametrize(
    ("taken", "outcome", "start"),
    [
        ({"droptail": 0.97, "red": 0.968}, "not held", "No discipline here holds the greedy sender udp[0] to its fair"),
        ({"choke": 0.246}, "not held", "CHOKe lets the greedy sender udp[0] take 24."),
        ({"sfq": 0.03}, "held", "SFQ holds the greedy sender udp[0] to 3."),
        ({"sfq": 0.03, "drr": 0.031}, "held", "DRR holds the greedy sender udp[0] to 2."),
        ({"red": 0.9, "drr": 0.03, "choke": 0.2}, "held", "DRR holds the greedy sender udp[0] to 2."),
    ],
)
def test_verdict_adapts(taken: dict[str, float], outcome: str, start: str) -> None:
    found = judge(document_of(sample.simulation(taken, seeds=10, samples=20)))
    assert found.outcome == outcome
    assert found.sentence.startswith(start)


def test_greedy_sender_is_found_by_its_numbers_not_its_name() -> None:
    document = sample.simulation({"droptail": 0.97, "choke": 0.25}, seeds=2, samples=20)
    swapped = {"udp[0]": "tcp[7]", "tcp[7]": "udp[0]"}
    for run in document["runs"]:
        for flow in run["flows"]:
            flow["name"] = swapped.get(flow["name"], flow["name"])
        pairs = run["queues"][0]["throughput_bps_by_flow"]
        run["queues"][0]["throughput_bps_by_flow"] = [[swapped.get(name, name), rate] for name, rate in pairs]
    subject = find_subject(document_of(document))
    assert subject is not None
    assert subject.flows == ("tcp[7]",)
    assert subject.kind == "greedy"


def test_modest_unresponsive_sender_is_not_greedy() -> None:
    document = sample.simulation({"droptail": 0.02, "choke": 0.02}, seeds=2, samples=20)
    for run in document["runs"]:
        run["flows"][-1]["offered_bps"] = 0.5 * run["fair_share_bps"]
    assert find_subject(document_of(document)) is None
    assert judge(document_of(document)).outcome == "no greedy"


def test_several_greedy_senders_are_added_up() -> None:
    document = sample.simulation({"droptail": 0.9, "choke": 0.2}, seeds=2, samples=20)
    for run in document["runs"]:
        run["flows"][0].update(transport="cbr", offered_bps=1e6, share=0.05)
    expected = mean(shares(document, "choke", "udp[0]")) + 0.05
    sentence = report.verdict(document)
    assert "the 2 greedy senders tcp[0] and udp[0]" in sentence
    assert f"CHOKe lets them take {100 * expected:.1f} % (" in sentence
    assert "DropTail lets them take 9" in sentence


def test_tcp_flow_far_above_its_share_is_named_without_being_called_greedy() -> None:
    document = sample.simulation({"droptail": 0.6, "choke": 0.1}, seeds=2, samples=20)
    for run in document["runs"]:
        run["flows"][-1]["transport"] = "tcp-cubic"
    found = judge(document_of(document))
    assert found.sentence.startswith("No discipline here holds the largest flow udp[0] to its fair share")
    assert "CHOKe lets it take 9.6 %" in found.sentence


def test_replay_verdict_names_the_largest_flow_and_what_each_takes(documents: dict[str, Any]) -> None:
    document = documents["replay"]
    largest = max(document["runs"][0]["flows"], key=lambda flow: flow["offered_bps"])
    sentence = report.verdict(document)
    assert sentence.startswith(f"The largest flow {largest['name']} offers 2.2 Mb/s")
    assert f" and {100 * largest['drop_fraction']:.1f} % under DropTail" in sentence
    assert "goodput" not in sentence
    assert any("no interval" in line for line in judge(document_of(document)).support)


def test_uncongested_link_and_empty_and_incomplete_documents(documents: dict[str, Any]) -> None:
    assert report.verdict(documents["no_drops"]).startswith("The link is not congested: no packet was dropped")
    assert "42.0 % used" in report.verdict(documents["no_drops"])
    assert report.verdict(documents["empty"]).startswith("Nothing was measured")
    assert report.verdict(documents["incomplete"]).startswith("So far (the work was interrupted):")


def test_no_greedy_sender_gives_largest_over_fair_share(documents: dict[str, Any]) -> None:
    document = documents["tcp_only"]
    ratio = document["runs"][0]["largest_over_fair_share"]
    assert report.verdict(document) == (
        f"No sender is greedy: the largest flow gets {ratio:.2f} times its fair share under RED."
    )


def test_group_table_holds_means_and_intervals(documents: dict[str, Any]) -> None:
    document = documents["simulation"]
    row = next(row for row in group_table(document_of(document)).rows[4:] if row.group == "udp")
    throughput = [share * 1e3 for share in shares(document, "choke", "udp[0]")]
    assert row.cells[0].label == "Throughput, kb/s"
    assert row.cells[0].mean == f"{mean(throughput):.1f}"
    assert row.cells[0].half == f"{T_9 * stdev(throughput) / 10**0.5:.1f}"
    assert row.note == "1 flow, cbr"
    assert row.cells[-1].mean == "–", "Jain's index inside a group of one flow says nothing"


def test_link_table_holds_the_minmax_measure(documents: dict[str, Any]) -> None:
    document = documents["simulation"]
    ratios = [run["largest_over_fair_share"] for run in document["runs"] if run["discipline"] == "red"]
    row = link_table(document_of(document)).rows[1]
    assert (row.head, row.note) == ("RED", "10 runs")
    assert row.cells[0].mean == f"{mean(ratios):.2f}"


def test_replay_table_leaves_out_what_a_replay_has_not(documents: dict[str, Any]) -> None:
    columns = " ".join(group_table(document_of(documents["replay"])).columns)
    assert "Throughput" in columns
    assert "Goodput" not in columns
    assert "Timeouts" not in columns


def with_model(document: sample.Document) -> sample.Document:
    """The document with a model of its groups, as ``compare --with-model`` writes it."""
    groups = [
        {"name": name, "flows": flows, "share": share, "throughput_bps": share * 1e6, "drop_fraction": drops}
        for name, flows, share, drops in (("tcp", 32, 0.76, 0.12), ("udp", 1, 0.24, 0.88))
    ]
    link = {"name": "bottleneck", "mean_packets": 165.0, "wait_s": 1.32, "red_drop": 0.1}
    return {**document, "model": {"notes": ["RED <spaces> its drops"], "groups": groups, "link": link}}


def test_theory_stands_beside_measurement(documents: dict[str, Any]) -> None:
    document = with_model(documents["simulation"])
    table = theory_table(document_of(document))
    assert table is not None
    rows = {row.head: [cell.mean for cell in row.cells] for row in table.rows}
    measured = mean(shares(document, "choke", "udp[0]"))
    assert rows["udp: share of link, %"] == [f"{100 * measured:.1f}", "24.0", f"{0.24 / measured:.2f}"]
    half = T_9 * 100 * stdev(shares(document, "choke", "udp[0]")) / 10**0.5
    assert table.rows[3].cells[0].half == f"{half:.1f}"
    waits = [run["queues"][0]["sojourn_s"]["mean"] for run in document["runs"] if run["discipline"] == "choke"]
    assert rows["Mean wait, ms"][1:] == ["1320.0", f"{1.32 / mean(waits):.2f}"]
    page = Page(text := report.render(document))
    assert "Theory beside measurement" in "".join(page.text)
    assert "RED &lt;spaces&gt; its drops." in text
    assert page.unmatched == []
    assert page.open == []
    assert all(load.startswith("#") for load in page.loads)


def test_theory_needs_a_model_and_a_run_of_choke(documents: dict[str, Any], pages: dict[str, str]) -> None:
    assert theory_table(document_of(documents["simulation"])) is None
    assert theory_table(document_of({**documents["simulation"], "model": None})) is None
    assert theory_table(document_of(with_model(documents["tcp_only"]))) is None
    assert "Theory" not in pages["simulation"]


def test_notices_come_first_and_name_the_runs(documents: dict[str, Any], pages: dict[str, str]) -> None:
    invalid, incomplete, warning = notices(document_of(documents["incomplete"]))
    assert invalid.title == "1 run of 6 not valid: do not rely on these numbers."
    assert invalid.lines == ["DropTail, seed 3: 12 packets were lost at the access link 'left'"]
    assert incomplete.lines == ["Finished runs: DropTail 4 and RED 2."]
    assert warning.lines == ["The buffer holds less than one bandwidth-delay product."]
    page = pages["incomplete"]
    assert page.index("not valid") < page.index('class="verdict"')
    assert 'class="notice' not in pages["simulation"]


@pytest.mark.parametrize("name", sorted(sample.ALL))
def test_page_is_self_contained(pages: dict[str, str], name: str) -> None:
    page = Page(pages[name])
    assert all(load.startswith("#") for load in page.loads)
    assert all(reference.startswith("#") for reference in page.references)
    assert not re.search(r"@import|@font-face|url\(\s*['\"]?(?!#)", pages[name])
    assert page.tags["script"] == (0 if name == "empty" else 3), "data, library and script, without an address"
    assert not {"link", "iframe", "img", "object", "embed", "base"} & set(page.tags)
    if name != "hostile":
        own = pages[name].replace("https://github.com/leeoniya/uPlot", "", 1)
        assert "http://" not in own
        assert "https://" not in own


@pytest.mark.parametrize("name", sorted(sample.ALL))
def test_ids_are_unique_and_references_resolve(pages: dict[str, str], name: str) -> None:
    page = Page(pages[name])
    assert [found for found, times in Counter(page.ids).items() if times > 1] == []
    wanted = {address[1:] for address in page.loads + page.references}
    assert wanted <= set(page.ids)
    assert page.unmatched == []
    assert page.open == []


def test_each_figure_is_there_twice_with_a_name(pages: dict[str, str]) -> None:
    page = Page(pages["simulation"])
    assert page.tags["figure"] == 6
    assert page.tags["svg"] == 12
    assert len(page.labels) == 12
    assert all("DropTail, RED and CHOKe" in label for label in page.labels)


def test_figures_follow_the_page_in_colour_and_type(pages: dict[str, str]) -> None:
    drawn = "".join(re.findall(r"<svg.*?</svg>", pages["simulation"], re.DOTALL))
    assert re.findall(r"#[0-9a-f]{6}", drawn) == []
    assert "font-family" not in drawn
    assert "<style" not in drawn
    used = set(re.findall(r"var\((--fd-[a-z-]+)\)", pages["simulation"]))
    assert len(used) > 8
    for variable in used:
        assert f"{variable}: #" in pages["simulation"]


def test_hostile_names_are_escaped(pages: dict[str, str]) -> None:
    page = pages["hostile"]
    assert Page(page).tags["script"] == 3, "the page's own"
    assert "<script>alert(" not in page.lower()
    assert "&lt;script&gt;alert(" in page
    assert page.count("</pre>") == 2
    assert "\x00" not in page
    assert "\u202e" not in page
    assert "<script>alert(" in "".join(Page(page).text), "the name itself is still shown"


def test_hostile_names_do_not_end_the_data_of_the_script() -> None:
    name = "</script><script>alert(1)</script>"
    document = json.loads(json.dumps(sample.simulation(seeds=1)).replace('"udp"', json.dumps(name)))
    page = report.render(document)
    assert Page(page).tags["script"] == 3, "the page's own"
    data = page.split('id="data">')[1].split("</script>")[0]
    assert not set("<>&") & set(data)
    assert name in [group["name"] for group in json.loads(data)["queue"]["groups"]]


def test_render_is_deterministic_and_leaves_the_document_alone() -> None:
    document = sample.simulation(seeds=2, samples=50)
    before = copy.deepcopy(document)
    assert report.render(document) == report.render(copy.deepcopy(document))
    assert document == before


def test_only_the_scripts_of_the_page_may_run(pages: dict[str, str]) -> None:
    text = pages["simulation"]
    policy = text.split('http-equiv="Content-Security-Policy" content="')[1].split('"')[0].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")
    run = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    hashes = [b64encode(sha256(script.encode()).digest()).decode() for script in run]
    assert re.findall(r"sha256-([^']+)'", policy) == hashes
    assert "The MIT License" in run[0] and "Leon Sorokin" in run[0]


def test_thinned_series_keep_every_peak() -> None:
    rng = random.Random(7)
    lines = [[rng.random() for _ in range(10_000)] for _ in range(3)]
    lines[1][4321], lines[2][77] = 5.0, -5.0
    kept = kept_samples(lines, 600)
    assert len(kept) <= 600 and kept == sorted(set(kept))
    assert {0, 77, 4321, 9999} <= set(kept)
    assert len(kept) > 300, "no fewer than there is room for"
    assert kept_samples([[1.0, 2.0]], 600) == [0, 1]
    assert kept_samples([[None] * 100, list(range(100))], 20)[0] == 0, "unknown values are passed over"


def test_charts_hold_the_samples_of_the_document(documents: dict[str, Any]) -> None:
    document = documents["simulation"]
    data = page_data(document_of(document))
    assert data["disciplines"] == ["DropTail", "RED", "CHOKe"]
    series = document["runs"][0]["queues"][0]["series"]
    chart = data["queue"]["charts"][0]
    assert chart["t"] == series["t_s"]
    assert chart["groups"] == [series["packets_by_group"][group["name"]] for group in data["queue"]["groups"]]
    assert chart["average"] is None
    assert [level["name"] for level in data["queue"]["charts"][2]["levels"]] == ["min_th", "max_th", "limit"]


def test_values_and_disciplines_are_noted_in_figures_and_tables(pages: dict[str, str]) -> None:
    text = pages["simulation"]
    assert re.search(r'<g data-d="2"><title>udp under CHOKe: 24\.\d % \(±\d\.\d\) of the link</title>', text)
    assert len(re.findall(r'<tr role="row" data-d="1">', text)) == 3, "two groups, and the link, under RED"
    assert re.search(r'data-v="0\.24\d+"><span class="number">24\.', text)


def test_page_stays_small(pages: dict[str, str]) -> None:
    assert len(pages["simulation"].encode()) < 1_000_000
    assert len(pages["replay"].encode()) < 2_000_000
    for name in ("simulation", "many", "replay"):
        scripts = re.findall(r"<script.*?</script>", pages[name], re.DOTALL)
        assert sum(map(len, scripts)) < 150_000, "library, script and data"


def test_scenario_seeds_version_and_command_are_given(pages: dict[str, str]) -> None:
    text = "".join(Page(pages["simulation"]).text)
    assert sample.SCENARIO.strip() in text
    assert "fairdrop compare scenario.toml --disciplines droptail,red,choke --set seed=1 --seeds 10" in text
    assert "fairdrop 0.1.0" in text
    assert "1–10" in text
    assert "fairdrop replay uplink.pcap" in "".join(Page(pages["replay"]).text)


def test_command_in_the_document_goes_before_a_guess() -> None:
    assert rerun_command(document_of({"command": ["fairdrop", "run", "my file.toml"]})) == "fairdrop run 'my file.toml'"
    assert rerun_command(document_of({"command": "fairdrop run x.toml"})) == "fairdrop run x.toml"


def test_write_replaces_and_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")
    document = sample.tcp_only()
    report.write(document, target)
    assert target.read_text(encoding="utf-8") == report.render(document)
    assert os.listdir(tmp_path) == ["report.html"]


def test_failed_write_keeps_the_old_page(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(OSError, match=r"File too large: '.*report\.html'"):
            report.write(sample.empty(), target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]


def test_numbers_as_a_reader_sees_them() -> None:
    assert percent(Estimate(0.2461, 0.0042, 10)) == "24.6 % (±0.4)"
    assert percent(Estimate(0.5, 0.0001, 3)) == "50.0 % (±<0.1)"
    assert percent(Estimate(0.5, None, 1)) == "50.0 %"
    assert number_and_half(Estimate(23.456, 0.134, 9)) == ("23.46", "0.13")
    assert number_and_half(Estimate(23.456, 4.2, 9)) == ("23", "4")
    assert number_and_half(Estimate(0.0, 0.0, 9)) == ("0", None)
    assert [digits(x) for x in (0, 1234.5, 30.303, 0.00123, 1e9)] == [
        "0",
        "1234",
        "30.3",
        "0.00123",
        "1000000000",
    ]
    assert ranges([3, 1, 2, 7]) == "1–3, 7"
    assert keep_together("takes 97.1 % of 1 Mb/s") == "takes 97.1\u00a0% of 1\u00a0Mb/s"


def test_names_are_cleaned_and_cut_in_the_middle() -> None:
    assert clean("a\x00b\u202ec\ud800") == "a\ufffdb\ufffdc\ufffd"
    assert shorten("abcdefghij", 7) == "abc…hij"
    assert len(shorten("x" * 99, 20)) == 20
    assert shorten("short", 20) == "short"


def test_many_disciplines_begin_with_a_table_in_order_and_delay_against_fairness(pages: dict[str, str]) -> None:
    page = Page(pages["many"])
    heads = re.findall(r'scope="row">([^<]+) <small>', pages["many"].split('class="ranked"')[1].split("</table>")[0])
    assert heads == ["SFQ", "CHOKe", "mine", "PIE", "CoDel", "RED", "DropTail"], "nearest to the fair share first"
    assert page.tags["figure"] == 7
    parts = ('class="verdict"', 'class="ranked"', 'id="trade-off"', "<details>")
    order = [pages["many"].index(part) for part in parts]
    assert order == sorted(order)
    closed = pages["many"][order[-1] :]
    folded = ("numbers", "flows", "shares", "queue", "drops", "sojourn", "length")
    assert all(f'id="{name}"' in closed for name in folded)


def test_causes_of_drops_are_folded_where_the_figure_does_not_show_them(pages: dict[str, str]) -> None:
    causes = keep_together("RED, early 80.0 %; RED, forced 15.0 %; buffer full 5.0 %")
    folded = pages["many"].split('id="causes"')[1].split("</dl>")[0]
    assert folded.count("<dt ") == 7
    assert re.search(rf'<dt data-d="\d">RED</dt>\s*<dd data-d="\d">{causes}</dd>', folded)
    assert "“RED, early”: dropped at random" in folded
    assert 'id="causes"' not in pages["simulation"]


def test_the_order_is_stated_once(pages: dict[str, str]) -> None:
    assert pages["many"].count("In order: those that hold the greedy sender, by use") == 1
    assert "In order" not in pages["simulation"], "all three are named"


def test_a_discipline_that_leaves_the_link_unused_comes_last() -> None:
    document = sample.many()
    for run in document["runs"]:
        if run["discipline"] == "sfq":
            run["utilisation"] = 0.3
    assert disciplines(document_of(ranked(document_of(document), effects(document_of(document)))))[-1] == "sfq"


def test_a_page_of_41_disciplines_is_small() -> None:
    names = [str(entry["name"]) for entry in fairdrop.catalogue()["disciplines"]]
    document = sample.simulation({name: 0.03 + 0.9 * n / len(names) for n, name in enumerate(names)}, seeds=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = report.render(document)
    assert len(names) >= 41
    assert len(text.encode()) < 24_000 * len(names)
    assert Page(text).tags["figure"] == 7


def test_very_many_groups_are_the_largest_and_others() -> None:
    document = sample.many_groups(10_000)
    text = report.render(document)
    page = Page(text)
    assert "others (9,992 groups)" in "".join(page.text)
    assert len(page.ids) == len(set(page.ids))
    assert page.tags["use"] + page.tags["path"] < 5000
    assert text.count("</tr>") < 60
    assert len(text.encode()) < 2_000_000
    few = few_groups(document_of(document))
    assert len(group_names(few.runs)) == 9
    for before, after in zip(document_of(document).runs, few.runs, strict=True):
        for field in ("flows", "share", "throughput_bps"):
            whole = sum(getattr(row, field) for row in before.groups)
            assert sum(getattr(row, field) for row in after.groups) == pytest.approx(whole)
        lost = [sum(sum(row.drops.values()) for row in run.groups) for run in (before, after)]
        assert lost[0] == lost[1]
        series = after.queues[0].series
        assert [sum(parts) for parts in zip(*series.packets_by_group.values(), strict=True)] == series.packets
    many = document_of(sample.many())
    assert few_groups(many) is many
