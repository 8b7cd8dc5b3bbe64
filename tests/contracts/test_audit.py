"""What the guard may rely on of `Audit` and `AuditLog`."""

import asyncio
import json

import pytest

from portico.guard.core.audit import BEGINNING, AuditEntry, Head, Link, verify
from portico.kernel.principal import Principal
from portico.testing.guard import a_person, a_space
from tests.contracts.doors import REFUSED, Doors


def an_entry(subject: str = "files.read") -> AuditEntry:
    return AuditEntry(
        action="call.allowed",
        subject=subject,
        rule="default:reads",
        reason="It only reads.",
        details={"é": ["\0", 1, None, {"b": 2, "a": 1.5}]},
    )


async def chain(doors: Doors, caller: Principal, upto: int | None = None) -> list[Link]:
    head = await doors.audit_log.head(caller)
    pieces = doors.audit_log.stream(caller, last_number=head.number if upto is None else upto)
    return [link async for piece in pieces for link in piece]


async def test_entries_come_back_as_a_sound_chain_that_ends_in_its_head(
    doors: Doors, root: Principal
) -> None:
    assert await doors.audit_log.head(root) == BEGINNING
    assert await chain(doors, root) == []
    assert await doors.audit_log.page(root, before=None, limit=5) == []

    await doors.audit.note(root, an_entry("a"), an_entry("b"))
    await doors.audit.note(root)
    doors.audit.note_behind(root, an_entry("c"))

    links = await chain(doors, root)
    verdict = verify(links, root.space, heads=[await doors.audit_log.head(root)])
    assert (verdict.sound, verdict.checked, verdict.heads) == (True, 3, 1)
    told = json.loads(links[0].text)
    assert (told["number"], told["by"]) == (1, str(root.id.value))
    assert told["act"] == {
        "action": "call.allowed",
        "subject": "a",
        "rule": "default:reads",
        "reason": "It only reads.",
        "kind": "person",
        "name": "root",
        "facts": {"é": ["\0", 1, None, {"b": 2, "a": 1.5}]},
    }


async def test_pages_go_back_from_the_newest_and_a_stream_ends_where_it_is_told_to(
    doors: Doors, root: Principal
) -> None:
    await doors.audit.note(root, *(an_entry(str(number)) for number in range(5)))

    first = await doors.audit_log.page(root, before=None, limit=2)
    rest = await doors.audit_log.page(root, before=first[-1].number, limit=9)

    assert [link.number for link in [*first, *rest]] == [5, 4, 3, 2, 1]
    assert [link.number for link in await chain(doors, root, upto=3)] == [1, 2, 3]


async def test_each_space_has_a_chain_of_its_own(doors: Doors, root: Principal) -> None:
    other = await doors.founded("acme")

    await asyncio.gather(
        *(doors.audit.note(who, an_entry()) for _ in range(5) for who in (root, other))
    )

    for who in (root, other):
        links = await chain(doors, who)
        assert [link.number for link in links] == [1, 2, 3, 4, 5]
        assert verify(links, who.space).sound
    with pytest.raises(REFUSED):
        await doors.audit.note(a_person("eve", space=a_space("nowhere")), an_entry())


async def test_an_entry_stands_and_falls_with_what_is_written_together(
    doors: Doors, root: Principal
) -> None:
    with pytest.raises(RuntimeError):
        async with doors.together(root):
            await doors.audit.note(root, an_entry("lost"))
            raise RuntimeError
    async with doors.together(root):
        await doors.audit.note(root, an_entry("kept"))

    [link] = await chain(doors, root)
    assert b'"kept"' in link.text
    assert await doors.audit_log.head(root) == Head(1, link.hash)


async def test_a_space_takes_its_chain_with_it_and_its_export_holds_it(
    doors: Doors, root: Principal
) -> None:
    await doors.audit.note(root, an_entry())

    rows = [row async for row in doors.spaces.export(root)]
    [entry] = [row for row in rows if row.table == "audit_entry"]
    [head] = [row for row in rows if row.table == "audit_head"]
    await doors.spaces.delete(root)

    [number, text, hash_] = [entry.values[name] for name in ("number", "entry", "hash")]
    assert (number, str(hash_)[:2]) == (1, "\\x")
    assert json.loads(str(text))["act"]["subject"] == "files.read"
    assert head.values["hash"] == hash_
    assert await chain(doors, root) == []
