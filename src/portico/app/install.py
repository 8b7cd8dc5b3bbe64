"""`portico init`: a database, a space, keys and imported servers, made once however often asked."""

import asyncio
import errno
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portico.adapters.postgres.checks import first_admin, space_name
from portico.adapters.postgres.guard.spaces import PostgresSpaces
from portico.adapters.postgres.store import PostgresSchema
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.adapters.system.files import write_private
from portico.adapters.system.secrets import make_pepper
from portico.app.app_context import AppContext
from portico.app.client_configs import client_files
from portico.app.secrets import SecretDependencies, open_audit
from portico.app.use_cases import use_cases
from portico.gateway.core.client_configs import told_apart
from portico.gateway.core.config_documents import Described
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import InvitationUsed, NotAuthenticated
from portico.guard.core.principals import Identity, Scope
from portico.guard.core.spaces import HOME
from portico.guard.keys import IssuedKey, KeySpec, for_agents
from portico.guard.spaces import InstallHome, SpaceSpec
from portico.interfaces.cli.services import (
    ImportRoom,
    SettingChange,
    Welcome,
)
from portico.interfaces.http.use_cases import UseCases
from portico.kernel.errors import PorticoError
from portico.kernel.principal import Principal, PrincipalKind
from portico.settings.edit import STARTER
from portico.settings.load import process_environment

if TYPE_CHECKING:
    from portico.engine.ports import Bus
    from portico.gateway.ports import ServerConfinement, Upstreams
    from portico.guard.ports import Audit
    from portico.kernel.ids import PrincipalId, SpaceId

DESKTOP: Final = "desktop"
_PAGE: Final = 200
_log: Final = logging.getLogger("portico.serve")


async def leave_agent_key(ground: AppContext, use: UseCases, admin: Principal) -> None:
    """If there is none that works. Whoever has shut the agent out is not overruled."""
    if await _opens(ground, use):
        return
    known = await _desktop(use, admin)
    if known is None:
        issued = await use.issue_agent_key(admin, KeySpec(name=DESKTOP))
    elif known.disabled_at is None:
        issued = await _another(use, admin, known)
    else:
        return
    ground.save_key(issued.key.reveal(), agent=True)


async def make_up_agent_key(ground: AppContext, use: UseCases) -> None:
    """For an installation that was made before there were such keys, as the one whose key is in
    the drawer. A server serves without it, too."""
    settings, paths = ground.loaded.settings, ground.loaded.paths
    if ground.agent_key_file.exists() or settings.client.server is not None:
        return
    try:
        key = await asyncio.to_thread(paths.key_file.read_text)
        admin = (await use.authenticate(key.strip())).principal
        if admin.may(Scope.PRINCIPALS_WRITE) and admin.may(Scope.KEYS_WRITE):
            await leave_agent_key(ground, use, admin)
    except (OSError, PorticoError) as error:
        _log.info("no key for programs was made: %s", error)


async def _opens(ground: AppContext, use: UseCases) -> bool:
    try:
        key = await asyncio.to_thread(ground.agent_key_file.read_text)
        await use.authenticate(key.strip())
    except (OSError, NotAuthenticated, InvitationUsed):
        return False
    return True


async def _another(use: UseCases, admin: Principal, agent: Identity) -> IssuedKey:
    wish = KeySpec(name=DESKTOP, principal=agent.id)
    return await use.issue_key(admin, for_agents(wish, agent.scopes))


async def _desktop(use: UseCases, admin: Principal) -> Identity | None:
    async for each in _principals(use, admin):
        if each.name == DESKTOP and each.kind is PrincipalKind.AGENT:
            return each
    return None


async def _principals(use: UseCases, admin: Principal) -> AsyncIterator[Identity]:
    after = None
    while page := await use.list_principals(admin, after=after, limit=_PAGE):
        for each in page:
            yield each
        after = page[-1].id


# `portico init`: a database, a space and a key, made once however often it is asked for.


async def install(
    ground: AppContext, *, admin: str, recover: bool, progress: Callable[[str], None]
) -> Welcome:
    paths, store = ground.loaded.paths, ground.store
    if not paths.config_file.exists():
        write_private(paths.config_file, STARTER)
    await store.start(create=True, progress=progress)
    try:
        applied = [migration async for migration in ground.migrate()()]
        progress("making your space")
        async with PostgresSchema(store.owner_address).locked():  # one of a crowd makes it
            known = await first_admin(store.owner_address)
            first = known or await _found_home(ground, admin)
            lost = known is not None and (not await _key_opens(ground, recover=recover) or recover)
            if lost:
                await _recover(ground, first)
            await _leave_agent_key(ground, first)
        return Welcome(
            new=known is None,
            recovered=lost,
            space=await space_name(store.owner_address, first.space),
            admin=first.name,
            key_file=paths.key_file,
            agent_key_file=ground.agent_key_file,
            migrations=len(applied),
        )
    finally:
        await store.release()


async def _key_opens(ground: AppContext, *, recover: bool) -> bool:
    """Whether the key file holds a key that works. Raises `PepperMissing`, unless told to recover:
    without the pepper no key of this installation can ever work again."""
    if recover and ground.loaded.settings.identity.pepper is None:
        make_pepper(ground.loaded.paths.pepper_file)
    try:
        key = ground.loaded.paths.key_file.read_text().strip()
    except OSError:
        return False
    async with open_pool(ground.store.addresses.app, 2) as pool:
        try:
            await use_cases(ground, Transactions(pool)).authenticate(key)
        except (NotAuthenticated, InvitationUsed):
            return False
    return True


