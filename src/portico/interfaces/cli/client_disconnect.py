"""`portico disconnect`: our entry out of the file of a client again."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.terminal import At, Terminal
from portico.kernel.json import JsonObject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portico.gateway.core.client_entry import Removal
    from portico.interfaces.cli.house import Connecting


def disconnect(
    client: str | None = None,
    /,
    *,
    everything: Annotated[bool, Parameter(name="--all")] = False,
    dry_run: bool = False,
    yes: bool = False,
    at: At,
) -> None:
    """Take Portico out of the files of CLIENT, also out of those of projects.

    Only Portico's own entry goes, whatever the client has written into its file since; if nobody
    has, the file is as it was before, to the byte.

    Parameters
    ----------
    client
        claude-code, claude-desktop, cursor, vscode, windsurf, zed, codex or gemini.
    everything
        Out of the files of all clients.
    dry_run
        Show what would change, and write nothing.
    yes
        Do not ask, also if somebody has changed the entry since.
    """
    from portico.interfaces.cli.client_words import removal_json

    if (client is None) is not everything:
        raise BadUsage("Say which client, or --all.", fix="See which there are: portico connect")
    connecting = at.house.connecting()
    found = connecting.ours(client)
    for each in found:
        at.say(each.diff)
        if not dry_run:
            take_out(at, connecting, each, yes=yes)
    told: JsonObject = {"dry_run": dry_run, "data": [removal_json(each) for each in found]}
    at.data(told, _in_all(found, dry_run=dry_run))


def take_out(at: Terminal, connecting: "Connecting", removal: "Removal", *, yes: bool) -> None:
    """With the key that was made for it. Raises `EntryDiffers`."""
    from portico.gateway.core.client_entry import EntryDiffers
    from portico.interfaces.cli.client_words import short

    if removal.foreign and not yes:
        differs = EntryDiffers(short(removal.file))
        if not at.confirm("Somebody has changed this entry. Take it out?"):
            raise differs
    connecting.take_out(removal)
    _revoke(at, removal)
    if removal.copy and not removal.as_before:
        at.say(f"  as it was before it was connected: {short(removal.copy)}")


def _in_all(found: "Sequence[Removal]", *, dry_run: bool) -> str:
    from portico.interfaces.cli.client_words import removal_text

    if not found:
        return "Nothing to do: Portico is not in there."
    return "Nothing was changed." if dry_run else "\n".join(map(removal_text, found))


def _revoke(at: Terminal, removal: "Removal") -> None:
    """The key that was made for it goes with it; if nobody can be asked, its user is told how."""
    if removal.key is None:
        return
    from portico.interfaces.cli.client_keys import revoke
    from portico.interfaces.cli.server import Server
    from portico.kernel.errors import PorticoError

    try:
        revoke(Server(at.house), removal.key)
    except PorticoError as error:
        at.say(f"! Its key still works ({error}) Revoke it: portico keys revoke {removal.key}")
