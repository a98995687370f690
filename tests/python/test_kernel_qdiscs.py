"""The comparison with the kernel's queue disciplines: its message where it can't run, and the stored results."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from experiments.kernel_qdiscs import build, campaign


def test_a_missing_package_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(build, "TARBALL", tmp_path / "absent.tar.xz")
    assert campaign.main([]) == 0
    assert "skipped: no " in (out := capsys.readouterr().out) and "Debian package linux-source-6.12" in out


def test_headers_of_the_kernel_are_empty_but_for_rules(tmp_path):
    source, folder = tmp_path / "source", tmp_path / "include"
    for name in build.HEADERS:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(f"#include <linux/list.h>\n#include <linux/types.h>\n/* {name} */\n")
    build.include_folder(source, folder)
    assert (folder / "linux" / "list.h").read_text() == ""
    assert not (folder / "linux" / "types.h").exists()
    assert "net/red.h" in (folder / "net" / "red.h").read_text()
    assert "pkt_sched.h" in (folder / "linux" / "pkt_sched.h").read_text()


@pytest.fixture
def stored() -> list[dict[str, str]]:
    with Path(campaign.RESULT).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_forms_of_linux_decide_as_the_kernel(stored):
    linux = [row for row in stored if row["form"].startswith("linux")]
    assert {row["discipline"] for row in linux} == {"sfb", "codel", "fq_codel", "pie", "fq_pie"}
    assert all(row["equal"] == row["events"] and row["first"] == "" for row in linux)


def test_every_discipline_of_the_kernel_was_compared(stored):
    assert {row["discipline"] for row in stored} == set(build.DISCIPLINES)
    assert all(int(row["events"]) == campaign.EVENTS * int(row["loads"]) for row in stored)
