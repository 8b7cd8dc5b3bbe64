"""Where what the steps of a run gave is kept: it is the caller's alone, and the journal holds no
more of it than where it is and how long."""

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final, Protocol, Self

from portico.gateway.core.call import KeptResult, ResultId
from portico.gateway.core.errors import ResultNotFound
from portico.gateway.core.saved_workflow import ADMITTED
from portico.gateway.ports import Results
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal

_AT_HAND: Final = 8_000_000
"""Characters that one run keeps at hand; what is not is read again."""


@dataclass(frozen=True, slots=True)
class Kept:
    result: ResultId
    size: int
    """In characters of JSON."""
    admitted: bool = False
    """Whether it is a plan to be carried out, and not what a tool gave."""

    @classmethod
    def of(cls, result: ResultId, content: JsonValue) -> Self:
        admitted = isinstance(content, Mapping) and content.get(ADMITTED) is True
        return cls(result, len(json.dumps(content, ensure_ascii=False)), admitted)


class Outputs(Protocol):
    async def keep(
        self, asker: Principal, content: JsonValue, result: ResultId | None = None
    ) -> Kept:
        """Under this name, if one is given. It is labelled as what its asker's task has taken in.
        Raises `VaultClosed`."""
        ...

    async def get(self, asker: Principal, result: ResultId) -> JsonValue:
        """Raises `ResultNotFound`."""
        ...

    async def read(self, asker: Principal, result: ResultId) -> KeptResult:
        """With its label, for whoever looks at it. Raises `ResultNotFound`."""
        ...


@dataclass(slots=True)
class SealedOutputs:
    """Of one leg of a run: in the store, sealed, and the latest at hand."""

    results: Results
    clock: Clock
    entropy: Entropy
    keep_for: timedelta
    _texts: OrderedDict[ResultId, str] = field(default_factory=OrderedDict)
    _at_hand: int = 0

    async def keep(
        self, asker: Principal, content: JsonValue, result: ResultId | None = None
    ) -> Kept:
        now, text = self.clock.now(), json.dumps(content, ensure_ascii=False)
        name = ResultId.mint(now, self.entropy) if result is None else result
        kept = KeptResult(content=text, untrusted=False)
        await self.results.keep(asker, name, kept, now + self.keep_for)
        self._remember(name, text)
        return Kept.of(name, content)

    async def get(self, asker: Principal, result: ResultId) -> JsonValue:
        text = self._texts.get(result)
        if text is None:
            kept = await self.results.get(asker, result, self.clock.now())
            text = str(kept.content)
            self._remember(result, text)
        content: JsonValue = json.loads(text)
        return content

    async def read(self, asker: Principal, result: ResultId) -> KeptResult:
        kept = await self.results.get(asker, result, self.clock.now())
        return replace(kept, content=json.loads(str(kept.content)))

    def _remember(self, result: ResultId, text: str) -> None:
        self._at_hand += len(text) - len(self._texts.get(result, ""))
        self._texts[result] = text
        while self._at_hand > _AT_HAND and len(self._texts) > 1:
            _, forgotten = self._texts.popitem(last=False)
            self._at_hand -= len(forgotten)


@dataclass(frozen=True, slots=True)
class _Mine:
    whose: tuple[SpaceId, PrincipalId]
    content: JsonValue
    size: int


@dataclass(slots=True)
class MemoryOutputs:
    """Of runs that are carried out in this process alone, the latest. How secret it is says the
    run, which is labelled as all that its servers know."""

    clock: Clock
    entropy: Entropy
    most: int = 64_000_000
    """Characters."""
    _kept: OrderedDict[ResultId, _Mine] = field(default_factory=OrderedDict)
    _size: int = 0

    async def keep(
        self, asker: Principal, content: JsonValue, result: ResultId | None = None
    ) -> Kept:
        name = ResultId.mint(self.clock.now(), self.entropy) if result is None else result
        kept = Kept.of(name, content)
        if name not in self._kept:
            self._kept[name] = _Mine((asker.space, asker.id), content, kept.size)
            self._size += kept.size
        while self._size > self.most and len(self._kept) > 1:
            _, forgotten = self._kept.popitem(last=False)
            self._size -= forgotten.size
        return kept

    async def get(self, asker: Principal, result: ResultId) -> JsonValue:
        return (await self.read(asker, result)).content

    async def read(self, asker: Principal, result: ResultId) -> KeptResult:
        mine = self._kept.get(result)
        if mine is None or mine.whose != (asker.space, asker.id):
            raise ResultNotFound(str(result))
        return KeptResult(content=mine.content)
