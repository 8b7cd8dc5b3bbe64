"""Agents as voices: each answer is a run of theirs, within what was reserved for it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from portico.adapters.cli_debaters.debaters import Availability, ProgramDebaters
from portico.adapters.cli_debaters.programs import programs_of
from portico.adapters.cross_domain.debaters import AgentDebaters, AllDebaters, ModelDebaters
from portico.adapters.cross_domain.embeddings import DebateMeaning
from portico.adapters.embeddings.static_table import StaticTable
from portico.agents.core.errors import ModelRefused
from portico.agents.core.model_requests import (
    ModelAsk,
    ModelInfo,
    ModelRef,
    ResponseChunk,
    TextChunk,
    Usage,
)
from portico.agents.core.traces import AgentRunStatus
from portico.agents.runs import AgentRunSpec, StartedAgentRun
from portico.debate.core.debaters import DebaterKind, DebaterReply
from portico.debate.core.errors import (
    DebaterInterrupted,
    DebaterNotCleared,
    DebaterNotFound,
    DebaterRefused,
    DebaterUnavailable,
)
from portico.gateway.core.errors import EmbedderUnavailable
from portico.guard.core.errors import NotPermitted
from portico.guard.core.principals import Scope
from portico.kernel.ids import RunId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.agents import (
    SMALL,
    MemoryModelRegistry,
    ScriptedModels,
    Words,
    a_call,
    a_model,
    says,
    wants,
)
from tests.adapters.cross_domain.debate_asks import a_voice, an_ask
from tests.agents.town import ANA, Town

TEAM, SECRET = Label(Level.TEAM), Label(Level.CONFIDENTIAL)
PLENTY = 100_000


class Scene:
    """A town whose runs are carried out as soon as they are started."""

    def __init__(self, *said: Any, book: MemoryModelRegistry | None = None, **spec: Any) -> None:
        self.town = Town(*said, **spec)
        self.heard: list[str] = []
        self.runs: list[RunId] = []
        self._legs: list[asyncio.Task[None]] = []
        self.voices = AgentDebaters(
            agents=self.town.agents,
            book=book or MemoryModelRegistry(),
            traces=self.town.traces,
            tasks=self.town.tasks,
            start=self._start,
            follow=self.town.follow,
            stop=self.town.stop,
        )

    async def ask(self, **changes: Any) -> DebaterReply:
        await self.town.made_agent()
        voice = await self.voices.named(ANA, "agent:clerk")
        given: dict[str, Any] = {"max_output_tokens": PLENTY, **changes}
        asked = an_ask(voice, **given)
        return await self.voices.ask(ANA, asked, self.heard.append)

    def label_tools(self, label: Label) -> None:
        """What its tools give is as secret as this."""
        servers = self.town.world.servers
        servers.update({place: replace(each, label=label) for place, each in servers.items()})

    async def _start(self, caller: Principal, wish: AgentRunSpec) -> StartedAgentRun:
        started = await self.town.start_agent(caller, wish)
        self.runs.append(started.run)
        if not started.replayed:
            self._legs.append(asyncio.create_task(self._leg(started.run)))
        return started

    async def _leg(self, run: RunId) -> None:
        await self.town.leg(run)


async def test_an_agent_is_a_voice_by_its_name_within_its_limits() -> None:
    scene = Scene(label=TEAM, book=MemoryModelRegistry(a_model(clearance=PUBLIC)))
    await scene.town.made_agent()

    voice = await scene.voices.named(ANA, "agent:clerk")

    assert [state.debater for state in await scene.voices.all(ANA)] == [voice]
    assert (voice.name, voice.target, voice.kind) == ("agent:clerk", "clerk", DebaterKind.AGENT)
    assert (voice.bounded, voice.max_output_tokens, voice.clearance) == (True, 16_000, PUBLIC)


async def test_its_answer_comes_word_by_word_and_with_all_that_its_run_has_spent() -> None:
    usage = Usage(input=20, output=6)
    scene = Scene(wants(a_call(path="a"), usage=usage), says("it is Paris", usage=usage))

    reply = await scene.ask()

    assert (reply.text, "".join(scene.heard)) == ("it is Paris", "it is Paris")
    spent = (await scene.town.trace(scene.runs[0])).run.usage
    assert reply.prompt_tokens + reply.output_tokens == spent.input + spent.output >= 52
    assert (reply.prompt_tokens, reply.cost.tokens) == (10, spent.input + spent.output)


async def test_what_it_has_read_comes_back_with_its_answer() -> None:
    scene = Scene(says("Paris"), wants(a_call(path="a")), says("Paris"))
    scene.label_tools(TEAM)

    told = await scene.ask(label=PUBLIC)
    looked = await scene.ask(label=PUBLIC, key="another")

    assert (told.label, looked.label) == (PUBLIC, TEAM)
    assert (told.untrusted, looked.untrusted) == (False, True)


async def test_its_run_may_spend_no_more_than_was_reserved() -> None:
    scene = Scene(says("Paris"))

    with pytest.raises(DebaterRefused, match="exhausted"):
        await scene.ask(max_output_tokens=1)

    assert scene.town.models.asks == []


async def test_where_others_see_the_debate_it_reads_nothing_above_it() -> None:
    scene = Scene(wants(a_call(path="a")), says("Paris"))
    scene.label_tools(TEAM)

    reply = await scene.ask(ceiling=PUBLIC)

    [use] = (await scene.town.trace(scene.runs[0])).uses
    assert (use.failed, reply.text, reply.label) == (True, "Paris", PUBLIC)


async def test_asked_the_same_again_it_gives_the_same_run() -> None:
    scene = Scene(says("Paris"))

    first = await scene.ask()
    again = await scene.ask(timeout=5.0)

    assert (first, len(set(scene.runs))) == (again, 1)
    assert len(scene.town.models.asks) == 1


async def test_one_that_was_stopped_when_its_waiter_was_cut_off_is_asked_anew_each_time() -> None:
    begun = asyncio.Event()

    async def stalls(_ask: ModelAsk) -> AsyncIterator[ResponseChunk]:
        yield TextChunk("it is ")
        begun.set()
        await asyncio.Event().wait()

    scene = Scene(stalls, stalls, stalls, says("Paris"))
    for _ in range(3):
        begun.clear()
        asking = asyncio.create_task(scene.ask())
        await begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await scene.town.traces.stop_asked(ANA, scene.runs[-1])
        run = (await scene.town.trace(scene.runs[-1])).run
        await scene.town.traces.end(ANA, replace(run, status=AgentRunStatus.STOPPED))

    assert (await scene.ask()).text == "Paris"
    assert len(set(scene.runs)) == 4


@pytest.mark.parametrize("waits", [True, False], ids=["for people", "for its model"])
async def test_one_that_is_too_late_is_stopped_and_charged_and_why_is_said(waits: bool) -> None:
    async def stalls(_ask: ModelAsk) -> AsyncIterator[ResponseChunk]:
        yield TextChunk("it is ")
        await asyncio.Event().wait()

    scene = Scene(wants(a_call("files__delete")) if waits else stalls, says("Done."))
    why = r"nobody approved files\.delete" if waits else "was stopped"

    with pytest.raises(DebaterInterrupted, match=why) as caught:
        await scene.ask(timeout=0.5)

    assert await scene.town.traces.stop_asked(ANA, scene.runs[0])
    if not waits:
        assert caught.value.cost is None, "what is under way is not known, and all is charged"


async def test_what_is_too_secret_for_it_is_not_told_to_it() -> None:
    scene = Scene(says("Paris"), label=TEAM)

    with pytest.raises(DebaterNotCleared):
        await scene.ask(label=SECRET)

    assert scene.town.models.asks == []


async def test_one_whose_model_is_not_cleared_for_what_it_has_read_has_spent_what_it_has() -> None:
    async def is_less_cleared_then(_ask: ModelAsk) -> AsyncIterator[ResponseChunk]:
        scene.town.book.models[SMALL] = a_model(clearance=PUBLIC)
        for piece in wants(a_call(path="a"), usage=Usage(input=20, output=6)):
            yield piece

    scene = Scene(is_less_cleared_then, says("Paris"))

    with pytest.raises(DebaterNotCleared) as caught:
        await scene.ask(label=PUBLIC)

    assert caught.value.cost.tokens >= 26


async def test_a_run_that_fails_is_no_answer() -> None:
    scene = Scene(ModelRefused("small", "no."), says(" "))

    with pytest.raises(DebaterInterrupted, match="refuses this"):
        await scene.ask()
    with pytest.raises(DebaterInterrupted, match="no answer"):
        await scene.ask(key="another")


@pytest.mark.parametrize(
    ("label", "model", "why"),
    [
        (TEAM, a_model(ModelRef("other", "large")), "local:small"),
        (
            SECRET,
            a_model(clearance=TEAM),
            "is confidential, and its model local:small may know at most team",
        ),
    ],
    ids=["its model is away", "it is above its model's clearance"],
)
async def test_an_agent_that_cannot_run_is_away_and_says_why(
    label: Label, model: ModelInfo, why: str
) -> None:
    scene, ana = Scene(label=label, book=MemoryModelRegistry(model)), replace(ANA, clearance=SECRET)
    await scene.town.made_agent(ana)

    [state] = await scene.voices.all(ana)

    assert not state.available
    assert why in (state.why or "")
    with pytest.raises(DebaterUnavailable, match=why):
        await scene.voices.named(ana, "agent:clerk")


async def test_an_agent_that_nobody_knows_is_not_found() -> None:
    scene = Scene()
    await scene.town.made_agent()
    voice = await scene.voices.named(ANA, "agent:clerk")
    gone = replace(voice, name="agent:gone", target="gone")

    with pytest.raises(DebaterNotFound):
        await scene.voices.named(ANA, "agent:nobody")
    with pytest.raises(DebaterUnavailable, match="gone"):
        await scene.voices.ask(ANA, an_ask(gone, label=PUBLIC), scene.heard.append)


async def test_whoever_may_start_no_agent_has_none_as_a_voice() -> None:
    scene = Scene()
    await scene.town.made_agent()
    low = replace(ANA, scopes=ANA.scopes - {Scope.AGENTS_RUN})

    assert await scene.voices.all(low) == []
    with pytest.raises(NotPermitted):
        await scene.voices.named(low, "agent:clerk")


MODELS = (a_model(), a_model(ModelRef("openai", "gpt-5")))


async def a_table(tmp_path: Path) -> AllDebaters:
    town = Town()
    await town.made_agent()
    book, environment = MemoryModelRegistry(*MODELS), {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    return AllDebaters(
        models=ModelDebaters(
            book=book,
            models=ScriptedModels(says("Paris")),
            tokenizer=Words(),
            clock=town.clock,
        ),
        agents=AgentDebaters(
            agents=town.agents,
            book=book,
            traces=town.traces,
            tasks=town.tasks,
            start=town.start_agent,
            follow=town.follow,
            stop=town.stop,
        ),
        programs=ProgramDebaters(
            programs=programs_of({"claude": "claude"}),
            environment=environment,
            availability=Availability(environment),
            tokenizer=Words(),
        ),
    )


async def test_whoever_is_there_is_listed_by_the_name_they_are_asked_by(tmp_path: Path) -> None:
    voices = await a_table(tmp_path)

    states = await voices.all(ANA)

    assert {state.debater.name: state.available for state in states} == {
        "local:small": True,
        "openai:gpt-5": True,
        "agent:clerk": True,
        "program:claude": False,
    }
    for state in states:
        if state.available:
            assert await voices.named(ANA, state.debater.name) == state.debater
        else:
            with pytest.raises(DebaterUnavailable, match="npm install"):
                await voices.named(ANA, state.debater.name)


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

    with pytest.raises(DebaterNotFound, match=meant):
        await voices.named(ANA, typed)


async def test_each_is_asked_in_its_own_way_and_guests_at_their_seats(tmp_path: Path) -> None:
    voices = await a_table(tmp_path)
    heard: list[str] = []

    reply = await voices.ask(ANA, an_ask(await voices.named(ANA, "local:small")), heard.append)

    assert (reply.text, heard) == ("Paris", ["Paris"])
    for kind in (DebaterKind.AGENT, DebaterKind.PROGRAM, DebaterKind.GUEST):
        with pytest.raises(DebaterUnavailable):
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
