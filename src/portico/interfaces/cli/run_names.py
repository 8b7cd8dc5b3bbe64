"""Which run is meant: by its id, or by enough of it."""

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

from portico.engine.core.errors import RunNotFound
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.server import Server

SHORT: Final = 6
"""So many of its first or last letters are enough, and fewer are not."""
_WHOLE: Final = re.compile(r"run_[0-9a-z]{26}")
LATEST: Final = 200
"""Among so many of the latest runs a short name is looked up."""


def find_run(server: Server, text: str) -> str:
    """The run's whole id. Raises `RunNotFound`, `BadUsage`."""
    return named(text, (str(each["id"]) for each in islice(server.pages("/runs"), LATEST)))


def named(text: str, latest: Iterable[str], *, listed: str = "portico runs list") -> str:
    """Which of the latest it is; they are looked at only if it is short. As lists show it, with
    three dots before it, it is known too; `listed` is what lists them. Raises the same."""
    text = text.removeprefix("…")
    if _WHOLE.fullmatch(text):
        return text
    if len(text.removeprefix("run_")) < SHORT:
        raise BadUsage(
            f"{text!r} is too short for the name of a run: it takes at least six letters, of the"
            " beginning or the end of its id.",
            fix=f"See which there are: {listed}",
        )
    found = [run for run in latest if _is_short_for(text, run)]
    if not found:
        raise RunNotFound(text)
    if len(found) > 1:
        raise BadUsage(
            f"{text!r} is short for {len(found)} runs.",
            fix=f"Say more of it: {', '.join(found[:5])}",
        )
    return found[0]


def _is_short_for(text: str, run: str) -> bool:
    return run.startswith((text, f"run_{text}")) or run.endswith(text)
