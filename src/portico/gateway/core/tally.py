"""A server's tools, counted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from portico.gateway.core.server import Server
from portico.gateway.core.tool import Standing, Tool
from portico.kernel.tokens import NO_TOKENS, Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Of the tools themselves; how each stands depends on its server as well."""

    agreed: int = 0
    new: int = 0
    changed: int = 0
    refused: int = 0
    gone: int = 0
    tokens: Tokens = NO_TOKENS
    """What those that are there would cost a client without a gateway."""

    @property
    def there(self) -> int:
        return self.agreed + self.new + self.changed + self.refused


def tally(tools: Iterable[Tool]) -> Tally:
    counted = dict.fromkeys(("agreed", "new", "changed", "refused", "gone"), 0)
    tokens = 0
    for tool in tools:
        counted[_as(tool)] += 1
        tokens += 0 if tool.gone else tool.tokens
    return Tally(tokens=Tokens(tokens), **counted)


def _as(tool: Tool) -> str:
    if tool.gone:
        return "gone"
    if tool.refused is not None:
        return "refused"
    if tool.accepted_pin is None:
        return "new"
    return "agreed" if tool.accepted_pin == tool.pin else "changed"


def standings(server: Server, counted: Tally) -> Mapping[Standing, int]:
    """How many of its tools stand how; what there is none of is left out."""
    if server.approved:
        living = {
            Standing.LIVE: counted.agreed,
            Standing.NEW: counted.new,
            Standing.CHANGED: counted.changed,
        }
    else:
        living = {Standing.PENDING: counted.agreed + counted.new + counted.changed}
    every = {**living, Standing.REFUSED: counted.refused, Standing.GONE: counted.gone}
    return {standing: number for standing, number in every.items() if number}
