"""Boxes of both kinds, without a control group unless a test asks for one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from portico.sandbox.core.probes import Backend
from tests.adapters.sandbox.boxes import Made
from tests.servers import reachable_folder


@pytest.fixture(params=list(Backend))
def made(request: pytest.FixtureRequest) -> Made:
    return Made(request.param)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the account that things run as can come to."""
    with reachable_folder() as folder:
        yield folder
