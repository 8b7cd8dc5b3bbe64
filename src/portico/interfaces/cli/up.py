"""`portico up`, `down`, `restart`, `serve` and `stdio`: run the server, and join a client to it."""

import asyncio
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter

from portico.interfaces.cli.errors import InvalidUsage
from portico.interfaces.cli.services import (
    CliServices,
    DidNotStart,
    StartedBy,
    StillStarting,
    Whereabouts,
)
from portico.interfaces.cli.terminal import At, Terminal

if TYPE_CHECKING:
    from portico.interfaces.cli.services import (
        AtLogin,
        Ended,
        Keeping,
        Launched,
        Running,
        SupervisorStatus,
    )
    from portico.kernel.json import JsonObject, JsonValue

_TO_START: Final = 300.0
"""Seconds: a database that was cut off may have much to bring in order."""
_PAUSE: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    url: str
    already: bool
    """It ran before, or somebody else was about to start it."""


def bring_up(house: CliServices) -> Started:
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
    before: "SupervisorStatus | None"
    """The keeper that was found when we came, or what was left of it."""

    @property
    def kept(self) -> "SupervisorStatus | None":
        keeper = self.keeping.keeper()
        return keeper if keeper is not None and keeper.alive else None

    @property
    def there(self) -> bool:
        here = self.where.server_url
        return self.kept is not None or any(each.url == here for each in self.keeping.servers())

    @property
    def news(self) -> "SupervisorStatus | None":
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
    from portico.interfaces.cli.stdio_proxy import Link

    async with Link.to(where, None) as link:
        return await link.ready()


_A_MOMENT: Final = 1.0
"""Seconds, by which a file's time and a clock may differ."""


def up(
    *,
    at_login: bool = False,
    print_only: Annotated[bool, Parameter(name="--print")] = False,
    foreground: bool = False,
    at: At,
) -> None:
    """Start the server in the background and keep it up: if it dies, it is started again.

    Returns when it is ready. If it runs already, that is all.

    Parameters
    ----------
    at_login
        Also from now on whenever you log in, by a unit of systemd or an agent of launchd.
    print_only
        Print the file of --at-login, and change nothing.
    foreground
        Keep it up from here, until Ctrl-C, as a service manager wants it.
    """
    if print_only:
        unit = at.services.keeping().at_login()
        at.data({"file": str(unit.file), "text": unit.text}, unit.text.rstrip())
        return
    if foreground:
        _stay(at)
        return
    facts = _up(at.services, at)
    if at_login:
        facts |= _told_to_start(at)
    if at.json:
        at.details(facts)


def down(*, at_login: bool = False, at: At) -> None:
    """End the server, wherever it was started; what it has begun goes on when it is up again.

    Parameters
    ----------
    at_login
        Also do not start it any more when you log in.
    """
    facts = _down(at)
    if at_login:
        facts["at_login_removed"] = _untold(at)
    if at.json:
        at.details(facts)


def restart(*, at: At) -> None:
    """End the server and start it in the background, at the same address, with the settings as
    they are now."""
    house, now = at.services, _to_restart(at.services)
    ended = _ended(at, only=now.url) if now is not None else ()
    kept = {} if now is None else now.unsaved_settings
    if flags := {path: value for path, value in kept.items() if _from_a_file(house, path)}:
        house = house.with_flags(config=None, flags=flags)
    facts = _up(house, at)
    facts["ended"] = [_in_json(each) for each in ended]
    if at.json:
        at.details(facts)


def _to_restart(house: CliServices) -> "Running | SupervisorStatus | None":
    """The one that is kept up, or else the one at our address, or the only one."""
    keeping, url = house.keeping(), house.whereabouts().server_url
    keeper, servers = keeping.keeper(), keeping.servers()
    if keeper is not None and keeper.alive:
        return keeper
    here = [each for each in servers if each.url == url] or servers
    return here[0] if len(here) == 1 else None


def _from_a_file(house: CliServices, path: str) -> bool:
    """What is said here and now is stronger than what was said when it was started."""
    return not house.setting(path).origin.startswith(("environment", "flag"))


