"""Who may see what was counted."""

import pytest

from portico.engine.show_metrics import ShowMetrics
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import NotPermitted
from portico.guard.core.roles import Role, Scope
from portico.testing.guard import a_person, an_identity


async def figures() -> str:
    return "portico_runs_in_flight 0\n"


async def test_whoever_was_granted_it_sees_what_was_counted_and_no_role_does() -> None:
    show = ShowMetrics(text=figures)
    first = as_principal(an_identity("first", roles=[], grants=[Scope.METRICS_READ]))

    assert await show(first) == "portico_runs_in_flight 0\n"
    for role in Role:
        with pytest.raises(NotPermitted):
            await show(a_person(roles=[role]))
