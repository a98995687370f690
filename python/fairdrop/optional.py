"""Packages that fairdrop does not install: imported only when they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["needed"]


def needed(package: str) -> Any:
    """The module of a package. Raises ImportError with the command that installs it, where it is not installed."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        message = f"this needs {package}, which is not installed; to install it: pip install {package}"
        raise ImportError(message, name=package) from None
