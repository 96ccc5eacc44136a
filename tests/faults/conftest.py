"""The run that all faults are tried on, made once."""

import pytest
from run_files import Broken, broken_off

from tiny import Corpus


@pytest.fixture(scope="session")
def broken(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Broken:
    return broken_off(corpus, tmp_path_factory.mktemp("faults"))
