"""COLLAR's kin: shares by weight, sparse flows, hosts."""
