"""``fairdrop list``: a line for each discipline and transport, or all that is known of one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from textwrap import fill
from typing import Any

from fairdrop.library import catalogue
from fairdrop.nearest import choices, folded
from fairdrop.packaged import titles
from fairdrop.terminal import fitted, width

_EXTENSIONS = "Extensions"
_MORE = "fairdrop list NAME: parameters, source and page of a discipline or transport"
_PAGES = "docs/reference"


def catalogue_text() -> str:
    """Families of disciplines and kinds of transports, a line for each member."""
    families = dict(_families())
    widest = max(len(_indented(entry)) for entries in families.values() for entry in entries)
    blocks = [
        "\n".join([family, *(fitted(f"  {_indented(entry):{widest}}  {_sentence(entry)}") for entry in entries)])
        for family, entries in families.items()
    ]
    known = titles()
    room = max(map(len, known))
    named = [fitted(f"  {name:{room}}  {title}") for name, title in known.items()]
    return "\n\n".join([*blocks, "\n".join(["Scenarios (fairdrop run NAME)", *named]), fitted(_MORE)])


def entry_text(name: str, *, as_json: bool) -> str:
    """All that is known of a discipline or transport. Raises ValueError when there is none of that name."""
    listed = catalogue()
    entries = [(kind, entry) for kind in ("disciplines", "transports") for entry in listed[kind]]
    for kind, entry in entries:
        if folded(entry["name"]) == folded(name):
            return json.dumps(entry, indent=2) if as_json else _entry_text(kind, entry)
    raise ValueError(
        f"there is no discipline or transport {name!r}{choices(name, (one['name'] for _, one in entries))}"
    )


def _families() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    listed = catalogue()
    found: dict[str, list[dict[str, Any]]] = {}
    for entry in listed["disciplines"]:
        found.setdefault(_EXTENSIONS if _is_extension(entry) else entry["family"], []).append(entry)
    for entry in listed["transports"]:
        backing = "Transports that back off" if entry["backs_off"] else "Transports that do not"
        found.setdefault(_EXTENSIONS if _is_extension(entry) else backing, []).append(entry)
    extensions = found.pop(_EXTENSIONS, None)
    yield from found.items()
    if extensions:
        yield _EXTENSIONS, extensions


def _is_extension(entry: dict[str, Any]) -> bool:
    """Extensions have no title."""
    return bool(entry["title"] == entry["name"])


def _indented(entry: dict[str, Any]) -> str:
    """The name; that of a form stands below the discipline that it is a form of."""
    return f"{'  ' if entry.get('form_of') else ''}{entry['name']}"


def _sentence(entry: dict[str, Any]) -> str:
    return str(entry["doc"]).partition("\n")[0]


def _entry_text(kind: str, entry: dict[str, Any]) -> str:
    lines = [entry["name"] if _is_extension(entry) else f"{entry['name']}: {entry['title']}"]
    also = f" Uses the parameters of {entry['also_uses']} as well." if entry.get("also_uses") else ""
    form = f" A form of {entry['form_of']}." if entry.get("form_of") else ""
    lines += [_paragraph(f"{entry['doc']}{form}{also}"), ""]
    if not _is_extension(entry):
        lines += [*([f"family  {entry['family']}"] if entry.get("family") else []), f"source  {entry['source']}"]
        lines += [f"page    {_page(kind, entry['name'])}", ""]
    lines.append("parameters" if entry["parameters"] else "no parameters")
    for parameter in entry["parameters"]:
        unit = f" {parameter['unit']}" if parameter["unit"] else ""
        known = "" if parameter["default"] is None else f" (default {_toml(parameter['default'])})"
        default = " (required)" if parameter["required"] else known
        source = f" [{parameter['source']}]" if parameter["source"] else ""
        described = f"{parameter['name']}{unit and ',' + unit}{default}: {parameter['doc']}{source}"
        lines += [_paragraph(described, 2), _paragraph(parameter["valid"], 6)]
    return "\n".join(lines)


def _page(kind: str, name: str) -> str:
    return f"{_PAGES}/disciplines/{name.replace('_', '-')}.md" if kind == "disciplines" else f"{_PAGES}/transports.md"


def _paragraph(text: str, indent: int = 0) -> str:
    """In lines that the terminal has room for, or in one."""
    columns = width()
    if columns is None or columns <= 2 * indent:
        return " " * indent + text
    return fill(text, columns, initial_indent=" " * indent, subsequent_indent=" " * (indent + 2 * bool(indent)))


def _toml(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
