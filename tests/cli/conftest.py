from pathlib import Path

import pytest

from .program import run


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small simulated fleet on disk."""
    folder = tmp_path_factory.mktemp("cli") / "fleet"
    knobs = ("--sequences", "1500", "--event-types", "200", "--labels", "4", "--seed", "3")
    run("simulate", "fleet", folder, *knobs)
    return folder