def _stay(at: Terminal) -> None:
    keeping = at.services.keeping()
    keeper, url = keeping.keeper(), at.services.whereabouts().server_url
    if (keeper is not None and keeper.alive) or any(each.url == url for each in keeping.servers()):
        at.say(f"Portico runs already at {url}.")
        return
    keeping.stay()


def _up(house: CliServices, at: Terminal) -> "dict[str, JsonValue]":

    with at.working("starting the server"):
        started = bring_up(house)
    where, keeping = house.whereabouts(), house.keeping()
    keeper = keeping.keeper()
    kept = keeper is not None and keeper.alive
    if not at.json:
        print(f"Portico {'runs already' if started.already else 'runs'} at {started.url}")
        print(f"Its log: {where.log_file or 'none is kept'}")
    for hint in _hints(at.services, house, started.url, kept=kept):
        at.say(hint)
    if started.already and _changed_since(where.config_file, keeping.servers(), started.url):
        at.say(
            f"{where.config_file} has been written since it was started. Most of it is read at the"
            " start: portico restart"
        )
    return {
        "server": started.url,
        "already": started.already,
        "kept_up": kept,
        "processes": [each.pid for each in keeping.servers() if each.url == started.url],
        "log_file": None if where.log_file is None else str(where.log_file),
    }


def _changed_since(file: Path, servers: "Sequence[Running]", url: str) -> bool:
    began = [datetime.fromisoformat(each.since) for each in servers if each.url == url]
    if not began or not file.exists():
        return False
    return file.stat().st_mtime > min(began).timestamp() + _A_MOMENT


def _hints(usual: CliServices, house: CliServices, url: str, *, kept: bool) -> Sequence[str]:
    usual_url, wanted = usual.whereabouts().server_url, house.whereabouts().server_url
    hints = []
    if not kept:
        hints.append(
            "It was started in a terminal, and nobody starts it again if it dies. To have"
            " it kept up: portico restart"
        )
    if url != wanted:
        hints.append(f"The settings now say {wanted}. To move it there: portico restart")
    elif url != usual_url:
        port = house.setting("server.port").value
        hints.append(
            f"Other commands find it with PORTICO_SERVER__PORT={port} in their environment,"
            f" or by: portico config set server.port {port}"
        )
    return hints


def _down(at: Terminal) -> "dict[str, JsonValue]":
    ended = _ended(at)
    if not ended:
        at.say("Portico was not running.")
    return {"ended": [_in_json(each) for each in ended]}


def _ended(at: Terminal, *, only: str | None = None) -> "Sequence[Ended]":
    import asyncio

    keeping = at.services.keeping()
    with at.working("ending the server") as progress:
        ended = keeping.end(progress, only=only)
        left = asyncio.run(keeping.settle())
    for each in ended:
        where = " in a terminal" if each.started_by == "terminal" else ""
        how = "It did not end when asked, and was killed" if each.killed else "Stopped"
        at.say(f"{how}: process {each.pid}, started{where or ' by portico up'}, at {each.url}")
    if left:
        at.say("Stopped a database that nobody used any more.")
    return ended


def _in_json(ended: "Ended") -> "JsonObject":
    return {
        "process": ended.pid,
        "server": ended.url,
        "started_by": ended.started_by,
        "killed": ended.killed,
    }


def _told_to_start(at: Terminal) -> "JsonObject":
    unit, done = at.services.keeping().at_login(), at.services.keeping().write_at_login()
    at.say(f"Wrote {unit.file}")
    if done:
        at.say("From now on it is started when you log in.")
    else:
        at.say(f"To have it started when you log in: {unit.switch_on}")
    for warning in _warnings(unit):
        at.alarm(warning)
    return {"at_login": str(unit.file), "switched_on": done, "switch_on": unit.switch_on}


def _warnings(unit: "AtLogin") -> Sequence[str]:
    found = []
    if unit.left_out:
        found.append(
            f"Not there at login: {', '.join(unit.left_out)}. Put what they say into the"
            " configuration: portico config set …"
        )
    if unit.fleeting:
        found.append(
            "This program is in a cache of uvx and may be cleared. To stay: uv tool"
            " install portico, then the same again."
        )
    return found


