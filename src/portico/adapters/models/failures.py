"""What a model's server answers instead of an answer, in our words: never a key, never a body."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

import httpx2

from portico.adapters.models.provider import Provider, ProviderKind
from portico.agents.core.errors import (
    ModelBroke,
    ModelNotFound,
    ModelOverflow,
    ModelRefused,
    ModelUnavailable,
)
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonValue
from portico.kernel.redaction import blacked_out
from portico.sandbox.core.errors import AddressRefused

BUSY: Final = frozenset({408, 409, 425, 429})
_LONGEST: Final = 300
_MOST_SECONDS: Final = 86_400
_TOO_LONG: Final = re.compile(
    r"context[ _](length|size|window)|prompt (is )?too long|too many (input )?tokens",
    re.IGNORECASE,
)
_WAY_IN: Final = {401: "its key is not accepted", 403: "its key does not allow this"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """Something else than yes."""

    status: int
    said: str
    headers: Mapping[str, str]
    """By names in small letters."""
    at: datetime


def refusal(provider: Provider, model: str, answered: Answered) -> PorticoError:
    status, said = answered.status, answered.said
    if status in _WAY_IN:
        return ModelRefused(model, f"{_WAY_IN[status]}.", fix=_key_fix(provider))
    if status == 404:
        return ModelNotFound(model, _missing_fix(provider, model))
    if status in BUSY or status >= 500:
        return ModelUnavailable(
            model,
            f"its server answers {status}{_quoted(said)}.",
            retry_after=pause(answered.headers, answered.at),
        )
    if _TOO_LONG.search(said):
        return overflow(model, said)
    if status == 402:
        return ModelRefused(model, f"it is not paid for{_quoted(said)}.", fix="See its account.")
    return ModelRefused(model, f"its server answers {status}{_quoted(said)}.")


def overflow(model: str, said: str) -> ModelOverflow:
    return ModelOverflow(
        model,
        f"its server says so{_quoted(said)}.",
        fix="Say it in fewer words, or choose a model with a larger window; "
        "`portico models list` shows them.",
    )


def too_long(said: str) -> bool:
    """Whether that is what a server complains about."""
    return _TOO_LONG.search(said) is not None


def torn(provider: Provider, model: str, error: Exception, *, begun: bool) -> PorticoError:
    """`begun`: something of its answer has come."""
    if begun:
        return ModelBroke(model, "the connection ended in the middle of it.")
    return ModelUnavailable(
        model,
        f"{why(error)} ({provider.url}).",
        fix=f"See that {provider.name} is running, and that this is where it is.",
    )


def late(model: str, patience: timedelta) -> ModelUnavailable:
    return ModelUnavailable(
        model, f"there was no whole answer within {patience.total_seconds():g} s."
    )


def why(error: BaseException) -> str:
    """What is at the bottom of it, in half a sentence."""
    chain = [error]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    for each in chain:
        match each:
            case AddressRefused():
                return shown(str(each))
            case httpx2.TimeoutException() | TimeoutError():
                return "it does not answer in time"
            case httpx2.ConnectError():
                return "nothing answers there"
            case _:
                continue
    return shown(str(chain[-1])) or "it cannot be reached"


def pause(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """What the server asked to wait: seconds, or a date."""
    told = headers.get("retry-after-ms")
    if told is not None and (seconds := _seconds(told)) is not None:
        return timedelta(seconds=seconds / 1000)
    told = headers.get("retry-after")
    if told is None:
        return None
    if (seconds := _seconds(told)) is not None:
        return timedelta(seconds=seconds)
    try:
        until = parsedate_to_datetime(told)
    except ValueError:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return min(max(until - now, timedelta(0)), timedelta(seconds=_MOST_SECONDS))


def shown(said: str) -> str:
    """A sentence of it at most, on one line and without secrets."""
    return blacked_out(" ".join(said.split())[:_LONGEST]).rstrip(".")


def message_in(body: JsonValue) -> str:
    """The sentence in what servers answer: `{"error": {"message": …}}`, or `{"error": …}`."""
    match body:
        case {"error": {"message": str(said)}} | {"error": str(said)} | {"message": str(said)}:
            return said
        case str():
            return body
        case _:
            return ""


def _quoted(said: str) -> str:
    told = shown(said)
    return f": {told}" if told else ""


def _seconds(told: str) -> float | None:
    try:
        found = float(told)
    except ValueError:
        return None
    return min(max(found, 0.0), _MOST_SECONDS) if found == found else None  # noqa: PLR0124 # NaN


def _key_fix(provider: Provider) -> str:
    if provider.key is None:
        return f"Give it a key: models.providers.{provider.name}.key"
    return f"Check what {provider.key} leads to."


def _missing_fix(provider: Provider, model: str) -> str:
    if provider.kind is ProviderKind.OLLAMA:
        return f"Fetch it: ollama pull {model.partition(':')[2]}"
    return "`portico models list` shows those there are."
