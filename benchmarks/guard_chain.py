"""Ways to make a chain in the database, one beside the other, and the time to verify a long one."""

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from statistics import median
from typing import Any, Final, LiteralString

from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row

from benchmarks.guard_house import GuardHouse
from portico.guard.audit import VerifyAudit
from portico.guard.core.audit import AuditEntry, Verdict, act_text, entry_text, link_hash
from portico.guard.core.principals import Scope

_TABLES: Final[LiteralString] = """
    CREATE TABLE IF NOT EXISTS portico.bench_entry (
        space_id uuid, number bigint, at timestamptz, entry text, hash bytea,
        PRIMARY KEY (space_id, number));
    CREATE TABLE IF NOT EXISTS portico.bench_head (
        space_id uuid PRIMARY KEY, number bigint, hash bytea);
    DELETE FROM portico.bench_entry; DELETE FROM portico.bench_head
"""
_FIRST: Final[LiteralString] = "INSERT INTO portico.bench_head VALUES (%s, 0, %s)"
_HEAD: Final[LiteralString] = (
    "SELECT number, hash FROM portico.bench_head WHERE space_id = %s FOR UPDATE"
)
_INSERT: Final[LiteralString] = "INSERT INTO portico.bench_entry VALUES (%s, %s, %s, %s, %s)"
_MOVE: Final[LiteralString] = (
    "UPDATE portico.bench_head SET number = %s, hash = %s WHERE space_id = %s"
)
_APPEND: Final[LiteralString] = "SELECT * FROM portico.append_audit(%s::text[])"
_ENTER: Final[LiteralString] = (
    "SELECT set_config('portico.space', %s, false), set_config('portico.principal', %s, false)"
)
_ENTRIES: Final = 640
_BATCH: Final = 32
_PIECE: Final = 1_000
_ENTRY: Final = AuditEntry(
    action="call.allowed", subject="mail.send_message", rule="default:writes", details={"n": 1}
)

Figures = dict[str, Any]


async def ways_to_chain(house: GuardHouse, rounds: int) -> Mapping[str, int]:
    """By one connection, one after the other, each durable before the next."""
    act = act_text(house.caller, _ENTRY)
    chained_by_client, connection = await _client_chain(house, act)
    async with connection:
        ways: Mapping[str, Callable[[], Awaitable[int]]] = {
            "chained_by_client": chained_by_client,
            "by_function": lambda: _appended(connection, [act]),
            "by_function_32_at_once": lambda: _appended(connection, [act] * _BATCH),
        }
        rates: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, way in ways.items():
                began, made = time.perf_counter(), 0
                while made < _ENTRIES:
                    made += await way()
                rates[name].append(made / (time.perf_counter() - began))
    return {name: round(median(each)) for name, each in rates.items()}


async def _client_chain(
    house: GuardHouse, act: str
) -> tuple[Callable[[], Awaitable[int]], AsyncConnection[dict[str, Any]]]:
    """The head is fetched, the link made here, and both written: what an insert right would do."""
    caller, space = house.caller, house.caller.space.value
    connection = await AsyncConnection[DictRow].connect(
        str(house.addresses.owner), row_factory=dict_row
    )
    await connection.execute(_TABLES)
    await connection.execute(_FIRST, [space, bytes(32)])
    await connection.execute(_ENTER, [str(space), str(caller.id.value)])
    await connection.commit()

    async def append() -> int:
        head = await (await connection.execute(_HEAD, [space])).fetchone()
        if head is None:
            raise RuntimeError("the chain has lost its head")
        now, number = house.outside.clock.now(), head["number"] + 1
        text = entry_text(act, now, caller.id, number, caller.space)
        hash_ = link_hash(head["hash"], text)
        await connection.execute(_INSERT, [space, number, now, text.decode(), hash_])
        await connection.execute(_MOVE, [number, hash_, space])
        await connection.commit()
        return 1

    return append, connection


async def _appended(connection: AsyncConnection[dict[str, Any]], acts: list[str]) -> int:
    await connection.execute(_APPEND, [acts])
    await connection.commit()
    return len(acts)


async def written_and_verified(house: GuardHouse, entries: int) -> Figures:
    """As a server verifies it: out of the database, in pieces, against its heads."""
    caller = replace(house.caller, scopes={*house.caller.scopes, Scope.AUDIT_READ})
    began = time.perf_counter()
    for _ in range(entries // _PIECE):
        await house.auditing.audit.note(caller, *[_ENTRY] * _PIECE)
    written = time.perf_counter() - began
    await house.auditing.export.export_all()
    verify = VerifyAudit(
        log=house.auditing.log, heads=house.auditing.heads, audit=house.auditing.audit
    )
    began, cpu = time.perf_counter(), house.cpu()
    verdict = None
    async with aclosing(await verify(caller)) as steps:
        async for step in steps:
            verdict = step if isinstance(step, Verdict) else verdict
    took, spent = time.perf_counter() - began, sum(house.cpu()) - sum(cpu)
    if verdict is None or not verdict.sound or not verdict.heads:
        raise RuntimeError(f"the chain does not verify: {verdict}")
    per_million = 1_000_000 / verdict.checked
    return {
        "verified_entries": verdict.checked,
        "written_s": round(written, 1),
        "verify_million_s": round(took * per_million, 1),
        "verify_cpu_s_per_million": round(spent * per_million, 1),
    }
