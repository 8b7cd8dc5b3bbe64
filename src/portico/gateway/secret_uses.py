"""Which servers of tools are given which of the secrets that were set by name."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from portico.gateway.core.server import FromSecret, Http, Launch, Stdio, Template, Value
from portico.gateway.ports import Servers
from portico.guard.core.secrets import Source, parse_ref
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class FindSecretUses:
    servers: Servers
    """Those that the caller may know of."""

    async def __call__(self, caller: Principal) -> Mapping[str, Sequence[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        for server in await self.servers.all(caller):
            for name in {*secrets_of(server.launch)}:
                found[name].append(server.name)
        return found


def secrets_of(launch: Launch) -> Iterator[str]:
    """The names of those that were set."""
    for value in _values(launch):
        parts = value.parts if isinstance(value, Template) else (value,)
        for part in parts:
            ref = parse_ref(part.ref) if isinstance(part, FromSecret) else None
            if ref is not None and ref.source is Source.SECRET:
                yield ref.name


def _values(launch: Launch) -> Iterator[Value]:
    if isinstance(launch, Stdio):
        yield from launch.arguments
        yield from launch.environment.values()
    if isinstance(launch, Http):
        yield from launch.headers.values()
