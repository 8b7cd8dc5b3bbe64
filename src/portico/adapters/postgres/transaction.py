"""One transaction for one caller: its space, principal, clearance and task are set in it, and
end with it.
"""

import asyncio
import math
import select
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, LiteralString, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg import AsyncClientCursor, AsyncConnection
from psycopg.abc import PQGen
from psycopg.rows import DictRow, TupleRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from portico.adapters.postgres.mapping import read_quickly
from portico.adapters.telemetry.slow_calls import SlowCalls
from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.runs import Activation, QueuedActivation
from portico.engine.ports import Bus, RunQueue, Wakeups
from portico.guard.core.contexts import context_of
from portico.kernel.ids import SpaceId
from portico.kernel.principal import Principal


class Connections(AsyncConnectionPool[AsyncConnection[DictRow]]):
    """Whoever is cancelled at the very moment at which a connection comes is cancelled all the
    same. The pool waits by `asyncio.wait_for`, which before Python 3.12 forgets of a cancellation
    that comes together with what was waited for: a loop that should end would go on for ever."""

    async def getconn(self, timeout: float | None = None) -> AsyncConnection[DictRow]:
        before = _times_cancelled()
        connection = await super().getconn(timeout)
        if _times_cancelled() > before:
            await self.putconn(connection)
            raise asyncio.CancelledError
        return connection


def _times_cancelled() -> int:
    task: asyncio.Task[Any] | None = asyncio.current_task()
    return 0 if task is None else task.cancelling()


Connection = AsyncConnection[DictRow]

SET_CONTEXT: Final[LiteralString] = """
    SELECT set_config('portico.space', %(space)s, true),
           set_config('portico.principal', %(principal)s, true),
           set_config('portico.level', %(level)s, true),
           set_config('portico.compartments', %(compartments)s, true),
           set_config('portico.context', %(context)s, true)
"""
ENTERED: Final[LiteralString] = """
    (SELECT num_nonnulls(
                set_config('portico.space', %(as_space)s, true),
                set_config('portico.principal', %(as_principal)s, true),
                set_config('portico.level', %(as_level)s, true),
                set_config('portico.compartments', %(as_compartments)s, true),
                set_config('portico.context', %(as_context)s, true)) = 5 AS is_set OFFSET 0)
"""
"""The same for one statement that calls a function with what comes of it, and so after it."""
PATIENCE: Final = 10.0
"""Seconds that a request waits for a database which is being restarted."""
_IDLE: Final = 1.0
"""Seconds after which a connection has to answer before something is entrusted to it."""


@dataclass(frozen=True, slots=True)
class _Open:
    """Joined only by the task that opened it: another may outlive it, and would then act on a
    connection that has been given to somebody else."""

    owner: "Transactions"
    task: "asyncio.Task[Any] | None"
    connection: Connection
    caller: Principal
    lastly: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    afterwards: list[Callable[[], None]] = field(default_factory=list)


_open: ContextVar[_Open | None] = ContextVar("portico_open_transaction", default=None)


Part = tuple[LiteralString, Mapping[str, object]]
"""A statement that gives rows, and its values."""


