"""The room that nearly every test of workflows begins in."""

import pytest

from tests.workflows.plan_room import PlanRoom


@pytest.fixture
def room() -> PlanRoom:
    return PlanRoom()
