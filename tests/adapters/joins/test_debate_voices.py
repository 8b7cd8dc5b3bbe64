"""Models, agents and programs as one list of voices; and what answers mean."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from portico.adapters.embeddings.static_table import StaticTable
from portico.adapters.joins.debate_agents import AgentVoices
from portico.adapters.joins.debate_meaning import DebateMeaning
from portico.adapters.joins.debate_models import ModelVoices
from portico.adapters.joins.debate_voices import DebateVoices
from portico.adapters.voice_programs.availability import Availability
from portico.adapters.voice_programs.program import programs_of
from portico.adapters.voice_programs.voices import ProgramVoices
from portico.agents.core.model import ModelRef
from portico.debate.core.errors import VoiceAway, VoiceNotFound
from portico.debate.core.voice import VoiceKind
from portico.gateway.core.errors import EmbedderUnavailable
from portico.testing.agents import MemoryBook, ScriptedModels, Words, a_model, says
from tests.adapters.joins.debate_asks import a_voice, an_ask
from tests.agents.town import ANA, Town

MODELS = (a_model(), a_model(ModelRef("openai", "gpt-5")))


async def a_table(tmp_path: Path) -> DebateVoices:
    town = Town()
    await town.made_agent()
    book, environment = MemoryBook(*MODELS), {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    return DebateVoices(
        models=ModelVoices(
            book=book,
            models=ScriptedModels(says("Paris")),
            tokenizer=Words(),
            clock=town.clock,
        ),
        agents=AgentVoices(
            agents=town.agents,
            book=book,
            traces=town.traces,
            tasks=town.tasks,
            start=town.start_agent,
            follow=town.follow,
            stop=town.stop,
        ),
        programs=ProgramVoices(
            programs=programs_of({"claude": "claude"}),
            environment=environment,
            availability=Availability(environment),
            tokenizer=Words(),
        ),
    )


async def test_whoever_is_there_is_listed_by_the_name_they_are_asked_by(tmp_path: Path) -> None:
    voices = await a_table(tmp_path)

    states = await voices.all(ANA)

    assert {state.voice.name: state.available for state in states} == {
        "local:small": True,
        "openai:gpt-5": True,
        "agent:clerk": True,
        "program:claude": False,
    }
    for state in states:
        if state.available:
            assert await voices.named(ANA, state.voice.name) == state.voice
        else:
            with pytest.raises(VoiceAway, match="npm install"):
                await voices.named(ANA, state.voice.name)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("openai:gpt5", "openai:gpt-5"),
        ("gpt-5", "openai:gpt-5"),
        ("agent:clark", "agent:clerk"),
        ("clerk", "agent:clerk"),
        ("program:claud", "program:claude"),
    ],
)
async def test_whoever_is_not_there_is_told_with_the_nearest(
    tmp_path: Path, typed: str, meant: str
) -> None:
    voices = await a_table(tmp_path)

    with pytest.raises(VoiceNotFound, match=meant):
        await voices.named(ANA, typed)


async def test_each_is_asked_in_its_own_way_and_guests_at_their_seats(tmp_path: Path) -> None:
    voices = await a_table(tmp_path)
    heard: list[str] = []

    reply = await voices.ask(ANA, an_ask(await voices.named(ANA, "local:small")), heard.append)

    assert (reply.text, heard) == ("Paris", ["Paris"])
    for kind in (VoiceKind.AGENT, VoiceKind.PROGRAM, VoiceKind.GUEST):
        with pytest.raises(VoiceAway):
            await voices.ask(ANA, an_ask(a_voice("nobody", kind)), heard.append)


async def test_answers_that_mean_the_same_are_nearer_than_others() -> None:
    meaning = DebateMeaning(StaticTable())

    near = await meaning.alike(["a quick brown fox", "the fast brown fox", "tax law", ""])

    assert [len(row) for row in near] == [4] * 4
    assert near[0][1] > near[0][2]
    assert near[0][0] == pytest.approx(1.0, abs=1e-5)
    assert near[1][0] == near[0][1]
    assert await meaning.alike([]) == []


async def test_where_nothing_can_tell_nothing_is_said() -> None:
    class Away:
        model: Any = None

        async def embed(self, texts: object) -> np.ndarray[Any, np.dtype[np.float32]]:
            raise EmbedderUnavailable("no table")

    assert await DebateMeaning(Away()).alike(["one", "two"]) == []
