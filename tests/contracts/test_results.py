"""What the gateway may rely on of `Results`."""

from datetime import timedelta

import pytest

from portico.gateway.core.call import ResultId
from portico.gateway.core.errors import ResultNotFound
from portico.guard.core.authentication import as_principal
from portico.kernel.json import JsonValue
from portico.testing.guard import a_person, a_space
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.contracts.doors import REFUSED, Doors

TOMORROW = BEGINNING + timedelta(days=1)
RESULT = ResultId.mint(BEGINNING, SeededEntropy("result"))


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        "a\0b 😀",
        [1, 2.5, {"b": None, "a": [True]}],
        {"text": "x" * 300_000},
        "half \ud800",
        2**60,
    ],
    ids=["none", "empty", "nul", "list", "long", "half", "number"],
)
async def test_a_result_comes_back_as_it_was_kept(doors: Doors, content: JsonValue) -> None:
    root = await doors.founded("home")

    await doors.results.keep(root, RESULT, content, TOMORROW)

    assert await doors.results.get(root, RESULT, BEGINNING) == content


async def test_what_was_never_kept_is_not_found(doors: Doors) -> None:
    root = await doors.founded("home")

    with pytest.raises(ResultNotFound):
        await doors.results.get(root, RESULT, BEGINNING)


async def test_a_result_is_there_until_its_time_is_over(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.results.keep(root, RESULT, "x", TOMORROW)

    before = await doors.results.get(root, RESULT, TOMORROW - timedelta(microseconds=1))

    assert before == "x"
    with pytest.raises(ResultNotFound):
        await doors.results.get(root, RESULT, TOMORROW)


async def test_nobody_else_has_it_not_even_in_the_same_space(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = as_principal(await doors.joined(root, "bob"))
    stranger = await doors.founded("acme")
    await doors.results.keep(bob, RESULT, "x", TOMORROW)

    for other in (root, stranger):
        with pytest.raises(ResultNotFound):
            await doors.results.get(other, RESULT, BEGINNING)
    with pytest.raises(REFUSED):
        await doors.results.keep(root, RESULT, "y", TOMORROW)

    assert await doors.results.get(bob, RESULT, BEGINNING) == "x"


async def test_nothing_is_kept_for_nobody(doors: Doors) -> None:
    root = await doors.founded("home")
    nobody = a_person("nobody", space=await doors.spaces.get(root))
    nowhere = a_person("nobody", space=a_space("nowhere"))

    for who in (nobody, nowhere):
        with pytest.raises(REFUSED):
            await doors.results.keep(who, RESULT, "x", TOMORROW)
