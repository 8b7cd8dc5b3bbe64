"""Who may see what was counted."""

import pytest

from portico.engine.show_metrics import ShowMetrics
from portico.guard.core.errors import NotPermitted
from portico.guard.core.roles import Role
from portico.testing.guard import a_person


async def figures() -> str:
    return "portico_runs_in_flight 0\n"


async def test_operators_see_what_was_counted_and_members_do_not() -> None:
    show = ShowMetrics(text=figures)

    assert await show(a_person(roles=[Role.OPERATOR])) == "portico_runs_in_flight 0\n"
    with pytest.raises(NotPermitted):
        await show(a_person(roles=[Role.MEMBER]))
