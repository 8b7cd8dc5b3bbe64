"""Checking the audit: by the server, or here, where nobody has to believe it."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from portico.guard.core.audit import (
    Checking,
    Head,
    Link,
    head_from,
    link_from,
    space_of,
    verdict_json,
)
from portico.interfaces.cli.audit_words import bar
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.server import NoAnswer, Server
from portico.kernel.ids import SpaceId

_EACH: Final = 5_000

Tell = Callable[[str], None]
Heads = Mapping[SpaceId, Sequence[Head]]


def verify_there(server: Server, tell: Tell) -> dict[str, Any]:
    for line in server.lines("/audit/verify"):
        told = json.loads(line)
        if "verdict" in told:
            verdict: dict[str, Any] = told["verdict"]
            return verdict
        tell(bar(told["checked"], told["of"]))
    raise NoAnswer(0)


def check_lines(lines: Iterable[bytes], heads: Heads, tell: Tell) -> dict[str, Any]:
    """A line that is no entry is where the entry was that belongs there."""
    checking: Checking | None = None
    for line in lines:
        link = link_from(line)
        if checking is None:
            checking = _begun(link, heads)
        checking.add(link or Link(checking.expected, line, b""))
        if checking.checked % _EACH == 0:
            tell(f"checked {checking.checked:,} entries")
    if checking is None:
        raise BadUsage("There is not a single entry in it.")
    return dict(verdict_json(checking.verdict()))


def heads_of(file: Path | None) -> Heads:
    """By space. Raises `OSError`, and `BadUsage` if there is none in the file."""
    found: dict[SpaceId, list[Head]] = {}
    if file is None:
        return found
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        if (whose := head_from(line)) is not None:
            found.setdefault(whose[0], []).append(whose[1])
    if not found:
        raise BadUsage(f"There is no head in {file}.")
    return found


def _begun(first: Link | None, heads: Heads) -> Checking:
    """Whose chain it is says its first entry, or the heads if they are all of one space."""
    space = None if first is None else space_of(first.text)
    if space is None and len(heads) == 1:
        space = next(iter(heads))
    if space is None:
        raise BadUsage("It does not begin with an entry of an audit.")
    return Checking(space, heads=heads.get(space, ()))
