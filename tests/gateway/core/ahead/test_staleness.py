"""What ends the truth of an answer that was read ahead of time, and what does not."""

from dataclasses import replace
from uuid import UUID

from portico.gateway.core.ahead.staleness import size_of, switched_on, touched
from portico.gateway.core.ahead.switches import (
    AheadMode,
    ServerSwitch,
    SpaceSwitches,
    Switches,
)
from portico.gateway.core.call import Answer
from portico.guard.core.act import Act, Aim
from portico.kernel.effect import Effect
from portico.kernel.ids import SpaceId
from portico.testing.gateway import a_server
from portico.testing.guard import a_person
from tests.gateway.core.ahead.attempts import AIM, ANA
from tests.gateway.core.ahead.test_buffer import READ, held

BOB = a_person("bob")
FILES = a_server("files")
WRITE = replace(AIM, tool="git.commit", server="git", effect=Effect.LOCAL_WRITE)
AWAY = replace(WRITE, here=False)


def test_a_change_ends_what_its_principal_its_server_or_this_machine_was_asked() -> None:
    rows: list[tuple[Act, Aim, bool]] = [
        (Act(caller=ANA, aim=AWAY), AIM, True),
        (Act(caller=BOB, aim=replace(AWAY, server="files")), AIM, True),
        (Act(caller=BOB, aim=WRITE), AIM, True),
        (Act(caller=BOB, aim=WRITE), replace(AIM, here=False), False),
        (Act(caller=BOB, aim=AWAY), AIM, False),
        (Act(caller=replace(ANA, space=SpaceId(UUID(int=7))), aim=WRITE), AIM, False),
    ]

    for change, aim, ends in rows:
        assert touched(change, held(replace(READ, aim=aim))) is ends


def test_what_leaves_this_machine_has_to_be_switched_on_of_its_own() -> None:
    rows: list[tuple[Aim, AheadMode, bool, bool]] = [
        (AIM, AheadMode.LIVE, False, True),
        (AIM, AheadMode.SHADOW, True, False),
        (replace(AIM, outside=True), AheadMode.LIVE, False, False),
        (replace(AIM, outside=True), AheadMode.LIVE, True, True),
        (replace(AIM, effect=Effect.EXTERNAL_READ), AheadMode.LIVE, False, False),
        (replace(AIM, effect=Effect.EXTERNAL_READ), AheadMode.LIVE, True, True),
    ]

    for aim, mode, external, on in rows:
        space = SpaceSwitches(servers={FILES.id: ServerSwitch(mode, external)})
        switches = Switches(installation=AheadMode.LIVE, external=frozenset(), space=space)

        assert switched_on(switches, FILES, replace(READ, aim=aim)) is on


def test_an_answer_is_as_large_as_all_that_is_in_it() -> None:
    small = Answer([{"type": "text", "text": "hello"}])

    assert size_of(small) > 5
    assert size_of(replace(small, structured={"a": "x" * 100})) > size_of(small) + 100
