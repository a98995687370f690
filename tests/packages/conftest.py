from __future__ import annotations

import pytest
from stranger import DIST, Stranger


@pytest.fixture(scope="session")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Stranger:
    assert list(DIST.glob("fairdrop-*.whl")), f"{DIST} has no wheel; make dist builds it"
    return Stranger(tmp_path_factory.mktemp("stranger"))
