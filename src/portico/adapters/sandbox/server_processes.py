"""Servers in a sandbox: what each needs to start, its environment, home and confinement."""

import asyncio
import ipaddress
import logging
import os
import re
import shutil
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from portico.adapters.mcp.secrets import Command
from portico.adapters.sandbox.folders import Bounds, Reserved, fewest, granted, of_the_system
from portico.gateway.core.calls import UpstreamTarget
from portico.gateway.core.launch import approved_texts, paths_in, places_in, shown, written_out
from portico.gateway.core.servers import ConfinementMode, Stdio, hold_of, within
from portico.sandbox.core.errors import InvalidProfile, SandboxUnavailable
from portico.sandbox.core.profile import Limits, Network, NetworkEndpoint, Profile, SandboxCommand
from portico.sandbox.requests import Sandbox, SandboxProcess

_LONGEST: Final = 512
_CODE: Final = (".js", ".mjs", ".cjs", ".ts", ".py", ".rb", ".pl", ".php", ".sh", ".jar")
_HANDED_ON: Final = re.compile(rb"'''exec' ['\"]([^'\"]+)['\"]")


def interpreters(file: Path) -> tuple[str, ...]:
    """What it is run by; where that is too long for its first line, also what the second hands it
    on to."""
    try:
        with file.open("rb") as stream:
            first, second = stream.readline(_LONGEST), stream.readline(_LONGEST)
    except OSError:
        return ()
    if not first.startswith(b"#!"):
        return ()
    words = first[2:].decode(errors="replace").split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    handed = _HANDED_ON.match(second)
    return (*words[:1], *([] if handed is None else [handed[1].decode(errors="replace")]))


def is_code(file: Path) -> bool:
    """Whether it is program text rather than something to work on."""
    named = file.suffix in _CODE or "node_modules" in file.parts
    return named or bool(interpreters(file))


# What a program needs of this machine in order to run: itself, its interpreter, its libraries.
#
# What is written in files is believed only as far as it does no harm. A server may be able to
# change its own script, or the folder of another's: a first line, a link or a `pyvenv.cfg` leads to
# where toolchains are kept, and nowhere else.

_PROGRAMS: Final = frozenset({"bin", "sbin", "shims", "libexec"})
_SIGNS: Final = (
    *("lib", "lib64", "libexec", "share", "include", "versions", "pyvenv.cfg"),
    *("node_modules", "package.json", "pyproject.toml", "Cargo.toml", "go.mod"),
)
"""What a folder has beside its `bin` if that is a part of something."""
_ROOTS: Final = (
    *("package.json", "pyproject.toml", "setup.py", "requirements.txt", "deno.json", "Cargo.toml"),
    *("go.mod", "Gemfile", "composer.json", "pom.xml", ".git"),
)
_COMPANIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "uvx": ("uv",),
    "npx": ("node", "npm"),
    "npm": ("node",),
    "pnpm": ("node",),
    "bunx": ("bun",),
}
"""Who calls whom, from the same folder."""
_MOST_HOPS: Final = 40


@dataclass(slots=True)
class Toolchain:
    """Collects folders and files, by the paths under which they will be looked for."""

    reserved: Reserved
    path: str
    """Where programs are looked for."""
    found: dict[str, None] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)

    def program(self, program: str) -> None:
        """By its whole path."""
        if program in self._seen:
            return
        self._seen.add(program)
        *_, last = every = [Path(each) for each in self._hops(program)]
        for hop in every:
            self._place(hop)
        for interpreter in interpreters(last):
            self._led_to(interpreter)
        for companion in _COMPANIONS.get(Path(program).name, ()):
            self._called(str(Path(program).with_name(companion)))

    def code(self, script: str) -> None:
        """Somebody's program text, and the project that it is a part of."""
        for hop in self._hops(script):
            self._add(project_of(hop, self.reserved) or hop)
        for interpreter in interpreters(Path(script)):
            self._led_to(interpreter)

    def _hops(self, path: str) -> Iterator[str]:
        """As far as links lead to where toolchains are, or to something beside the link."""
        yield path
        for link, hop in steps(path):
            if not self._is_harmless(hop) and not within(hop, str(link.parent)):
                return
            yield hop

    def _led_to(self, program: str) -> None:
        """By what stands in a file, not by what somebody has approved."""
        told = os.path.normpath(program)
        if not told.startswith("/") or self._is_harmless(told):
            self._called(told)

    def _is_harmless(self, path: str) -> bool:
        known = of_the_system(path) or self.reserved.keeps_tools(path)
        return known or any(within(path, folder) for folder in self.found)

    def _called(self, program: str) -> None:
        whole = program if program.startswith("/") else shutil.which(program, path=self.path)
        if whole is not None and Path(whole).exists():
            self.program(whole)

    def _place(self, hop: Path) -> None:
        prefix = hop.parent.parent
        if "node_modules" in hop.parts:
            self._add(project_of(str(hop), self.reserved) or str(hop))
        elif hop.parent.name in _PROGRAMS and self._is_prefix(prefix):
            self._add(str(prefix))
            self._base(prefix)
            self._linked(prefix)
        else:
            self._add(str(hop))

    def _is_prefix(self, folder: Path) -> bool:
        return not self.reserved.bar(str(folder)) and _has(folder, _SIGNS)

    def _base(self, prefix: Path) -> None:
        """The Python that a virtual environment was made with."""
        with suppress(OSError, UnicodeDecodeError):
            for line in (prefix / "pyvenv.cfg").read_text().splitlines():
                name, _, value = line.partition("=")
                if name.strip() == "home":
                    self._led_to(str(Path(value.strip()) / "python3"))

    def _linked(self, prefix: Path) -> None:
        """The project that an environment is a part of, where it was linked into it to be worked
        on."""
        for file in prefix.glob("lib/python3*/site-packages/*.pth"):
            with suppress(OSError, UnicodeDecodeError):
                for line in map(str.strip, file.read_text().splitlines()):
                    if line.startswith("/") and within(line, str(prefix.parent)):
                        self._add(line)

    def _add(self, path: str) -> None:
        barred = of_the_system(path) or self.reserved.bar(path)
        if not barred and Path(path).exists():
            self.found[path] = None


