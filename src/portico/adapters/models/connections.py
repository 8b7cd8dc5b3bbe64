"""Connections to providers: their clients and keys, answers that stream in, and failures."""

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final, Self

import httpx2

from portico.adapters.models.provider import Provider, ProviderKind
from portico.agents.core.errors import (
    ModelBroke,
    ModelKeyMissing,
    ModelNotFound,
    ModelOverflow,
    ModelRefused,
    ModelUnavailable,
    ProviderNotFound,
)
from portico.agents.core.model_calls import Scan
from portico.agents.core.model_requests import AssistantMessage, Message, ToolCall, ToolCallChunk
from portico.agents.core.tool_calls import read_arguments
from portico.guard.core.secrets import SecretRef, SecretsUnavailable, Source
from portico.kernel.clock import Entropy
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal
from portico.kernel.redaction import blacked_out
from portico.sandbox.core.errors import AddressRefused


@dataclass(frozen=True, slots=True)
class Connection:
    provider: Provider
    client: httpx2.AsyncClient
    key: str | None = None

    @property
    def authorization(self) -> Mapping[str, str]:
        """What is sent with a request of our own."""
        if self.key is None:
            return {}
        if self.provider.kind is ProviderKind.ANTHROPIC:
            return {"x-api-key": self.key, "anthropic-version": "2023-06-01"}
        return {"Authorization": f"Bearer {self.key}"}

    def __repr__(self) -> str:
        """Without the key."""
        return f"Connection({self.provider.name}, {self.provider.url})"


_KEY_GOOD_FOR: Final = 10.0
"""Seconds: a keyring or a file is not asked before each question, and yet soon enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connections:
    providers: Mapping[str, Provider]
    client: Callable[[Provider], httpx2.AsyncClient]
    key: Callable[[str, SecretRef], str | None]
    """By space. It waits, so it is called in a thread; raises `SecretsUnavailable`."""
    learn: Callable[[str], None]
    """What must never be told."""
    _clients: dict[str, httpx2.AsyncClient] = field(default_factory=dict)
    _keys: dict[tuple[str, str], tuple[float, str]] = field(default_factory=dict)

    def provider(self, name: str) -> Provider:
        """Raises `ProviderNotFound`."""
        found = self.providers.get(name)
        if found is None:
            raise ProviderNotFound(name, sorted(self.providers))
        return found

    async def to(self, caller: Principal, name: str) -> Connection:
        """Raises `ProviderNotFound`, `ModelKeyMissing`."""
        provider = self.provider(name)
        key = None if provider.key is None else await self._key(caller, provider, provider.key)
        if name not in self._clients:
            self._clients[name] = self.client(provider)
        return Connection(provider, self._clients[name], key)

    async def _key(self, caller: Principal, provider: Provider, ref: SecretRef) -> str:
        now = asyncio.get_running_loop().time()
        place = (str(caller.space) if ref.source is Source.SECRET else "", str(ref))
        at, known = self._keys.get(place, (0.0, None))
        if known is not None and now - at < _KEY_GOOD_FOR:
            return known
        try:
            found = await asyncio.to_thread(self.key, str(caller.space), ref)
        except SecretsUnavailable as error:
            raise ModelKeyMissing(provider.name, str(ref)) from error
        if found is None:
            raise ModelKeyMissing(provider.name, str(ref))
        self.learn(found)
        self._keys[place] = (now, found)
        return found

    async def close(self) -> None:
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()


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


# An answer while it comes in: words at once, and a call as soon as its arguments have closed.


@dataclass(slots=True)
class IncomingCall:
    """One call of a tool, of which pieces come in."""

    id: str
    name: str = ""
    told: str | None = None
    """Its arguments, as somebody was told them already."""
    _scan: Scan = field(default_factory=Scan)
    _pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    def add(self, *, name: str = "", text: str = "") -> ToolCallChunk | None:
        """The call, at the character that its arguments close with. Bare `{}` does not count: some
        servers begin with it and then say more."""
        self.name += name
        self._pieces.append(text)
        self._scan = self._scan.after(text)
        if self.told is not None or not self._scan.closed or not self.name:
            return None
        arguments = read_arguments(self.text)
        if not arguments:
            return None
        self.told = self.text
        return ToolCallChunk(ToolCall(self.id, self.name, arguments))

    @property
    def changed(self) -> bool:
        """Whether something else came in after somebody was told."""
        return self.told is not None and self.told.strip() != self.text.strip()


@dataclass(slots=True)
class CallIds:
    """Ids of calls that no two of a run share: some servers number them anew in each answer, and
    some give none."""

    taken: set[str]
    entropy: Entropy

    @classmethod
    def after(cls, messages: Iterable[Message], entropy: Entropy) -> Self:
        said = [each for each in messages if isinstance(each, AssistantMessage)]
        return cls({call.id for each in said for call in each.calls}, entropy)

    def given(self, wanted: str) -> str:
        free = wanted and wanted not in self.taken
        made = wanted if free else f"call_{self.entropy(9).hex()}"
        self.taken.add(made)
        return made
