"""What the server gives line by line, into a file of the user's own or to standard output."""

import sys
from collections.abc import Iterable
from pathlib import Path

from portico.interfaces.cli.errors import FileInTheWay
from portico.interfaces.cli.terminal import Terminal


def check_free(target: Path | None, *, replace: bool) -> None:
    """Before anything is asked for. Raises `FileInTheWay`."""
    if target is not None and target.exists() and not replace:
        raise FileInTheWay(target)


def write_lines(at: Terminal, lines: Iterable[str], target: Path | None, what: str) -> None:
    """`what` the lines are, as in "12 entries"."""
    if target is None:
        for line in lines:
            sys.stdout.write(f"{line}\n")
        return
    count = 0
    with at.working("exporting"), target.open("w", encoding="utf-8") as stream:
        target.chmod(0o600)
        for line in lines:
            stream.write(f"{line}\n")
            count += 1
    at.data({"file": str(target), what: count}, f"{target} ({count:,} {what})")
