"""The generated sections of the pages, from what the program reports of itself: `make reference`."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import inspect
import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import fairdrop
from experiments import DOCS, ROOT
from experiments.pages import Files, names_in, pages_with, table
from fairdrop import _core, reproduce
from fairdrop.cli.parser import build_parser
from fairdrop.extension.discipline import OPTIONAL
from fairdrop.reproduce.define.definition import Scheme

#: Commands without options.
WITHOUT = ("command.schema", "command.conformance")
_WORK = re.compile(r"## State and work\n\n\| \| \|\n\| --- \| --- \|\n((?:\|.*\n)+)")
# How the range of a value begins, and the unit that a plain number then has.
_UNITS = {"a time ": "s", "a rate ": "bit/s", "packets ": "packets", "bytes ": "bytes"}


def sections() -> dict[str, str]:
    """Every generated section by name."""
    schema, catalogue = fairdrop.schema(), fairdrop.catalogue()
    properties = schema["properties"]
    transports = {entry["name"]: entry for entry in catalogue["transports"]}
    of_transports = {field["name"] for entry in transports.values() for field in entry["parameters"]}
    of_disciplines = {entry["name"] for entry in catalogue["disciplines"]}
    common = transports["reno"]["parameters"]
    group = properties["groups"]["items"]
    meter, impairments = "mark_excess", "impairments"
    made = {
        "scenario.top": _fields(schema, leave_out={"dumbbell", "chain", "queue", "links", "groups"}),
        "scenario.dumbbell": _fields(properties["dumbbell"], leave_out={impairments}),
        "scenario.chain": _fields(properties["chain"]),
        "scenario.queue": _fields(properties["queue"], leave_out=of_disciplines),
        "scenario.links": _fields(properties["links"]["items"], leave_out={impairments}),
        f"scenario.{impairments}": _fields(properties["dumbbell"]["properties"][impairments]),
        "scenario.groups": _fields(group, leave_out=of_transports | {meter}),
        f"scenario.{meter}": _fields(group["properties"][meter]),
        "transport.tcp": _parameters(transports["reno"]),
        "transports.tcp": _names(entry for entry in transports.values() if entry["backs_off"]),
        "transports.open-loop": _names(entry for entry in transports.values() if not entry["backs_off"]),
    }
    for name, entry in transports.items():
        # TCPs share a table; what they have beside it is theirs.
        own = [field for field in entry["parameters"] if field not in common]
        if own:
            made[f"transport.{name}"] = _parameters({"parameters": own})
    for entry in catalogue["disciplines"]:
        made[f"discipline.{entry['name']}"] = _parameters(entry)
    made["scenario.disciplines"] = _table(
        ["discipline", "tables"], [_tables_of(entry) for entry in catalogue["disciplines"]]
    )
    made["disciplines"] = _table(
        ["discipline", "in a sentence"], [_linked(entry) for entry in catalogue["disciplines"]]
    )
    for name, parser in _commands(build_parser()):
        made[f"command.{name.replace(' ', '.')}"] = _options(parser)
    made["comparison.costs"] = costs()
    return made | _of_live_runs()


def costs() -> str:
    """State and work per packet of everything that campaign X7 compares."""
    return _table(
        ["discipline", "state", "work per packet"], [_costs(scheme) for scheme in reproduce.definition("X7").schemes]
    )


def _of_live_runs() -> dict[str, str]:
    """Tables of the stored results of `make bench-live`."""
    spec = importlib.util.spec_from_file_location("live_tables", ROOT / "benches" / "live" / "tables.py")
    if spec is None or spec.loader is None:
        raise ImportError("benches/live/tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: dict[str, str] = module.sections(_table)
    return made


def files() -> Files:
    made = sections()
    yield from pages_with("generated", {name: made[name] for name in made if name not in WITHOUT}, *pages())


def built() -> dict[str, str]:
    """What is too long for git."""
    return {"python": _python()}


def pages() -> list[Path]:
    """The pages that have a generated section."""
    return [path for path in sorted(DOCS.rglob("*.md")) if names_in(path.read_text(encoding="utf-8"), "generated")]


#: Classes of the objects that methods of these classes get.
_GIVEN = {"Discipline": ("Packet", "Queue", "Stream"), "CongestionControl": ("Ack", "CongestionEvent", "RateSample")}


def _python() -> str:
    """Every public name of the package, with its signature and what its docstring says."""
    parts = []
    for name in sorted(fairdrop.__all__, key=str.lower):
        found = getattr(fairdrop, name)
        if inspect.ismodule(found):
            parts += [f"### `fairdrop.{name}`", _doc(found)]
            inner = sorted(found.__all__)
            parts += [_entry(f"fairdrop.{name}.{one}", getattr(found, one), "####") for one in inner]
        elif name != "__version__":
            parts.append(_entry(f"fairdrop.{name}", found, "###"))
            parts += [_entry(one, getattr(_core, one), "####") for one in _GIVEN.get(name, ())]
    return "\n\n".join(parts)


def _entry(name: str, found: Any, level: str) -> str:
    """A function, or a class with what it has of its own."""
    if not inspect.isclass(found):
        signature = str(inspect.signature(found)) if callable(found) else ""
        return f"{level} `{name}`\n\n{_signature(name, signature)}{_doc(found)}"
    lines = [f"{level} `{name}`", _doc(found)]
    if issubclass(found, Exception):
        return "\n\n".join(lines)
    rows = []
    if found is fairdrop.Discipline:
        rows += [[f"`{inner}()`", _code(text)] for inner, text in OPTIONAL.items()]
    for inner, member in _members(found):
        plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        text = inspect.getdoc(plain) or ""
        if isinstance(member, property | cached_property) or inspect.isgetsetdescriptor(member):
            rows.append([f"`{inner}`", " ".join(_code(text).split())])
        elif inspect.isfunction(plain) or inspect.ismethoddescriptor(plain):
            rows.append([f"`{inner}{_call(plain)}`", " ".join(_code(text).split())])
        elif "ClassVar" in str(vars(found).get("__annotations__", {}).get(inner)):
            rows.append([f"`{inner}`", _code(_comment(found, inner))])
    fields = dataclasses.fields(found) if dataclasses.is_dataclass(found) else ()
    rows += [[f"`{field.name}`", _code(_comment(found, field.name))] for field in fields]
    return "\n\n".join([*lines, *([_table(["member", "meaning"], rows)] if rows else [])])


def _members(found: type) -> Iterator[tuple[str, Any]]:
    """What a class has of its own, and of the compiled class below it, which has it in no order."""
    shown: dict[str, Any] = {}
    for one in found.__mro__:
        if one in vars(_core).values():
            shown = shown | {name: member for name, member in sorted(vars(one).items()) if name not in shown}
        elif one is found:
            shown |= vars(one)
    yield from ((name, member) for name, member in shown.items() if not name.startswith("_"))


def _signature(name: str, signature: str) -> str:
    if not signature:
        return ""
    # Annotations are texts here.
    plain = re.sub(r"(: |-> )'([^']*)'", r"\1\2", signature)
    call = f"{name}{plain}" if len(name + plain) <= 100 else _wrapped(name, plain)
    return f"```text\n{call}\n```\n\n"


def _wrapped(name: str, signature: str) -> str:
    """One parameter a line."""
    parameters, _, back = signature.rpartition(" -> ") if " -> " in signature else (signature, "", "")
    inner, depth, parts = parameters[1:-1], 0, [""]
    for letter in inner:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    lines = "".join(f"    {part.strip()},\n" for part in parts)
    return f"{name}(\n{lines})" + (f" -> {back}" if back else "")


def _call(function: Any) -> str:
    """Names of parameters without types, with what they are when left out."""
    shown = []
    starred = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            shown.append("*")
        starred = starred or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        shown.append(f"{stars}{parameter.name}{default}")
    return f"({', '.join(shown)})"


def _doc(found: Any) -> str:
    return _code(inspect.getdoc(found) or "")


def _code(text: str) -> str:
    """Code as these pages write it, for that of docstrings."""
    return re.sub(r":\w+:`([^`]+)`", r"`\1`", text.replace("``", "`")).strip()


def _comment(found: Any, name: str) -> str:
    """What stands above a field of a data class, as ``#:`` comments."""
    lines = inspect.getsource(found).splitlines()
    at = next((n for n, line in enumerate(lines) if re.match(rf"\s+{name}:", line)), 0)
    comment = []
    while at > 0 and lines[at - 1].strip().startswith("#:"):
        at -= 1
        comment.insert(0, lines[at].strip().removeprefix("#:").strip())
    return " ".join(comment)


