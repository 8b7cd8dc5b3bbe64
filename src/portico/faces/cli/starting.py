"""The server is there when this is done, and stays: the one way to start it in the background."""

import asyncio
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from portico.faces.cli.house import House, Whereabouts
from portico.faces.cli.keeping import DidNotStart, StillStarting

if TYPE_CHECKING:
    from portico.faces.cli.keeping import Keeper, Keeping, Launched

_TO_START: Final = 300.0
"""Seconds: a database that was cut off may have much to bring in order."""
_PAUSE: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    url: str
    already: bool
    """It ran before, or somebody else was about to start it."""


def bring_up(house: House) -> Started:
    """Until it is ready. What did not come up the first time is not left to try on.

    Raises `DidNotStart`, `StillStarting`, `NoBackground`, `NotProvisioned`.
    """
    where, keeping = house.whereabouts(), house.keeping()
    kept = _alive(keeping)
    if kept is not None and kept.url != where.server_url:
        return Started(url=kept.url, already=True)
    there = kept is not None or any(each.url == where.server_url for each in keeping.servers())
    launched = None if there else keeping.start()
    launched = _wait(where, keeping, launched)
    return Started(url=where.server_url, already=launched is None)


def _wait(where: Whereabouts, keeping: "Keeping", launched: "Launched | None") -> "Launched | None":
    """What we have launched in the end: whoever was there may have been about to end."""
    began = time.monotonic()
    while not ready(where):
        if launched is None and _has_ended(keeping):
            launched = keeping.start()
        _see_that_it_lives(where, keeping, launched)
        if time.monotonic() - began > _TO_START:
            raise StillStarting(_TO_START, where.log_file)
        time.sleep(_PAUSE)
    return launched


def _has_ended(keeping: "Keeping") -> bool:
    """Not if it was given up: that is told, and not tried again."""
    return _alive(keeping) is None and not keeping.servers() and not _given_up(keeping)


def _see_that_it_lives(where: Whereabouts, keeping: "Keeping", launched: "Launched | None") -> None:
    """Raises `DidNotStart`."""
    kept = _alive(keeping)
    if launched is None:
        if kept is not None or keeping.servers() or not _given_up(keeping):
            return
    elif (kept is None and not launched.gone) or (kept is not None and kept.died_at is None):
        return
    if launched is not None:
        keeping.end(lambda _: None)
    last = keeping.keeper()
    died = last is not None and last.died_at is not None
    why, words = (last.why, last.words) if last is not None and died else (None, None)
    raise DidNotStart(why, where.log_file, words)


def _given_up(keeping: "Keeping") -> bool:
    keeper = keeping.keeper()
    return keeper is not None and keeper.gave_up


def _alive(keeping: "Keeping") -> "Keeper | None":
    keeper = keeping.keeper()
    return keeper if keeper is not None and keeper.alive else None


def ready(where: Whereabouts) -> bool:
    """Whether our own server is, whichever one the other commands are to talk to."""
    return asyncio.run(_ready(replace(where, remote=None)))


async def _ready(where: Whereabouts) -> bool:
    from portico.faces.cli.stdio_link import Link

    async with Link.to(where, None) as link:
        return await link.ready()
