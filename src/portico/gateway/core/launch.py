"""How a local server is launched: command, names and written values."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from portico.gateway.core.errors import InvalidLaunch
from portico.gateway.core.servers import (
    FromEnvironment,
    FromFile,
    FromSecret,
    Http,
    Inside,
    Launch,
    Plain,
    Stdio,
    Template,
    Value,
)
from portico.guard.core.secrets import SecretRef, Source, parse_ref
from portico.kernel.json import JsonObject, JsonValue
from portico.sandbox.core.errors import InvalidNetworkEndpoint
from portico.sandbox.core.profile import NetworkEndpoint


def to_json(launch: Launch) -> JsonObject:
    """A value that is no secret is a text, a reference an object: neither passes for the other.

    What is not set is left out: pins are over this, and hold when one day there is more to set.
    """
    if isinstance(launch, Stdio):
        return _set(
            type="stdio",
            command=launch.command,
            arguments=[value_json(value) for value in launch.arguments],
            environment=_values_json(launch.environment),
            folder=launch.folder,
        )
    if isinstance(launch, Inside):
        return _set(type="inside", name=launch.name, version=launch.version)
    return _set(
        type="http",
        url=launch.url,
        headers=_values_json(launch.headers),
        transport=launch.transport,
        secret_url=None if launch.secret_url is None else value_json(launch.secret_url),
    )


def from_json(value: JsonValue) -> Launch:
    """Raises `InvalidLaunch`."""
    written = _object(value, "it")
    match written.get("type"):
        case "stdio":
            return Stdio(
                command=_text(written, "command"),
                arguments=tuple(_value(each) for each in _list(written, "arguments")),
                environment=_values(written, "environment"),
                folder=_optional(written, "folder"),
            )
        case "http":
            return _http(written)
        case "inside":
            return Inside(name=_text(written, "name"), version=_text(written, "version"))
        case _:
            raise InvalidLaunch("its type is neither stdio nor http")


def check_launch(launch: Launch) -> None:
    """Whether somebody may describe a server so. Raises `InvalidLaunch`."""
    if isinstance(launch, Inside):
        raise InvalidLaunch("nobody else can add a part of Portico")
    from_json(to_json(launch))


def shown(launch: Launch) -> str:
    """What will be run or asked, on one line, with nothing hidden in it."""
    if isinstance(launch, Stdio):
        folder = [] if launch.folder is None else ["cd", _quoted(launch.folder), "&&"]
        given = [f"{_quoted(name)}={_shown(it)}" for name, it in launch.environment.items()]
        arguments = [_shown(value) for value in launch.arguments]
        return " ".join([*folder, *given, _quoted(launch.command), *arguments])
    if isinstance(launch, Inside):
        return f"part of Portico: {_visible(launch.name)}, version {_visible(launch.version)}"
    where = [_visible(launch.url)]
    if launch.secret_url is not None:
        where.append(f"as {_shown(launch.secret_url)}")
    if launch.transport is not None:
        where.append(f"({launch.transport})")
    given = [f"{_visible(name)}: {_shown(it)}" for name, it in launch.headers.items()]
    return " ".join([*where, *(["with", ", ".join(given)] if given else [])])


def value_json(value: Value) -> JsonValue:
    if isinstance(value, Plain):
        return value.value
    if isinstance(value, FromEnvironment):
        return _set(env=value.variable, default=value.default)
    if isinstance(value, FromFile):
        return _set(file=value.path, pointer=value.pointer, spelling=value.spelling)
    if isinstance(value, FromSecret):
        return {"secret": value.ref}
    return {"parts": [it if isinstance(it, str) else value_json(it) for it in value.parts]}


def _set(**fields: JsonValue) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}


def _values_json(values: Mapping[str, Value]) -> JsonObject:
    return {name: value_json(value) for name, value in values.items()}


def _http(written: JsonObject) -> Http:
    secret = written.get("secret_url")
    found = None if secret is None else _from_file(_object(secret, "secret_url"))
    url, headers = _text(written, "url"), _values(written, "headers")
    match written.get("transport"):
        case None | "streamable" | "sse" as transport:
            return Http(
                url=url,
                headers=headers,
                transport=transport,  # ty: ignore[invalid-argument-type] # one of the three above
                secret_url=found,
            )
        case _:
            raise InvalidLaunch("its transport is neither streamable nor sse")


def _value(value: JsonValue) -> Value:
    if isinstance(value, str):
        return Plain(_whole(value))
    written = _object(value, "a value")
    if "file" in written:
        return _from_file(written)
    if "parts" in written:
        return Template(tuple(_part(each) for each in _list(written, "parts")))
    return _from_secret(written) if "secret" in written else _from_environment(written)


def _part(value: JsonValue) -> str | FromEnvironment | FromSecret:
    if isinstance(value, str):
        return _whole(value)
    written = _object(value, "a part")
    return _from_secret(written) if "secret" in written else _from_environment(written)


def _from_secret(written: JsonObject) -> FromSecret:
    text = _text(written, "secret")
    if parse_ref(text) is None:
        raise InvalidLaunch("its reference to a secret is not of the form secret:NAME")
    return FromSecret(text)


def _from_environment(written: JsonObject) -> FromEnvironment:
    return FromEnvironment(_text(written, "env"), _optional(written, "default"))


def _from_file(written: JsonObject) -> FromFile:
    path, pointer = _text(written, "file"), _optional(written, "pointer") or ""
    match written.get("spelling"):
        case None | "braces" | "env" | "shell" as spelling:
            return FromFile(
                path,
                pointer,
                spelling,  # ty: ignore[invalid-argument-type] # one of the four above
            )
        case _:
            raise InvalidLaunch("its spelling of variables is not known")


def _values(written: JsonObject, field: str) -> Mapping[str, Value]:
    values = _object(written.get(field, {}), field)
    return {_whole(name): _value(value) for name, value in values.items()}


def _object(value: JsonValue, what: str) -> JsonObject:
    if not isinstance(value, Mapping):
        raise InvalidLaunch(f"{what} is not an object")
    return value


def _list(written: JsonObject, field: str) -> Sequence[JsonValue]:
    value = written.get(field, [])
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidLaunch(f"{field} is not a list")
    return value


def _text(written: JsonObject, field: str) -> str:
    text = _optional(written, field)
    if not text:
        raise InvalidLaunch(f"there is no {field}")
    return text


def _optional(written: JsonObject, field: str) -> str | None:
    text = written.get(field)
    if text is None:
        return None
    if not isinstance(text, str):
        raise InvalidLaunch(f"{field} is not a text")
    return _whole(text)


def _whole(text: str) -> str:
    """No process can be given a NUL, and half of a surrogate pair is no letter."""
    if any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in text):
        raise InvalidLaunch("a text in it holds what is no letter")
    return text


def _shown(value: Value) -> str:
    if isinstance(value, Plain):
        return _quoted(value.value)
    if isinstance(value, FromEnvironment):
        otherwise = "" if value.default is None else f":-{_visible(value.default)}"
        return f"${{{_visible(value.variable)}{otherwise}}}"
    if isinstance(value, FromFile):
        return f"${{file:{_visible(value.path)}#{_visible(value.pointer)}}}"
    if isinstance(value, FromSecret):
        return f"${{{_visible(value.ref)}}}"
    return "".join(_quoted(it) if isinstance(it, str) else _shown(it) for it in value.parts)


def _quoted(text: str) -> str:
    """As a shell would take it; what cannot be seen is written out."""
    if text.isprintable():
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{_visible(escaped)}'"


def _visible(text: str) -> str:
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"


# What a launch names: paths of this machine, and places on the network.
#
# Only what was approved with it counts: values that stand in it, and variables of our own
# environment. A value that is read from a file each time could be changed by whoever can write that
# file, and nobody would be asked.

_PORTS: Final[Mapping[str, int]] = {
    "http": 80,
    "ws": 80,
    "https": 443,
    "wss": 443,
    "postgres": 5432,
    "postgresql": 5432,
    "mysql": 3306,
    "redis": 6379,
    "rediss": 6379,
    "mongodb": 27017,
    "amqp": 5672,
    "amqps": 5671,
    "bolt": 7687,
    "neo4j": 7687,
}
_ADDRESS: Final = re.compile(
    r"\b([a-z][a-z0-9]{0,20})(?:\+[a-z0-9]{1,20})?://([^\s/?#\\'\"]{1,512})"
)
_HOST: Final = re.compile(r"(.*)HOST(?:NAME)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Texts:
    """What a launch gives, as far as that was approved; None for an argument that was not."""

    arguments: Sequence[str | None]
    environment: Mapping[str, str]


def approved_texts(launch: Stdio, ours: Mapping[str, str]) -> Texts:
    given = {name: _text_names(value, ours) for name, value in launch.environment.items()}
    return Texts(
        [_text_names(value, ours) for value in launch.arguments],
        {name: text for name, text in given.items() if text is not None},
    )


def paths_in(texts: Texts, home: str) -> Iterator[str]:
    """Whole paths, whether there is such a thing or not; `~/` is written out."""
    arguments = [text for text in texts.arguments if text is not None]
    for text in (*arguments, *texts.environment.values()):
        path = written_out(text.partition("=")[2] if text.startswith("-") else text, home)
        if path.startswith("/") and path.isprintable() and "/../" not in f"{path}/":
            yield path.rstrip("/") or "/"


def written_out(text: str, home: str) -> str:
    """What was written with ~ meant the home of whoever wrote it, not the server's own."""
    return f"{home}{text[1:]}" if home and (text == "~" or text.startswith("~/")) else text


