"""What lists that come with libraries say of a vendor's model: right when they were made.

Loaded when such a vendor is first asked for its models.
"""

from datetime import datetime
from decimal import Decimal

from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelPrice, TieredPrices
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.profiles.anthropic import anthropic_model_profile
from pydantic_ai.profiles.openai import openai_model_profile

from portico.adapters.models.provider import DeclaredCapabilities, ProviderKind
from portico.agents.core.model_requests import ModelInfoSource, Price, Support


def by_lists(kind: ProviderKind, name: str, at: datetime) -> DeclaredCapabilities:
    """Nothing is fetched for it."""
    try:
        _, known = get_snapshot().find_provider_model(name, None, kind.value, None)
    except LookupError:
        return DeclaredCapabilities(name)
    profile = _profile(kind, name)
    return DeclaredCapabilities(
        name,
        window=known.context_window,
        price=_price(known.get_prices(at)),
        tools=_support(profile, "supports_tools"),
        vision=_support(profile, "supports_image_input"),
        structured=_support(profile, "supports_json_schema_output"),
        told_by=ModelInfoSource.LIST,
    )


def _profile(kind: ProviderKind, name: str) -> ModelProfile:
    if kind is ProviderKind.ANTHROPIC:
        return anthropic_model_profile(name) or ModelProfile()
    return openai_model_profile(name)


def _support(profile: ModelProfile, what: str) -> Support:
    match dict(profile).get(what):
        case True:
            return Support.YES
        case False:
            return Support.NO
        case _:
            # the library's own default: whatever a profile does not deny of it, the vendor has
            return Support.YES if what == "supports_tools" else Support.UNKNOWN


def _price(prices: ModelPrice) -> Price | None:
    told = vars(prices)
    read, written = told.get("input_mtok"), told.get("output_mtok")
    if read is None or written is None:
        return None
    return Price(input=_dearest(read), output=_dearest(written))


def _dearest(price: Decimal | TieredPrices) -> Decimal:
    """Long prompts cost more: what a run may cost is held against the most that it can."""
    if isinstance(price, TieredPrices):
        return max([price.base, *(tier.price for tier in price.tiers)])
    return price
