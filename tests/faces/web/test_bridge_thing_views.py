"""What a project holds besides talk, as rows."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from portico.bridge.core.lease import Lease, LeaseId, Waiting
from portico.bridge.core.memory import Remembered
from portico.bridge.core.task import Work, WorkId, WorkState
from portico.debate.core.rules import Cap
from portico.faces.web.screens.bridge.project_rows import (
    budget_row,
    lease_rows,
    memory_rows,
    work_rows,
)
from portico.kernel.budget import Cost
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.tokens import Tokens
from tests.faces.web.test_bridge_views import (
    ANA,
    BOB,
    CONFIDENTIAL,
    NOW,
    PROJECT,
    SCOUT,
    TEAM,
    person,
)


def test_a_lease_tells_who_waits_for_a_part_of_it() -> None:
    lease = Lease(
        id=LeaseId.of_digest(b"l"),
        project=PROJECT,
        resource="src/**",
        holder=ANA,
        holder_name="ana",
        token=1,
        taken_at=NOW,
        expires_at=NOW + timedelta(minutes=10),
    )
    queue = [
        Waiting(principal=BOB, name="bob", resource="src/cart.py", since=NOW, until=NOW),
        Waiting(principal=SCOUT, name="scout", resource="docs/**", since=NOW, until=NOW),
    ]

    [row] = lease_rows([lease], queue, ANA, NOW + timedelta(minutes=5))

    assert (row.mine, row.left, row.waiting) == (True, 0.5, ("bob",))


def test_a_value_is_text_or_json_and_its_writer_named_if_known() -> None:
    kept = Remembered(
        project=PROJECT, key="k", value={"a": 1}, label=TEAM, version=2, by=BOB, at=NOW
    )

    [known] = memory_rows([kept], {BOB: person(BOB, "bob", TEAM)})
    [unknown] = memory_rows([replace(kept, value="w" * 900)], None)

    assert (known.value, known.by) == ('{ "a": 1 }', "bob")
    assert (unknown.by, unknown.long) == ("", True)


@pytest.mark.parametrize(
    ("state", "by", "read", "can"),
    [
        (WorkState.OPEN, None, TEAM, "claim"),
        (WorkState.OPEN, None, CONFIDENTIAL, "barred"),
        (WorkState.CLAIMED, ANA, TEAM, "end"),
        (WorkState.CLAIMED, BOB, TEAM, ""),
        (WorkState.DONE, ANA, TEAM, ""),
    ],
)
def test_work_is_claimed_once_and_by_nobody_who_has_read_more(
    state: WorkState, by: PrincipalId | None, read: Label, can: str
) -> None:
    work = Work(
        id=WorkId.of_digest(b"w"),
        project=PROJECT,
        title="t",
        label=TEAM,
        state=state,
        claimed_by=by,
        made_by=BOB,
        made_at=NOW,
        changed_at=NOW,
    )

    [row] = work_rows([work], ANA, read, writes=True)

    found = {"claim": row.can_claim, "end": row.mine, "barred": row.barred}
    assert [name for name, may in found.items() if may] == ([can] if can else [])


@pytest.mark.parametrize(
    ("cap", "share"),
    [
        (Cap(), None),
        (Cap(tokens=200), 0.5),
        (Cap(tokens=200, money=Decimal(1)), 0.75),
        (Cap(tokens=0), 1.0),
    ],
)
def test_a_budget_is_as_full_as_its_fuller_part(cap: Cap, share: float | None) -> None:
    spent = Cost(tokens=Tokens(100), money=Decimal("0.75"))

    assert budget_row(cap, spent).share == share
