"""`portico doctor`: every check there is, in the order in which one stands on another."""

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx2
import psycopg

from portico.adapters.models.connections import Connection
from portico.adapters.models.ollama import OllamaDetails
from portico.adapters.models.provider import Provider, ProviderKind
from portico.adapters.postgres.agents.agents import PostgresAgents
from portico.adapters.postgres.checks import CheckDatabase, CheckRowSecurity, CheckSchema
from portico.adapters.postgres.gateway.servers import PostgresServers
from portico.adapters.postgres.guard.vault import SealedRows
from portico.adapters.secrets import OURS
from portico.adapters.system.checks import (
    CheckDisk,
    CheckLeftovers,
    CheckPort,
    CheckPrivateFiles,
    CheckPython,
)
from portico.adapters.tokens import O200k
from portico.agents.core.agent_checks import LEAST, room_for_talk
from portico.agents.core.agents import Agent, AgentFilter
from portico.agents.core.model_requests import ModelRef
from portico.app.app_context import AppContext, reachable
from portico.app.client_configs import client_files
from portico.app.models import client_for, providers_of
from portico.app.secrets import SecretDependencies
from portico.app.use_cases import entered
from portico.engine.core.store import CheckResult, State
from portico.engine.store import Diagnose
from portico.gateway.core.servers import Server, Stdio
from portico.gateway.core.start_diagnostics import OLDEST, getting, major
from portico.gateway.start_diagnostics import Examined
from portico.interfaces.cli.services import Importing
from portico.kernel.errors import Kind, PorticoError, many
from portico.sandbox.core.errors import AddressRefused, SandboxUnavailable
from portico.settings.load import process_environment

# What can be wrong with the house as a whole: whether the key in the drawer opens its door, and
# whether there is a box that holds.


@dataclass(frozen=True, slots=True)
class CheckKey:
    app: AppContext

    async def __call__(self, *, mend: bool) -> CheckResult:  # noqa: ARG002 # `init` makes a new one
        file = self.app.loaded.paths.key_file
        fix = "portico init"
        try:
            async with entered(self.app) as (_, caller):
                detail = f"opens as {caller.name}"
        except OSError:
            detail = f"there is no readable key in {file}"
            return CheckResult(check="key", state=State.BROKEN, detail=detail, fix=fix)
        except PorticoError as error:
            if error.kind is Kind.DENIED:
                detail = f"the key in {file} opens nothing"
                return CheckResult(check="key", state=State.BROKEN, detail=detail, fix=fix)
            return CheckResult(check="key", state=State.BROKEN, detail=str(error), fix=error.fix)
        return CheckResult(check="key", state=State.GOOD, detail=detail)


@dataclass(frozen=True, slots=True)
class CheckRunning:
    """Whether what runs is what is installed: after an upgrade the old one goes on at first."""

    app: AppContext

    async def __call__(self, *, mend: bool) -> CheckResult:  # noqa: ARG002 # whoever started it ends it
        from portico.adapters.system.bind_address import told_version

        private, installed = self.app.private_socket, self.app.version
        port = self.app.loaded.settings.server.port
        key = self.app.loaded.paths.key_file
        runs = None
        if private is not None and key.exists():
            runs = await asyncio.to_thread(told_version, private, port, key.read_text().strip())
        if runs is None:
            return CheckResult(check="running", state=State.GOOD, detail="no server runs")
        if runs == installed:
            return CheckResult(check="running", state=State.GOOD, detail=f"{runs}, as installed")
        return CheckResult(
            check="running",
            state=State.WARNING,
            detail=f"the server is {runs}, and {installed} is installed",
            fix="End it and start it anew: portico serve",
        )


