"""RFC 7928 under every discipline: a page from the results of ``fairdrop characterize``."""
