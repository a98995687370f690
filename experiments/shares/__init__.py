"""How far flows are from their max-min shares, discipline by discipline, on three sets of loads."""
