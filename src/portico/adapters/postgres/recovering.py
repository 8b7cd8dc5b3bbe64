"""A server that runs and takes nobody yet: it starts, recovers after a crash, or stops."""

import asyncio
import logging
from typing import Final

from psycopg import pq
from psycopg.conninfo import make_conninfo

from portico.engine.core.errors import StoreUnavailable

_log: Final = logging.getLogger("portico.postgres")
_PATIENCE: Final = 300.0
"""Seconds: a database that was cut off may have much to replay."""
_PAUSE: Final = 0.2


async def until_it_accepts(
    address: str, *, patience: float = _PATIENCE, pause: float = _PAUSE
) -> None:
    """Returns at once if the server takes connections, and also if none answers. Raises
    `StoreUnavailable` when patience has ended."""
    if not _rejects(address):
        return
    _log.warning("the database starts, recovers or stops; waiting until it accepts connections")
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    while _rejects(address):
        if loop.time() >= deadline:
            raise StoreUnavailable(
                f"The database has not accepted connections for {patience:.0f} seconds: "
                "it starts, recovers or stops.",
                fix="See in its log how far it is; when it is ready, do the same again.",
            )
        await asyncio.sleep(pause)
    _log.warning("the database accepts connections")


def _rejects(address: str) -> bool:
    """By SQLSTATE 57P03, cannot_connect_now. A connection that fails tells its words alone, which
    are in the language of the server; libpq's ping looks at the code. It keeps the interpreter to
    itself, so a thread for it would help nobody."""
    conninfo = make_conninfo(address, connect_timeout=5)
    return pq.PGconn.ping(conninfo.encode()) == pq.Ping.REJECT
