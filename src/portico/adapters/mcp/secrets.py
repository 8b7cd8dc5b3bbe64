"""Secrets of a launch: resolved to their current values, and redacted from what a server says."""

import asyncio
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, cast
from urllib.parse import parse_qsl, urlsplit

from portico.adapters.client_configs import NotRead, read_text
from portico.adapters.mcp.processes import OURS
from portico.adapters.mcp.transport import Message, Refusal, TransportFailed
from portico.gateway.core.client_config_values import (
    credentials_in,
    hides_a_secret,
    looks_secret,
    shown_url,
    told,
)
from portico.gateway.core.config_documents import Unreadable, built_in_at, filled, pieces, text_at
from portico.gateway.core.servers import (
    FromEnvironment,
    FromFile,
    FromSecret,
    Http,
    Plain,
    Stdio,
    Template,
    Value,
)
from portico.guard.core.secrets import SecretRef, SecretsUnavailable, Source, parse_ref
from portico.kernel.json import JsonValue
from portico.kernel.redaction import Redaction

_AUTHORITY: Final = re.compile(r"://([^/?#\\]*)")
_HEADERS: Final = frozenset({"--header", "--headers", "-H"})


def check_address(shown: str, written: str, value: FromFile) -> None:
    """`written` as it stands in the file, its variables not filled in. Raises `TransportFailed`."""
    if shown_url(written) != shown or _host(written) != _host(shown):
        raise _other("its address", value)


def check_argument(text: str, before: str, written: str, value: FromFile, home: str) -> None:
    """`text` with its variables filled in, `before` the argument in front of it. Raises
    `TransportFailed`."""
    if text.startswith("-") and not _secret_option(text):
        raise _other("one of its arguments", value)
    # A file that holds nothing but the secret is one for secrets.
    if value.pointer and not _still_secret(written, before, value, home):
        raise _other("one of its arguments", value)


def _host(url: str) -> str:
    """With its port. Not what a parser makes of it: a password with a slash in it is where two of
    them come to different hosts."""
    found = _AUTHORITY.search(url)
    return "" if found is None else found[1].rpartition("@")[2]


def _secret_option(text: str) -> bool:
    """`--token=…`; any other option could be the one that runs code."""
    name, given, value = text.partition("=")
    return bool(given and value) and (name in _HEADERS or looks_secret("x", name))


def _still_secret(written: str, before: str, value: FromFile, home: str) -> bool:
    if value.spelling is None:
        return looks_secret(written, before)
    parts = pieces(written, value.spelling, built_in_at(value.path, home))
    rest = [part.default if isinstance(part, FromEnvironment) else part for part in parts]
    return hides_a_secret("".join(part for part in rest if isinstance(part, str)))


def _other(what: str, value: FromFile) -> TransportFailed:
    return TransportFailed(
        f"{what}, in {value.path}, is not what was approved any more",
        reached=False,
        fix="Approve it anew, or write into the file what stood there.",
    )


class SecretResolver(Protocol):
    """Of what was given to us by name, and of what is our own. It waits, so call it in a thread."""

    def value(self, space: str, ref: SecretRef) -> str | None:
        """Raises `SecretsUnavailable`."""
        ...

    def closed(self, file: Path, pointer: str) -> bool:
        """Whether no server is given what stands there."""
        ...


class _Nobody:
    def value(self, space: str, ref: SecretRef) -> str | None:  # noqa: ARG002 # whatever it is
        return None

    def closed(self, file: Path, pointer: str) -> bool:  # noqa: ARG002 # whatever it is
        return False


NOBODY: Final[SecretResolver] = _Nobody()
"""Where nothing was given by name."""


@dataclass(frozen=True, slots=True)
class Ours:
    """What there is to give, to a server of one space."""

    environment: Mapping[str, str]
    space: str = ""
    keeper: SecretResolver = NOBODY


@dataclass(frozen=True, slots=True)
class Command:
    program: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    """Only what was declared."""
    folder: str | None
    secrets: frozenset[str]
    """What is written down nowhere: whatever came from somewhere else."""
    credentials: frozenset[str] = frozenset()
    """What it must not say to others either."""


