"""`Durable` handed through, for what changes a part of it."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta

from portico.kernel.durable import Action, Begun, Durable
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class ThroughDurable:
    inner: Durable

    @property
    def run(self) -> RunId:
        return self.inner.run

    @property
    def leg(self) -> int:
        return self.inner.leg

    @property
    def again(self) -> bool:
        return self.inner.again

    @property
    def caller(self) -> Principal:
        return self.inner.caller

    async def step(self, name: str, action: Action, *, tries: int = 1) -> JsonValue:
        return await self.inner.step(name, action, tries=tries)

    def begin(self, name: str, action: Action, *, tries: int = 1) -> Begun:
        return self.inner.begin(name, action, tries=tries)

    async def wait_any(self, begun: Sequence[Begun]) -> Begun:
        return await self.inner.wait_any(begun)

    async def sleep(self, name: str, duration: timedelta) -> None:
        await self.inner.sleep(name, duration)

    async def wait_for_signal(
        self, topic: str, *, patience: timedelta | None = None, name: str | None = None
    ) -> JsonValue:
        return await self.inner.wait_for_signal(topic, patience=patience, name=name)

    def busy(self) -> AbstractContextManager[None]:
        return self.inner.busy()

    async def tell(self, name: str, type_: str, facts: JsonObject) -> None:
        await self.inner.tell(name, type_, facts)
