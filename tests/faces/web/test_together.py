"""Several questions of one page, asked at once."""

import asyncio

import pytest

from portico.faces.web.together import together
from portico.kernel.errors import Kind, PorticoError


class Refused(PorticoError):
    kind = Kind.DENIED
    code = "refused_here"
    title = "No"
    fix = "Nothing helps."


async def given(value: str) -> str:
    await asyncio.sleep(0)
    return value


async def refused() -> str:
    raise Refused("No.")


async def test_each_answer_is_told_in_its_place() -> None:
    assert await together(given("a"), given("b"), given("c")) == ("a", "b", "c")


async def test_one_that_is_refused_refuses_all_by_its_own_name() -> None:
    under_way = asyncio.Event()

    async def never() -> str:
        await under_way.wait()
        return "never"

    with pytest.raises(Refused):
        await together(given("a"), never(), refused())
