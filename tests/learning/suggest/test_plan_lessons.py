"""Plans that end well are learnt from: what led to what, and which words they were for."""

import asyncio
import json
from datetime import timedelta

import pytest

from portico.engine.core.errors import StoreUnavailable
from portico.gateway.core.calls import ToolResult
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.learning.core.past_plans import StoredPlan
from portico.learning.core.tool_graph import EdgeKind
from portico.workflows.core.plan_learning import PlanEnd
from tests.learning.suggest.suggest_room import COPY, INTENT, WRITE, NoEmbedder, SuggestRoom
from tests.workflows.plan_room import plan


async def edges(room: SuggestRoom) -> list[tuple[str, str, EdgeKind]]:
    await room.gateway.graphs.flush()
    return sorted(
        (edge.earlier.tool, edge.later.tool, edge.kind)
        for (_, _, edge), _ in room.world.edges.items()
    )


async def nothing_learnt_in(room: SuggestRoom) -> bool:
    return not room.world.past_plans and await edges(room) == []


async def test_a_plan_is_kept_by_its_words_and_without_their_values(room: SuggestRoom) -> None:
    await room.learnt(1)
    await room.learnt(2, plan=_with_path("/notes/b.md"), intent="copy  the note /notes/b.md")

    [kept] = room.world.past_plans.values()
    assert (kept.intent, kept.runs, kept.label) == ("copy the note <path>", 3, PUBLIC)
    assert "/notes" not in json.dumps(kept.steps)
    assert kept.vector


async def test_a_plan_teaches_its_edges_even_if_nobody_said_what_for(room: SuggestRoom) -> None:
    await room.begun(plan=COPY)
    await room.lessons.flush()

    assert await edges(room) == [("read", "write", EdgeKind.FEEDS)]
    assert room.world.past_plans == {}


async def test_what_it_was_given_is_found_in_the_words(room: SuggestRoom) -> None:
    asking: JsonObject = {
        "inputs": {"path": {"type": "string"}},
        "steps": [
            {"id": "a", "tool": "files.read", "arguments": {"path": {"$from": "inputs.path"}}}
        ],
    }

    await room.begun(plan=asking, inputs={"path": "/x/y.md"}, intent="read /x/y.md")
    await room.lessons.flush()

    [kept] = room.world.past_plans.values()
    assert '{"intent": "path", "number": 0}' in json.dumps(kept.steps)


async def test_a_plan_that_did_not_go_well_teaches_nothing(room: SuggestRoom) -> None:
    room.upstreams.replies[WRITE.ref] = lambda _: ToolResult([], failed=True)
    [one, two] = json.loads(json.dumps(COPY["steps"]))

    started = await room.begun(
        plan={"steps": [one, {**two, "on_error": "skip"}]}, intent="copy /notes/a.md"
    )
    await room.lessons.flush()

    assert (await room.show(started.run.id)).status == "partial"

    assert await nothing_learnt_in(room)


async def test_of_a_plan_of_which_a_step_was_left_out_no_words_are_kept(room: SuggestRoom) -> None:
    left: JsonObject = {
        "steps": [
            {"id": "a", "tool": "files.read", "arguments": {"path": "/a"}},
            {
                "id": "b",
                "tool": "files.write",
                "arguments": {"path": {"$from": "a.json.path"}},
                "when": "a.json.nothing",
            },
        ]
    }

    await room.begun(plan=left, intent="perhaps")
    await room.lessons.flush()

    assert await nothing_learnt_in(room)


async def test_in_a_space_that_does_not_want_it_nothing_is_learnt(room: SuggestRoom) -> None:
    asked: list[SpaceId] = []

    async def never(caller: Principal, /) -> bool:
        asked.append(caller.space)
        return False

    room.lessons.learns = never
    await room.learnt(1)

    assert len(asked) == 1
    assert await nothing_learnt_in(room)


async def test_secrets_are_taken_out_of_what_somebody_said(room: SuggestRoom) -> None:
    def hide(value: JsonValue) -> JsonValue:
        return str(value).replace("hunter2", "***")

    room.lessons.clean = hide
    await room.learnt(1, intent="copy /notes/a.md with hunter2")

    assert [kept.intent for kept in room.world.past_plans.values()] == ["copy <path> with ***"]


async def test_who_is_not_cleared_any_more_for_their_work_leaves_no_words(
    room: SuggestRoom,
) -> None:
    bot = await room.bot()
    room.lessons.note(_end(bot, label=Label(Level.RESTRICTED)))

    await room.lessons.flush()

    assert room.world.past_plans == {}


async def test_what_cannot_be_written_now_waits_on(room: SuggestRoom) -> None:
    room.lessons.note(_end(await room.bot()))
    past = room.lessons.past

    class Down:
        latest, judge = past.latest, past.judge

        async def learn(self, caller: Principal, plan: StoredPlan) -> None:
            raise StoreUnavailable(f"{plan.id} of {caller.name}")

    room.lessons.past = Down()
    with pytest.raises(StoreUnavailable):
        await room.lessons.flush()
    room.lessons.past = past
    await room.lessons.flush()

    assert len(room.world.past_plans) == 1


async def test_what_is_longer_once_its_secrets_are_out_is_cut(room: SuggestRoom) -> None:
    room.lessons.clean = lambda said: f"{said} {'*** ' * 1_000}"

    await room.learnt(1)

    assert [len(kept.intent) <= 2_000 for kept in room.world.past_plans.values()] == [True]


async def test_what_one_of_them_breaks_is_that_ones(
    room: SuggestRoom, caplog: pytest.LogCaptureFixture
) -> None:
    bot = await room.bot()

    def picky(said: JsonValue) -> JsonValue:
        if said == "fire anna":
            raise ValueError("Failing row contains (fire anna)")
        return said

    room.lessons.clean = picky
    room.lessons.note(_end(bot, intent="fire anna"))
    room.lessons.note(_end(bot))
    await room.lessons.flush()

    assert len(room.world.past_plans) == 1
    assert "anna" not in caplog.text


async def test_more_than_can_be_learnt_from_are_not_learnt_from(room: SuggestRoom) -> None:
    room.lessons.limit = 1
    bot = await room.bot()

    room.lessons.note(_end(bot))
    room.lessons.note(_end(bot, intent="another"))
    await room.lessons.flush()

    assert [kept.intent for kept in room.world.past_plans.values()] == ["copy the note <path>"]


async def test_what_is_noted_by_the_end_is_still_written(room: SuggestRoom) -> None:
    room.lessons.every = timedelta(hours=1)
    beside = asyncio.create_task(room.lessons.run())
    await asyncio.sleep(0)
    room.lessons.note(_end(await room.bot()))

    await _ended(beside)

    assert len(room.world.past_plans) == 1


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_without_vectors_a_plan_is_kept_by_its_words_alone(room: SuggestRoom) -> None:
    room.lessons.embedder = NoEmbedder()

    await room.learnt(1)

    assert [kept.vector for kept in room.world.past_plans.values()] == [b""]


def _end(caller: Principal, *, label: Label = PUBLIC, intent: str = INTENT) -> PlanEnd:
    read: JsonObject = {"id": "a", "tool": "files.read", "arguments": {"path": "/notes/a.md"}}
    return PlanEnd(
        caller=caller,
        label=label,
        plan=plan(read),
        inputs={},
        done=frozenset({"a"}),
        intent=intent,
    )


def _with_path(path: str) -> JsonObject:
    document: JsonObject = json.loads(json.dumps(COPY).replace("/notes/a.md", path))
    return document
