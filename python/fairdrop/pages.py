"""What the HTML pages share: how their templates are filled, and colours by name on light paper and on a dark page."""

from __future__ import annotations

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from fairdrop.plot import colours


def environment(package: str) -> Environment:
    """Templates of a package, and those that pages share; a name that is not given is an error."""
    return Environment(
        loader=ChoiceLoader([PackageLoader(package, "."), PackageLoader("fairdrop.report", ".")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def palettes() -> dict[str, dict[str, str]]:
    """``light`` and ``dark``: values of the colours that figures on the page refer to."""
    names = colours.VARIABLES.items()
    return {
        "light": {name: colour for colour, name in names},
        "dark": {name: colours.DARK[colour] for colour, name in names},
    }