def whole_path(program: str, *, path: str, folder: str | None) -> str:
    """Raises `FileNotFoundError`, `PermissionError`."""
    if "/" not in program:
        found = shutil.which(program, path=path)
        if found is None:
            raise FileNotFoundError(program)
        return str(Path(found).absolute())
    whole = Path(folder or Path.cwd()) / program
    if not whole.is_file():
        raise FileNotFoundError(program)
    if not os.access(whole, os.X_OK):
        raise PermissionError(program)
    return os.path.normpath(whole)


def steps(path: str) -> Iterator[tuple[Path, str]]:
    """From a path over all links to what it means in the end: each link, and where it leads."""
    for _ in range(_MOST_HOPS):
        step = _step(path)
        if step is None:
            return
        yield step
        path = step[1]


def _step(path: str) -> tuple[Path, str] | None:
    """With its first link followed."""
    current, parts = Path("/"), Path(path).parts[1:]
    for place, part in enumerate(parts):
        current = current / part
        if current.is_symlink():
            target = current.parent / current.readlink()
            return current, os.path.normpath(target.joinpath(*parts[place + 1 :]))
    return None


def project_of(path: str, reserved: Reserved) -> str | None:
    """The folder that holds all of a program's own text, if that can be told; else its own; none
    if that would be too much."""
    outermost = path.find("/node_modules/")
    if outermost > 0 and not reserved.bar(path[:outermost]):
        return path[:outermost]
    folder = own = Path(path).parent
    while not reserved.bar(str(folder)):
        if _has(folder, _ROOTS):
            return str(folder)
        folder = folder.parent
    return None if reserved.bar(str(own)) else str(own)


def _has(folder: Path, signs: tuple[str, ...]) -> bool:
    return any((folder / sign).exists() for sign in signs)


# From how a server is started to what it may reach if nobody says otherwise.
#
# Always: its program, that program's toolchain, the project of a script that it runs, and the
# folder that it starts in; all of that to be read. By default also what its launch names: folders
# may be changed, files may be read. A file in a command is mostly a key, a configuration or a
# script, and whoever could change it could change how it is started the next time.

_TRUSTED: Final = ("NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE")
"""Whom this machine trusts."""
_UV: Final = frozenset({"uv", "uvx"})
_MANAGED: Final = ".local/share/uv/python"
_WEB: Final = frozenset({80, 443})
_HERE: Final = "localhost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    program: str
    """By its whole path."""
    needed: tuple[str, ...]
    """To be read, whatever its profile says."""
    folder: str | None
    """Where it starts; None for its own home."""
    searched: tuple[str, ...]
    """Folders of programs, to be looked through after all others."""

    def holding(self, profile: Profile) -> Profile:
        """With what it needs."""
        write = fewest(profile.write)
        return Profile(
            read=fewest((*self.needed, *profile.read), write),
            write=write,
            network=profile.network,
            reach=profile.reach,
        )


