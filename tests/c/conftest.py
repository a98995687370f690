from __future__ import annotations

import pytest
from programs import Installed


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("root"))
