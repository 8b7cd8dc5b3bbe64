"""What breaks in a turn may quote what was said there; the journal does not."""

import pytest

from portico.agents.core.errors import AgentRunNotFound
from portico.agents.core.trace import AgentRunStatus
from portico.testing.agents import ScriptedModels
from tests.agents.room import Room
from tests.engine.room import ANA

WORDS = "the heron flies at noon"


@pytest.mark.parametrize("error", [RuntimeError(WORDS), AgentRunNotFound(WORDS)])
async def test_the_journal_knows_the_kind_of_what_broke_and_no_word_of_it(error: Exception) -> None:
    room = Room(ScriptedModels(error))
    run = await room.start()

    ended = await room.leg(run)

    steps = await room.engine.runs.steps(ANA, run)
    assert steps[0].failure is not None
    assert steps[0].failure.type == type(error).__name__
    assert WORDS not in f"{steps} {ended}"
    assert (await room.trace(run)).run.status is AgentRunStatus.FAILED