@dataclass(frozen=True, slots=True)
class Looking:
    """At this machine, for a launch."""

    reserved: Reserved
    environment: Mapping[str, str]
    """Our own."""

    def surroundings(self, launch: Stdio, program: str, folder: str | None) -> Surroundings:
        """`program` and `folder` as they are resolved. Raises `OSError` where there is no such
        program."""
        path = self.environment.get("PATH", "")
        whole = whole_path(program, path=path, folder=folder)
        tools = Toolchain(self.reserved, path)
        tools.program(whole)
        for script in self._scripts(launch):
            tools.code(script)
        managed = list(self._managed(whole))
        for python in managed:
            tools.program(f"{python}/python3")
        begins = None if folder is None or self.reserved.bar(folder) else folder
        trusted = [self.environment[name] for name in _TRUSTED if name in self.environment]
        given = [each for each in trusted if _is_given(each)]
        return Surroundings(
            program=whole,
            needed=fewest((*tools.found, *given, *filter(None, [begins]))),
            folder=begins,
            searched=tuple(managed),
        )

    def default(self, launch: Stdio) -> Profile:
        """Beside what it needs."""
        texts = approved_texts(launch, self.environment)
        named = [Path(each) for each in self._named(launch)]
        folders = [str(each) for each in named if each.is_dir()]
        files = [str(each) for each in named if each.is_file() and not is_code(each)]
        kept = [each for each in folders if self.reserved.holds_ours(each)]
        write = fewest(each for each in folders if each not in kept)
        return Profile(
            read=fewest((*files, *kept), write),
            write=write,
            network=Network.PUBLIC,
            reach=tuple(dict.fromkeys(filter(_is_meant, places_in(texts)))),
        )

    def _named(self, launch: Stdio) -> Iterator[str]:
        """The folder that it starts in among them."""
        texts = approved_texts(launch, self.environment)
        home = self.reserved.home
        starts = [] if launch.folder is None else [written_out(launch.folder, home)]
        for path in (*starts, *paths_in(texts, home)):
            if not self.reserved.bar(path) and not of_the_system(path):
                yield path

    def _scripts(self, launch: Stdio) -> Sequence[str]:
        named = (Path(each) for each in self._named(launch))
        return [str(each) for each in named if each.is_file() and is_code(each)]

    def _managed(self, program: str) -> Iterator[str]:
        """Pythons that uv has installed for its user, so that not every server gets its own."""
        if Path(program).name in _UV:
            for python in sorted(Path(self.reserved.home, _MANAGED).glob("*/bin/python3")):
                yield str(python.parent)


def _is_meant(place: NetworkEndpoint) -> bool:
    """A name on the web is reached by the public network, where its addresses are judged: whoever
    owns it could else lead the box to this machine's neighbours."""
    return place.port not in _WEB or place.host == _HERE or _is_address(place.host)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_given(path: str) -> bool:
    return path.startswith("/") and not of_the_system(path) and Path(path).exists()


_PLACES: Final = ("HOME", "LOGNAME", "SHELL", "TMPDIR", "USER")
"""Of whoever Portico runs as: in the box these are others."""
_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_RUNNERS: Final = frozenset({"npx", "npm", "pnpm", "bunx", "uv", "uvx", "pipx"})
_OFFLINE: Final[Mapping[str, str]] = {"npm_config_offline": "true", "UV_OFFLINE": "1"}
"""So that what fetches programs makes do with what it has fetched before."""


def fitted(
    environment: Mapping[str, str],
    declared: Mapping[str, str],
    *,
    program: str,
    profile: Profile,
    searched: Sequence[str],
) -> dict[str, str]:
    """`declared` is what its launch says, which is left as it is."""
    kept = {name: text for name, text in environment.items() if not _of_ours(name)}
    path = ":".join(filter(None, [environment.get("PATH", ""), *searched]))
    runs = program.rpartition("/")[2] in _RUNNERS and profile.network is Network.NONE
    return {
        **kept,
        **({"PATH": path} if path else {}),
        **(_OFFLINE if runs else {}),
        **declared,
        **_both_ways(declared),
    }


def _of_ours(name: str) -> bool:
    return name in _PLACES or name.startswith("XDG_")


def _both_ways(declared: Mapping[str, str]) -> Mapping[str, str]:
    """A proxy that a launch declares, as all programs look for it: else some of them would take
    the box's own."""
    found: dict[str, str] = {}
    for name in _PROXIES:
        text = declared.get(name.lower(), declared.get(name))
        if text is not None:
            found |= {name: text, name.lower(): text}
    return found


_log: Final = logging.getLogger("portico.sandbox")
_AGREE: Final = "Or agree to run it without one: portico servers approve NAME --unboxed"

