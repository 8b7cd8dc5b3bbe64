"""Whoever comes while the model already speaks hears all of it, once and in order."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

from portico.agents.core.happening import TextAdded, ThoughtAdded, Told, ToolEnded
from portico.agents.core.spoken import Spoken
from portico.agents.core.trace import AgentRunStatus
from portico.agents.follow_run import FollowRun
from portico.agents.own_run import ended_of
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal
from portico.testing.agent_data import MemoryTraces, a_saying, an_agent_run
from portico.testing.agents import MemoryTalk, MemoryTasks
from tests.engine.room import ANA
from tests.engine.room import Room as Engine

RUN = an_agent_run(ANA)
OVER = replace(RUN, status=AgentRunStatus.COMPLETED, ended_at=RUN.started_at)
END = Told(ended_of(OVER), "end")


class ScriptedTalk(MemoryTalk):
    """Says exactly this, kept or live."""

    def __init__(self, script: Sequence[Told]) -> None:
        super().__init__()
        self._script = script

    async def went_on(self, caller: Principal, run: RunId, *, after: str) -> bool:
        return self._script[-1].cursor != after

    async def follow(
        self, caller: Principal, run: RunId, *, after: str | None
    ) -> AsyncGenerator[Told, None]:
        for told in self._script:
            yield told


def live(text: str, offset: int) -> Told:
    return Told(TextAdded(turn=1, attempt=1, offset=offset, text=text), None)


def kept(text: str, offset: int) -> Told:
    return Told(TextAdded(turn=1, attempt=1, offset=offset, text=text), f"c{offset}")


async def heard(*script: Told, tasks: MemoryTasks | None = None) -> list[Told]:
    engine = Engine()
    traces = MemoryTraces(engine.world)
    await traces.begin(ANA, RUN, a_saying(RUN))
    await traces.end(ANA, OVER)
    follow = FollowRun(
        traces=traces,
        talk=ScriptedTalk([*script, END]),
        book=engine.runs,
        tasks=tasks or MemoryTasks(),
        clock=engine.clock,
    )
    return [told async for told in follow(ANA, RUN.run)][:-1]


async def test_an_end_after_which_it_was_taken_up_again_is_none() -> None:
    failed = Told(ended_of(replace(OVER, status=AgentRunStatus.FAILED)), "failed")

    assert await heard(failed, kept("Here I am.", 0)) == [kept("Here I am.", 0)]


def words(told: Sequence[Told]) -> str:
    spoken, whole = Spoken(), ""
    for each in told:
        assert isinstance(each.happening, TextAdded)
        spoken = spoken.after(each.happening)
        whole += spoken.fresh
    return whole


async def test_live_words_wait_for_those_before_them() -> None:
    told = await heard(
        live("day, ", 5), live("Ana", 10), kept("Good day, ", 0), kept("Ana", 10), live(".", 13)
    )

    assert words(told) == "Good day, Ana."
    assert told[0] == kept("Good day, ", 0)


async def test_whoever_was_there_from_the_start_hears_each_word_at_once() -> None:
    script = [live("Good ", 0), live("day", 5), kept("Good day", 0)]

    assert await heard(*script) == script


async def test_whoever_goes_on_in_the_middle_hears_from_there() -> None:
    assert await heard(live("na", 11), kept("Ana", 10), live("!", 13)) == [
        kept("Ana", 10),
        live("!", 13),
    ]


async def test_thoughts_have_a_place_of_their_own() -> None:
    late = Told(ThoughtAdded(turn=1, attempt=1, offset=4, text="so"), None)
    whole = Told(ThoughtAdded(turn=1, attempt=1, offset=0, text="And so"), "c")

    assert await heard(late, live("Yes", 0), whole) == [live("Yes", 0), whole]


def used(turn: int) -> Told:
    ended = ToolEnded(turn=turn, call="c", tool="t", text="", failed=False, seconds=0.1)
    return Told(ended, f"u{turn}")


async def test_what_each_call_has_read_is_taken_over() -> None:
    tasks = MemoryTasks()

    await heard(used(1), used(2), tasks=tasks)

    assert tasks.taken_over == [RUN.context] * 4  # as one begins, after each call, at the end


async def test_nothing_is_taken_over_again_once_nothing_more_can_be_read() -> None:
    tasks = MemoryTasks({RUN.context: RUN.label})
    tasks.strangers.add(RUN.context)

    await heard(used(1), used(2), tasks=tasks)

    assert tasks.taken_over == [RUN.context]
    assert tasks.labels[ANA.context] == RUN.label
    assert ANA.context in tasks.strangers
