"""A launch as it is kept and sent, and as a person reads it before allowing it to be started."""

import shlex
from collections.abc import Mapping, Sequence

from portico.gateway.core.errors import BadLaunch
from portico.gateway.core.server import (
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
from portico.guard.core.secrets import parse_ref
from portico.kernel.json import JsonObject, JsonValue


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
    """Raises `BadLaunch`."""
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
            raise BadLaunch("its type is neither stdio nor http")


def check_launch(launch: Launch) -> None:
    """Whether somebody may describe a server so. Raises `BadLaunch`."""
    if isinstance(launch, Inside):
        raise BadLaunch("nobody else can add a part of Portico")
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
            raise BadLaunch("its transport is neither streamable nor sse")


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
        raise BadLaunch("its reference to a secret is not of the form secret:NAME")
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
            raise BadLaunch("its spelling of variables is not known")


def _values(written: JsonObject, field: str) -> Mapping[str, Value]:
    values = _object(written.get(field, {}), field)
    return {_whole(name): _value(value) for name, value in values.items()}


def _object(value: JsonValue, what: str) -> JsonObject:
    if not isinstance(value, Mapping):
        raise BadLaunch(f"{what} is not an object")
    return value


def _list(written: JsonObject, field: str) -> Sequence[JsonValue]:
    value = written.get(field, [])
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise BadLaunch(f"{field} is not a list")
    return value


def _text(written: JsonObject, field: str) -> str:
    text = _optional(written, field)
    if not text:
        raise BadLaunch(f"there is no {field}")
    return text


def _optional(written: JsonObject, field: str) -> str | None:
    text = written.get(field)
    if text is None:
        return None
    if not isinstance(text, str):
        raise BadLaunch(f"{field} is not a text")
    return _whole(text)


def _whole(text: str) -> str:
    """No process can be given a NUL, and half of a surrogate pair is no letter."""
    if any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in text):
        raise BadLaunch("a text in it holds what is no letter")
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
