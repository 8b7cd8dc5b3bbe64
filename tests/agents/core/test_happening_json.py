"""What happens in a run comes back as it was told."""

from dataclasses import fields
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from portico.agents.core.asking import Finish, Usage
from portico.agents.core.happening import (
    Happening,
    Heard,
    Noted,
    RunEnded,
    TextAdded,
    ThoughtAdded,
    ToolBegan,
    ToolEnded,
    ToolWaits,
    TurnBegan,
    TurnEnded,
)
from portico.agents.core.happening_json import TYPES, happening_json, happening_of
from portico.agents.core.trace import AgentRunStatus
from portico.kernel.ids import ApprovalId, RunId
from portico.kernel.json import canonical
from portico.testing.kernel import BEGINNING, SeededEntropy

ENTROPY = SeededEntropy("happenings")
RUN = RunId.mint(BEGINNING, ENTROPY)
ASKED = ApprovalId.mint(BEGINNING, ENTROPY)
USAGE = Usage(input=3, output=4, cached=1, reported=False)

EVERY: tuple[Happening, ...] = (
    TurnBegan(turn=1, model="local:small"),
    TextAdded(turn=1, attempt=2, offset=3, text="é\n"),
    ThoughtAdded(turn=1, attempt=2, offset=3, text="hm"),
    ToolBegan(turn=1, call="c", tool="files.read", arguments={"path": ["/a", 1, None]}),
    ToolWaits(turn=1, call="c", tool="files.read", approval=ASKED, expires_at=None),
    ToolWaits(
        turn=1,
        call="c",
        tool="files.read",
        approval=ASKED,
        expires_at=datetime(2026, 1, 2, tzinfo=UTC),
    ),
    ToolEnded(turn=1, call="c", tool="files.read", text="x", failed=True, seconds=0.5),
    TurnEnded(
        turn=1,
        model="m",
        usage=USAGE,
        money=Decimal("0.10"),
        finish=Finish.LENGTH,
        notes=("a", "b"),
    ),
    Heard(number=2, text="And?"),
    Noted(code="fallback", message="Another one."),
    RunEnded(
        run=RUN,
        status=AgentRunStatus.FAILED,
        answer="",
        error_code="x",
        error="It broke.",
        fix="Mend it.",
        usage=USAGE,
        money=Decimal(0),
    ),
)


@pytest.mark.parametrize("happening", EVERY, ids=lambda each: type(each).__name__)
def test_each_comes_back_as_it_was(happening: Happening) -> None:
    type_, facts = happening_json(happening)

    assert canonical(facts)
    assert set(facts) == {each.name for each in fields(happening)}
    assert happening_of(type_, facts) == happening


def test_every_kind_of_them_has_a_type_of_its_own() -> None:
    assert {type(each) for each in EVERY} == set(TYPES)
    assert len(set(TYPES.values())) == len(TYPES)


def test_what_nobody_knows_is_nothing() -> None:
    assert happening_of("weather.changed", {}) is None


def test_what_is_not_as_it_must_be_is_as_little_as_can_be() -> None:
    began = ToolBegan(turn=1, call="c", tool="t", arguments={})
    ended = TurnEnded(turn=1, model="m", usage=USAGE, money=Decimal(0))

    assert happening_of("tool.began", {**happening_json(began)[1], "arguments": None}) == began
    assert happening_of("turn.ended", {**happening_json(ended)[1], "notes": None}) == ended
