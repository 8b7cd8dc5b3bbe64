"""`portico uninstall`: stop everything, and remove what is kept."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from portico.interfaces.cli.errors import ConfirmationRequired, FileInTheWay, InvalidUsage
from portico.interfaces.cli.terminal import At, Terminal, human_size
from portico.kernel.errors import PorticoError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portico.interfaces.cli.services import ConnectedClient, Ended, Estate, Leftover
    from portico.kernel.json import JsonObject, JsonValue

_WORD = "purge"
_OPENS_IT = frozenset({"secrets", "secrets.age"})
"""Without which much of a backup cannot be read."""


async def uninstall(
    *,
    purge: bool = False,
    dry_run: bool = False,
    backup: Path | None = None,
    yes: bool = False,
    at: At,
) -> None:
    """Stop everything of this installation; nothing that it keeps is lost without --purge.

    Parameters
    ----------
    purge
        Also remove the database, settings, keys, secrets, logs, backups and models, for good.
    dry_run
        Only say what would be done.
    backup
        With --purge: write the database to this file first.
    yes
        Do not ask.
    """
    doors = at.services.uninstalling()
    estate = doors.estate() if purge else None
    if backup is not None:
        _see_that_it_would_stay(backup, estate)
    if estate is not None:
        _show(estate, at)
    if dry_run:
        _told(at, doors.connected(), _tried(at, estate), doors.remove_package())
        return
    if estate is not None and estate.belongings:
        backup = _agreed(at, backup, yes=yes)
        if backup is not None:
            await _back_up(at, backup, estate)
            _see_that_they_go_on(at, yes=yes)
    disconnected = _disconnect(at)  # while there is somebody to revoke their keys
    ended, stopped, untold = await _stop(at)
    if estate is not None:
        estate = doors.estate()  # a server that ends leaves a last line
    facts: dict[str, JsonValue] = {
        "dry_run": False,
        "disconnected": disconnected,
        "ended": [each.pid for each in ended],
        "database_stopped": stopped,
        "at_login_removed": untold,
        "backup": None if backup is None else str(backup),
        "not_in_backup": [] if backup is None else [*_opens(estate)],
        **_in_json(estate),
    }
    stuck: Sequence[Leftover] = ()
    if estate is not None:
        with at.working("removing") as progress:
            stuck = doors.purge(estate, progress)
        at.say(f"Removed: {human_size(estate.size)}.")
    _told(at, doors.connected(), facts, doors.remove_package())
    _see_that_nothing_is_stuck(stuck)


def _tried(at: Terminal, estate: "Estate | None") -> "JsonObject":
    running = [each.pid for each in at.services.keeping().servers()]
    whom = f"process {', '.join(map(str, running))}" if running else "it does not run"
    at.say(f"Would be stopped: the server ({whom}) and a database of ours that runs.")
    if estate is None:
        at.say("All that it keeps would stay. To have that removed too: --purge")
    return {"dry_run": True, "running": [*running], **_in_json(estate)}


def _disconnect(at: Terminal) -> "list[JsonValue]":
    """What `connect` wrote goes; what somebody changed since, or wrote by hand, is told at the
    end."""
    from portico.interfaces.cli.clients import take_out

    taken: list[JsonValue] = []
    with suppress(PorticoError):
        connecting = at.services.connecting()
        for removal in connecting.ours(None):
            if not removal.foreign:
                take_out(at, connecting, removal, yes=False)
                at.say(f"Taken out of {removal.file}.")
                taken.append(removal.file)
    return taken


def _see_that_it_would_stay(backup: Path, estate: "Estate | None") -> None:
    """Raises `InvalidUsage`."""
    if estate is None:
        raise InvalidUsage("Nothing is removed, so nothing is backed up.", fix="portico db backup")
    whole = backup.absolute()
    if any(whole.is_relative_to(each.path) for each in estate.belongings):
        raise InvalidUsage(
            f"{backup} would be removed with the rest.", fix="Name a file elsewhere."
        )


def _show(estate: "Estate", at: Terminal) -> None:
    if not estate.belongings:
        at.say("There is nothing of Portico's to remove.")
    for each in estate.belongings:
        at.say(f"  {human_size(each.size).rjust(10)}  {each.path}  ({each.what})")
    for left in estate.left:
        at.say(f"        left  {left.path}  ({left.why})")


def _agreed(at: Terminal, backup: Path | None, *, yes: bool) -> Path | None:
    """The file to write a backup to, if one is wanted. Raises `ConfirmationRequired`."""
    if yes:
        return backup
    question = "All of this is removed for good."
    if at.ask(f"{question} To go on, type the word {_WORD}:") != _WORD:
        raise ConfirmationRequired(question)
    if backup is None and at.confirm("Write a backup of the database here first?"):
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")  # noqa: TID251 # the name of a file
        return Path.cwd() / f"portico-{stamp}.dump"
    return backup


async def _back_up(at: Terminal, file: Path, estate: "Estate") -> None:
    _see_that_it_is_new(file)
    store = at.services.store()
    with at.working("backing up") as progress:
        try:
            await store.start(create=False, progress=progress)
            await at.services.archive().back_up(file)
        finally:
            await store.release()
    at.say(f"Backup: {file} ({_size(file)}).")
    opens = _opens(estate)
    if opens:
        at.say("Not in it, and removed with the rest: the pepper of its keys, the secrets that you")
        at.say(f"set, and the key of what is sealed. To keep them, copy now: {', '.join(opens)}")
    at.say("Without them a restored database needs a new key (portico init --recover), and its")
    at.say("secrets set again.")


def _opens(estate: "Estate | None") -> "list[str]":
    """What a backup needs besides."""
    belongings = () if estate is None else estate.belongings
    return [str(each.path) for each in belongings if each.path.name in _OPENS_IT]


def _see_that_they_go_on(at: Terminal, *, yes: bool) -> None:
    """Raises `ConfirmationRequired`."""
    question = "Remove all of it now?"
    if not yes and not at.confirm(question):
        raise ConfirmationRequired(question)


def _see_that_it_is_new(file: Path) -> None:
    """Raises `FileInTheWay`."""
    if file.exists():
        raise FileInTheWay(file, fix="Name another file.")


def _size(file: Path) -> str:
    return human_size(file.stat().st_size)


async def _stop(at: Terminal) -> "tuple[Sequence[Ended], bool, bool]":
    keeping = at.services.keeping()
    with at.working("ending the server") as progress:
        ended = keeping.end(progress)
        stopped = await at.services.uninstalling().stop_database()
        untold = keeping.remove_at_login()
    at.say("Stopped the server." if ended else "The server was not running.")
    if stopped:
        at.say("Stopped the database.")
    if untold:
        at.say("It is not started at login any more.")
    return ended, stopped, untold


def _told(
    at: Terminal, clients: "Sequence[ConnectedClient]", facts: "JsonObject", package: str
) -> None:
    for each in clients:
        at.say(f"{each.title} still has Portico among its servers, in {each.file}")
    if clients:
        at.say("Take it out there: portico disconnect --all --yes, or by hand.")
    named: list[JsonValue] = [{"client": each.title, "file": each.file} for each in clients]
    if at.json:
        at.details({**facts, "clients": named, "package": package})
    else:
        print(f"To remove the program itself: {package}")


def _in_json(estate: "Estate | None") -> "JsonObject":
    if estate is None:
        return {}
    return {
        "bytes": estate.size,
        "belongings": [
            {"path": str(each.path), "what": each.what, "bytes": each.size}
            for each in estate.belongings
        ],
        "left": [{"path": each.path, "why": each.why} for each in estate.left],
    }


def _see_that_nothing_is_stuck(stuck: "Sequence[Leftover]") -> None:
    """Raises `NotRemoved`."""
    from portico.interfaces.cli.services import NotRemoved

    if stuck:
        raise NotRemoved(stuck)
