"""Small JSON documents of strangers, fetched through the gate, and no longer than they need be."""

import asyncio
import json
import ssl
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2

from portico.adapters.egress.bounded import Bounds
from portico.adapters.egress.client import guarded_client, written
from portico.adapters.egress.dialer import Dialer
from portico.sandbox.core.errors import AddressRefused
from portico.sandbox.core.profile import Place

_BOUNDS: Final = Bounds(seconds=10.0, largest=256 * 1024, redirects=0)
"""Nobody is followed anywhere: what a document says holds for where it stands."""


class NotFetched(Exception):
    """Nobody there, nothing that may be asked, or nothing that can be read."""


@dataclass(frozen=True, slots=True)
class Answered:
    status: int
    document: Mapping[str, Any]
    """Empty if it is none."""


@dataclass(slots=True)
class Documents:
    dialer: Dialer = field(default_factory=Dialer)
    _tls: ssl.SSLContext | None = None

    async def get(self, url: str, allow: Collection[str] = ()) -> Answered:
        """`allow` are addresses that somebody wrote here: their hosts may be anywhere. Raises
        `NotFetched`."""
        return await self._asked("GET", url, allow, headers={"accept": "application/json"})

    async def post(
        self,
        url: str,
        allow: Collection[str] = (),
        *,
        form: Mapping[str, str] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answered:
        """A form, or else a document. Raises `NotFetched`."""
        given = {"accept": "application/json", **(headers or {})}
        more: dict[str, Any] = {"data": dict(form)} if form is not None else {"json": body}
        return await self._asked("POST", url, allow, headers=given, **more)

    async def _asked(
        self,
        method: str,
        url: str,
        allow: Collection[str],
        **sent: Any,  # noqa: ANN401 # as the library has it
    ) -> Answered:
        try:
            places = frozenset(map(written, allow))
            client = guarded_client(
                allow=places,
                dialer=self.dialer,
                tls=await self._context(),
                bounds=_BOUNDS,
                proxied=_proxied(url, places),
            )
            async with client:
                answer = await client.request(method, url, **sent)
        except (httpx2.HTTPError, httpx2.InvalidURL, AddressRefused, UnicodeError) as error:
            # What it says may quote what was sent, and that may be a secret.
            reason = str(error) if isinstance(error, AddressRefused) else type(error).__name__
            raise NotFetched(reason) from error
        return Answered(answer.status_code, _document(answer.content))

    async def _context(self) -> ssl.SSLContext:
        """Dear to build, so there is one for all."""
        if self._tls is None:
            self._tls = await asyncio.to_thread(httpx2.create_ssl_context)
        return self._tls


def _proxied(url: str, places: Collection[Place]) -> httpx2.URL | None:
    return httpx2.URL(url) if written(url) in places else None


def _document(content: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
