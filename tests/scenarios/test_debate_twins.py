"""What is above a debater does not exist: houses that differ in nothing else tell them the same."""

import os
from random import Random

import pytest

from tests.copies import Template
from tests.storm.debate_bugs import DebateBug
from tests.storm.debate_house import DebateHouse, debate_house
from tests.storm.debate_twins import (
    HIDDEN_STEPS,
    LOW_STEPS,
    DebateTwin,
    debated,
    twin_voices,
)
from tests.storm.named import name_of
from tests.storm.walled_postgres import without_waiting_for_the_disk

pytestmark = [pytest.mark.scenario, pytest.mark.postgres, pytest.mark.timeout(1800)]

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
PAIRS, STEPS = (8, 200) if FULL_SIZE else (1, 48)


async def lived(
    template: Template, seed: int, hidden: int | None, bug: DebateBug | None = None
) -> DebateTwin:
    above = None if hidden is None else Random(hidden)
    with template.copy() as addresses:
        without_waiting_for_the_disk(addresses)
        async with debate_house(addresses, *twin_voices()) as whole:
            house: DebateHouse = whole if bug is None else bug.in_(whole)
            return await debated(house, STEPS, Random(seed), above)


@pytest.mark.requirement("debate:leaks:twins")
async def test_what_is_hidden_changes_nothing_for_who_may_not_see_it(
    embedded_template: Template,
) -> None:
    for seed in range(PAIRS):
        alone = await lived(embedded_template, seed, None)
        below = await lived(embedded_template, seed, seed + 100)

        assert below.transcript.lines == alone.transcript.lines
        assert {name_of(step) for step in LOW_STEPS} == set(alone.steps)
        assert {name_of(step) for step in HIDDEN_STEPS} == set(below.did)
        assert below.did.total() > STEPS // 2
        assert any("budget_too_small" in line for line in alone.transcript.lines)
        assert any("decided" in line for line in alone.transcript.lines)


@pytest.mark.parametrize(
    "bug",
    [
        DebateBug("outcomes", "known"),
        DebateBug("blackboard", "page"),
        DebateBug("purse", "project"),
    ],
    ids=lambda bug: bug.door,
)
async def test_a_planted_bug_is_found(embedded_template: Template, bug: DebateBug) -> None:
    alone = await lived(embedded_template, 0, None, bug)
    below = await lived(embedded_template, 0, 100, bug)

    assert below.transcript.lines != alone.transcript.lines
