"""Texts about agents that stand in files: all of one as TOML, or its instructions."""

import json
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Refused, Server
from portico.kernel.errors import Flaw, Kind, PorticoError

_LARGEST: Final = 1_000_000


class BadToml(PorticoError):
    kind = Kind.INVALID
    code = "bad_toml"
    title = "Not TOML"
    fix = "Texts stand in quotes, long ones in three; lists in square brackets."

    def __init__(self, reason: str) -> None:
        super().__init__(f"It cannot be read: {reason}.")


def exported(server: Server, name: str) -> str:
    """The whole agent as TOML."""
    return "\n".join([*server.lines(path_to("agents", name, "export")), ""])


def spec_of(text: str) -> dict[str, Any]:
    """What a file says of an agent. Raises `BadToml`."""
    try:
        spec = tomllib.loads(text.removeprefix("\ufeff"))
        json.dumps(spec, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise BadToml(str(error)) from error
    except TypeError as error:
        raise BadToml("an agent has no dates and no times; put them in quotes") from error
    return spec


def lines_of(text: str, fields: Sequence[str]) -> Sequence[tuple[str, int]]:
    """Each field with the number of its line, as far as it has one of its own."""
    found = []
    for field in fields:
        key = field.rpartition(".")[2].partition("[")[0]
        for number, line in enumerate(text.splitlines(), 1):
            if line.split("=")[0].strip() == key:
                found.append((field, number))
                break
    return found


@contextmanager
def flaws_by_line(text: str) -> Iterator[None]:
    """What the server finds wrong is told with the line that it stands in."""
    try:
        yield
    except Refused as error:
        lines = dict(lines_of(text, [flaw.field for flaw in error.flaws]))
        error.flaws = tuple(
            Flaw(flaw.field, f"{flaw.message} (line {lines[flaw.field]})")
            if flaw.field in lines
            else flaw
            for flaw in error.flaws
        )
        raise


def read_text(file: str) -> str:
    """`-` is standard input. Raises `BadUsage`, `OSError`."""
    if file == "-":
        return sys.stdin.read(_LARGEST)
    path = Path(file)
    if path.stat().st_size > _LARGEST:
        raise BadUsage(f"{file} is too large to be about an agent.")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadUsage(f"{file} is no text in UTF-8.") from error


def told_or_read(text: str) -> str:
    """`@FILE` is what stands in it."""
    return read_text(text[1:]) if text.startswith("@") else text