@dataclass(frozen=True, slots=True)
class CheckSandbox:
    """Tries to get out of the box, as a server does when it starts. None is a warning: much can
    be done without, and what cannot says so itself."""

    app: AppContext

    async def __call__(self, *, mend: bool) -> CheckResult:  # noqa: ARG002 # what is missing is the system's
        from portico.app.box import Sandboxes

        boxes = Sandboxes(self.app)
        try:
            report = (await boxes.find()).report
        except SandboxUnavailable as error:
            return CheckResult(check="box", state=State.WARNING, detail=str(error), fix=error.fix)
        held = f"{report.backend}, {len(report.probes)} probes held"
        unboxed = self.app.loaded.settings.box.unboxed
        if unboxed:
            detail = f"{held}; without a box run: {', '.join(unboxed)}"
            fix = "portico config unset box.unboxed"
            return CheckResult(check="box", state=State.WARNING, detail=detail, fix=fix)
        return CheckResult(check="box", state=State.GOOD, detail=held)


@dataclass(frozen=True, slots=True)
class CheckClients:
    app: AppContext

    async def __call__(self, *, mend: bool) -> Sequence[CheckResult]:  # noqa: ARG002 # the files are theirs
        entries = client_files(self.app).ours(Path.cwd())
        lost = [(client, file, command) for client, file, command in entries if _is_lost(command)]
        if not lost:
            detail = f"{len(entries)} know of Portico"
            return [CheckResult(check="clients", state=State.GOOD, detail=detail)]
        here = shutil.which("portico") or "the path of portico"
        return [
            CheckResult(
                check="clients",
                state=State.BROKEN,
                detail=f"{client} starts {command}, which is not there",
                fix=f"In {file} write as its command: {here}",
            )
            for client, file, command in lost
        ]


def _is_lost(command: str) -> bool:
    return shutil.which(command) is None


_MOST: Final = 200
_PATIENCE: Final = 3.0


@dataclass(frozen=True, slots=True)
class CheckContext:
    app: AppContext

    async def __call__(self, *, mend: bool) -> Sequence[CheckResult]:  # noqa: ARG002 # whose model it is, decides
        settings = self.app.loaded.settings.models
        providers = providers_of(settings, process_environment())
        try:
            agents = await self._agents()
        except (PorticoError, OSError):
            detail = "not known: no database, or no key"
            return [CheckResult(check="context", state=State.WARNING, detail=detail)]
        found = [each async for each in in_disguise(providers)]
        found += [each async for each in too_small(providers, agents)]
        detail = f"{many(len(agents), 'agent')}, none is short of it"
        return found or [CheckResult(check="context", state=State.GOOD, detail=detail)]

    async def _agents(self) -> Sequence[Agent]:
        async with entered(self.app) as (transactions, caller):
            wanted = AgentFilter()
            return await PostgresAgents(transactions).page(caller, wanted, after=None, limit=_MOST)


async def in_disguise(providers: Mapping[str, Provider]) -> AsyncIterator[CheckResult]:
    """Ollama, asked in OpenAI's words: there nobody can say how much it is to read, and it reads
    4,096 tokens unless its own settings say otherwise, and leaves out the rest without a word."""
    for each in providers.values():
        if each.kind is ProviderKind.COMPATIBLE and not each.found and await _is_ollama(each):
            root = each.url.removesuffix("/v1")
            yield CheckResult(
                check="context",
                state=State.WARNING,
                detail=f"{each.name} is Ollama, asked in a way in which it cuts what is too long",
                fix=f'In [models.providers.{each.name}] set kind = "ollama" and url = "{root}"',
            )


async def too_small(
    providers: Mapping[str, Provider], agents: Sequence[Agent]
) -> AsyncIterator[CheckResult]:
    facts, count = OllamaDetails(), O200k().count
    for agent in agents:
        ref = ModelRef.parse(agent.spec.model)
        provider = providers.get(ref.provider)
        if provider is None or provider.kind is not ProviderKind.OLLAMA:
            continue
        async with _connected(provider) as there:
            window = (await facts.of(there, ref.name)).limit
        if window is not None and room_for_talk(agent.spec, window, count) < LEAST:
            yield _told(agent, provider, window)


def _told(agent: Agent, provider: Provider, window: int) -> CheckResult:
    name, model = agent.spec.name, agent.spec.model
    set_here = provider.window == window
    larger = f"Choose a model with a larger window: portico agents edit {name}"
    raised = f"Raise window in [models.providers.{provider.name}], or take it out"
    return CheckResult(
        check="context",
        state=State.WARNING,
        detail=f"{model} has {window:,} tokens, too few for the agent {name}",
        fix=raised if set_here else larger,
    )


