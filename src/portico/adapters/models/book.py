"""The models there are: each provider is asked when somebody wants to know, and not too often.

All are asked at once, and none waits for another: who does not answer in time is said to be away.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from portico.adapters.models.connections import Connections
from portico.adapters.models.listing import Listing
from portico.adapters.models.provider import Provider
from portico.adapters.models.said import Said, known
from portico.agents.core.errors import ModelNotFound, ModelUnavailable
from portico.agents.core.model_requests import ModelInfo, ModelRef, ProviderState
from portico.guard.core.secrets import Source
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.principal import Principal

_AWAY_FOR: Final = timedelta(seconds=10)
"""Who did not answer is not asked again at once."""


@dataclass(frozen=True, slots=True)
class _Page:
    """What one provider said, and when."""

    at: float
    state: ProviderState
    models: Mapping[str, ModelInfo]
    last: Mapping[str, ModelInfo]
    """The same, or what it said when it last answered."""
    problem: PorticoError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedBook:
    connections: Connections
    listing: Listing
    clock: Clock
    good_for: timedelta
    patience: timedelta
    _pages: dict[tuple[str, str], _Page] = field(default_factory=dict)
    _asking: dict[tuple[str, str], asyncio.Lock] = field(default_factory=dict)

    async def all(self, caller: Principal, *, fresh: bool = False) -> Sequence[ModelInfo]:
        pages = await self._all_pages(caller, fresh=fresh)
        return [model for page in pages for model in page.models.values()]

    async def providers(self, caller: Principal, *, fresh: bool = False) -> Sequence[ProviderState]:
        """Of those that nobody has named, only those that answer."""
        pages = await self._all_pages(caller, fresh=fresh)
        providers = self.connections.providers
        return [
            page.state
            for page in pages
            if page.state.reachable or not providers[page.state.name].found
        ]

    async def get(self, caller: Principal, ref: ModelRef) -> ModelInfo:
        provider = self.connections.provider(ref.provider)
        page = await self._page(caller, provider, fresh=False)
        for model in (page.models.get(ref.name), page.last.get(ref.name)):
            if model is not None:
                return model
        if not page.state.reachable:
            raise _unreachable(ref, page.problem)
        return await self._unlisted(caller, provider, ref)

    async def _unlisted(self, caller: Principal, provider: Provider, ref: ModelRef) -> ModelInfo:
        """Raises `ModelNotFound`, `ModelUnavailable`."""
        there = await self.connections.to(caller, provider.name)
        try:
            async with asyncio.timeout(self.patience.total_seconds()):
                said = await self.listing.one(there, ref.name)
        except TimeoutError as error:
            raise ModelUnavailable(str(ref), "its server takes too long to answer.") from error
        except ModelNotFound as error:
            raise ModelNotFound(str(ref), error.fix or "") from error
        found = known(provider, replace(said, name=ref.name))
        place = _place(caller, provider)
        if page := self._pages.get(place):
            self._pages[place] = replace(page, last={**page.last, ref.name: found})
        return found

    async def _all_pages(self, caller: Principal, *, fresh: bool) -> Sequence[_Page]:
        async with asyncio.TaskGroup() as asked:
            tasks = [
                asked.create_task(self._page(caller, provider, fresh=fresh))
                for provider in self.connections.providers.values()
            ]
        return [task.result() for task in tasks]

    async def _page(self, caller: Principal, provider: Provider, *, fresh: bool) -> _Page:
        place, wanted_at = _place(caller, provider), _now()
        async with self._asking.setdefault(place, asyncio.Lock()):
            page = self._pages.get(place)
            # whoever waited here for another's question takes the answer to that
            if page is not None and (page.at >= wanted_at or (not fresh and self._good(page))):
                return page
            page = self._pages[place] = await self._ask(caller, provider, page)
            return page

    def _good(self, page: _Page) -> bool:
        good_for = self.good_for if page.state.reachable else min(self.good_for, _AWAY_FOR)
        return _now() - page.at < good_for.total_seconds()

    async def _ask(self, caller: Principal, provider: Provider, before: _Page | None) -> _Page:
        began, asked_at = _now(), self.clock.now()
        problem: PorticoError | None = None
        said: Sequence[Said] = ()
        try:
            await self.listing.begin(provider)
            began = _now()
            async with asyncio.timeout(self.patience.total_seconds()):
                there = await self.connections.to(caller, provider.name)
                said = await self.listing.all(there)
        except TimeoutError:
            seconds = self.patience.total_seconds()
            problem = ModelUnavailable(provider.name, f"there was no answer within {seconds:g} s.")
        except PorticoError as error:
            problem = error
        listed = {each.name for each in said}
        named = [Said(name) for name in provider.models if name not in listed]
        models = {each.name: known(provider, each) for each in [*said, *named]}
        state = ProviderState(
            name=provider.name,
            kind=provider.kind.value,
            url=provider.url,
            local=provider.local,
            clearance=provider.clearance,
            reachable=problem is None,
            why=None if problem is None else _told(problem),
            models=len(models),
            took=timedelta(seconds=_now() - began),
            asked_at=asked_at,
        )
        if problem is not None:
            last = {} if before is None else before.last
            return _Page(_now(), state, {}, {**models, **last}, problem)
        return _Page(_now(), state, models, models)


def _unreachable(ref: ModelRef, problem: PorticoError | None) -> PorticoError:
    """What is wrong with its provider, said of the model."""
    if isinstance(problem, ModelUnavailable):
        return ModelUnavailable(str(ref), problem.why, fix=problem.fix)
    return problem or ModelUnavailable(str(ref), "its server does not answer.")


def _told(problem: PorticoError) -> str:
    return str(problem) if problem.fix is None else f"{problem} {problem.fix}"


def _place(caller: Principal, provider: Provider) -> tuple[str, str]:
    """A key that was given by name is another one in each space."""
    own = provider.key is not None and provider.key.source is Source.SECRET
    return provider.name, str(caller.space) if own else ""


def _now() -> float:
    return asyncio.get_running_loop().time()
