"""What the gateway may rely on of `Vectors`."""

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from portico.testing.guard import a_person, a_space
from tests.contracts.doors import REFUSED, Doors

Made = Mapping[str, NDArray[np.float32]]


def made(count: int, dimensions: int = 8, seed: int = 1) -> Made:
    numbers = np.random.default_rng(seed).standard_normal((count, dimensions), np.float32)
    return {f"key {row}": numbers[row] for row in range(count)}


def same(one: Made, other: Made) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize("dimensions", [1, 384, 3072])
async def test_vectors_come_back_to_the_last_bit(doors: Doors, dimensions: int) -> None:
    root = await doors.founded("home")
    vectors = made(5, dimensions)

    await doors.vectors.put(root, "m", vectors)

    found = await doors.vectors.get(root, "m", list(vectors))
    assert same(found, vectors)
    assert {vector.dtype for vector in found.values()} == {np.dtype(np.float32)}


async def test_only_what_was_asked_for_and_is_there_is_given(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.vectors.put(root, "m", made(3))

    found = await doors.vectors.get(root, "m", ["key 1", "nobody's", "key 1"])

    assert same(found, {"key 1": made(3)["key 1"]})
    assert await doors.vectors.get(root, "m", []) == {}


async def test_what_was_made_once_stays(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.vectors.put(root, "m", made(2))

    await doors.vectors.put(root, "m", made(3, seed=2))
    await doors.vectors.put(root, "m", {})

    found = await doors.vectors.get(root, "m", list(made(3)))
    assert same(found, {**made(3, seed=2), **made(2)})


async def test_each_model_has_its_own(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.vectors.put(root, "m", made(1))
    await doors.vectors.put(root, "n", made(1, seed=2))

    assert same(await doors.vectors.get(root, "n", ["key 0"]), made(1, seed=2))
    assert await doors.vectors.get(root, "o", ["key 0"]) == {}


async def test_a_thousand_at_once_are_no_matter(doors: Doors) -> None:
    root = await doors.founded("home")
    vectors = made(3_000)

    await doors.vectors.put(root, "m", vectors)

    assert same(await doors.vectors.get(root, "m", list(vectors)), vectors)


@pytest.mark.requirement("guard:spaces:walls")
async def test_the_vectors_of_another_space_do_not_exist(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    await doors.vectors.put(acme, "m", made(1))

    assert await doors.vectors.get(home, "m", ["key 0"]) == {}
    await doors.vectors.put(home, "m", made(1, seed=2))

    assert same(await doors.vectors.get(acme, "m", ["key 0"]), made(1))


async def test_a_space_that_does_not_exist_has_no_vectors(doors: Doors) -> None:
    stranger = a_person("stranger", space=a_space("nowhere"))

    with pytest.raises(REFUSED):
        await doors.vectors.put(stranger, "m", made(1))