async def _is_ollama(provider: Provider) -> bool:
    async with _connected(provider) as there:
        try:
            url = f"{provider.url.removesuffix('/v1')}/api/version"
            answer = await there.client.get(url, timeout=_PATIENCE)
            return answer.status_code == httpx2.codes.OK and "version" in answer.json()
        except (httpx2.HTTPError, AddressRefused, ValueError):
            return False


@asynccontextmanager
async def _connected(provider: Provider) -> AsyncIterator[Connection]:
    async with client_for(httpx2.create_ssl_context(), provider) as client:
        yield Connection(provider, client, None)


_KEPT_IN: Final = {
    "keyring": "kept in the keyring of the system",
    "age": "kept in a file that age has encrypted",
}


@dataclass(frozen=True, slots=True)
class CheckSecrets:
    app: AppContext

    async def __call__(self, *, mend: bool) -> CheckResult:  # noqa: ARG002 # what is lost stays lost
        doors = SecretDependencies(self.app)
        try:
            where = await doors.secrets.where()
            spaces = await asyncio.to_thread(lambda: {*doors.drawer.spaces()} - {OURS})
        except PorticoError as error:
            return CheckResult(
                check="secrets", state=State.BROKEN, detail=str(error), fix=error.fix
            )
        detail = (
            f"{_KEPT_IN[where]}, of {many(len(spaces), 'space')}" if spaces else _KEPT_IN[where]
        )
        return CheckResult(check="secrets", state=State.GOOD, detail=detail)


@dataclass(frozen=True, slots=True)
class CheckVault:
    """Of two machines that share a database, each has to open what the other has sealed."""

    app: AppContext

    async def __call__(self, *, mend: bool) -> CheckResult:  # noqa: ARG002 # no key can be guessed
        doors = SecretDependencies(self.app)
        try:
            keys = await asyncio.to_thread(doors.vault_keys.read)
            tally = await SealedRows(self.app.store.owner_address).tally()
        except PorticoError as error:
            return CheckResult(check="vault", state=State.BROKEN, detail=str(error), fix=error.fix)
        except psycopg.Error:
            return CheckResult(check="vault", state=State.WARNING, detail="not known: no database")
        known = set() if keys is None else {*keys.ids()}
        if missing := {key: rows for key, rows in tally.items() if key not in known}:
            detail = (
                f"{sum(missing.values())} sealed by keys that are not here: {', '.join(missing)}"
            )
            fix = "Set secrets.keys here to the keys of the machine that sealed them."
            return CheckResult(check="vault", state=State.BROKEN, detail=detail, fix=fix)
        if keys is None:
            detail, fix = "there is no key yet", "portico init, or set secrets.keys"
            return CheckResult(check="vault", state=State.WARNING, detail=detail, fix=fix)
        detail = f"key {keys.current.id}, {sum(tally.values())} sealed"
        return CheckResult(check="vault", state=State.GOOD, detail=detail)


_BY_NODE: Final = frozenset({"node", "npx", "npm", "pnpm"})
_UNKNOWN: Final = "not known: no database, or no key"


@dataclass(frozen=True, slots=True)
class CheckServers:
    """Those that could not be asked the last time are started, as `init` does it, and heard."""

    app: AppContext
    importing: Importing

    async def __call__(self, *, mend: bool) -> Sequence[CheckResult]:
        try:
            servers = await _servers(self.app)
        except (PorticoError, OSError):
            return [CheckResult(check="servers", state=State.WARNING, detail=_UNKNOWN)]
        failed = [each for each in servers if each.failure is not None]
        found = [] if not failed else await self._examined(mend=mend)
        if not found:
            detail = f"{len(servers)} let in, none was found not to start"
            return [CheckResult(check="servers", state=State.GOOD, detail=detail)]
        return [_server_told(each, mend=mend) for each in found]

    async def _examined(self, *, mend: bool) -> Sequence[Examined]:
        async with self.importing.opened() as room:
            tried = room.examine(room.caller, mend=mend)
            async with aclosing(tried):
                return [each async for each in tried]


