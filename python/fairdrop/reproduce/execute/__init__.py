"""From a definition to its runs: which there are, doing them on all cores, and keeping them."""