def _fields(described: dict[str, Any], leave_out: Collection[str] = ()) -> str:
    """A table of the fields of an object of the schema."""
    rows = []
    for name, field in described["properties"].items():
        if name in leave_out:
            continue
        meaning, _, valid = field["description"].rpartition(" Valid: ")
        valid = valid.removesuffix(".")
        default = "required" if name in described.get("required", ()) else field.get("default")
        rows.append([f"`{name}`", _unit(valid), valid, _value(default), meaning])
    return _table(["field", "unit", "valid", "default", "meaning"], rows)


def _parameters(entry: dict[str, Any]) -> str:
    """A table of the parameters of a discipline or transport."""
    rows = [
        [
            f"`{parameter['name']}`",
            parameter["unit"],
            parameter["valid"],
            _value(parameter["default"]),
            parameter["doc"],
            parameter["source"],
        ]
        for parameter in entry["parameters"]
    ]
    return _table(["parameter", "unit", "valid", "default", "meaning", "source"], rows)


def _names(entries: Iterable[dict[str, Any]]) -> str:
    """A table of transports."""
    rows = [[f"`{entry['name']}`", entry["title"], entry["doc"], entry["source"]] for entry in entries]
    return _table(["transport", "title", "what it does", "source"], rows)


def _tables_of(entry: dict[str, Any]) -> list[str]:
    """A discipline, as a link from docs/reference to its page, and the tables of a scenario that it reads."""
    has_own = any(parameter["name"] != "limit" for parameter in entry["parameters"])
    owners = [name for name in (entry["also_uses"], entry["name"] if has_own else None) if name]
    page = f"[`{entry['name']}`](disciplines/{entry['name'].replace('_', '-')}.md)"
    return [page, ", ".join(f"`[queue.{name}]`" for name in owners) or "none"]


