"""What the steps of a plan are given, put together from what earlier ones gave.

All of it happens inside durable steps: what is noted is never put together again.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from portico.gateway.core.plan.effort import LETTERS_READ, Effort
from portico.gateway.core.plan.expressions import Expressions
from portico.gateway.core.plan.output import items_document
from portico.gateway.core.plan.plan import Step
from portico.gateway.core.plan.resolving import (
    Known,
    Resolving,
    arguments,
    as_arguments,
    as_items,
    items,
    wanted,
    with_item,
)
from portico.gateway.workflows.acting import Acting
from portico.gateway.workflows.came import Gave
from portico.gateway.workflows.needed import needed
from portico.kernel.json import JsonObject, JsonValue

Held = Gave | Sequence[Gave | None]
"""Where the document of a step is: one, or one an item."""


@dataclass(slots=True, kw_only=True)
class GivenTo:
    """One step."""

    acting: Acting
    step: Step
    inputs: JsonObject
    sources: Mapping[str, Held]
    """What is there of what it refers to, by the step that it is referred to by."""
    expressions: Expressions
    effort: Effort = field(init=False)
    _known: Known | None = field(default=None, init=False)
    _items: Sequence[JsonValue] | None = field(default=None, init=False)
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    """Of a thousand items, one reads for all."""

    def __post_init__(self) -> None:
        self.effort = self.acting.effort.of_step()

    async def wanted(self) -> bool:
        """Raises what `Expressions.search` raises, and `Broken`."""
        return wanted(self.step, await self.known(), self.expressions, self.effort)

    async def arguments(self) -> JsonObject:
        """Raises what resolving raises, and `Broken`."""
        known = await self.known()
        return as_arguments(
            await gently(arguments(self.step, known, self.expressions, self.effort))
        )

    async def items(self) -> Sequence[JsonValue]:
        """Raises `NotAList`, `TooManyItems`, what resolving raises, and `Broken`."""
        known = await self.known()
        async with self._reading:
            if self._items is None:
                found = await gently(items(self.step, known, self.expressions, self.effort))
                self._items = as_items(self.step, found)
            return self._items

    async def arguments_for(self, index: int) -> JsonObject:
        """Raises what resolving raises, and `Broken`."""
        its = with_item(await self.known(), (await self.items())[index], index)
        return as_arguments(await gently(arguments(self.step, its, self.expressions, self.effort)))

    async def known(self) -> Known:
        """Raises `TooMuchEffort`, `Broken`."""
        async with self._reading:
            if self._known is None:
                found: dict[str, JsonValue] = {"inputs": self.inputs}
                for name, held in self.sources.items():
                    found[name] = await self._document(held)
                self._known = found
            return self._known

    async def _document(self, held: Held) -> JsonObject:
        if isinstance(held, Gave):
            return await self._read(held)
        return items_document([None if each is None else await self._read(each) for each in held])

    async def _read(self, gave: Gave) -> JsonObject:
        self.effort.spend(gave.size // LETTERS_READ)
        return await needed(lambda: self.acting.document(gave))


async def gently(resolving: Resolving) -> JsonValue:
    """Whoever else has something to do comes to it in between."""
    for _ in resolving:
        await asyncio.sleep(0)
    return resolving.value()
