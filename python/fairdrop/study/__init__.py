"""Sweeps: a scenario over many values of its fields, times seeds, into one data set."""
