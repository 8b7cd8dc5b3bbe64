"""The server in the background: kept up, ended, begun anew."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from portico.interfaces.cli.house import House
from portico.interfaces.cli.terminal import At, Terminal

if TYPE_CHECKING:
    from portico.interfaces.cli.keeping import AtLogin, Ended, Keeper, Running
    from portico.kernel.json import JsonObject, JsonValue

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
        unit = at.house.keeping().at_login()
        at.data({"file": str(unit.file), "text": unit.text}, unit.text.rstrip())
        return
    if foreground:
        _stay(at)
        return
    facts = _up(at.house, at)
    if at_login:
        facts |= _told_to_start(at)
    if at.json:
        at.facts(facts)


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
        at.facts(facts)


def restart(*, at: At) -> None:
    """End the server and start it in the background, at the same address, with the settings as
    they are now."""
    house, now = at.house, _to_restart(at.house)
    ended = _ended(at, only=now.url) if now is not None else ()
    kept = {} if now is None else now.kept
    if flags := {path: value for path, value in kept.items() if _from_a_file(house, path)}:
        house = house.with_flags(config=None, flags=flags)
    facts = _up(house, at)
    facts["ended"] = [_in_json(each) for each in ended]
    if at.json:
        at.facts(facts)


def _to_restart(house: House) -> "Running | Keeper | None":
    """The one that is kept up, or else the one at our address, or the only one."""
    keeping, url = house.keeping(), house.whereabouts().server_url
    keeper, servers = keeping.keeper(), keeping.servers()
    if keeper is not None and keeper.alive:
        return keeper
    here = [each for each in servers if each.url == url] or servers
    return here[0] if len(here) == 1 else None


def _from_a_file(house: House, path: str) -> bool:
    """What is said here and now is stronger than what was said when it was started."""
    return not house.setting(path).origin.startswith(("environment", "flag"))


def _stay(at: Terminal) -> None:
    keeping = at.house.keeping()
    keeper, url = keeping.keeper(), at.house.whereabouts().server_url
    if (keeper is not None and keeper.alive) or any(each.url == url for each in keeping.servers()):
        at.say(f"Portico runs already at {url}.")
        return
    keeping.stay()


def _up(house: House, at: Terminal) -> "dict[str, JsonValue]":
    from portico.interfaces.cli.starting import bring_up

    with at.working("starting the server"):
        started = bring_up(house)
    where, keeping = house.whereabouts(), house.keeping()
    keeper = keeping.keeper()
    kept = keeper is not None and keeper.alive
    if not at.json:
        print(f"Portico {'runs already' if started.already else 'runs'} at {started.url}")
        print(f"Its log: {where.log_file or 'none is kept'}")
    for hint in _hints(at.house, house, started.url, kept=kept):
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


def _hints(usual: House, house: House, url: str, *, kept: bool) -> Sequence[str]:
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

    keeping = at.house.keeping()
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
    unit, done = at.house.keeping().at_login(), at.house.keeping().write_at_login()
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
    keeping = at.house.keeping()
    there = keeping.remove_at_login()
    file = keeping.at_login().file
    at.say(f"Removed {file}" if there else f"It was not started at login: there is no {file}")
    return there
