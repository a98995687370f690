"""Experiments: a folder each with its definition, its command, its digest of stored results, and its page."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