class Transactions:
    """`begin` inside a `begin` joins it, so that several repositories can act as one."""

    def __init__(
        self, pool: AsyncConnectionPool[Connection], slow: SlowCalls | None = None
    ) -> None:
        self._pool = pool
        self._slow = slow or SlowCalls("portico.postgres")
        self._used: WeakKeyDictionary[Connection, float] = WeakKeyDictionary()

    @asynccontextmanager
    async def begin(self, caller: Principal) -> AsyncIterator[Connection]:
        """Raises `StoreUnavailable`."""
        outer = self._outer()
        if outer is not None:
            async with self._joined(outer, caller) as connection:
                yield connection
            return
        async with self._fresh(caller) as connection:
            opened = _Open(self, asyncio.current_task(), connection, caller)
            token = _open.set(opened)
            try:
                yield connection
                for act in opened.lastly:
                    await act()
            finally:
                _open.reset(token)
        for told in opened.afterwards:
            told()

    def lastly(self, act: Callable[[], Awaitable[None]]) -> None:
        """Just before the end of what is open, and only if all goes well: a row that many want is
        then held for as short as can be, and always after every other."""
        outer = self._outer()
        if outer is None:
            raise RuntimeError("nothing is open")
        outer.lastly.append(act)

    def afterwards(self, act: Callable[[], None]) -> None:
        """Once what is being written is there for others to see; at once if nothing is."""
        outer = self._outer()
        if outer is not None:
            outer.afterwards.append(act)
        else:
            act()

    @property
    def inside(self) -> bool:
        """Whether what is begun now joins something that is open already."""
        return self._outer() is not None

    def _outer(self) -> _Open | None:
        outer = _open.get()
        if outer is not None and outer.owner is self and outer.task is asyncio.current_task():
            return outer
        return None

    async def at_once(self, statement: LiteralString, values: Mapping[str, object]) -> DictRow:
        """One row of one statement that says itself who asks, which is a transaction of its own.
        Raises `StoreUnavailable`, and then it may have happened."""
        async with self._by_itself() as connection:
            row = await (await connection.execute(statement, values)).fetchone()
            return {} if row is None else row

    async def called(
        self, caller: Principal, statement: LiteralString, values: Mapping[str, object]
    ) -> Sequence[DictRow]:
        """The rows of a function that is called by a statement with `ENTERED` in it: by itself in
        one trip to the server, which has it planned already; or as part of what is open.
        Raises `StoreUnavailable`, and then it may have happened."""
        whole = entered(caller, values)
        entering = self.begin(caller) if self.inside else self._by_itself()
        async with entering as connection:
            return await (await connection.execute(statement, whole)).fetchall()

    async def stroke(self, caller: Principal, *parts: Part) -> Sequence[Sequence[DictRow]]:
        """A whole transaction in one round trip; the rows of each part.

        Its rows are held for as long as the server takes, not until this process gets around to
        its next statement. Values are bound on this side, since only so can several statements
        go at once. Raises `StoreUnavailable`, and then it may have happened.
        """
        async with self._by_itself() as connection:
            cursor = AsyncClientCursor(connection)
            texts = [cursor.mogrify(SET_CONTEXT, context(caller))]
            texts += [cursor.mogrify(statement, values) for statement, values in parts]
            await cursor.execute(";".join(texts).encode())
            return [await _next(cursor) for _ in parts]

    async def looked_up(self, caller: Principal, *parts: Part) -> Sequence[Sequence[DictRow]]:
        """The rows of each, in one trip to the server unless what is open already takes it along.
        Raises `StoreUnavailable`."""
        if not self.inside:
            return await self.stroke(caller, *parts)
        async with self.begin(caller) as connection:
            return [
                await (await connection.execute(statement, values)).fetchall()
                for statement, values in parts
            ]

    @asynccontextmanager
    async def begin_apart(self, caller: Principal) -> AsyncIterator[Connection]:
        """One that nothing joins, since it stays open while a reader takes its rows one by one:
        an async generator shares its reader's context, and may be ended in yet another."""
        async with self._unhurried(caller) as connection:
            yield connection

    @asynccontextmanager
    async def begin_outside(self) -> AsyncIterator[Connection]:
        """In no space at all: every table is empty. For what is asked before one is known."""
        async with self._fresh(None) as connection:
            yield connection

    @asynccontextmanager
    async def _joined(self, outer: _Open, caller: Principal) -> AsyncIterator[Connection]:
        connection, before = outer.connection, len(outer.lastly)
        try:
            async with self._nested(connection, outer, caller):
                yield connection
        except BaseException:
            del outer.lastly[before:]  # what was taken back leaves nothing behind
            raise

    @asynccontextmanager
    async def _nested(
        self, connection: Connection, outer: _Open, caller: Principal
    ) -> AsyncIterator[None]:
        async with connection.transaction():
            if caller == outer.caller:
                yield
                return
            await connection.execute(SET_CONTEXT, context(caller))
            yield
            await connection.execute(SET_CONTEXT, context(outer.caller))

    @asynccontextmanager
    async def _fresh(self, caller: Principal | None) -> AsyncIterator[Connection]:
        with self._slow.watch("transaction"):
            async with self._unhurried(caller) as connection:
                yield connection

    @asynccontextmanager
    async def _unhurried(self, caller: Principal | None) -> AsyncIterator[Connection]:
        async def enter(connection: Connection) -> None:
            if caller is None:
                await connection.execute("SELECT 1")
            else:
                await connection.execute(SET_CONTEXT, context(caller))

        connection = await self._ready(enter)
        try:
            async with translated():
                try:
                    yield connection
                    await connection.commit()
                except BaseException:
                    await _roll_back(connection)
                    raise
        finally:
            await self._give_back(connection)

    @asynccontextmanager
    async def _by_itself(self) -> AsyncIterator[Connection]:
        """For one trip to the server, which begins and ends its transaction itself."""
        connection = await self._ready(self._prove)
        try:
            async with translated():
                await connection.set_autocommit(True)
                yield connection
        finally:
            await _end_autocommit(connection)
            await self._give_back(connection)

    async def _prove(self, connection: Connection) -> None:
        """A round trip, unless it was in use just now and nothing has come of it since: the
        database says something, or hangs up, when it ends."""
        idle = time.monotonic() - self._used.get(connection, -math.inf)
        if idle > _IDLE or connection.closed or _has_news(connection):
            await self._pool.check_connection(connection)

    async def _give_back(self, connection: Connection) -> None:
        self._used[connection] = time.monotonic()
        await self._pool.putconn(connection)

    async def _ready(self, prove: Callable[[Connection], Awaitable[None]]) -> Connection:
        """A connection that has answered: nothing is written yet, so trying again is safe."""
        deadline = time.monotonic() + PATIENCE
        while True:
            async with translated():
                connection = await self._pool.getconn(max(deadline - time.monotonic(), 0.1))
            try:
                await prove(connection)
            except psycopg.OperationalError as error:
                await self._put_back(connection)
                if time.monotonic() > deadline:
                    raise _unavailable(error) from error
            except BaseException:
                await self._put_back(connection)
                raise
            else:
                return connection

    async def _put_back(self, connection: Connection) -> None:
        """Of somebody who was cancelled as they entered: their transaction may have begun."""
        try:
            await _roll_back(connection)
        finally:
            await self._pool.putconn(connection)


