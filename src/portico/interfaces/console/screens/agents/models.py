"""Models to choose from, and how those are that provide them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.agents.core.model_requests import ModelInfo, ProviderState, Support
from portico.interfaces.console.wording import money, short

_MOST: Final = 400


@dataclass(frozen=True, slots=True)
class Health:
    word: str
    tone: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    model: str
    text: str


@dataclass(frozen=True, slots=True)
class Group:
    provider: str
    health: Health
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Book:
    """Models and providers, as they were when somebody last asked them."""

    models: Mapping[str, ModelInfo]
    providers: Mapping[str, ProviderState]

    @classmethod
    def of(cls, models: Sequence[ModelInfo], providers: Sequence[ProviderState]) -> "Book":
        return cls(
            {str(each.ref): each for each in models}, {each.name: each for each in providers}
        )

    def health(self, model: str) -> Health:
        provider = self.providers.get(model.partition(":")[0])
        if model in self.models:
            return Health("answers", "ok")
        if not model:
            return Health("none chosen", "")
        if provider is None:
            return Health("no such provider", "bad")
        if not provider.reachable:
            return Health("does not answer", "bad", provider.why or "")
        return Health("not in its list", "warn", "Its provider answers, and does not list it.")

    @property
    def first(self) -> str:
        """What to offer to whoever has not chosen: one that can call tools, if there is one."""
        able = [name for name, each in self.models.items() if each.tools is not Support.NO]
        return next(iter([*able, *self.models]), "")

    def groups(self, chosen: str) -> Sequence[Group]:
        """By provider; what is chosen is there, whether or not it answers."""
        names = list(dict.fromkeys([*self.providers, *(_provider(each) for each in self.models)]))
        if chosen and _provider(chosen) not in names:
            names.append(_provider(chosen))
        return [
            Group(each, self._provider_health(each), self._choices(each, chosen)) for each in names
        ]

    def _provider_health(self, name: str) -> Health:
        state = self.providers.get(name)
        if state is None:
            return Health("no such provider", "bad")
        if not state.reachable:
            return Health("does not answer", "bad", state.why or "")
        return Health("answers", "ok")

    def _choices(self, provider: str, chosen: str) -> tuple[Choice, ...]:
        its = [each for each in self.models.values() if each.ref.provider == provider][:_MOST]
        found = [Choice(str(each.ref), _told(each)) for each in its]
        if _provider(chosen) == provider and chosen not in {each.model for each in found}:
            found.insert(0, Choice(chosen, f"{chosen} · {self.health(chosen).word}"))
        return tuple(found)


def _told(model: ModelInfo) -> str:
    told = [str(model.ref)]
    if model.window is not None:
        told.append(f"{short(model.window)} window")
    if model.tools is Support.NO:
        told.append("no tools")
    if model.local:
        told.append("on this machine")
    elif model.price is not None:
        told.append(f"{money(model.price.input)} in, {money(model.price.output)} out")
    told.append(f"up to {model.clearance}")
    return " · ".join(told)


def _provider(model: str) -> str:
    return model.partition(":")[0]
