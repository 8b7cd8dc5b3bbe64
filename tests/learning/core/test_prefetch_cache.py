"""An answer that waits is found by exactly who it is for, for exactly what was asked, once."""

from dataclasses import replace
from uuid import UUID

from portico.gateway.core.calls import ToolResult
from portico.guard.core.access_request import AccessRequest, ActionTarget
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC
from portico.learning.core.prefetch_cache import Buffer, BufferedCall, key_of
from portico.learning.core.prefetch_gates import (
    PrefetchMode,
    ServerSwitch,
    SpaceSwitches,
    Switches,
    size_of,
    switched_on,
    touched,
)
from portico.testing.gateway import a_server
from portico.testing.guard import a_person
from tests.learning.core.prefetch.attempts import AIM, ANA, WANTED

READ = AccessRequest(caller=ANA, target=AIM, arguments={"path": "a"})
SAID = ToolResult([{"type": "text", "text": "hello"}])


def held(act: AccessRequest = READ, *, size: int = 5, until: float = 10.0) -> BufferedCall:
    return BufferedCall(
        key=key_of(act),
        access_request=act,
        server=a_server(),
        wanted=WANTED,
        label=PUBLIC,
        answer=SAID,
        size=size,
        until=until,
    )


def numbered(number: int, caller: str = "ana") -> AccessRequest:
    return replace(READ, caller=a_person(caller), arguments={"path": str(number)})


def test_it_is_given_out_once() -> None:
    buffer, kept = Buffer(), held()
    assert buffer.hold(kept)
    assert buffer.has_any(ANA)

    assert buffer.take(READ, 9.9) is kept
    assert buffer.take(READ, 9.9) is None
    assert (len(buffer), buffer.size, buffer.has_any(ANA)) == (0, 0, False)


def test_nothing_but_exactly_that_finds_it() -> None:
    rows: list[AccessRequest] = [
        replace(READ, caller=a_person("bob")),
        replace(READ, caller=replace(ANA, space=SpaceId(UUID(int=7)))),
        replace(READ, caller=replace(ANA, context=ContextId(UUID(int=7)))),
        replace(READ, target=replace(AIM, pin="p2")),
        replace(READ, target=replace(AIM, launch="other")),
        replace(READ, target=replace(AIM, tool="files.list")),
        replace(READ, arguments={"path": "b"}),
        replace(READ, arguments={}),
        replace(READ, arguments={"path": "a", "deep": None}),
    ]

    for other in rows:
        buffer = Buffer()
        buffer.hold(held())

        assert buffer.take(other, 0.0) is None
        assert buffer.take(READ, 0.0) is not None, other


def test_two_numbers_that_json_takes_for_one_are_two() -> None:
    rows: list[tuple[float, float]] = [(1, 1.0), (0.0, -0.0)]

    for one, other in rows:
        first, second = replace(READ, arguments={"n": one}), replace(READ, arguments={"n": other})
        assert key_of(first) == key_of(second), one
        buffer = Buffer()
        buffer.hold(held(first))

        assert buffer.take(second, 0.0) is None, one
        assert buffer.take(first, 0.0) is not None, one


def test_the_order_of_arguments_is_of_no_matter() -> None:
    one: JsonObject = {"a": {"x": 1, "y": 2}, "b": [1, 2]}
    same: JsonObject = {"b": [1, 2], "a": {"y": 2, "x": 1}}
    buffer = Buffer()
    buffer.hold(held(replace(READ, arguments=one)))

    assert buffer.take(replace(READ, arguments=same), 0.0) is not None


def test_it_gets_too_old_and_what_is_doomed_is_never_given_out() -> None:
    buffer, old = Buffer(), held()
    buffer.hold(old)
    assert buffer.take(READ, 10.0) is None

    old.answer = None
    assert buffer.take(READ, 10.0) is old  # it is under way, and whoever joins it waits

    doomed = held()
    doomed.doomed = True
    buffer.hold(doomed)
    assert buffer.take(READ, 0.0) is None