async def _next(cursor: AsyncClientCursor[DictRow]) -> Sequence[DictRow]:
    cursor.nextset()
    return await cursor.fetchall()


def open_pool(address: str, size: int) -> AsyncConnectionPool[Connection]:
    """Not opened yet; `await pool.open()` does that."""
    return Connections(
        address,
        connection_class=AsyncConnection[DictRow],
        kwargs={"row_factory": dict_row, "application_name": "portico", **KEEPALIVE},
        min_size=1,
        max_size=size,
        configure=read_quickly,
        open=False,
        timeout=PATIENCE,
        reconnect_timeout=60,
        name="portico",
    )


KEEPALIVE: Final[dict[str, Any]] = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "tcp_user_timeout": 30_000,
}


def context(caller: Principal) -> dict[str, str]:
    return {
        "space": str(caller.space.value),
        "principal": str(caller.id.value),
        "level": str(int(caller.clearance.level)),
        "compartments": ",".join(sorted(caller.clearance.compartments)),
        "context": str(context_of(caller).value),
    }


def entered(caller: Principal, values: Mapping[str, object]) -> dict[str, object]:
    """What a statement with `ENTERED` in it is told."""
    return {**values, **{f"as_{name}": each for name, each in context(caller).items()}}


@asynccontextmanager
async def translated() -> AsyncIterator[None]:
    try:
        yield
    except (psycopg.OperationalError, PoolTimeout) as error:
        raise _unavailable(error) from error


def _has_news(connection: Connection) -> bool:
    if sys.platform == "win32":  # pragma: no cover # it has no poll
        return bool(select.select([connection.fileno()], [], [], 0)[0])
    listening = select.poll()  # select takes no descriptor above 1023 here
    listening.register(connection.fileno(), select.POLLIN)
    return bool(listening.poll(0))


async def _end_autocommit(connection: Connection) -> None:
    """One that would stay so is closed: in it every statement were a transaction of its own."""
    if not connection.closed:
        try:
            await connection.set_autocommit(False)
        except psycopg.Error:
            await connection.close()


