"""Who looks after the server, in words."""

from portico.interfaces.cli.keeping import GivenUp, Keeper, Running
from portico.interfaces.cli.terminal import Terminal, shown
from portico.kernel.json import JsonValue


def kept_up(at: Terminal) -> JsonValue:
    """To a program an object, to a person a sentence; nothing of a server that left no note."""
    keeping, url = at.house.keeping(), at.house.whereabouts().server_url
    server = next((each for each in keeping.servers() if each.url == url), None)
    keeper = keeping.keeper()
    alive = keeper if keeper is not None and keeper.alive and keeper.url == url else None
    if server is None:
        return None
    if at.json:
        return {
            "supervised": alive is not None,
            "started_by": server.started_by,
            "process": server.pid,
            "since": server.since,
            "supervisor": None if alive is None else alive.pid,
            "supervised_since": None if alive is None else alive.since,
            "restarts": 0 if alive is None else alive.restarts,
            "died_at": None if alive is None else alive.died_at,
            "why": None if alive is None else alive.why,
        }
    return _unkept(server) if alive is None else _kept(alive)


def say_why(at: Terminal) -> None:
    """What is known of a server that is not there. Raises `GivenUp`."""
    where, keeper = at.house.whereabouts(), at.house.keeping().keeper()
    if keeper is None or where.remote is not None or keeper.died_at is None:
        return
    when = shown(keeper.died_at)
    if keeper.gave_up and not keeper.alive:
        raise GivenUp(keeper, when, where.log_file)
    if keeper.alive:
        at.say(f"It died, {when}: {keeper.why}. It is being started again.")


def _kept(keeper: Keeper) -> str:
    told = f"since {shown(keeper.since)}, process {keeper.pid}"
    if not keeper.restarts:
        return f"{told}, no restarts"
    times = "1 restart" if keeper.restarts == 1 else f"{keeper.restarts} restarts"
    return f"{told}, {times}; the last, {shown(keeper.died_at)}: {keeper.why}"


def _unkept(server: Running) -> str:
    told = f"no: process {server.pid} runs since {shown(server.since)}"
    if server.started_by == "terminal":
        return f"{told}, in a terminal"
    return f"{told}, and what kept it up has gone: portico restart"
