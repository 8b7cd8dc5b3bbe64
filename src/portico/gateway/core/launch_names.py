"""What a launch names: paths of this machine, and places on the network.

Only what was approved with it counts: values that stand in it, and variables of our own
environment. A value that is read from a file each time could be changed by whoever can write
that file, and nobody would be asked.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.gateway.core.server import FromEnvironment, FromFile, FromSecret, Plain, Stdio, Value
from portico.sandbox.core.errors import BadPlace
from portico.sandbox.core.profile import Place

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
    given = {name: _text(value, ours) for name, value in launch.environment.items()}
    return Texts(
        [_text(value, ours) for value in launch.arguments],
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


def places_in(texts: Texts) -> Iterator[Place]:
    """Of addresses, of `host:port`, and of `X_HOST` beside `X_PORT`."""
    for text in (*(each or "" for each in texts.arguments), *texts.environment.values()):
        yield from _addresses(text)
        yield from _place(text.partition("=")[2] if text.startswith("-") else text)
    for name, host in texts.environment.items():
        if found := _HOST.fullmatch(name):
            port = texts.environment.get(f"{found[1]}PORT", "")
            yield from _place(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")


def _addresses(text: str) -> Iterable[Place]:
    for scheme, authority in _ADDRESS.findall(text):
        for host in authority.rpartition("@")[2].split(","):
            has_port = re.search(r":\d+$", host) is not None
            port = "" if has_port else f":{_PORTS.get(scheme, 0)}"
            yield from _place(f"{host}{port}")


def _place(text: str) -> Iterable[Place]:
    try:
        return (Place.parse(text),)
    except BadPlace:
        return ()


def _text(value: Value, ours: Mapping[str, str]) -> str | None:
    if isinstance(value, Plain):
        return value.value
    if isinstance(value, FromFile | FromSecret):
        return None
    if isinstance(value, FromEnvironment):
        return ours.get(value.variable) or value.default
    found = [it if isinstance(it, str) else _text(it, ours) for it in value.parts]
    return "".join(it for it in found if it is not None)