def places_in(texts: Texts) -> Iterator[NetworkEndpoint]:
    """Of addresses, of `host:port`, and of `X_HOST` beside `X_PORT`."""
    for text in (*(each or "" for each in texts.arguments), *texts.environment.values()):
        yield from _addresses(text)
        yield from _place(text.partition("=")[2] if text.startswith("-") else text)
    for name, host in texts.environment.items():
        if found := _HOST.fullmatch(name):
            port = texts.environment.get(f"{found[1]}PORT", "")
            yield from _place(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")


def _addresses(text: str) -> Iterable[NetworkEndpoint]:
    for scheme, authority in _ADDRESS.findall(text):
        for host in authority.rpartition("@")[2].split(","):
            has_port = re.search(r":\d+$", host) is not None
            port = "" if has_port else f":{_PORTS.get(scheme, 0)}"
            yield from _place(f"{host}{port}")


def _place(text: str) -> Iterable[NetworkEndpoint]:
    try:
        return (NetworkEndpoint.parse(text),)
    except InvalidNetworkEndpoint:
        return ()


def _text_names(value: Value, ours: Mapping[str, str]) -> str | None:
    if isinstance(value, Plain):
        return value.value
    if isinstance(value, FromFile | FromSecret):
        return None
    if isinstance(value, FromEnvironment):
        return ours.get(value.variable) or value.default
    found = [it if isinstance(it, str) else _text_names(it, ours) for it in value.parts]
    return "".join(it for it in found if it is not None)


OLDER: Final = "mcp<2"
_SIGNS: Final = re.compile(
    r"No module named 'mcp\.server\.fastmcp"
    r"|cannot import name '\w+' from 'mcp[.']"
    r"|'Server' object has no attribute '(?:list|call|read|get|set|subscribe|unsubscribe)_\w+'"
)
"""What version 2 does not have any more, in the words of Python."""
_WITH: Final = (Plain("--with"), Plain(OLDER))
_RUN: Final = Plain("run")


def needs_older(said: str) -> bool:
    return _SIGNS.search(said) is not None


def repinned(launch: Stdio) -> Stdio | None:
    """The same launch with the older library; None where its launcher cannot be told so."""
    match launch.command.rpartition("/")[2]:
        case "uvx":
            return replace(launch, arguments=(*_WITH, *launch.arguments))
        case "uv" if _RUN in launch.arguments:
            return replace(launch, arguments=_after_run(launch.arguments))
        case "pipx" if launch.arguments[:1] == (_RUN,):
            return replace(launch, command="uvx", arguments=(*_WITH, *launch.arguments[1:]))
        case _:
            return None


def installing_older(launch: Stdio) -> str:
    """The command that installs it where such a server finds it."""
    python = "python" in launch.command.rpartition("/")[2]
    pip = f"{shlex.quote(launch.command)} -m pip" if python else "pip"
    return f"{pip} install '{OLDER}'"


def _after_run(arguments: tuple[Value, ...]) -> tuple[Value, ...]:
    place = arguments.index(_RUN) + 1
    return (*arguments[:place], *_WITH, *arguments[place:])


_SCHEME: Final = re.compile(r"(?i)((?:bearer|basic|token) )(.+)")


def referred(text: str) -> Value | None:
    """None for what is no reference, and so stands for itself."""
    if (ref := parse_ref(text)) is not None:
        return _whole_written_value(ref)
    scheme = _SCHEME.fullmatch(text)
    if scheme is None or (ref := parse_ref(scheme[2])) is None:
        return None
    inside = FromEnvironment(ref.name) if ref.source is Source.ENVIRONMENT else FromSecret(str(ref))
    return Template((scheme[1], inside))


def _whole_written_value(ref: SecretRef) -> Value:
    if ref.source is Source.ENVIRONMENT:
        return FromEnvironment(ref.name)
    return FromFile(ref.name, "") if ref.source is Source.FILE else FromSecret(str(ref))
