"""Providers of models as they are reached from here, and what is declared of a model."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from portico.agents.core.model_requests import (
    FREE,
    ModelInfo,
    ModelInfoSource,
    ModelRef,
    Price,
    Support,
)
from portico.guard.core.secrets import SecretRef, Source
from portico.kernel.label import Label, Level

NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,31}")


class ProviderKind(StrEnum):
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    OPENROUTER = "openrouter"
    OLLAMA = "ollama"
    COMPATIBLE = "compatible"


USUAL: Final[Mapping[ProviderKind, str]] = {
    ProviderKind.OPENAI: "https://api.openai.com/v1",
    ProviderKind.ANTHROPIC: "https://api.anthropic.com",
    ProviderKind.OPENROUTER: "https://openrouter.ai/api/v1",
    ProviderKind.OLLAMA: "http://127.0.0.1:11434",
}

_ON_THIS_MACHINE: Final = {
    "ollama": (ProviderKind.OLLAMA, USUAL[ProviderKind.OLLAMA]),
    "llamacpp": (ProviderKind.COMPATIBLE, "http://127.0.0.1:8080/v1"),
    "lmstudio": (ProviderKind.COMPATIBLE, "http://127.0.0.1:1234/v1"),
    "vllm": (ProviderKind.COMPATIBLE, "http://127.0.0.1:8000/v1"),
}
_BY_KEY: Final = {
    "openai": (ProviderKind.OPENAI, "OPENAI_API_KEY"),
    "anthropic": (ProviderKind.ANTHROPIC, "ANTHROPIC_API_KEY"),
    "openrouter": (ProviderKind.OPENROUTER, "OPENROUTER_API_KEY"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    name: str
    kind: ProviderKind
    url: str
    key: SecretRef | None = None
    clearance: Label
    found: bool = False
    """Nobody has named it: if it does not answer, it is not there."""
    models: tuple[str, ...] = ()
    """That it has, whether it lists them or not."""
    window: int | None = None
    price: Price | None = None
    tools: Support = Support.UNKNOWN
    vision: Support = Support.UNKNOWN
    structured: Support = Support.UNKNOWN

    @property
    def local(self) -> bool:
        return on_this_machine(self.url)

    @property
    def costs(self) -> Price | None:
        """What is known without asking anybody."""
        return self.price or (FREE if self.local else None)


def on_this_machine(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def usual_clearance(url: str) -> Label:
    """What is on this machine may know all that is; whoever else, what the team may."""
    return Label(Level.RESTRICTED if on_this_machine(url) else Level.TEAM)


def found_by_themselves(environment: Mapping[str, str]) -> Iterator[Provider]:
    """Whoever may be here: at the usual ports, and by the keys that are in the environment."""
    for name, (kind, url) in _ON_THIS_MACHINE.items():
        yield Provider(name=name, kind=kind, url=url, clearance=usual_clearance(url), found=True)
    for name, (kind, variable) in _BY_KEY.items():
        if environment.get(variable):
            yield Provider(
                name=name,
                kind=kind,
                url=USUAL[kind],
                key=SecretRef(Source.ENVIRONMENT, variable),
                clearance=usual_clearance(USUAL[kind]),
            )


@dataclass(frozen=True, slots=True)
class DeclaredCapabilities:
    name: str
    window: int | None = None
    max_output_tokens: int | None = None
    tools: Support = Support.UNKNOWN
    vision: Support = Support.UNKNOWN
    structured: Support = Support.UNKNOWN
    price: Price | None = None
    told_by: ModelInfoSource = ModelInfoSource.NOBODY
    elsewhere: str | None = None
    """Where it really runs, if its server only passes on what it is asked."""

    def filled(self, other: "DeclaredCapabilities") -> "DeclaredCapabilities":
        """With what another knows of what this one does not say."""
        return replace(
            self,
            window=self.window or other.window,
            max_output_tokens=self.max_output_tokens or other.max_output_tokens,
            tools=_first(self.tools, other.tools),
            vision=_first(self.vision, other.vision),
            structured=_first(self.structured, other.structured),
            price=self.price or other.price,
            told_by=self.told_by if self.told_by is not ModelInfoSource.NOBODY else other.told_by,
        )


def support(told: bool | None) -> Support:
    if told is None:
        return Support.UNKNOWN
    return Support.YES if told else Support.NO


def known(provider: Provider, said: DeclaredCapabilities) -> ModelInfo:
    """What the settings say wins."""
    windows = [each for each in (said.window, provider.window) if each]
    decided = Support.UNKNOWN
    set_ = {provider.tools, provider.vision, provider.structured} != {decided}
    local = provider.local and said.elsewhere is None
    clearance = provider.clearance
    if said.elsewhere is not None and clearance == usual_clearance(provider.url):
        clearance = usual_clearance(said.elsewhere)
    return ModelInfo(
        ref=ModelRef(provider.name, said.name),
        window=min(windows, default=None),
        max_output_tokens=said.max_output_tokens,
        tools=_first(provider.tools, said.tools),
        vision=_first(provider.vision, said.vision),
        structured=_first(provider.structured, said.structured),
        price=provider.price or said.price or (FREE if local else None),
        local=local,
        clearance=clearance,
        told_by=ModelInfoSource.SETTINGS if set_ or provider.window else said.told_by,
    )


def passes_on(host: str | None) -> str | None:
    """Only to somewhere else than this machine."""
    return host if host and not on_this_machine(host) else None


def _first(one: Support, other: Support) -> Support:
    return other if one is Support.UNKNOWN else one
