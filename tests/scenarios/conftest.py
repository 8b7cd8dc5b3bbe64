"""What several journeys and storms start with."""

from collections.abc import Iterator

import pytest

from tests.installation import Installation, installation


@pytest.fixture
def house() -> Iterator[Installation]:
    with installation() as made:
        yield made


@pytest.fixture(scope="module")
def fork_server() -> Iterator[None]:
    from tests.storm.conductor import forking  # late: it loads the whole engine

    with forking():
        yield