def _linked(entry: dict[str, Any]) -> list[str]:
    """Title of a discipline, as a link from docs/README.md to its page, and its sentence."""
    return [f"[{entry['title']}](reference/disciplines/{entry['name'].replace('_', '-')}.md)", entry["doc"]]


def _costs(scheme: Scheme) -> list[str]:
    """State and work per packet of what campaign X7 compares, as the page of the discipline says."""
    page = DOCS / "reference" / "disciplines" / f"{scheme.settings[0].rpartition('=')[2].replace('_', '-')}.md"
    found = _WORK.search(page.read_text(encoding="utf-8"))
    rows = [line.strip("|\n ").split(" | ", 1) for line in found[1].splitlines()] if found else []
    state = [f"{name.strip()}: {text.strip()}" for name, text in rows if "state" in name or "memory" in name]
    packet = [f"{name.strip()}: {text.strip()}" for name, text in rows if "work" in name or "random" in name]
    return [f"[{scheme.label}]({page.relative_to(DOCS)})", "; ".join(state), "; ".join(packet)]


def _commands(parser: argparse.ArgumentParser, prefix: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command that has options of its own, with the words that lead to it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action._name_parser_map.items():
                yield f"{prefix}{name}", child
                yield from _commands(child, f"{prefix}{name} ")


def _options(parser: argparse.ArgumentParser) -> str:
    """A table of the options of a command."""
    rows = []
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction | argparse._SubParsersAction):
            continue
        shown = action.metavar if isinstance(action.metavar, str) else None
        if shown is None and action.choices:
            shown = "{" + ",".join(str(choice) for choice in action.choices) + "}"
        value = "" if action.nargs == 0 or shown is None else f" {shown}"
        flags = ", ".join(f"`{flag}{value}`" for flag in action.option_strings) or f"`{shown or action.dest}`"
        must = "yes" if action.required else ""
        rows.append([flags, must, action.help or ""])
    return _table(["argument", "required", "meaning"], rows)


def _unit(valid: str) -> str:
    return next((unit for start, unit in _UNITS.items() if valid.startswith(start)), "")


def _value(value: object) -> str:
    if value is None:
        return ""
    if value == "required":
        return "required"
    return f"`{value if isinstance(value, str) and value else json.dumps(value)}`"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return table(head, ([cell.replace("|", "\\|") for cell in row] for row in rows))
