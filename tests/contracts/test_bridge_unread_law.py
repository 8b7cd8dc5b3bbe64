"""Whatever is said, read, changed and by whom: what is counted is what one would find."""

import os
from random import Random
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from tests.contracts.bridge_people import (
    FINANCE,
    LAW,
    SECRET,
    TEAM,
    a_project,
    cleared_root,
    joined,
)
from tests.contracts.bridge_talk import a_conversation
from tests.contracts.doors import Doors, memory_doors
from tests.contracts.unread_model import Step, UnreadModel

STEPS: Final = int(os.environ.get("UNREAD_STEPS", "60"))
"""More, for whoever wants to be surer."""
SEED: Final = int(os.environ.get("UNREAD_SEED", "1"))


async def a_model(doors: Doors) -> UnreadModel:
    root = await cleared_root(doors)
    readers = [
        await joined(doors, root, name, clearance)
        for name, clearance in (("low", TEAM), ("fin", FINANCE), ("law", LAW), ("top", SECRET))
    ]
    project = await a_project(doors, root)
    talks = [
        await a_conversation(doors, root, project, "open"),
        await a_conversation(doors, root, project, "secret", label=FINANCE),
    ]
    return UnreadModel(doors, root, readers, talks)


async def test_what_is_counted_is_what_one_would_find(doors: Doors) -> None:
    model, random = await a_model(doors), Random(SEED)

    for _ in range(STEPS):
        await model.take(Step(*(random.randrange(60) for _ in range(4))))
    await model.check()


NUMBERS = st.integers(0, 59)


@given(st.lists(st.builds(Step, NUMBERS, NUMBERS, NUMBERS, NUMBERS), max_size=80))
async def test_in_memory_it_holds_for_whatever_is_tried(steps: list[Step]) -> None:
    model = await a_model(memory_doors())

    for step in steps:
        await model.take(step)
    await model.check()