Find = Callable[[], Awaitable[Sandbox]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfinedServerProcesses:
    """Implements `Confine`."""

    find: Find
    """The box that is offered. Raises `SandboxUnavailable`."""
    looking: Looking
    homes: Path
    limits: Limits
    lacks: Callable[[], bool]
    """Whether this machine was found to have no box at all."""
    named: Collection[str] = ()
    """What the configuration lets run without a box."""

    async def cell(
        self, target: UpstreamTarget, command: Command, environment: Mapping[str, str]
    ) -> AbstractAsyncContextManager[SandboxProcess] | None:
        box, missing = await self._found()
        hold = hold_of(
            target.server,
            target.launch_pin,
            target.unsandboxed,
            offered=box is not None,
            lacking=box is None and self.lacks(),
            named=self.named,
        )
        if hold is ConfinementMode.UNBOXED:
            _log.warning(
                "the server %s is started WITHOUT A BOX, with all rights of Portico itself: %s",
                *(target.server, shown(target.launch)),
            )
            return None
        return self._boxed(box, missing, partial(self.order, target, command, environment))

    async def _found(self) -> tuple[Sandbox | None, SandboxUnavailable | None]:
        try:
            return await self.find(), None
        except SandboxUnavailable as error:
            return None, error

    @asynccontextmanager
    async def _boxed(
        self,
        box: Sandbox | None,
        missing: SandboxUnavailable | None,
        order: Callable[[], SandboxCommand],
    ) -> AsyncIterator[SandboxProcess]:
        if box is None:
            raise _not_here(missing)
        made = await asyncio.to_thread(order)
        async with box.cell(made, self.limits) as cell:
            yield cell

    def order(
        self, target: UpstreamTarget, command: Command, environment: Mapping[str, str]
    ) -> SandboxCommand:
        """What is to be run, and what it may reach. Raises `OSError` if there is nothing to
        start."""
        if not isinstance(target.launch, Stdio):
            raise TypeError(target.server)
        if command.folder is not None and not Path(command.folder).is_dir():
            raise FileNotFoundError(command.folder)
        around = self.looking.surroundings(target.launch, command.program, command.folder)
        profile = _still(target.profile) or self.looking.default(target.launch)
        for path in profile.write:
            if self.looking.reserved.holds_ours(os.path.realpath(path)):
                raise InvalidProfile(f"{path!r} holds something that is Portico's own")
        return SandboxCommand(
            program=around.program,
            arguments=tuple(map(self._written_out, command.arguments)),
            environment=fitted(
                environment,
                command.environment,
                program=around.program,
                profile=profile,
                searched=around.searched,
            ),
            folder=around.folder,
            home=str(self._home(target)),
            profile=around.holding(profile),
        )

    def _written_out(self, argument: str) -> str:
        name, equals, value = argument.partition("=") if argument.startswith("-") else ("", "", "")
        if equals:
            return f"{name}={written_out(value, self.looking.reserved.home)}"
        return written_out(argument, self.looking.reserved.home)

    def _home(self, target: UpstreamTarget) -> Path:
        """A server that is added anew under an old name does not inherit what that one left."""
        own = target.server if target.id is None else f"{target.server}-{target.id}"
        space = self.homes / str(target.space)
        space.mkdir(mode=0o711, parents=True, exist_ok=True)
        home = space / own
        home.mkdir(mode=0o700, exist_ok=True)
        return home


def _still(profile: Profile | None) -> Profile | None:
    """What was said is kept as what it really was; a link on the way came later."""
    if profile is not None:
        for path in (*profile.read, *profile.write):
            if os.path.realpath(path) != path:
                raise InvalidProfile(f"{path!r} has become a link since it was said")
    return profile


def _not_here(missing: SandboxUnavailable | None) -> SandboxUnavailable:
    reason = "this machine has none" if missing is None else missing.reason
    fix = [] if missing is None or missing.fix is None else [missing.fix]
    return SandboxUnavailable(reason, fix=" ".join([*fix, _AGREE]))


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxServerConfinement:
    """Implements `ServerConfinement`."""

    find: Find
    looking: Looking
    bounds: Bounds
    lacks: Callable[[], bool]
    """Whether this machine was found to have no box at all."""
    named: Collection[str] = ()

    async def lacking(self) -> bool:
        return not await self.offered() and self.lacks()

    async def offered(self) -> bool:
        try:
            await self.find()
        except SandboxUnavailable:
            return False
        return True

    @property
    def home(self) -> str:
        return self.looking.reserved.home

    async def default(self, launch: Stdio) -> Profile:
        return await asyncio.to_thread(self.looking.default, launch)

    async def check(self, profile: Profile) -> Profile:
        return await asyncio.to_thread(self._checked, profile)

    def _checked(self, profile: Profile) -> Profile:
        grants = granted(SandboxCommand(program="/", profile=profile), self.bounds)
        for each in grants:
            if each.writable:
                self._check_ours(each.real)
        return replace(
            profile,
            read=tuple(each.real for each in grants if not each.writable),
            write=tuple(each.real for each in grants if each.writable),
        )

    def _check_ours(self, path: str) -> None:
        """Whoever could change us would be out of the box with our next start."""
        if self.looking.reserved.holds_ours(path):
            raise InvalidProfile(f"{path!r} holds something that is Portico's own")
