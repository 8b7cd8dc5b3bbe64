"""Looking through the audit: what is wanted, and no further than need be."""

from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta

import pytest

from portico.guard.core.audit_chain import Head, Link
from portico.guard.core.audit_entry import AuditEntry
from portico.guard.core.errors import NotPermitted
from portico.guard.core.roles import Role
from portico.guard.read_audit import ReadAudit, Wanted
from portico.kernel.principal import Principal
from portico.testing.audit import MemoryAudit
from portico.testing.guard import a_person
from portico.testing.kernel import BEGINNING, TickingClock

ANA = a_person("ana", roles=[Role.ADMIN])
BOB = a_person("bob")


class Endless:
    """A log of which each page is full, of entries that somebody has made unreadable."""

    def __init__(self, *texts: bytes) -> None:
        self.pages = 0
        self._texts = texts or (b"\xff",)

    async def head(self, caller: Principal) -> Head:
        return Head(10**9, bytes(32))

    async def page(self, caller: Principal, *, before: int | None, limit: int) -> Sequence[Link]:
        self.pages += 1
        first = (before or 10**9) - 1
        count = len(self._texts)
        return [
            Link(number, self._texts[number % count], b"")
            for number in range(first, first - limit, -1)
        ]

    async def stream(self, caller: Principal, *, upto: int) -> AsyncGenerator[Sequence[Link], None]:
        yield []


async def test_what_is_seldom_is_looked_for_so_far_at_a_time() -> None:
    log = Endless(b"\xff", b"[]", b'{"act":1,"at":1}', b'{"at":"never"}')

    page = await ReadAudit(log=log)(ANA, Wanted(action="x", since=BEGINNING), onward=None, limit=5)

    assert page.found == []
    assert page.onward == 10**9 - 20_000
    assert log.pages == 20


async def test_what_cannot_be_read_is_shown_to_whoever_wants_everything() -> None:
    page = await ReadAudit(log=Endless())(ANA, Wanted(), onward=None, limit=2)

    assert [it.entry for it in page.found] == [{}, {}]


async def test_looking_ends_where_what_is_older_begins() -> None:
    clock = TickingClock()
    audit = MemoryAudit(clock=clock)
    for number in range(4):
        clock.turn(timedelta(hours=1))
        await audit.note(ANA, AuditEntry(action="a", subject=str(number)))
    since = clock.now() - timedelta(hours=1, minutes=30)

    page = await ReadAudit(log=audit)(ANA, Wanted(since=since), onward=None, limit=10)

    assert [it.link.number for it in page.found] == [4, 3]
    assert page.onward is None


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("git.*", {"git.use", "git.[ab]"}), ("git.[ab]", {"git.[ab]"}), ("*.?", {"x.a"})],
)
async def test_wildcards_are_those_of_rules(wanted: str, found: set[str]) -> None:
    audit = MemoryAudit()
    for subject in ("git.use", "git.[ab]", "git", "x.a"):
        await audit.note(ANA, AuditEntry(action="a", subject=subject))

    page = await ReadAudit(log=audit)(ANA, Wanted(subject=wanted), onward=None, limit=10)

    assert {
        act["subject"] for it in page.found if isinstance(act := it.entry["act"], dict)
    } == found


async def test_each_filter_leaves_out_the_others() -> None:
    audit = MemoryAudit()
    carol = a_person("carol", roles=[Role.ADMIN])
    await audit.note(ANA, AuditEntry(action="key.issued", subject="k1"))
    await audit.note(carol, AuditEntry(action="key.revoked", subject="k2"))

    async def found(wanted: Wanted) -> list[int]:
        page = await ReadAudit(log=audit)(ANA, wanted, onward=None, limit=10)
        return [it.link.number for it in page.found]

    assert await found(Wanted()) == [2, 1]
    assert await found(Wanted(action="key.*")) == [2, 1]
    assert await found(Wanted(action="KEY.*")) == []
    assert await found(Wanted(subject="k1")) == [1]
    assert await found(Wanted(principal=carol.id)) == [2]
    assert await found(Wanted(principal=carol.id, subject="k1")) == []


async def test_only_whoever_may_read_it_does() -> None:
    with pytest.raises(NotPermitted):
        await ReadAudit(log=MemoryAudit())(BOB, Wanted(), onward=None, limit=1)
