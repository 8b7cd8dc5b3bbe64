"""Budgets in PostgreSQL: what would pass a cap is refused by the statement that takes it."""

from datetime import timedelta
from decimal import Decimal
from typing import Any, Final, LiteralString

from psycopg.errors import UniqueViolation

from portico.adapters.postgres.transaction import Transactions
from portico.guard.core.errors import BudgetNotFound, BudgetTaken
from portico.kernel.budget import Cost, OverBudget, ReservationExceeded, Tokens
from portico.kernel.principal import Principal

# Budgets, kept in PostgreSQL: what would pass a cap is refused by the very statement that takes it,
# however many processes try at once.

_OPEN: Final[LiteralString] = """
    INSERT INTO budget (space_id, name, cap_tokens, cap_money, cap_time, cap_calls)
    VALUES (%(space)s, %(budget)s, %(tokens)s, %(money)s, %(time)s, %(calls)s)
"""
_HOLD: Final[LiteralString] = """
    UPDATE budget
       SET held_tokens = held_tokens + %(tokens)s, held_money = held_money + %(money)s,
           held_time = held_time + %(time)s, held_calls = held_calls + %(calls)s
     WHERE space_id = %(space)s AND name = %(budget)s
       AND held_tokens + %(tokens)s <= cap_tokens AND held_money + %(money)s <= cap_money
       AND held_time + %(time)s <= cap_time AND held_calls + %(calls)s <= cap_calls
"""
_GIVE_BACK: Final[LiteralString] = """
    UPDATE budget
       SET held_tokens = held_tokens - %(tokens)s, held_money = held_money - %(money)s,
           held_time = held_time - %(time)s, held_calls = held_calls - %(calls)s
     WHERE space_id = %(space)s AND name = %(budget)s
"""
_RESERVE: Final[LiteralString] = """
    INSERT INTO budget_reservation (space_id, budget, name, tokens, money, time, calls)
    VALUES (%(space)s, %(budget)s, %(name)s, %(tokens)s, %(money)s, %(time)s, %(calls)s)
"""
_END: Final[LiteralString] = """
    DELETE FROM budget_reservation
     WHERE space_id = %(space)s AND budget = %(budget)s AND name = %(name)s
    RETURNING tokens, money, time, calls
"""
_LEFT: Final[LiteralString] = """
    SELECT cap_tokens - held_tokens AS tokens, cap_money - held_money AS money,
           cap_time - held_time AS time, cap_calls - held_calls AS calls
      FROM budget WHERE space_id = %(space)s AND name = %(budget)s
"""
_CLOSE: Final[LiteralString] = "DELETE FROM budget WHERE space_id = %(space)s AND name = %(budget)s"


class PostgresBudgets:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def open(self, caller: Principal, budget: str, cap: Cost) -> None:
        try:
            async with self._transactions.begin(caller) as connection:
                await connection.execute(_OPEN, {**_named(caller, budget), **_columns(cap)})
        except UniqueViolation as error:
            raise BudgetTaken(budget) from error

    async def reserve(
        self, caller: Principal, budget: str, name: str, amount: Cost
    ) -> OverBudget | None:
        values = {**_named(caller, budget, name), **_columns(amount)}
        try:
            async with self._transactions.begin(caller) as connection:
                held = await connection.execute(_HOLD, values)
                if held.rowcount == 1:
                    await connection.execute(_RESERVE, values)
                    return None
                return OverBudget(amount.over(await self.left(caller, budget)))
        except UniqueViolation as error:
            raise BudgetTaken(f"{budget}/{name}") from error

    async def settle(self, caller: Principal, budget: str, name: str, actual: Cost) -> None:
        where = _named(caller, budget, name)
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(_END, where)).fetchone()
            if row is None:
                raise BudgetNotFound(f"{budget}/{name}")
            reserved = _cost(row)
            if dimensions := actual.over(reserved):
                raise ReservationExceeded(name, dimensions)
            unused = _columns(_without(reserved, actual))
            await connection.execute(_GIVE_BACK, {**where, **unused})

    async def release(self, caller: Principal, budget: str, name: str) -> None:
        await self.settle(caller, budget, name, Cost())

    async def left(self, caller: Principal, budget: str) -> Cost:
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(_LEFT, _named(caller, budget))).fetchone()
        if row is None:
            raise BudgetNotFound(budget)
        return _cost(row)

    async def close(self, caller: Principal, budget: str) -> None:
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_CLOSE, _named(caller, budget))


def _named(caller: Principal, budget: str, name: str = "") -> dict[str, object]:
    return {"space": caller.space.value, "budget": budget, "name": name}


def _columns(cost: Cost) -> dict[str, object]:
    return {
        "tokens": int(cost.tokens),
        "money": cost.money,
        "time": cost.time,
        "calls": cost.calls,
    }


def _cost(row: dict[str, Any]) -> Cost:
    money: Decimal = row["money"]
    time: timedelta = row["time"]
    return Cost(tokens=Tokens(row["tokens"]), money=money, time=time, calls=row["calls"])


def _without(whole: Cost, part: Cost) -> Cost:
    return Cost(
        tokens=Tokens(whole.tokens - part.tokens),
        money=whole.money - part.money,
        time=whole.time - part.time,
        calls=whole.calls - part.calls,
    )
