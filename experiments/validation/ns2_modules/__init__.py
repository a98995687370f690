"""Modules of ns-2, written from the papers, and how they are built."""
