"""What somebody says of a model, and how it becomes what we know of it."""

from dataclasses import dataclass, replace

from portico.adapters.models.provider import Provider, on_this_machine, usual_clearance
from portico.agents.core.model_requests import FREE, ModelInfo, ModelRef, Price, Support, ToldBy


@dataclass(frozen=True, slots=True)
class Said:
    name: str
    window: int | None = None
    most_output: int | None = None
    tools: Support = Support.UNKNOWN
    vision: Support = Support.UNKNOWN
    structured: Support = Support.UNKNOWN
    price: Price | None = None
    told_by: ToldBy = ToldBy.NOBODY
    elsewhere: str | None = None
    """Where it really runs, if its server only passes on what it is asked."""

    def filled(self, other: "Said") -> "Said":
        """With what another knows of what this one does not say."""
        return replace(
            self,
            window=self.window or other.window,
            most_output=self.most_output or other.most_output,
            tools=_first(self.tools, other.tools),
            vision=_first(self.vision, other.vision),
            structured=_first(self.structured, other.structured),
            price=self.price or other.price,
            told_by=self.told_by if self.told_by is not ToldBy.NOBODY else other.told_by,
        )


def support(told: bool | None) -> Support:
    if told is None:
        return Support.UNKNOWN
    return Support.YES if told else Support.NO


def known(provider: Provider, said: Said) -> ModelInfo:
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
        most_output=said.most_output,
        tools=_first(provider.tools, said.tools),
        vision=_first(provider.vision, said.vision),
        structured=_first(provider.structured, said.structured),
        price=provider.price or said.price or (FREE if local else None),
        local=local,
        clearance=clearance,
        told_by=ToldBy.SETTINGS if set_ or provider.window else said.told_by,
    )


def passes_on(host: str | None) -> str | None:
    """Only to somewhere else than this machine."""
    return host if host and not on_this_machine(host) else None


def _first(one: Support, other: Support) -> Support:
    return other if one is Support.UNKNOWN else one