async def _found_home(ground: AppContext, admin: str) -> Identity:
    if ground.loaded.settings.identity.pepper is None:
        make_pepper(ground.loaded.paths.pepper_file)
    async with open_pool(ground.store.addresses.app, 2) as pool:
        transactions = Transactions(pool)
        found = InstallHome(
            spaces=PostgresSpaces(transactions),
            unit_of_work=transactions.begin,
            audit=open_audit(ground, transactions).audit,
            clock=SystemClock(),
            entropy=system_entropy,
            pepper=ground.pepper(),
        )
        installed = await found(SpaceSpec(name=HOME, admin=admin))
    _keep(ground, installed.key)
    SecretDependencies(ground).open_vault(first=True)
    return installed.admin


async def _recover(ground: AppContext, admin: Identity) -> None:
    """Whoever can read the database's password is its owner: a lost key is a new one away."""
    async with open_pool(ground.store.addresses.app, 2) as pool:
        use = use_cases(ground, Transactions(pool))
        _keep(ground, await use.issue_key(as_principal(admin), KeySpec(name="command line")))


async def _leave_agent_key(ground: AppContext, admin: Identity) -> None:
    async with open_pool(ground.store.addresses.app, 2) as pool:
        use = use_cases(ground, Transactions(pool))
        await leave_agent_key(ground, use, as_principal(admin))


def _keep(ground: AppContext, issued: IssuedKey) -> None:
    ground.save_key(issued.key.reveal())


# `portico init` takes over servers: in its own process, whether the server runs or not.


@dataclass(frozen=True)
class AppImporting:
    app: AppContext
    change_setting: Callable[[str, list[str]], SettingChange]

    def found(self, files: Sequence[Path]) -> Sequence[Described]:
        """Told apart from what is in use already, so that names are what they will be."""
        known = client_files(self.app)
        named = (known.own_file, *known.absolute(self._imports))
        in_use = [each for path in named if (each := known.read(str(path))) is not None]
        there = {each.origin for each in in_use}
        new = list(self._named(files)) if files else known.found(Path.cwd())
        described = told_apart([*in_use, *(each for each in new if each.origin not in there)])
        wanted = {str(file.absolute()) for file in files} or {each.origin for each in new} - there
        return [each for each in described if each.origin in wanted and _says_something(each)]

    def _named(self, files: Sequence[Path]) -> Iterator[Described]:
        for file in files:
            described = client_files(self.app).read(str(file))
            if described is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(file))
            yield described

    def use(self, origins: Sequence[str]) -> SettingChange:
        known = client_files(self.app)
        there = set(known.absolute(self._imports))
        new = [known.written(Path(each)) for each in origins if Path(each) not in there]
        return self.change_setting("gateway.imports", [*self._imports, *new])

    @property
    def _imports(self) -> Sequence[str]:
        return self.app.loaded.settings.gateway.imports

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[ImportRoom]:
        from portico.adapters.mcp.pool import UpstreamPool
        from portico.adapters.postgres.bus import PostgresBus
        from portico.adapters.postgres.transaction import BusAfterCommit, Transactions, open_pool
        from portico.adapters.system.clock import SystemClock, system_entropy
        from portico.app.box import Sandboxes
        from portico.app.gateway import terms
        from portico.app.secrets import SecretDependencies, open_audit

        store = self.app.store
        await store.start(create=False, progress=lambda _: None)
        try:
            async with open_pool(store.addresses.app, 6) as pool:
                transactions = Transactions(pool)
                bus = PostgresBus(store.addresses.app, system_entropy)
                boxes = Sandboxes(self.app)
                upstreams = UpstreamPool(
                    terms=terms(self.app),
                    clock=SystemClock(),
                    entropy=system_entropy,
                    secrets=self.app.secrets,
                    changed=_nobody_is_told,
                    confine=boxes.cells(),
                    environment=process_environment(),
                    keeper=SecretDependencies(self.app).references,
                )
                caller = await self._caller(transactions)
                async with upstreams:
                    said = BusAfterCommit(bus, transactions)
                    audit = open_audit(self.app, transactions).audit
                    yield _room(
                        transactions, audit, said, upstreams, walls=boxes.walls(), caller=caller
                    )
                await bus.say_all()
        finally:
            await store.release()

    async def _caller(self, transactions: "Transactions") -> "Principal":
        """Whoever this machine's key belongs to: they have seen the commands, and approve them."""
        from portico.app.use_cases import use_cases

        key = self.app.loaded.paths.key_file.read_text().strip()
        return (await use_cases(self.app, transactions).authenticate(key)).principal


def _room(
    transactions: "Transactions",
    audit: "Audit",
    bus: "Bus",
    upstreams: "Upstreams",
    *,
    walls: "ServerConfinement",
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
                unit_of_work=transactions.begin,
                audit=audit,
                upstreams=upstreams,
                bus=bus,
                clock=clock,
                entropy=system_entropy,
            ),
            approve=ApproveLaunch(
                servers=servers, confinement=walls, audit=audit, bus=bus, clock=clock
            ),
            index=index,
            review=ReviewServers(servers=servers, tools=tools, confinement=walls, shipped=shipped),
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
