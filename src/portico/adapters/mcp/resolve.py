"""From what a launch says to what is really given: values of now, and which are secret."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from portico.adapters.client_files.reading import NotRead, read_text
from portico.adapters.mcp.approved import check_address, check_argument
from portico.adapters.mcp.environment import OURS
from portico.adapters.mcp.wire import Broken
from portico.gateway.core.client_files.document import Unreadable, text_at
from portico.gateway.core.client_files.variables import filled
from portico.gateway.core.server import (
    FromEnvironment,
    FromFile,
    Http,
    Plain,
    Stdio,
    Template,
    Value,
)


@dataclass(frozen=True, slots=True)
class Command:
    program: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    """Only what was declared."""
    folder: str | None
    secrets: frozenset[str]


@dataclass(frozen=True, slots=True)
class Address:
    url: str
    headers: Mapping[str, str]
    secrets: frozenset[str]


async def command(launch: Stdio, environment: Mapping[str, str]) -> Command:
    """Raises `Broken`."""
    return await asyncio.to_thread(_command, launch, environment)


async def address(launch: Http, environment: Mapping[str, str]) -> Address:
    """Raises `Broken`."""
    return await asyncio.to_thread(_address, launch, environment)


def _command(launch: Stdio, environment: Mapping[str, str]) -> Command:
    values = _Values(environment)
    return Command(
        str(Path(launch.command).expanduser()) if launch.command[:1] == "~" else launch.command,
        tuple(values.arguments(launch.arguments)),
        {name: values.of(value) for name, value in launch.environment.items()},
        None if launch.folder is None else str(Path(launch.folder).expanduser()),
        frozenset(values.secrets),
    )


def _address(launch: Http, environment: Mapping[str, str]) -> Address:
    values = _Values(environment)
    url = launch.url
    if launch.secret_url is not None:
        check_address(launch.url, values.written(launch.secret_url), launch.secret_url)
        url = values.of(launch.secret_url)
    headers = {name: values.of(value) for name, value in launch.headers.items()}
    return Address(url, headers, frozenset(values.secrets))


@dataclass(slots=True)
class _Values:
    """Each file is read once a start, however many values come from it."""

    environment: Mapping[str, str]
    secrets: set[str] = field(default_factory=set)
    _texts: dict[str, str] = field(default_factory=dict)

    def of(self, value: Value) -> str:
        match value:
            case Plain(text):
                return text
            case FromEnvironment():
                return self._variable(value)
            case FromFile():
                return self._place(value)
            case Template(parts):
                return "".join(
                    part if isinstance(part, str) else self._variable(part) for part in parts
                )

    def arguments(self, values: Iterable[Value]) -> Iterator[str]:
        before = ""
        for value in values:
            text = self.of(value)
            if isinstance(value, FromFile):
                home = self._foreign.get("HOME", "")
                check_argument(text, before, self.written(value), value, home)
            yield text
            before = text

    def _variable(self, value: FromEnvironment) -> str:
        name = value.variable
        if name.startswith(OURS):
            raise Broken(
                f"it wants {name}, and Portico gives nothing of its own away",
                reached=False,
                fix=f"Give it a variable whose name does not begin with {OURS}.",
            )
        found = self.environment.get(name)
        if not found and value.default is not None:
            return value.default
        if found is None:
            raise Broken(
                f"the variable {name} is not set",
                reached=False,
                fix=f"Set {name} in the environment that Portico is started in.",
            )
        self.secrets.update(_tellable(found))
        return found

    def _place(self, value: FromFile) -> str:
        found = self.written(value)
        try:
            if value.spelling is not None:
                found = filled(found, value.spelling, path=value.path, environment=self._foreign)
        except KeyError as error:
            name = str(error.args[0])
            raise Broken(
                f"{name}, which {value.path} mentions, is not set",
                reached=False,
                fix=f"Set {name} in the environment that Portico is started in.",
            ) from error
        self.secrets.update(_tellable(found))
        return found

    def written(self, value: FromFile) -> str:
        """As it stands there, its variables not filled in."""
        text = self._text(value.path)
        try:
            found = text_at(value.path, text, value.pointer)
        except Unreadable as error:
            raise Broken(
                f"{value.path} {error}", reached=False, fix=f"Mend {value.path}."
            ) from error
        if found is None:
            raise Broken(
                f"there is nothing at {value.pointer} in {value.path}",
                reached=False,
                fix=f"Write it into {value.path} again, or remove the server.",
            )
        return found

    @property
    def _foreign(self) -> Mapping[str, str]:
        """A file of a project may mention any variable, and nobody but us needs ours."""
        return {name: text for name, text in self.environment.items() if not name.startswith(OURS)}

    def _text(self, path: str) -> str:
        if path not in self._texts:
            try:
                text = read_text(Path(path).expanduser())
            except NotRead as error:
                raise Broken(
                    f"{path} {error}", reached=False, fix=f"Make {path} readable."
                ) from error
            if text is None:
                raise Broken(
                    f"there is no file {path}",
                    reached=False,
                    fix=f"Bring {path} back, or remove the server.",
                )
            self._texts[path] = text
        return self._texts[path]


def _tellable(value: str) -> Iterator[str]:
    """A secret, and the forms in which a server might repeat it: the token without `Bearer`, the
    key out of an address."""
    yield value
    words = value.split()
    if len(words) == 2:
        yield words[1]
    if "://" in value:
        try:
            parts = urlsplit(value)
        except ValueError:
            return
        yield from (given for _, given in parse_qsl(parts.query))
        if parts.password:
            yield parts.password