def _untold(at: Terminal) -> bool:
    keeping = at.services.keeping()
    there = keeping.remove_at_login()
    file = keeping.at_login().file
    at.say(f"Removed {file}" if there else f"It was not started at login: there is no {file}")
    return there


def serve(
    *,
    host: str | None = None,
    port: int | None = None,
    log_level: str | None = None,
    started_by: Annotated[StartedBy, Parameter(show=False)] = "terminal",
    at: At,
) -> None:
    """Run the server in this terminal, until Ctrl-C; in the background: portico up.

    Parameters
    ----------
    host
        Address to listen on (setting server.host).
    port
        Port to listen on (setting server.port).
    log_level
        Least level that is logged: debug, info, warning, error (setting log.level).
    started_by
        Who looks after it; said by `portico up`.
    """
    flags = {"server.host": host, "server.port": port, "log.level": log_level}
    house = at.services.with_flags(config=None, flags=flags)
    announced: list[str] = []

    def announce(url: str) -> None:
        announced.append(url)
        at.say(f"Portico {house.version} on {url}  (Ctrl-C stops it)")
        if port is not None and port != at.services.setting("server.port").value:
            at.say(
                f"Other commands find it with PORTICO_SERVER__PORT={port} in their environment,"
                f" or by: portico config set server.port {port}"
            )

    try:
        house.serve(announce, started_by=started_by)
    finally:
        if announced:
            with suppress(OSError):  # the terminal may be gone
                at.say("Stopped.")


Face = Literal["gateway", "bridge", "debate"]
_DOORS: Final[dict[Face, str]] = {
    "gateway": "/mcp",
    "bridge": "/mcp/bridge",
    "debate": "/mcp/debate",
}


async def stdio(  # noqa: PLR0913 # each is an option of its own
    *,
    server: str | None = None,
    face: Face = "gateway",
    bridge: bool = False,
    start: bool = False,
    key_file: Path | None = None,
    context: str | None = None,
    at: At,
) -> None:
    """Speak MCP on standard input and output, for clients that start their servers themselves.

    Ends when its input does. Standard output carries the protocol and nothing else.

    Parameters
    ----------
    server
        Only this one server behind the gateway, with its own tools under their own names.
    face
        Which door: the gateway with its tools, the bridge, where people and agents talk and work
        together, or debates, where several models are asked.
    bridge
        The same as `--face bridge`.
    start
        Start the server first if it does not run, as `portico up` does; it stays.
    key_file
        Come in with the key in this file instead of the one that `portico init` has left for
        programs that act for you.
    context
        The task that all of it is part of, as `portico contexts open` gives it; with a person's
        or a worker's key, since an agent's task is that of its key.
    """
    from portico.interfaces.cli.stdio_proxy import Link, PipedOutput, Pump, lines_of_input

    where = at.services.whereabouts()
    path = _path(server, "bridge" if bridge else face)
    if start and where.remote is None:
        # Before the key is looked for: a server that starts leaves one where there is none yet.
        await _started(at)
    async with Link.to(where, key_file or where.agent_key_file, context) as link:
        await Pump(link, path, PipedOutput(sys.stdout.buffer), at.say).run(lines_of_input())


def _path(server: str | None, face: Face) -> str:
    """Raises `InvalidUsage`."""
    if face != "gateway" and server is not None:
        raise InvalidUsage(f"--face {face} and --server are two doors.", fix="Say one of them.")
    if server is None:
        return _DOORS[face]
    from portico.interfaces.cli.server import api_path

    return api_path("mcp", "servers", server)


async def _started(at: Terminal) -> None:
    """It stays when this process ends: others may be using it by then. Raises `DidNotStart`,
    `StillStarting`, `NoBackground`."""

    if await asyncio.to_thread(ready, at.services.whereabouts()):
        return
    at.say("Portico is not running yet; starting it …")
    await asyncio.to_thread(bring_up, at.services)
