"""Differences to plant between what a low reader is told in two houses."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from portico.bridge.ports import Stretch
from portico.kernel.principal import Principal
from tests.storm.bridge_bugs import AsAnother, cleared_for_all
from tests.storm.walled_house import WalledHouse

Break = Callable[[WalledHouse], WalledHouse]


class LateCursors(AsAnother):
    """A page ends where the conversation does, and not at what was shown."""

    def __init__(self, door: Any) -> None:
        super().__init__(door, (), cleared_for_all)

    async def after(self, caller: Principal, *given: Any, **more: Any) -> Stretch:
        its: Stretch = await self._door.after(caller, *given, **more)
        if not its.found or its.more:
            return its
        last = replace(its.found[-1], place=its.end)
        return replace(its, found=[*its.found[:-1], last])


def broken(door: str, *names: str) -> Break:
    def in_(house: WalledHouse) -> WalledHouse:
        wrong: Any = AsAnother(getattr(house.doors, door), names, cleared_for_all)
        return replace(house, doors=replace(house.doors, **{door: wrong}))

    return in_


def late(house: WalledHouse) -> WalledHouse:
    wrong: Any = LateCursors(house.doors.messages)
    return replace(house, doors=replace(house.doors, messages=wrong))


BROKEN = {
    "counts over all labels": broken("read_state", "unread"),
    "cursors that tell of what was not shown": late,
    "order by all that was said": broken("conversations", "page"),
    "names that are one over all labels": broken("projects", "get"),
    "words found in all labels": broken("search", "by_words"),
    "meaning found in all labels": broken("search", "by_meaning"),
    "memory of all labels": broken("memory", "get"),
    "wake-ups by what is hidden": broken("messages", "after"),
    "what is overdue in all labels": broken("messages", "overdue"),
}
