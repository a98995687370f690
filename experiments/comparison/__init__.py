"""All disciplines on the same axes: pages from campaigns X7 and X21."""
