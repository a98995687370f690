"""The papers, reproduced: pages from the stored results of ``fairdrop reproduce``."""
