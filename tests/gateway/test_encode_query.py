"""A search does not wait long for an encoder, and the next one not at all."""

from datetime import timedelta

import pytest

from portico.gateway.core.search.fusion import ENCODER
from portico.gateway.encode_query import EncodeQuery
from portico.testing.kernel import TickingClock
from tests.gateway.open_room import ANA, OpenRoom, ref
from tests.gateway.slow_encoder import SlowEncoder
from tests.gateway.test_catalogue import running, settled


def encoding(encoder: SlowEncoder, clock: TickingClock | None = None) -> EncodeQuery:
    return EncodeQuery(
        encoder=encoder, clock=clock or TickingClock(), patience=timedelta(milliseconds=10)
    )


async def test_an_encoder_that_answers_is_asked_each_time() -> None:
    encoder = SlowEncoder()
    encode = encoding(encoder)

    first, second = await encode(["rain"]), await encode(["wind", "sun"])

    assert first is not None
    assert second is not None
    assert (first.shape, second.shape) == ((1, 8), (2, 8))


@pytest.mark.parametrize("away", [True, False])
async def test_one_that_does_not_answer_is_left_alone_for_a_while(away: bool) -> None:
    encoder, clock = SlowEncoder(), TickingClock()
    encode = encoding(encoder, clock)
    encoder.away = away
    if not away:
        encoder.answers.clear()

    failed = await encode(["rain"])
    encoder.away = False
    encoder.answers.set()
    rested = await encode(["wind"])
    clock.turn(timedelta(seconds=30))
    again = await encode(["sun"])

    assert (failed, rested) == (None, None)
    assert again is not None
    assert encoder.asked == [["rain"], ["sun"]]


async def test_a_search_goes_on_without_an_encoder_that_has_become_slow() -> None:
    encoder = SlowEncoder()
    room = OpenRoom(encoder=encoder)
    async with running(room):
        finder = await settled(room)
        encoder.answers.clear()
        encode = room.use.find_tools.look_up.encode
        assert encode is not None
        encode.patience = timedelta(milliseconds=10)

        found = await room.use.find_tools(ANA, ["will it rain in the city?"])

    assert ENCODER in finder.live.vectors
    assert found.hits[0].ref == ref("sky.forecast")


async def test_all_that_search_leave_a_slow_encoder_alone_together() -> None:
    room = OpenRoom(encoder=SlowEncoder())

    suggesting = room.use.suggest.suggest_workflow.gather.look_up

    assert suggesting.encode is room.use.find_tools.look_up.encode
