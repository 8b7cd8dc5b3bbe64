"""The catalog snapshot that is kept in memory."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from itertools import islice
from typing import Final

from portico.gateway.core.catalog_snapshot import Definition, Tool, ToolRef, ToolStatus
from portico.gateway.core.errors import (
    ServerNotApproved,
    ServerNotFound,
    ToolNotFound,
    ToolQuarantined,
)
from portico.gateway.core.reserved_metadata import MOST_DEEP, used_by
from portico.gateway.core.search import nearest
from portico.gateway.core.servers import Server, check_may_start, standing
from portico.guard.core.rules import on_all
from portico.kernel.effect import Effect
from portico.kernel.label import Label, may_read

_COMPARED: Final = 100
"""Names that one that is not there is compared to: each comparison takes its time."""


@dataclass(frozen=True, slots=True)
class CallableTool:
    """One that may be found and called: exactly as it was approved."""

    ref: ToolRef
    definition: Definition
    effect: Effect
    pin: str


@dataclass(frozen=True)
class CatalogSnapshot:
    servers: Mapping[str, Server]
    tools: Mapping[ToolRef, CallableTool]
    waiting: Mapping[ToolRef, tuple[ToolStatus, Tool]] = field(default_factory=dict)
    """What may not, and why; gone ones are not here."""
    version: object = field(default_factory=object)
    """Another for each shelf: to be remembered instead of the shelf itself, which is large."""

    @classmethod
    def of(
        cls, servers: Sequence[Server], tools: Mapping[str, Sequence[Tool]]
    ) -> "CatalogSnapshot":
        live: dict[ToolRef, CallableTool] = {}
        waiting: dict[ToolRef, tuple[ToolStatus, Tool]] = {}
        for server in servers:
            for tool in tools.get(server.name, ()):
                match standing(server, tool):
                    case ToolStatus.LIVE:
                        live[tool.ref] = CallableTool(
                            tool.ref, tool.definition, tool.effect, tool.pin
                        )
                    case ToolStatus.GONE:
                        pass
                    case other:
                        waiting[tool.ref] = (other, tool)
        return cls({server.name: server for server in servers}, live, waiting)

    def below(self, clearance: Label) -> "CatalogSnapshot":
        """What whoever has this clearance may know of: of the rest there is no name, no count and
        nothing near it. Itself, if that is everything."""
        servers = {
            name: server
            for name, server in self.servers.items()
            if may_read(clearance, server.label)
        }
        if len(servers) == len(self.servers):
            return self
        below = CatalogSnapshot(
            servers,
            {ref: tool for ref, tool in self.tools.items() if ref.server in servers},
            {ref: waits for ref, waits in self.waiting.items() if ref.server in servers},
        )
        return below._without({ref for ref in below._workflows if not below._all_known(ref)})

    def on(self, lists: Sequence[Sequence[str]]) -> "CatalogSnapshot":
        """The tools that are on all of these lists, of the same servers. Itself, without any."""
        if not lists:
            return self
        return CatalogSnapshot(
            self.servers,
            {ref: tool for ref, tool in self.tools.items() if on_all(lists, str(ref))},
            {ref: waits for ref, waits in self.waiting.items() if on_all(lists, str(ref))},
        )

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """How many live tools each server has, most first."""
        counted = Counter(ref.server for ref in self.tools)
        return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))

    def server(self, name: str) -> Server:
        """One that may be used. Raises `ServerNotFound`, `ServerGone`, `ServerDisabled`,
        `ServerNotApproved`."""
        server = self.servers.get(name)
        if server is None:
            raise ServerNotFound(name)
        check_may_start(server)
        if not server.approved:
            raise ServerNotApproved(name)
        return server

    def find(self, ref: ToolRef) -> CallableTool:
        """Raises `ToolNotFound`, `ToolQuarantined`, `ServerDisabled`, `ServerNotApproved`."""
        tool = self.tools.get(ref)
        if tool is not None:
            return tool
        if ref not in self.waiting:
            raise self._absent(ref)
        self.server(ref.server)
        raise ToolQuarantined(str(ref), ref.server)

    def _absent(self, ref: ToolRef) -> ToolNotFound:
        """Of a server that nobody has let in yet, with what stands in the way."""
        server, near = self.servers.get(ref.server), self._near(ref)
        if server is None or server.approved:
            return ToolNotFound(str(ref), near)
        its = nearest(server)
        return ToolNotFound(str(ref), near, why=f"The server {its.server} {its.needs}", fix=its.fix)

    def of_server(self, name: str) -> Iterator[CallableTool]:
        return (tool for ref, tool in self.tools.items() if ref.server == name)

    @cached_property
    def _workflows(self) -> Mapping[ToolRef, Sequence[ToolRef]]:
        """The saved ones, and what each calls."""
        ours = {name for name, its in self.servers.items() if its.holds_workflows}
        every = {ref: tool.definition for ref, tool in self.tools.items() if ref.server in ours}
        every |= {ref: its[1].definition for ref, its in self.waiting.items() if ref.server in ours}
        return {ref: [*map(ToolRef.parse, used_by(each))] for ref, each in every.items()}

    def _all_known(self, ref: ToolRef, deep: int = MOST_DEEP) -> bool:
        """Whether the servers of all that it calls are on this shelf, also inside one another."""
        return ref.server in self.servers and all(
            self._all_known(used, deep - 1) for used in self._workflows.get(ref, ()) if deep
        )

    def _without(self, hidden: AbstractSet[ToolRef]) -> "CatalogSnapshot":
        if not hidden:
            return self
        return CatalogSnapshot(
            self.servers,
            {ref: tool for ref, tool in self.tools.items() if ref not in hidden},
            {ref: waits for ref, waits in self.waiting.items() if ref not in hidden},
        )

    def _near(self, ref: ToolRef) -> Sequence[str]:
        """The same tool of another server first, then names that look like it."""
        same = (str(other) for other in self.tools if other.name == ref.name)
        alike = (tool.ref.name for tool in self.of_server(ref.server))
        first = ref.name[:2].lower()
        few = list(islice((name for name in alike if name[:2].lower() == first), _COMPARED))
        close = get_close_matches(ref.name, few, 3)
        return list(dict.fromkeys([*islice(same, 3), *(f"{ref.server}.{each}" for each in close)]))
