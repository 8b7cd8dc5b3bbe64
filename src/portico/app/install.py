"""Install and uninstall: a database, a space, a key and imported servers, and all of it
removed again.
"""

import asyncio
import errno
import logging
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portico.adapters.postgres.checks import first_admin, space_name
from portico.adapters.postgres.guard.spaces import PostgresSpaces
from portico.adapters.postgres.store import PostgresSchema
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.adapters.system.files import short_folder, write_private
from portico.adapters.system.installed_files import (
    found_in,
    is_anothers,
    remove,
    remove_if_empty,
    size_of,
)
from portico.adapters.system.secrets import make_pepper
from portico.app.app_context import Ground
from portico.app.client_configs import client_files
from portico.app.guard import SecretDoors, open_audit
from portico.app.use_cases import use_cases
from portico.gateway.core.client_configs import told_apart
from portico.gateway.core.config_documents import Described
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import InvitationUsed, NotAuthenticated
from portico.guard.core.principals import Identity, Scope
from portico.guard.core.spaces import HOME
from portico.guard.keys import IssuedKey, KeyWish, for_agents
from portico.guard.spaces import InstallHome, SpaceWish
from portico.interfaces.cli.services import (
    Belonging,
    ConnectedClient,
    Estate,
    ImportRoom,
    Left,
    OddHome,
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
    from portico.gateway.ports import Upstreams, Walls
    from portico.guard.ports import Audit
    from portico.kernel.ids import PrincipalId, SpaceId

DESKTOP: Final = "desktop"
_PAGE: Final = 200
_log: Final = logging.getLogger("portico.serve")


async def leave_agent_key(ground: Ground, use: UseCases, admin: Principal) -> None:
    """If there is none that works. Whoever has shut the agent out is not overruled."""
    if await _opens(ground, use):
        return
    known = await _desktop(use, admin)
    if known is None:
        issued = await use.issue_agent_key(admin, KeyWish(name=DESKTOP))
    elif known.disabled_at is None:
        issued = await _another(use, admin, known)
    else:
        return
    ground.save_key(issued.key.reveal(), agent=True)


async def make_up_agent_key(ground: Ground, use: UseCases) -> None:
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


async def _opens(ground: Ground, use: UseCases) -> bool:
    try:
        key = await asyncio.to_thread(ground.agent_key_file.read_text)
        await use.authenticate(key.strip())
    except (OSError, NotAuthenticated, InvitationUsed):
        return False
    return True


async def _another(use: UseCases, admin: Principal, agent: Identity) -> IssuedKey:
    wish = KeyWish(name=DESKTOP, principal=agent.id)
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
    ground: Ground, *, admin: str, recover: bool, progress: Callable[[str], None]
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


async def _key_opens(ground: Ground, *, recover: bool) -> bool:
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


async def _found_home(ground: Ground, admin: str) -> Identity:
    if ground.loaded.settings.identity.pepper is None:
        make_pepper(ground.loaded.paths.pepper_file)
    async with open_pool(ground.store.addresses.app, 2) as pool:
        transactions = Transactions(pool)
        found = InstallHome(
            spaces=PostgresSpaces(transactions),
            together=transactions.begin,
            audit=open_audit(ground, transactions).audit,
            clock=SystemClock(),
            entropy=system_entropy,
            pepper=ground.pepper(),
        )
        installed = await found(SpaceWish(name=HOME, admin=admin))
    _keep(ground, installed.key)
    SecretDoors(ground).open_vault(first=True)
    return installed.admin


async def _recover(ground: Ground, admin: Identity) -> None:
    """Whoever can read the database's password is its owner: a lost key is a new one away."""
    async with open_pool(ground.store.addresses.app, 2) as pool:
        use = use_cases(ground, Transactions(pool))
        _keep(ground, await use.issue_key(as_principal(admin), KeyWish(name="command line")))


async def _leave_agent_key(ground: Ground, admin: Identity) -> None:
    async with open_pool(ground.store.addresses.app, 2) as pool:
        use = use_cases(ground, Transactions(pool))
        await leave_agent_key(ground, use, as_principal(admin))


def _keep(ground: Ground, issued: IssuedKey) -> None:
    ground.save_key(issued.key.reveal())


# `portico init` takes over servers: in its own process, whether the server runs or not.


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
        from portico.app.box import Boxes
        from portico.app.gateway import terms
        from portico.app.guard import SecretDoors, open_audit
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


_CONFIG: Final = {
    "portico.toml": "settings",
    "provisioned.toml": "addresses of the database",
    "client.key": "your key",
    "agent.key": "the key of programs that act for you",
    "demo.key": "the key of the demo",
    "demo-agent.key": "the key of the demo's agent",
    ".*.toml.*": "a file that was half written",
    ".*.key.*": "a file that was half written",
}
_DATA: Final = {
    "postgres": "the database",
    "postgres-locks": "who uses the database",
    "secrets": "passwords, the pepper of keys, the key of secrets",
    "secrets.age": "secrets",
    "secrets.lock": "who uses the secrets",
    ".secrets.age.*": "a file that was half written",
    "homes": "homes of servers of tools",
    "workspaces": "workspaces of agents",
    "server": "what is known of the running server",
}
_STATE: Final = {
    "logs": "logs",
    "clients": "files of clients, as they were before they were connected",
    "audit-heads.ndjson": "heads of the audit",
    "debates": "logs of debates",
    "backups": "backups",
}
_CACHE: Final = {"models": "models for search by meaning"}
_MARKS: Final = ("portico.toml", "client.key", "secrets", "postgres-locks")
"""What no folder has by chance all of; one of them shows that there is an installation."""


@dataclass(frozen=True)
class GroundUninstalling:
    ground: Ground

    def connected(self) -> Sequence[ConnectedClient]:
        from portico.app.client_configs import client_files

        found = client_files(self.ground).leading_here(Path.cwd())
        return [ConnectedClient(title=title, file=file) for title, file in found]

    def estate(self) -> Estate:
        self._see_that_it_is_ours()
        places = self._places()
        paths = self.ground.loaded.paths
        marks = [folder / name for folder in (paths.config, paths.data) for name in _MARKS]
        if not any(mark.exists() for mark in marks):
            return Estate(belongings=(), left=tuple(self._elsewhere()), folders=())
        found = [each for folder, known in places.items() for each in found_in(folder, known)]
        ours = [
            Belonging(path=each.path, what=each.what, size=size_of(each.path))
            for each in found
            if each.what is not None
        ]
        strange = [
            Left(path=str(each.path), why="it is not known to be Portico's")
            for each in found
            if each.what is None and each.path not in places
        ]
        links = [
            Left(path=str(folder), why=f"it is a link to {folder.readlink()}")
            for folder in places
            if folder.is_symlink()
        ]
        return Estate(
            belongings=(*ours, *self._sockets()),
            left=(*strange, *links, *self._elsewhere()),
            folders=(*places, *self._home),
        )

    async def stop_database(self) -> bool:
        from portico.engine.core.errors import StoreUnavailable
        from portico.kernel.errors import PorticoError

        try:
            return await self.ground.store.stop(force=True)
        except StoreUnavailable:
            raise
        except PorticoError:  # one that was never set up has nothing that runs
            return False

    def purge(self, estate: Estate, progress: Callable[[str], None]) -> Sequence[Left]:
        self._see_that_it_is_ours()
        left = list(self._forget_keyring())
        for each in estate.belongings:
            progress(f"removing {each.path}")
            try:
                remove(each.path)
            except OSError as error:
                left.append(Left(path=str(each.path), why=error.strerror or str(error)))
        for folder in estate.folders:
            remove_if_empty(folder)
        return left

    def remove_package(self) -> str:
        from portico.adapters.system.installed_files import removal

        return removal("portico")

    def _places(self) -> Mapping[Path, Mapping[str, str]]:
        """Some of them are the same folder, for root."""
        paths = self.ground.loaded.paths
        known = ((paths.config, _CONFIG), (paths.data, _DATA), (paths.state, _STATE))
        places: dict[Path, dict[str, str]] = {}
        for folder, names in (*known, (paths.cache, _CACHE)):
            places.setdefault(folder, {}).update(names)
        return places

    @property
    def _home(self) -> Sequence[Path]:
        home = process_environment().get("PORTICO_HOME")
        return [Path(home).expanduser().absolute()] if home else []

    def _see_that_it_is_ours(self) -> None:
        """Raises `OddHome`."""
        for folder in (*self._home, *self._places()):
            if is_anothers(folder, Path.home()):
                raise OddHome(folder)

    def _sockets(self) -> Iterator[Belonging]:
        """Folders for sockets, where ours have too long a name."""
        paths = self.ground.loaded.paths
        for wanted in (paths.data / "server", paths.postgres / "run"):
            folder = short_folder(wanted)
            if folder != wanted and _is_own_folder(folder):
                yield Belonging(path=folder, what="sockets", size=0)

    def _elsewhere(self) -> Iterator[Left]:
        if self.ground.loaded.settings.database.dsn is not None:
            yield Left(path="the database", why="it is a PostgreSQL of your own")

    def _forget_keyring(self) -> Iterator[Left]:
        """Secrets that are not in a file of ours."""
        from portico.adapters.secrets import OsKeyring
        from portico.app.guard import SecretDoors
        from portico.guard.core.secrets import SecretsUnavailable

        if not self.ground.loaded.paths.installation_file.exists():
            return
        try:
            drawer = SecretDoors(self.ground).drawer
            if not isinstance(drawer, OsKeyring):
                return
            for space in drawer.spaces():
                for name in drawer.all(space):
                    drawer.change(space, name, lambda _: None)
        except SecretsUnavailable as error:
            yield Left(path="the system's keyring", why=str(error))


def _is_own_folder(path: Path) -> bool:
    try:
        state = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid()
