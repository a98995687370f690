"""SVG of Matplotlib's at a third of its size: what draws nothing goes, numbers keep two decimals, styles are shared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from xml.etree import ElementTree as Tree

from fairdrop.plot.colours import PAPER

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_HREF = f"{{{_XLINK}}}href"
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_COMMAND = re.compile(rf"([A-Za-z])|({_NUMBER.pattern})")
#: Coordinates that follow a command, by the command.
_TAKES = {"M": 2, "L": 2, "Q": 4, "C": 6, "z": 0, "Z": 0}


def on_paper(svg: str) -> str:
    """The picture before a sheet of its own colour: a page may be dark."""
    sheet = f'<rect width="100%" height="100%" fill="{PAPER}"/>'
    return re.sub(r"(<svg\b[^>]*>)", rf"\1{sheet}", svg, count=1)


def slimmed(svg: str) -> str:
    """The same picture in fewer bytes."""
    Tree.register_namespace("", _SVG)
    Tree.register_namespace("xlink", _XLINK)
    root = Tree.fromstring(svg)
    for parent in root.iter():
        for child in list(parent):
            if _name(child) == "metadata" or _is_invisible(child):
                parent.remove(child)
    _unwrap(root)
    _share_clips(root)
    _shorten_names(root)
    _share_styles(root)
    for element in root.iter():
        _shorten(element)
    return Tree.tostring(root, encoding="unicode") + "\n"


def _name(element: Tree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _is_invisible(element: Tree.Element) -> bool:
    return _name(element) == "path" and element.get("style") == "fill: none"


def _unwrap(parent: Tree.Element) -> None:
    """Groups that only carry a name give way to what they hold; empty ones go."""
    children: list[Tree.Element] = []
    for child in parent:
        _unwrap(child)
        is_plain = _name(child) == "g" and not set(child.attrib) - {"id"}
        children += list(child) if is_plain else [child]
    parent[:] = children


def _share_clips(root: Tree.Element) -> None:
    """Neighbours that are cut off by one rectangle become a group."""
    children: list[Tree.Element] = []
    for clip, run in groupby(root, key=lambda child: child.get("clip-path")):
        if clip is None:
            children += run
            continue
        group = Tree.Element(f"{{{_SVG}}}g", {"clip-path": clip})
        for child in run:
            del child.attrib["clip-path"]
            group.extend(child if _name(child) == "g" and not set(child.attrib) - {"id"} else [child])
        children.append(group)
    root[:] = children


def _shorten_names(root: Tree.Element) -> None:
    """Ids that something refers to become short; the others go."""
    text = Tree.tostring(root, encoding="unicode")
    used = dict.fromkeys(re.findall(r'(?:url\(#|href="#)([^")]+)', text))
    short = {name: f"i{number}" for number, name in enumerate(used)}
    for element in root.iter():
        if (name := element.attrib.pop("id", None)) in short:
            element.set("id", short[name])
        for key, value in element.items():
            value = re.sub(r"url\(#([^)]+)\)", lambda of: f"url(#{short[of[1]]})", value)
            element.set(key, f"#{short[value[1:]]}" if key == _HREF and value[0] == "#" else value)


def _share_styles(root: Tree.Element) -> None:
    """A style of several elements becomes a class."""
    styles = Counter(element.get("style") for element in root.iter() if element.get("style"))
    names = {style: f"s{number}" for number, (style, times) in enumerate(styles.items()) if times > 1}
    for element in root.iter():
        if element.get("style") in names:
            element.set("class", names[element.attrib.pop("style")])
    rules = "".join(f".{name}{{{_plain_style(str(style))}}}" for style, name in names.items())
    sheet = root.find(f".//{{{_SVG}}}style")
    if sheet is not None:
        sheet.text = f"{sheet.text}{rules}"


def _plain_style(style: str) -> str:
    return style.replace(": ", ":").replace("; ", ";")


def _shorten(element: Tree.Element) -> None:
    if _name(element) not in ("text", "tspan"):
        element.text = (element.text or "").strip() or None
    if _name(element) != "tspan":
        element.tail = None
    for key, value in element.items():
        if key == "d":
            element.set(key, "".join(_path(value)))
        elif key == "transform":
            value = re.sub(r"rotate\(-?0(?:\.0)?(?: [^)]*)?\) ?", "", value)
            element.set(key, _NUMBER.sub(lambda of: _number(float(of[0]), 4), value))
        elif key in ("x", "y", "width", "height") and _NUMBER.fullmatch(value):
            element.set(key, _number(float(value)))
        elif key == "style":
            element.set(key, _plain_style(value))
    if element.get("transform") == "":
        del element.attrib["transform"]


def _path(path: str) -> Iterator[str]:
    """Relative coordinates; each is rounded from where the ones before it have led, so errors do not add up."""
    words = [found[0] for found in _COMMAND.finditer(path)]
    at, started, last = (0, 0), (0, 0), ""
    while words:
        command = words.pop(0)
        if command in "zZ":
            at, last = started, "z"
            yield "z"
            continue
        count = _TAKES[command]
        points = [round(100 * float(word)) for word in words[:count]]
        del words[:count]
        steps = [value - at[index % 2] for index, value in enumerate(points)]
        at = (points[-2], points[-1])
        if command == "M":
            started = at
        if command != "L" or any(steps):
            text = " ".join(_number(step / 100) for step in steps).replace(" -", "-")
            separator = "" if text.startswith("-") else " "
            yield (separator if command.lower() == last else command.lower()) + text
            last = command.lower()


def _number(value: float, places: int = 2) -> str:
    text = f"{value:.{places}f}".rstrip("0").rstrip(".")
    return re.sub(r"^(-?)0\.", r"\1.", text) if text != "-0" else "0"