@dataclass(frozen=True, slots=True)
class Address:
    url: str
    headers: Mapping[str, str]
    secrets: frozenset[str]
    credentials: frozenset[str] = frozenset()


async def command(launch: Stdio, ours: Ours) -> Command:
    """Raises `TransportFailed`."""
    return await asyncio.to_thread(_command, launch, ours)


async def address(launch: Http, ours: Ours) -> Address:
    """Raises `TransportFailed`."""
    return await asyncio.to_thread(_address, launch, ours)


def _command(launch: Stdio, ours: Ours) -> Command:
    values = _Values(ours)
    return Command(
        str(Path(launch.command).expanduser()) if launch.command[:1] == "~" else launch.command,
        tuple(values.arguments(launch.arguments)),
        {name: values.of(value, name) for name, value in launch.environment.items()},
        None if launch.folder is None else str(Path(launch.folder).expanduser()),
        frozenset(values.secrets),
        frozenset(values.credentials),
    )


def _address(launch: Http, ours: Ours) -> Address:
    values = _Values(ours)
    url = launch.url
    if launch.secret_url is not None:
        check_address(launch.url, values.written(launch.secret_url), launch.secret_url)
        url = values.of(launch.secret_url)
    headers = {name: values.of(value, name) for name, value in launch.headers.items()}
    return Address(url, headers, frozenset(values.secrets), frozenset(values.credentials))


@dataclass(slots=True)
class _Values:
    """Each file is read once a start, however many values come from it."""

    ours: Ours
    secrets: set[str] = field(default_factory=set)
    credentials: set[str] = field(default_factory=set)
    _texts: dict[str, str] = field(default_factory=dict)

    def of(self, value: Value, name: str = "") -> str:
        """`name` is what the server knows it by."""
        match value:
            case Plain(text):
                return text
            case FromEnvironment():
                return self._variable(value, name)
            case FromFile():
                return self._place(value, name)
            case FromSecret():
                return self._secret(value, name)
            case Template(parts):
                return "".join(
                    part if isinstance(part, str) else self.of(part, name) for part in parts
                )

    def arguments(self, values: Iterable[Value]) -> Iterator[str]:
        before = ""
        for value in values:
            text = self.of(value, before if before.startswith("-") else "")
            if isinstance(value, FromFile):
                # No argument is left in its file unless it looks like a secret.
                self.credentials.update(_tellable(text))
                home = self._foreign.get("HOME", "")
                check_argument(text, before, self.written(value), value, home)
            if isinstance(value, FromSecret) and text.startswith("-"):
                raise TransportFailed(
                    f"what {value.ref} holds would be read as an option",
                    reached=False,
                    fix="Give it in a variable of the environment instead.",
                )
            yield text
            before = text

    def _variable(self, value: FromEnvironment, known_as: str) -> str:
        name = value.variable
        if name.startswith(OURS):
            raise TransportFailed(
                f"it wants {name}, and Portico gives nothing of its own away",
                reached=False,
                fix=f"Give it a variable whose name does not begin with {OURS}.",
            )
        found = self.ours.environment.get(name)
        if not found and value.default is not None:
            return value.default
        if found is None:
            raise TransportFailed(
                f"the variable {name} is not set",
                reached=False,
                fix=f"Set {name} in the environment that Portico is started in.",
            )
        return self._given(found, credentials_in(f"{known_as} {name}", found))

    def _secret(self, value: FromSecret, name: str) -> str:
        ref = parse_ref(value.ref)
        if ref is not None and ref.source is Source.ENVIRONMENT:
            return self._variable(FromEnvironment(ref.name), name)
        try:
            found = None if ref is None else self.ours.keeper.value(self.ours.space, ref)
        except SecretsUnavailable as error:
            raise TransportFailed(f"{value.ref}: {error}", reached=False, fix=error.fix) from error
        if found is None:
            raise TransportFailed(
                f"there is nothing at {value.ref}", reached=False, fix=_how_to_set(value.ref, ref)
            )
        return self._given(found, _tellable(found))

    def _place(self, value: FromFile, name: str) -> str:
        found = self.written(value)
        try:
            if value.spelling is not None:
                found = filled(found, value.spelling, path=value.path, environment=self._foreign)
        except KeyError as error:
            name = str(error.args[0])
            raise TransportFailed(
                f"{name}, which {value.path} mentions, is not set",
                reached=False,
                fix=f"Set {name} in the environment that Portico is started in.",
            ) from error
        # A file that holds nothing else was made for it; of any other, most is no secret.
        known_as = f"{name} {value.pointer.rpartition('/')[2]}"
        whole = not value.pointer
        return self._given(found, _tellable(found) if whole else credentials_in(known_as, found))

    def _given(self, found: str, credentials: Iterable[str]) -> str:
        self.secrets.update(_tellable(found))
        self.credentials.update(credentials)
        return found

    def written(self, value: FromFile) -> str:
        """As it stands there, its variables not filled in."""
        if self.ours.keeper.closed(Path(value.path).expanduser(), value.pointer):
            raise TransportFailed(
                f"{value.path} is Portico's own, and it gives nothing of that away",
                reached=False,
                fix="Keep what the server needs in a file of its own, or: portico secrets set NAME",
            )
        text = self._text(value.path)
        try:
            found = text_at(value.path, text, value.pointer)
        except Unreadable as error:
            raise TransportFailed(
                f"{value.path} {error}", reached=False, fix=f"Mend {value.path}."
            ) from error
        if found is None:
            raise TransportFailed(
                f"there is nothing at {value.pointer} in {value.path}",
                reached=False,
                fix=f"Write it into {value.path} again, or remove the server.",
            )
        return found

    @property
    def _foreign(self) -> Mapping[str, str]:
        """A file of a project may mention any variable, and nobody but us needs ours."""
        found = self.ours.environment.items()
        return {name: text for name, text in found if not name.startswith(OURS)}

    def _text(self, path: str) -> str:
        if path not in self._texts:
            try:
                text = read_text(Path(path).expanduser())
            except NotRead as error:
                raise TransportFailed(
                    f"{path} {error}", reached=False, fix=f"Make {path} readable."
                ) from error
            if text is None:
                raise TransportFailed(
                    f"there is no file {path}",
                    reached=False,
                    fix=f"Bring {path} back, or remove the server.",
                )
            self._texts[path] = text
        return self._texts[path]


