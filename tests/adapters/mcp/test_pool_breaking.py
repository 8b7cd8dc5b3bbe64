"""A server that dies, hangs or floods harms nobody but those who are calling it."""

import asyncio
import os
import signal
import time
from datetime import timedelta

import pytest

from portico.gateway.core.call import Answer
from portico.gateway.core.errors import UpstreamDown, UpstreamTimedOut
from portico.gateway.core.upstream import Phase
from tests.adapters.mcp.pools import (
    AMPLE,
    HOME,
    Caller,
    Changes,
    a_pool,
    children,
    launched,
    said,
    target,
    together,
    until,
)
from tests.children import lives

pytestmark = pytest.mark.timeout(40)

PLAIN = target(launched("plain"))
SOON = timedelta(milliseconds=150)


async def test_a_child_that_is_killed_in_a_call_is_down_and_the_next_call_starts_it_anew() -> None:
    async with a_pool() as pool:
        first = await pool.call(PLAIN, "where", {}, timeout=AMPLE)
        calls = [
            asyncio.ensure_future(pool.call(PLAIN, "sleep", {"seconds": 9}, timeout=AMPLE))
            for _ in range(3)
        ]
        await until(lambda: pool.vitals(HOME, "server").calls_now == 3)
        os.kill(int(said(first)), signal.SIGKILL)
        outcomes = await together(*calls)
        second = await pool.call(PLAIN, "where", {}, timeout=AMPLE)

    assert [type(outcome) for outcome in outcomes] == [UpstreamDown] * 3
    assert all(outcome.reached for outcome in outcomes if isinstance(outcome, UpstreamDown))
    assert "SIGKILL" in str(outcomes[0])
    assert said(first) != said(second)


async def test_a_child_that_dies_tells_its_last_words() -> None:
    async with a_pool() as pool:
        with pytest.raises(UpstreamDown, match="exit code 7; it last wrote: farewell"):
            await pool.call(PLAIN, "die", {"words": "farewell"}, timeout=AMPLE)


async def test_a_server_that_dies_of_every_call_is_left_alone_from_the_second_on() -> None:
    async with a_pool() as pool:
        for _ in range(2):
            with pytest.raises(UpstreamDown):
                await pool.call(PLAIN, "die", {}, timeout=AMPLE)
        with pytest.raises(UpstreamDown) as resting:
            await pool.call(PLAIN, "echo", {}, timeout=AMPLE)

        assert not resting.value.reached
        assert pool.vitals(HOME, "server").phase is Phase.RESTING
        assert pool.vitals(HOME, "server").starts == 2


async def test_an_answer_forgives_all_that_was_before() -> None:
    async with a_pool() as pool:
        for _ in range(3):
            with pytest.raises(UpstreamDown, match="exit code 7"):
                await pool.call(PLAIN, "die", {}, timeout=AMPLE)
            await pool.call(PLAIN, "echo", {}, timeout=AMPLE)


async def test_a_call_that_takes_too_long_is_given_up_and_the_server_told() -> None:
    async with a_pool() as pool:
        await pool.look(PLAIN)
        with pytest.raises(UpstreamTimedOut) as late:
            await pool.call(PLAIN, "sleep", {"seconds": 30}, timeout=SOON)
        # The server sleeps no longer than until it is told: else this would have to wait.
        cancelled = await pool.call(PLAIN, "cancelled", {}, timeout=AMPLE)

    assert (late.value.ref, late.value.seconds) == ("server.sleep", 0.15)
    assert said(cancelled) != "[]"


async def test_a_caller_who_goes_away_cancels_the_call_at_the_server() -> None:
    async with a_pool() as pool:
        await pool.look(PLAIN)
        call = asyncio.ensure_future(pool.call(PLAIN, "sleep", {"seconds": 30}, timeout=AMPLE))
        await until(lambda: pool.vitals(HOME, "server").calls_now)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        cancelled = await pool.call(PLAIN, "cancelled", {}, timeout=AMPLE)

        assert said(cancelled) != "[]"
        assert pool.vitals(HOME, "server").calls_now == 0


async def test_a_server_that_hangs_delays_nobody_else() -> None:
    hung = target(launched("hung"), "hung")

    async with a_pool() as pool:
        waiting = [
            asyncio.ensure_future(pool.call(hung, "echo", {}, timeout=AMPLE)) for _ in range(50)
        ]
        await until(lambda: pool.vitals(HOME, "hung").phase is Phase.RUNNING)
        for number in range(50):
            answer = await pool.call(PLAIN, "echo", {"text": f"{number}"}, timeout=AMPLE)
            assert said(answer) == f"{number}"

        assert not any(call.done() for call in waiting)
        for call in waiting:
            call.cancel()
        await together(*waiting)


