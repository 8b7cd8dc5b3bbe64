"""Which models there are, what is known of one, and whether those who provide them answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.agents.core.model import ModelInfo, ModelRef, ProviderState
from portico.agents.ports import ModelBook
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ListModels:
    book: ModelBook

    async def __call__(self, caller: Principal, *, fresh: bool = False) -> Sequence[ModelInfo]:
        """By name. Raises `NotPermitted`."""
        permit(caller, Scope.MODELS_READ)
        return sorted(await self.book.all(caller, fresh=fresh), key=_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowModel:
    book: ModelBook

    async def __call__(self, caller: Principal, ref: ModelRef) -> ModelInfo:
        """Raises `NotPermitted`, `ProviderNotFound`, `ModelNotFound`, `ModelUnavailable`."""
        permit(caller, Scope.MODELS_READ)
        return await self.book.get(caller, ref)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListProviders:
    book: ModelBook

    async def __call__(self, caller: Principal, *, fresh: bool = False) -> Sequence[ProviderState]:
        """Raises `NotPermitted`."""
        permit(caller, Scope.MODELS_READ)
        return await self.book.providers(caller, fresh=fresh)


def _name(model: ModelInfo) -> str:
    return str(model.ref)
