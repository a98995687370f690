"""``fairdrop new``: a small project for an extension, with its test."""

from __future__ import annotations

import json
import keyword
import re
import sys
from errno import EEXIST
from pathlib import Path

from fairdrop import _core
from fairdrop.files import write_text
from fairdrop.nearest import choices

__all__ = ["LANGUAGES", "new_extension"]

#: Languages of each kind of extension.
LANGUAGES = {"discipline": ("python", "rust", "c"), "congestion-control": ("python", "rust")}
# Names that a project would hide from what it imports, or could not be called: modules of Python; keywords, crates and
# types of Rust.
_RUST = """
    abstract async await become box const core crate do dyn enum extern false fn gen impl let macro match mod move mut
    override priv proc_macro pub ref self static std struct super test trait true try type typeof unsafe unsized use
    virtual where yield alloc fairdrop fairdrop_sim
    option result string vec some ok err send sync sized copy clone drop default iterator
    backlog discipline discipline_info drop_cause env kind packet param_spec setup stats stream vec_deque
    ack_event congestion_control connection loss_recovery variant window wrong own_congestion own_discipline parts
    control scenario run_result
"""
_TAKEN = {
    "python": sys.stdlib_module_names | {"fairdrop", "pytest"},
    "rust": frozenset(_RUST.split()),
    "c": frozenset[str](),
}
_TEMPLATES = Path(__file__).parent / "templates"
# Of a checkout, beside which this package lies.
_CHECKOUT = Path(__file__).resolve().parents[3]


def new_extension(
    kind: str,
    name: str,
    language: str = "python",
    folder: str | Path | None = None,
    library: str | Path | None = None,
) -> list[Path]:
    """Write the files of a project into a new folder, called as the extension by default; returns their paths.

    A project in Rust builds with the checkout ``library``, by default the one that this package is part of. Raises
    ValueError for names that do not do, OSError when the folder is there.
    """
    languages = LANGUAGES[kind]
    if language not in languages:
        raise ValueError(f"language = {language!r} is not valid{choices(language, languages)}")
    if why := _refused(name, language):
        raise ValueError(f"{name!r} is not valid as the name of a new {kind.replace('-', ' ')}; valid: {why}")
    target = Path(name if folder is None else folder)
    if target.exists():
        raise FileExistsError(EEXIST, "is there already; valid: a folder that is not", str(target))
    words = {
        "CLASS": "".join(word.capitalize() for word in name.split("_")),
        "NAME": name,
        "PARTS": {"python": f'parts = ["{name}.py"]\n', "c": f'parts = ["{name}.so"]\n', "rust": ""}[language],
    }
    if language == "rust":
        words["LIBRARY"] = _checkout(library)
    templates = _TEMPLATES / kind
    root = templates / language
    texts = {_named(path, root, name): path.read_text() for path in sorted(root.rglob("*.in"))}
    texts["scenario.toml"] = (templates / "scenario.toml.in").read_text()
    if language == "c":
        texts[f"test_{name}.py"] = (templates / "python" / "test_NAME.py.in").read_text()
    texts = {path: _filled(text, words) for path, text in texts.items()}
    if language == "c":
        texts["fairdrop.h"] = _core.HEADER
    for path, text in texts.items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        write_text(target / path, text)
    return sorted(target / path for path in texts)


def _named(path: Path, root: Path, name: str) -> str:
    return str(path.relative_to(root)).removesuffix(".in").replace("NAME", name)


def _filled(text: str, words: dict[str, str]) -> str:
    return re.sub("|".join(words), lambda found: words[found[0]], text)


def _refused(name: str, language: str) -> str:
    """What would be valid; empty for a name that is."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name):
        return "small letters, digits and underscores, beginning with a letter"
    if name in _taken():
        return "a name that no discipline or transport has yet"
    if keyword.iskeyword(name) or name in _TAKEN[language]:
        return f"a name that means nothing else in {language.capitalize()}"
    return ""


def _taken() -> set[str]:
    listed = json.loads(_core.catalogue())
    return {entry["name"] for entry in [*listed["disciplines"], *listed["transports"]]}


def _checkout(library: str | Path | None) -> str:
    chosen = Path(_CHECKOUT if library is None else library).resolve()
    if not (chosen / "crates" / "fairdrop-sim" / "Cargo.toml").is_file():
        given = "there is no checkout of fairdrop beside this package" if library is None else f"{library} is none"
        raise ValueError(f"--library: {given}; valid: a checkout, which has crates/fairdrop-sim")
    return str(chosen)
