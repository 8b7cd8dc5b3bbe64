"""A provider of models as it is reached from here, and those that are found by themselves."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from portico.agents.core.model_requests import FREE, Price, Support
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
