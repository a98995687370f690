"""The pictures of the README."""
