"""The server is there when this is done, and stays: the one way to start it in the background."""

import asyncio
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from portico.interfaces.cli.house import House, Whereabouts
from portico.interfaces.cli.keeping import DidNotStart, StillStarting

if TYPE_CHECKING:
    from portico.interfaces.cli.keeping import Keeper, Keeping, Launched

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
    watch = _Watch(where=where, keeping=keeping, before=keeping.keeper())
    kept = watch.kept
    if kept is not None and kept.url != where.server_url:
        return Started(url=kept.url, already=True)
    launched = _wait(watch, None if watch.there else keeping.start())
    return Started(url=where.server_url, already=launched is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watch:
    """Over the server at our address; other workers of the same installation are none of it."""

    where: Whereabouts
    keeping: "Keeping"
    before: "Keeper | None"
    """The keeper that was found when we came, or what was left of it."""

    @property
    def kept(self) -> "Keeper | None":
        keeper = self.keeping.keeper()
        return keeper if keeper is not None and keeper.alive else None

    @property
    def there(self) -> bool:
        here = self.where.server_url
        return self.kept is not None or any(each.url == here for each in self.keeping.servers())

    @property
    def news(self) -> "Keeper | None":
        """Of what has happened since we came: what was given up long ago is no reason not to start,
        nor why we did not."""
        keeper = self.keeping.keeper()
        return None if keeper == self.before else keeper

    @property
    def given_up(self) -> bool:
        return self.news is not None and self.news.gave_up


def _wait(watch: _Watch, launched: "Launched | None") -> "Launched | None":
    """What we have launched in the end: whoever was there may have been about to end."""
    began = time.monotonic()
    while not ready(watch.where):
        if launched is None and not watch.there and not watch.given_up:
            launched = watch.keeping.start()
        _see_that_it_lives(watch, launched)
        if time.monotonic() - began > _TO_START:
            raise StillStarting(_TO_START, watch.where.log_file)
        time.sleep(_PAUSE)
    return launched


def _see_that_it_lives(watch: _Watch, launched: "Launched | None") -> None:
    """Raises `DidNotStart`."""
    kept, keeping = watch.kept, watch.keeping
    if launched is None:
        if watch.there or not watch.given_up:
            return
    elif (kept is None and not launched.gone) or (kept is not None and kept.died_at is None):
        return
    if launched is not None:
        keeping.end(lambda _: None)
    last = watch.news
    why, words = (None, None) if last is None or last.died_at is None else (last.why, last.words)
    raise DidNotStart(why, watch.where.log_file, words)


def ready(where: Whereabouts) -> bool:
    """Whether our own server is, whichever one the other commands are to talk to."""
    return asyncio.run(_ready(replace(where, remote=None)))


async def _ready(where: Whereabouts) -> bool:
    from portico.interfaces.cli.stdio_link import Link

    async with Link.to(where, None) as link:
        return await link.ready()