async def _roll_back(connection: Connection) -> None:
    """A connection that is lost cannot roll back, and need not: its transaction is gone."""
    if not connection.closed:
        try:
            await connection.rollback()
        except psycopg.OperationalError:
            await connection.close()


def _unavailable(error: Exception) -> StoreUnavailable:
    return StoreUnavailable(
        f"The database does not answer ({type(error).__name__}).",
        fix="Try again in a moment; if it lasts: portico doctor",
    )


class EnginePool:
    def __init__(self, address: str, size: int = 3) -> None:
        settings: dict[str, Any] = {
            "row_factory": dict_row,
            "autocommit": True,
            "application_name": "portico engine",
            **KEEPALIVE,
        }
        self.pool = Connections(
            address,
            connection_class=AsyncConnection[DictRow],
            kwargs=settings,
            min_size=1,
            max_size=size,
            open=False,
            timeout=PATIENCE,
            reconnect_timeout=60,
            name="portico engine",
        )

    async def rows(
        self, statement: LiteralString, values: Mapping[str, object]
    ) -> Sequence[DictRow]:
        """In a transaction of its own. Raises `StoreUnavailable`."""
        async with translated(), self.pool.connection() as connection:
            return await (await connection.execute(statement, values)).fetchall()

    async def one(self, statement: LiteralString, values: Mapping[str, object]) -> DictRow | None:
        return next(iter(await self.rows(statement, values)), None)

    async def one_if_free(
        self, statement: LiteralString, values: Mapping[str, object]
    ) -> DictRow | None:
        """As `one`, for a statement that gives up soon; None if what it needs was not let go of."""
        async with translated(), self.pool.connection() as connection:
            try:
                return await (await connection.execute(statement, values)).fetchone()
            except psycopg.errors.LockNotAvailable:
                return None

    @asynccontextmanager
    async def alone(self, lock: LiteralString) -> AsyncIterator[bool]:
        """Whether nobody else holds the lock that the statement takes; held until this is left."""
        async with translated(), self.pool.connection() as connection:
            row = await (await connection.execute(lock)).fetchone()
            alone = row is not None and bool(row["alone"])
            try:
                yield alone
            finally:
                if alone and not connection.closed:
                    await connection.execute("SELECT pg_advisory_unlock_all()")


_RV = TypeVar("_RV")
_SELDOM: Final = 60.0


class ListeningConnection(AsyncConnection[TupleRow]):
    """Psycopg wakes ten times a second by itself, to notice that it was interrupted. Here asyncio
    does so, and a server that nobody uses should sleep."""

    async def wait(
        self, gen: PQGen[_RV], interval: float = _SELDOM, timeout: float | None = None
    ) -> _RV:
        return await super().wait(gen, interval=interval, timeout=timeout)


# A bus that says that something has changed when others can see it, not before.


class BusAfterCommit:
    """For whoever does not know whether what it does is part of something larger."""

    def __init__(self, bus: Bus, transactions: Transactions) -> None:
        self._bus = bus
        self._transactions = transactions

    def wake(self, space: SpaceId, topic: str) -> None:
        self._transactions.afterwards(partial(self._bus.wake, space, topic))

    def listen(self, space: SpaceId, topic: str) -> AbstractContextManager[Wakeups]:
        return self._bus.listen(space, topic)


# A line that is joined when what was written can be seen, not before.
#
# Whoever takes up a leg looks for its run, and would not find it, or would find it still waiting.


class EnqueueAfterCommit:
    """For whoever starts or wakes runs as part of something larger."""

    def __init__(self, line: RunQueue, transactions: Transactions) -> None:
        self._line = line
        self._transactions = transactions
        self._written: asyncio.Queue[QueuedActivation] = asyncio.Queue()

    async def join(self, turn: QueuedActivation) -> None:
        if self._transactions.inside:
            self._transactions.afterwards(partial(self._written.put_nowait, turn))
        else:
            await self._line.join(turn)

    async def leave(self, leg: Activation) -> None:
        await self._line.leave(leg)

    async def run(self) -> None:
        """Until cancelled. What is not in line by then is found by whoever looks after it."""
        while True:
            await self._line.join(await self._written.get())