def test_there_is_one_place_for_one_thing_and_only_so_many() -> None:
    buffer = Buffer(limit=3, most_of_one=2)

    assert buffer.hold(held(numbered(1)))
    assert not buffer.hold(held(numbered(1)))
    assert buffer.hold(held(numbered(2)))
    assert not buffer.hold(held(numbered(3)))
    assert buffer.hold(held(numbered(1, "bob")))
    assert not buffer.hold(held(numbered(1, "eve")))
    assert len(buffer) == 3


def test_there_is_only_so_much_room() -> None:
    buffer = Buffer(most_bytes=100, most_bytes_of_one=60)
    assert buffer.room(ANA) == 60

    buffer.hold(held(numbered(1), size=50))
    buffer.hold(held(numbered(1, "bob"), size=45))

    assert buffer.room(ANA) == 5
    assert buffer.room(a_person("eve")) == 5
    buffer.hold(held(numbered(2), size=5))
    assert buffer.room(ANA) == 0


def test_forgetting_one_leaves_another_in_its_place() -> None:
    buffer, first, second = Buffer(), held(), held()
    buffer.hold(first)
    buffer.forget(first)
    buffer.hold(second)

    buffer.forget(first)

    assert buffer.holds(second.key)
    assert buffer.which(lambda each: each is second) == [second]


def test_forgetting_one_of_several_leaves_the_others() -> None:
    buffer, one, other = Buffer(), held(numbered(1)), held(numbered(2))
    buffer.hold(one)
    buffer.hold(other)

    buffer.forget(one)

    assert buffer.has_any(ANA)
    assert buffer.take(numbered(2), 0.0) is other


BOB = a_person("bob")
FILES = a_server("files")
WRITE = replace(AIM, tool="git.commit", server="git", effect=Effect.LOCAL_WRITE)
AWAY = replace(WRITE, here=False)


def test_a_change_ends_what_its_principal_its_server_or_this_machine_was_asked() -> None:
    rows: list[tuple[AccessRequest, ActionTarget, bool]] = [
        (AccessRequest(caller=ANA, target=AWAY), AIM, True),
        (AccessRequest(caller=BOB, target=replace(AWAY, server="files")), AIM, True),
        (AccessRequest(caller=BOB, target=WRITE), AIM, True),
        (AccessRequest(caller=BOB, target=WRITE), replace(AIM, here=False), False),
        (AccessRequest(caller=BOB, target=AWAY), AIM, False),
        (AccessRequest(caller=replace(ANA, space=SpaceId(UUID(int=7))), target=WRITE), AIM, False),
    ]

    for change, aim, ends in rows:
        assert touched(change, held(replace(READ, target=aim))) is ends


def test_what_leaves_this_machine_has_to_be_switched_on_of_its_own() -> None:
    rows: list[tuple[ActionTarget, PrefetchMode, bool, bool]] = [
        (AIM, PrefetchMode.LIVE, False, True),
        (AIM, PrefetchMode.SHADOW, True, False),
        (replace(AIM, outside=True), PrefetchMode.LIVE, False, False),
        (replace(AIM, outside=True), PrefetchMode.LIVE, True, True),
        (replace(AIM, effect=Effect.EXTERNAL_READ), PrefetchMode.LIVE, False, False),
        (replace(AIM, effect=Effect.EXTERNAL_READ), PrefetchMode.LIVE, True, True),
    ]

    for aim, mode, external, on in rows:
        space = SpaceSwitches(servers={FILES.id: ServerSwitch(mode, external)})
        switches = Switches(installation=PrefetchMode.LIVE, external=frozenset(), space=space)

        assert switched_on(switches, FILES, replace(READ, target=aim)) is on


def test_an_answer_is_as_large_as_all_that_is_in_it() -> None:
    small = ToolResult([{"type": "text", "text": "hello"}])

    assert size_of(small) > 5
    assert size_of(replace(small, structured={"a": "x" * 100})) > size_of(small) + 100
