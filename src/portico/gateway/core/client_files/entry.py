"""A server as some file describes it, not yet understood."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from portico.gateway.core.client_files.variables import project_of
from portico.gateway.core.server import Spelling, Value
from portico.kernel.json import JsonValue

Transport = Literal["streamable", "sse"]


class LeftOut(Exception):
    """Why a server cannot be taken; said without its values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a file is, and what is around it."""

    path: str
    home: str
    environment: Mapping[str, str] = field(default_factory=dict)
    own_url: str = "http://127.0.0.1:3100"
    """Of this Portico."""
    read: Callable[[str], str | None] = field(default=lambda _path: None)
    """What another file says; None if it is not there."""

    @property
    def project(self) -> str | None:
        return project_of(self.path, self.home)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A server as a file describes it, each part under the name that the file has for it."""

    name: str
    pointer: str
    fields: JsonValue
    spelling: Spelling | None = None
    refers: bool = False
    """Its values may be references such as `secret:NAME`. Not so in a file of anybody else's: a
    project could ask for what it is not meant to have."""
    url: str = "url"
    headers: str = "headers"
    transport: Transport | None = None
    """If the description itself does not say."""
    folder: str | None = None
    """Where its client would start it."""
    enabled: bool = True
    timeout: float | None = None
    environment: Mapping[str, Value] = field(default_factory=dict)
    """What it is given besides its `env`."""
    more_headers: Mapping[str, Value] = field(default_factory=dict)
    otherwise: str = ""
    notes: Sequence[str] = ()
    refused: str = ""
    """Why it cannot be taken, if that is clear already."""
