"""Rules that were tried in the place of one of COLLAR's, and loads that the sets of shares do not have."""
