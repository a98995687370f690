"""Captured traffic as load: shares of its flows, and of TCP beside it."""
