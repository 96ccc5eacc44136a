"""One comparison that most tests look at."""

import pytest
from small import compared, request, write_recipes

from dragoman.comparison import Compared
from tiny import Corpus


@pytest.fixture(scope="session")
def recipes(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return write_recipes(tmp_path_factory.mktemp("recipes"))


@pytest.fixture(scope="session")
def done(corpus: Corpus, recipes: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Compared:
    """Three models of two recipes."""
    return compared(request(corpus, tmp_path_factory.mktemp("done") / "out", *recipes))
