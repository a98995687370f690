"""Readings of whole papers: which of them bear out what, and what they break."""
