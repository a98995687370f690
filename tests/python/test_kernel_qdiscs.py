"""The comparison with the kernel's queue disciplines: its message where it can't run, and the stored results."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

import fairdrop
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


def package(folder: Path, version: str, contents: dict[str, str]) -> Path:
    """A package of the newer kernel's sources that has these files."""
    sources = folder / "usr" / "src" / f"{build.NEWER}.tar.xz"
    sources.parent.mkdir(parents=True)
    with tarfile.open(sources, "w:xz") as tarball:
        for name, text in contents.items():
            member = tarfile.TarInfo(f"{build.NEWER}/{name}")
            member.size = len(text)
            tarball.addfile(member, io.BytesIO(text.encode()))
    control = folder / "DEBIAN" / "control"
    control.parent.mkdir()
    fields = {"Package": build.NEWER, "Version": version, "Architecture": "all", "Maintainer": "A <a@example.org>"}
    control.write_text("".join(f"{name}: {value}\n" for name, value in fields.items()) + "Description: sources\n")
    deb = folder.parent / f"{build.NEWER}_{version}_all.deb"
    subprocess.run(["dpkg-deb", "--build", folder, deb], check=True, capture_output=True, timeout=60)
    return deb


class Archive:
    """apt of an archive with one package, or with none."""

    deb: Path | None = None

    def run(self, *command: str, folder: Path | None = None) -> str:
        if self.deb is None:
            raise build.Missing(f"{' '.join(command)}: no archive answers")
        if command[1] == "download":
            assert folder is not None and command[2] == build.NEWER
            shutil.copy(self.deb, folder)
        return ""


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="there is no dpkg-deb (Debian package dpkg)")
def test_fetched_sources_are_those_of_the_package(monkeypatch, tmp_path):
    monkeypatch.setattr(build, "BUILD", tmp_path / "build")
    monkeypatch.setattr(build, "Apt", Archive)
    assert build.newer() is None
    texts = {name: f"/* {name} */" for name in build.NEWER_FILES}
    monkeypatch.setattr(Archive, "deb", package(tmp_path / "one", "7.3.4-1", {"README": "not asked for", **texts}))
    for _ in range(2):
        build.fetch_newer()
        version, source = build.newer() or ("", Path())
        assert version == "7.3.4-1"
        found = {str(path.relative_to(source)): path.read_text() for path in source.rglob("*") if path.is_file()}
        assert found == texts
    assert not list((tmp_path / "build").rglob("*.deb")), "170 MB"
    monkeypatch.setattr(Archive, "deb", package(tmp_path / "two", "7.4-1", {build.NEWER_FILES[0]: "/* later */"}))
    with pytest.raises(build.MissingError, match=r"have no \S*include/uapi/linux/pkt_sched\.h"):
        build.fetch_newer()


def test_an_archive_that_does_not_answer_is_a_reason_to_skip(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(build, "BUILD", tmp_path)
    monkeypatch.setattr(build, "Apt", Archive)
    monkeypatch.setattr(Archive, "deb", None)
    assert campaign.main([], fetch=True) == 0
    assert "skipped: apt-get update: no archive answers" in capsys.readouterr().out


@pytest.fixture
def stored() -> list[dict[str, str]]:
    with Path(campaign.RESULT).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_forms_of_linux_decide_as_the_kernel(stored):
    linux = [row for row in stored if row["form"].startswith("linux")]
    assert {row["discipline"] for row in linux} == {*build.DISCIPLINES, "dualpi2"}
    assert all(row["equal"] == row["events"] and row["first"] == "" for row in linux)


def test_the_codel_before_march_2026_is_another(stored):
    """Otherwise the rows that compare it would show nothing."""
    older = {row["form"]: row for row in stored if row["discipline"] == "fq_codel" and campaign.OLDER in row["form"]}
    assert older[f"linux {campaign.OLDER}"]["first"] == "" and older[f"6.12 {campaign.OLDER}"]["first"]


def test_every_discipline_of_the_kernel_was_compared(stored):
    assert {row["discipline"] for row in stored} == {*build.DISCIPLINES, "dualpi2"}
    assert all(int(row["events"]) == campaign.EVENTS * int(row["loads"]) for row in stored)


def test_linux_of_red_is_refused_where_another_discipline_uses_red(root):
    headline = root / "scenarios" / "headline.toml"
    with pytest.raises(fairdrop.ScenarioError, match=r"queue\.red\.linux = .* only red itself has it"):
        fairdrop.load(headline, ["queue.discipline=choke", 'queue.red.linux="6.12"', "queue.red.w_q=0.25"])
    fairdrop.load(headline, ["queue.discipline=red", 'queue.red.linux="6.12"', "queue.red.w_q=0.25"])
    with pytest.raises(fairdrop.ScenarioError, match=r"queue\.red\.w_q"):
        fairdrop.load(headline, ["queue.discipline=red", 'queue.red.linux="6.12"'])
