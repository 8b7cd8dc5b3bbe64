"""Resources and prompts that servers offer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.gateway.core.errors import OfferNotFound
from portico.gateway.core.servers import Server
from portico.kernel.json import JsonObject, JsonValue

_SCHEME: Final = "portico://"
_BETWEEN: Final = "__"


@dataclass(frozen=True, slots=True)
class Offers:
    """Each in the protocol's own form."""

    resources: Sequence[JsonObject]
    resource_templates: Sequence[JsonObject]
    prompts: Sequence[JsonObject]


def offers_of(server: Server) -> Offers:
    """Only what is now as it was approved."""
    return Offers(
        _agreed(server, "resources"),
        _agreed(server, "resource_templates"),
        _agreed(server, "prompts"),
    )


def _agreed(server: Server, kind: str) -> Sequence[JsonObject]:
    accepted = _listed(server.accepted_offers, kind)
    return [it for it in _listed(server.offers, kind) if isinstance(it, Mapping) and it in accepted]


def _listed(offers: JsonObject, kind: str) -> Sequence[JsonValue]:
    listed = offers.get(kind)
    return listed if isinstance(listed, Sequence) and not isinstance(listed, str) else ()


def together(every: Mapping[str, Offers]) -> Offers:
    """Of several servers, told apart by their names."""
    return Offers(
        [
            {**it, "uri": our_uri(name, str(it.get("uri")))}
            for name, its in every.items()
            for it in its.resources
        ],
        [
            {**it, "uriTemplate": our_uri(name, str(it.get("uriTemplate")))}
            for name, its in every.items()
            for it in its.resource_templates
        ],
        [
            {**it, "name": f"{name}{_BETWEEN}{it.get('name')}"}
            for name, its in every.items()
            for it in its.prompts
        ],
    )


def our_uri(server: str, uri: str) -> str:
    """A server's address of something, as ours."""
    return f"{_SCHEME}{server}/{uri}"


def whose_uri(uri: str) -> tuple[str, str]:
    """The server, and its own address. Raises `OfferNotFound`."""
    server, _, inner = uri.removeprefix(_SCHEME).partition("/")
    if not uri.startswith(_SCHEME) or not server or not inner:
        raise OfferNotFound("resource", uri)
    return server, inner


def whose_prompt(name: str) -> tuple[str, str]:
    """The server, and its own name. Raises `OfferNotFound`."""
    server, _, inner = name.partition(_BETWEEN)
    if not server or not inner:
        raise OfferNotFound("prompt", name)
    return server, inner
