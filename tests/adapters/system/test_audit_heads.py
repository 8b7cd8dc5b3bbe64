"""Heads of the audit in a file."""

from pathlib import Path

from portico.adapters.system.audit_heads import AuditHeadsFile
from portico.guard.core.audit_chain import Head
from portico.kernel.ids import SpaceId
from portico.testing.guard import a_space
from portico.testing.kernel import TickingClock

ONE, OTHER = a_space("one").id, a_space("other").id


async def test_heads_are_added_to_a_file_of_one_s_own_and_told_further(tmp_path: Path) -> None:
    told: list[tuple[SpaceId, Head]] = []
    file = tmp_path / "state" / "heads.ndjson"
    heads = AuditHeadsFile(file, TickingClock(), lambda *it: told.append(it))
    first, second, third = (Head(number, bytes([number]) * 32) for number in (1, 2, 3))

    await heads.keep(ONE, first)
    await heads.keep(OTHER, second)
    await AuditHeadsFile(file, TickingClock(), lambda *_: None).keep(ONE, third)

    assert await heads.of(ONE) == [first, third]
    assert await heads.of(OTHER) == [second]
    assert told == [(ONE, first), (OTHER, second)]
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_text().count("\n") == 3


async def test_what_is_not_a_whole_line_is_left_out(tmp_path: Path) -> None:
    heads = AuditHeadsFile(tmp_path / "heads", TickingClock(), lambda *_: None)
    assert await heads.of(ONE) == []

    await heads.keep(ONE, Head(1, bytes(32)))
    with (tmp_path / "heads").open("a") as file:
        file.write('{"space": "spc_')

    assert await heads.of(ONE) == [Head(1, bytes(32))]
