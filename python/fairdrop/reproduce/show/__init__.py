"""Figures as the papers draw them, and the page that holds them all."""