async def test_a_server_that_has_not_said_a_word_to_three_calls_is_started_anew() -> None:
    hung = target(launched("hung"))

    async with a_pool() as pool:
        await pool.look(hung)
        process = pool.vitals(HOME, "server").process
        for _ in range(3):
            with pytest.raises(UpstreamTimedOut):
                await pool.call(hung, "echo", {}, timeout=SOON)
        await until(lambda: not lives(process or 0))
        await pool.look(hung)

        assert pool.vitals(HOME, "server").starts == 2


async def test_a_server_that_is_slow_but_speaks_is_not_taken_to_hang() -> None:
    async with a_pool() as pool:
        await pool.look(PLAIN)
        for _ in range(4):
            late = pool.call(PLAIN, "sleep", {"seconds": 30}, timeout=SOON)
            await together(late, pool.call(PLAIN, "echo", {}, timeout=AMPLE))

        assert pool.vitals(HOME, "server").starts == 1


@pytest.mark.parametrize("where", ["stdout", "stderr"])
async def test_a_server_that_talks_without_end_still_answers_and_leaves_us_room(where: str) -> None:
    flooding = target(launched("flooding", where), "flooding")

    async with a_pool() as pool:
        answer = await pool.call(flooding, "echo", {"text": "through"}, timeout=AMPLE)
        before = time.process_time()
        began = time.monotonic()
        await asyncio.sleep(1.0)
        used = (time.process_time() - before) / (time.monotonic() - began)
        words = pool.vitals(HOME, "flooding").last_words

    assert said(answer) == "through"
    assert used < 0.5
    assert len(words) <= 201
    assert max(len(word) for word in words) <= 2_000


async def test_an_answer_that_is_too_long_harms_nobody_but_who_asked_for_it() -> None:
    async with a_pool(largest=1_000_000) as pool:
        where = await pool.call(PLAIN, "where", {}, timeout=AMPLE)
        for _ in range(3):
            long, other = await together(
                pool.call(PLAIN, "big", {"size": 3_000_000}, timeout=AMPLE),
                pool.call(PLAIN, "sleep", {"seconds": 0.2}, timeout=AMPLE),
            )
            assert isinstance(long, UpstreamDown)
            assert "its answer is too long" in str(long)
            assert isinstance(other, Answer)
        still = await pool.call(PLAIN, "where", {}, timeout=AMPLE)

    assert said(where) == said(still)


async def test_a_message_without_an_end_ends_its_server() -> None:
    endless = target(launched("flooding"))

    async with a_pool(largest=1_000_000) as pool:
        with pytest.raises(UpstreamDown, match="too long"):
            await pool.call(endless, "endless", {}, timeout=AMPLE)
        await until(lambda: not children())


async def test_a_long_answer_comes_whole() -> None:
    async with a_pool() as pool:
        answer = await pool.call(PLAIN, "big", {"size": 5_000_000}, timeout=AMPLE)

    assert len(said(answer)) == 5_000_000


async def test_a_long_question_goes_whole() -> None:
    async with a_pool() as pool:
        text = "x" * 5_000_000
        answers = await asyncio.gather(
            *(pool.call(PLAIN, "echo", {"text": text}, timeout=AMPLE) for _ in range(3))
        )

    assert [said(answer) == text for answer in answers] == [True] * 3


async def test_many_long_questions_at_once_all_arrive() -> None:
    many = [{"text": f"{number}", "more": "y" * 3_900_000} for number in range(7)]

    async with a_pool() as pool:
        await pool.look(PLAIN)
        answers = await together(*(pool.call(PLAIN, "echo", each, timeout=AMPLE) for each in many))

    assert [said(each) for each in answers if isinstance(each, Answer)] == [*"0123456"]


async def test_what_a_server_prints_by_mistake_is_kept_for_people() -> None:
    async with a_pool() as pool:
        await pool.call(PLAIN, "print", {"words": "hello, I am not JSON"}, timeout=AMPLE)
        words = pool.vitals(HOME, "server").last_words

    assert words[-1] == "(not a message) hello, I am not JSON"


async def test_how_far_a_call_is_reaches_its_caller() -> None:
    caller = Caller()

    async with a_pool() as pool:
        answer = await pool.call(PLAIN, "steps", {"times": 3}, timeout=AMPLE, line=caller)

    assert said(answer) == "done"
    assert caller.steps[-1] == (3.0, 3.0, "step 3")


async def test_the_servers_log_reaches_its_only_caller() -> None:
    caller = Caller()

    async with a_pool() as pool:
        await pool.call(PLAIN, "log", {"words": "well"}, timeout=AMPLE, line=caller)
        words = pool.vitals(HOME, "server").last_words

    assert caller.logged == [{"level": "info", "data": "well"}]
    assert words[-1] == "info: well"


async def test_words_of_change_are_told_once_for_many() -> None:
    changes = Changes()

    async with a_pool(changed=changes) as pool:
        await pool.look(PLAIN)
        await pool.call(PLAIN, "grow", {"times": 100}, timeout=AMPLE)
        await until(lambda: changes.told)
        seen = await pool.look(PLAIN)

    assert changes.told == [(HOME, "server")]
    assert seen.tools[-1]["name"] == "new"
