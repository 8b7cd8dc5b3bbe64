"""`portico init` takes over servers: in its own process, whether the server runs or not."""

import errno
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from portico.app.client_files import client_files
from portico.app.ground import Ground
from portico.gateway.core.client_configs import told_apart
from portico.gateway.core.config_documents import Described
from portico.interfaces.cli.house import ImportRoom, SettingChange

if TYPE_CHECKING:
    from portico.adapters.postgres.transaction import Transactions
    from portico.engine.ports import Bus
    from portico.gateway.ports import Upstreams, Walls
    from portico.guard.ports import Audit
    from portico.kernel.ids import PrincipalId, SpaceId
    from portico.kernel.principal import Principal


@dataclass(frozen=True)
class GroundImporting:
    ground: Ground
    change_setting: Callable[[str, list[str]], SettingChange]

    def found(self, files: Sequence[Path]) -> Sequence[Described]:
        """Told apart from what is in use already, so that names are what they will be."""
        known = client_files(self.ground)
        named = (known.own_file, *known.absolute(self._imports))
        in_use = [each for path in named if (each := known.read(str(path))) is not None]
        there = {each.origin for each in in_use}
        new = list(self._named(files)) if files else known.found(Path.cwd())
        described = told_apart([*in_use, *(each for each in new if each.origin not in there)])
        wanted = {str(file.absolute()) for file in files} or {each.origin for each in new} - there
        return [each for each in described if each.origin in wanted and _says_something(each)]

    def _named(self, files: Sequence[Path]) -> Iterator[Described]:
        for file in files:
            described = client_files(self.ground).read(str(file))
            if described is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(file))
            yield described

    def use(self, origins: Sequence[str]) -> SettingChange:
        known = client_files(self.ground)
        there = set(known.absolute(self._imports))
        new = [known.written(Path(each)) for each in origins if Path(each) not in there]
        return self.change_setting("gateway.imports", [*self._imports, *new])

    @property
    def _imports(self) -> Sequence[str]:
        return self.ground.loaded.settings.gateway.imports

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[ImportRoom]:
        from portico.adapters.mcp.pool import UpstreamPool
        from portico.adapters.postgres.bus import PostgresBus
        from portico.adapters.postgres.transaction import BusAfterCommit, Transactions, open_pool
        from portico.adapters.system.clock import SystemClock, system_entropy
        from portico.app.audit import open_audit
        from portico.app.box import Boxes
        from portico.app.gateway import terms
        from portico.app.secrets import SecretDoors
        from portico.settings.load import process_environment

        store = self.ground.store
        await store.start(create=False, progress=lambda _: None)
        try:
            async with open_pool(store.addresses.app, 6) as pool:
                transactions = Transactions(pool)
                bus = PostgresBus(store.addresses.app, system_entropy)
                boxes = Boxes(self.ground)
                upstreams = UpstreamPool(
                    terms=terms(self.ground),
                    clock=SystemClock(),
                    entropy=system_entropy,
                    secrets=self.ground.secrets,
                    changed=_nobody_is_told,
                    confine=boxes.cells(),
                    environment=process_environment(),
                    keeper=SecretDoors(self.ground).references,
                )
                caller = await self._caller(transactions)
                async with upstreams:
                    said = BusAfterCommit(bus, transactions)
                    audit = open_audit(self.ground, transactions).audit
                    yield _room(
                        transactions, audit, said, upstreams, walls=boxes.walls(), caller=caller
                    )
                await bus.say_all()
        finally:
            await store.release()

    async def _caller(self, transactions: "Transactions") -> "Principal":
        """Whoever this machine's key belongs to: they have seen the commands, and approve them."""
        from portico.app.use_cases import use_cases

        key = self.ground.loaded.paths.key_file.read_text().strip()
        return (await use_cases(self.ground, transactions).authenticate(key)).principal


def _room(
    transactions: "Transactions",
    audit: "Audit",
    bus: "Bus",
    upstreams: "Upstreams",
    *,
    walls: "Walls",
    caller: "Principal",
) -> ImportRoom:
    from portico.adapters.postgres.gateway.servers import PostgresServers
    from portico.adapters.postgres.gateway.tools import PostgresTools
    from portico.adapters.system.clock import SystemClock, system_entropy
    from portico.adapters.system.shipped_lists import shipped_effects
    from portico.adapters.tokens import O200k
    from portico.gateway.discovery import IndexServer
    from portico.gateway.server_approval import AcceptTools, ApproveLaunch, ReviewServers
    from portico.gateway.server_files import AcceptListed, ImportServers, ReconcileServers
    from portico.gateway.start_diagnostics import ExamineServers
    from portico.gateway.surface import WeighContext

    servers, tools = PostgresServers(transactions), PostgresTools(transactions)
    clock, tokenizer, shipped = SystemClock(), O200k(), shipped_effects()
    index = IndexServer(
        servers=servers,
        tools=tools,
        upstreams=upstreams,
        audit=audit,
        tokenizer=tokenizer,
        bus=bus,
        clock=clock,
    )
    return ImportRoom(
        caller=caller,
        import_servers=ImportServers(
            servers=servers,
            upstreams=upstreams,
            reconcile=ReconcileServers(
                servers=servers,
                together=transactions.begin,
                audit=audit,
                upstreams=upstreams,
                bus=bus,
                clock=clock,
                entropy=system_entropy,
            ),
            approve=ApproveLaunch(servers=servers, walls=walls, audit=audit, bus=bus, clock=clock),
            index=index,
            review=ReviewServers(servers=servers, tools=tools, walls=walls, shipped=shipped),
        ),
        accept=AcceptListed(
            accept=AcceptTools(
                servers=servers, tools=tools, audit=audit, shipped=shipped, bus=bus, clock=clock
            )
        ),
        weigh=WeighContext(servers=servers, tools=tools, tokenizer=tokenizer),
        examine=ExamineServers(servers=servers, upstreams=upstreams, index=index),
    )


def _says_something(described: Described) -> bool:
    return bool(described.wishes or described.problems)


async def _nobody_is_told(_space: "SpaceId", _server: str, _login: "PrincipalId | None") -> None:
    """A server that offers something else by now is asked again when somebody serves."""
