"""What `connect` would write and `disconnect` would take out, before anybody does."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.gateway.core.connecting.home import Home, Scope
from portico.gateway.core.connecting.standing import Standing
from portico.gateway.core.connecting.trace import Trace
from portico.kernel.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A client, as it is on this machine."""

    home: Home
    file: str
    present: bool
    """Something of it is here."""
    standing: Standing | None
    """None if its file cannot be understood."""
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    home: Home
    scope: Scope
    file: str
    present: bool
    entry: JsonObject
    standing: Standing
    before: str | None
    """None if there is no such file."""
    after: str
    trace: Trace
    alone: str
    """The entry as it would stand in a file with nothing else in it."""
    diff: str
    also_listed: Sequence[str] = ()
    """Servers that the client would list twice: by itself, and behind Portico."""
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    copy: str | None
    """Where the file is kept as it was; None if there was none."""
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    home: Home
    file: str
    before: str
    after: str | None
    """None if the file goes too: `connect` has made it, and nothing else is in it."""
    as_before: bool
    """To the byte as it was before `connect`."""
    foreign: bool
    """The entry is not Portico's any more: somebody has changed it."""
    diff: str
    key: str | None = None
    """The id of the key that was made for it."""
    copy: str | None = None
    """Where the file is kept as it was before `connect`."""
