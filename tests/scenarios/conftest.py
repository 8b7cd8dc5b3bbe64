"""What several journeys start with."""

from collections.abc import Iterator

import pytest

from tests.installation import Installation, installation


@pytest.fixture
def house() -> Iterator[Installation]:
    with installation() as made:
        yield made
