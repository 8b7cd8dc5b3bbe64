"""Writes on the bridge that the database refuses by itself, told in the bridge's words."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from psycopg.errors import InsufficientPrivilege

from portico.adapters.postgres.bridge_walls import mark_of
from portico.adapters.postgres.transaction import Transactions
from portico.bridge.core.errors import WriteDown
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@asynccontextmanager
async def no_write_down(
    transactions: Transactions, caller: Principal, label: Label
) -> AsyncIterator[None]:
    """Around a transaction that writes something as secret as `label`: their task may have read
    more since it was asked about. Raises `WriteDown`."""
    try:
        yield
    except InsufficientPrivilege as error:
        mark = await mark_of(transactions, caller)
        if label.covers(mark):
            raise
        raise WriteDown(label, mark) from error
