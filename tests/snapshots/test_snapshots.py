"""What programs and people see is what is kept of it: moved and renamed code changes nothing."""

from collections.abc import Mapping

import pytest

from portico.interfaces.console.page import environment
from tests.snapshots.files import REFRESH, kept
from tests.snapshots.help import helps
from tests.snapshots.listings import listings
from tests.snapshots.screens import Drawn, drawn
from tests.snapshots.template_kinds import of_value, one_of
from tests.snapshots.template_reading import Reading, Scope


@pytest.fixture(scope="module")
def console() -> Drawn:
    return drawn()


def check(kind: str, now: Mapping[str, str]) -> None:
    before = kept(kind)
    changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]

    assert not changed, f"changed: {', '.join(changed)}. If it is meant: {REFRESH}"


def test_the_overview_of_commands_is_as_it_was() -> None:
    check("help", helps())


async def test_mcp_clients_are_told_what_they_were() -> None:
    check("mcp", await listings())


def test_every_screen_is_as_it_was(console: Drawn) -> None:
    check("screens", console.screens)


def test_templates_read_only_what_is_there(console: Drawn) -> None:
    reading = read_all(console)

    assert sorted(reading.wrong) == []
    assert {*reading.environment.list_templates(extensions=["html"])} - reading.walked == set()
    assert len(reading.unresolved) <= UNRESOLVED, reading.unresolved


UNRESOLVED = 9
"""Places where an attribute is read of which nobody knows what it is; see `template_reading`."""


def read_all(console: Drawn) -> Reading:
    """Each template with all that it was ever given."""
    reading = Reading(environment())
    given: dict[str, Scope] = {}
    for template, values in console.given:
        scope = given.setdefault(template, {})
        for name, value in values.items():
            scope[name] = one_of([scope.get(name, frozenset()), of_value(value)])
    for template, scope in given.items():
        reading.template(template, scope)
    return reading