@dataclass(frozen=True, slots=True)
class CheckNode:
    """Only where a server is started with it."""

    app: AppContext

    async def __call__(self, *, mend: bool) -> CheckResult:  # noqa: ARG002 # what is installed is the system's
        try:
            servers = await _servers(self.app)
        except (PorticoError, OSError):
            return CheckResult(check="node", state=State.WARNING, detail=_UNKNOWN)
        needed = [each.name for each in servers if _by_node(each)]
        if not needed:
            return CheckResult(check="node", state=State.GOOD, detail="no server needs it")
        said = await asyncio.to_thread(node_version)
        names = ", ".join(needed)
        if said is None:
            detail = f"there is no Node.js, and with it is started: {names}"
            return CheckResult(check="node", state=State.BROKEN, detail=detail, fix=getting(22))
        if (major(said) or 0) < OLDEST:
            detail = f"{said} is too old for {names}: servers need {OLDEST} at least"
            return CheckResult(check="node", state=State.BROKEN, detail=detail, fix=getting(22))
        return CheckResult(check="node", state=State.GOOD, detail=f"{said}, for {names}")


def node_version() -> str | None:
    """As it says it; None if there is none."""
    program = shutil.which("node")
    if program is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603 # asked for its version
            [program, "--version"], capture_output=True, check=False, timeout=30, text=True
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


async def _servers(ground: AppContext) -> Sequence[Server]:
    """That may be started. Raises `PorticoError`, `OSError`."""
    async with entered(ground) as (transactions, caller):
        found = await PostgresServers(transactions).all(caller)
    return [each for each in found if each.enabled and each.may_start and each.gone_at is None]


def _by_node(server: Server) -> bool:
    launch = server.launch
    return isinstance(launch, Stdio) and launch.command.rpartition("/")[2] in _BY_NODE


def _server_told(each: Examined, *, mend: bool) -> CheckResult:
    if each.reason is not None:
        detail = f"{each.server} does not start: {each.reason}"
        return CheckResult(check="servers", state=State.BROKEN, detail=detail, fix=each.fix)
    if mend:
        return CheckResult(
            check="servers", state=State.MENDED, detail=f"{each.server} starts again; noted"
        )
    detail, fix = f"{each.server} starts again", f"portico servers restart {each.server}"
    return CheckResult(check="servers", state=State.WARNING, detail=detail, fix=fix)


def diagnosis(ground: AppContext, importing: Importing) -> Diagnose:
    paths, server = ground.loaded.paths, ground.loaded.settings.server
    private = ground.private_socket
    return Diagnose(
        checks=[
            CheckPython(),
            CheckDisk(paths.data),
            CheckPrivateFiles(_private_files(ground)),
            CheckDatabase(lambda: ground.store),
            CheckSchema(lambda: ground.store, ground.migrate),
            CheckRowSecurity(lambda: ground.store),
            CheckKey(ground),
            CheckPort(reachable(server.host), server.port, private),
            CheckRunning(ground),
            CheckLeftovers(None if private is None else private.parent),
            CheckSandbox(ground),
            CheckNode(ground),
            CheckServers(ground, importing),
            CheckContext(ground),
            CheckClients(ground),
            CheckSecrets(ground),
            CheckVault(ground),
        ]
    )


def _private_files(ground: AppContext) -> Sequence[Path]:
    paths = ground.loaded.paths
    return [
        paths.key_file,
        ground.agent_key_file,
        paths.demo_key_file,
        paths.demo_agent_key_file,
        paths.provisioned_file,
        paths.secrets,
        paths.passwords_file,
        paths.pepper_file,
        paths.identity_file,
        paths.secrets_file,
        paths.config_file,
        paths.postgres,
        *paths.postgres.glob("[0-9]*"),
        *paths.postgres.glob("run"),
        paths.log_file.parent,
        *paths.log_file.parent.glob("portico.log*"),
    ]