def _how_to_set(text: str, ref: SecretRef | None) -> str:
    if ref is not None and ref.source is Source.SECRET:
        return f"Set it: portico secrets set {ref.name}"
    return f"See that {text} is there on the machine that Portico runs on."


def _tellable(value: str) -> Iterator[str]:
    """A secret, and the forms in which a server might repeat it: the token without `Bearer`, the
    key out of an address."""
    yield from told(value)
    if "://" in value:
        try:
            parts = urlsplit(value)
        except ValueError:
            return
        yield from (given for _, given in parse_qsl(parts.query))
        if parts.password:
            yield parts.password


# Over all that a server says to others lies what it was given itself: nobody needs to see that.
#
# An agent that gets a tool to print its environment would else leave with the server's credentials.
# Only those very values are hidden, and only in what this server says: whatever merely looks like a
# secret may be what somebody asked for.

_PASSING: Final = 4
"""Of tokens that follow each other, the latest."""


class CredentialRedactor:
    def __init__(self, values: Iterable[str] = ()) -> None:
        self._lasting = frozenset(values)
        self._passing: deque[str] = deque(maxlen=_PASSING)
        self._redaction = Redaction(self._lasting)

    def learn(self, values: Iterable[str]) -> None:
        self._lasting |= frozenset(values)
        self._redaction = Redaction({*self._lasting, *self._passing})

    def learn_passing(self, value: str) -> None:
        if value not in self._passing:
            self._passing.append(value)
            self._redaction = Redaction({*self._lasting, *self._passing})

    def __call__(self, message: Message, *, but: str = "") -> Message:
        """`but` names what goes back to the server and to nobody else."""
        hidden = cast("Message", self._redaction.hide_json(message))
        return hidden if but not in message else {**hidden, but: message[but]}

    def text(self, text: str) -> str:
        return self._redaction.hide(text)

    def refusal(self, refusal: Refusal) -> Refusal:
        data = self._redaction.hide_json(cast("JsonValue", refusal.data))
        return Refusal(refusal.code, self.text(refusal.message), data)
