"""The embedded database from one PostgreSQL to another, and back."""

from portico.engine.core.store import Upgraded
from portico.interfaces.cli.errors import NeedsYes
from portico.interfaces.cli.terminal import Terminal, human_size
from portico.kernel.json import JsonObject, JsonValue


def bring_up(at: Terminal) -> None:
    with at.working("upgrading the database") as progress:
        done = at.house.store_upgrade().upgrade(progress)
    kept = ", ".join(map(str, done.kept))
    until = f"What was before stays in {kept}, until: portico db upgrade --forget-old"
    if done.before == done.after:
        text = f"Nothing to do: the database is of PostgreSQL {done.after}."
    else:
        text = f"The database is of PostgreSQL {done.after} now; it was of {done.before}."
    at.data(_facts(done), f"{text}\n{until}" if kept else text)


def go_back(at: Terminal, *, yes: bool) -> None:
    question = "Return to the database from before the upgrade, without what was written since?"
    if not yes and not at.confirm(question):
        raise NeedsYes(question)
    with at.working("going back"):
        done = at.house.store_upgrade().back()
    at.data(
        _facts(done),
        f"The database is of PostgreSQL {done.after} again; the other one is in {done.kept[0]}.\n"
        f"To stay with it: portico config set database.version {done.after}",
    )


def forget(at: Terminal, *, yes: bool) -> None:
    question = "Remove what is kept of earlier databases? There is no way back then."
    if not yes and not at.confirm(question):
        raise NeedsYes(question)
    with at.working("removing what is old"):
        gone = at.house.store_upgrade().forget_old()
    folders: list[JsonValue] = [str(folder) for folder in gone.folders]
    names = ", ".join(map(str, folders))
    text = f"Removed {names} ({human_size(gone.bytes)})." if names else "Nothing to remove."
    at.data({"removed": folders, "bytes": gone.bytes}, text)


def _facts(done: Upgraded) -> JsonObject:
    return {"before": done.before, "after": done.after, "kept": [str(each) for each in done.kept]}
