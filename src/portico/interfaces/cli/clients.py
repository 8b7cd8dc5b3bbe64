"""`portico connect` and `disconnect`: Portico in the configuration of an MCP client."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

from cyclopts import Parameter

from portico.gateway.core.client_entry import (
    DetectedClient,
    EntryStatus,
    Proposal,
    Removal,
    Written,
)
from portico.interfaces.cli.errors import InvalidUsage
from portico.interfaces.cli.server import Refused, Server, api_path
from portico.interfaces.cli.services import CliServices
from portico.interfaces.cli.terminal import At, Terminal, shown
from portico.kernel.json import JsonObject, JsonValue

if TYPE_CHECKING:
    from portico.interfaces.cli.services import Connecting


def short(file: str) -> str:
    """As a person writes it."""
    home = f"{Path.home()}/"
    return shown(f"~/{file.removeprefix(home)}" if file.startswith(home) else file)


def found_row(found: DetectedClient) -> JsonObject:
    return {
        "client": found.home.name,
        "here": found.present,
        "portico": found.status or "cannot be told",
        "file": short(found.file),
        "command": _command(found),
    }


def found_json(found: DetectedClient) -> JsonObject:
    return {
        "client": found.home.name,
        "title": found.home.title,
        "here": found.present,
        "connected": found.status in {EntryStatus.SAME, EntryStatus.OTHERWISE},
        "standing": found.status,
        "problem": found.problem,
        "file": found.file,
        "command": _command(found) or None,
    }


def could_connect(all_found: Sequence[DetectedClient]) -> Sequence[str]:
    """The commands for those that are here and are not connected."""
    return [_command(each) for each in all_found if each.present and each.status == "not connected"]


def proposal_json(proposal: Proposal, **more: JsonValue) -> JsonObject:
    return {
        "client": proposal.home.name,
        "title": proposal.home.title,
        "scope": proposal.scope,
        "file": proposal.file,
        "standing": proposal.status,
        "diff": proposal.diff,
        "listed_twice": list(proposal.also_listed),
        "notes": list(proposal.notes),
        **more,
    }


def after_lines(proposal: Proposal, written: Written) -> Iterator[str]:
    if written.copy:
        yield f"  as it was   {short(written.copy)}"
    yield f"  to undo     portico disconnect {proposal.home.name}"
    yield f"  to use it   start {proposal.home.title} anew"


def notes(proposal: Proposal) -> Iterator[str]:
    yield from (f"! {each}" for each in proposal.notes)
    if proposal.also_listed:
        names = shown(", ".join(proposal.also_listed))
        yield (
            f"! {proposal.home.title} lists these itself, and Portico reads them too: {names}. "
            "Where both can start one, its tools are there twice. Describe them to Portico "
            f"itself (portico servers add), then take them out of {short(proposal.file)}: while "
            "Portico reads that file, what is gone from it is gone from Portico."
        )


def removal_json(removal: Removal) -> JsonObject:
    return {
        "client": removal.home.name,
        "file": removal.file,
        "file_removed": removal.after is None,
        "as_before": removal.as_before,
        "diff": removal.diff,
    }


def removal_text(removal: Removal) -> str:
    how = "Portico's entry is out; all else is as it was found."
    if removal.after is None:
        how = "the file is gone again: nothing else was in it."
    elif removal.as_before:
        how = "as it was before, to the byte."
    return f"{removal.home.title}: {short(removal.file)}, {how}"


def _command(found: DetectedClient) -> str:
    match found.status:
        case EntryStatus.SAME:
            return f"portico disconnect {found.home.name}"
        case None:
            return ""
        case _:
            return f"portico connect {found.home.name}"


class ClientKey:
    """Made for as long as it takes to write it down: if that fails, nobody has it."""

    def __init__(self, house: CliServices, client: str) -> None:
        self._server = Server(house)
        self._client = client
        self.id = ""
        self.text = ""

    def __enter__(self) -> Self:
        made = self._made()
        self.id, self.text = made["id"], made["key"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if error is not None:
            revoke(self._server, self.id)

    def _made(self) -> Any:  # noqa: ANN401 # JSON, as the server gives it
        wish = {"name": self._client, "agent": True}
        try:
            return self._server.post("/keys", wish)
        except Refused as refused:
            holder = self._agent() if refused.code == "name_taken" else None
            if holder is None:
                raise
        return self._server.post("/keys", {"name": self._client, "principal": holder})

    def _agent(self) -> str | None:
        """Who was connected before; a person of that name is nobody to give a program's key to."""
        for each in self._server.pages("/principals"):
            if each["name"] == self._client and each["kind"] == "agent":
                return str(each["id"])
        return None


def revoke(server: Server, key: str) -> None:
    server.delete(api_path("keys", key))


_TO_COME: Final = "KEY"
"""Stands for the key before there is one."""


def connect(  # noqa: PLR0913 # each is an option of its own
    client: str | None = None,
    /,
    *,
    scope: Literal["user", "project"] = "user",
    http: bool = False,
    show: Annotated[bool, Parameter(name="--print")] = False,
    dry_run: bool = False,
    yes: bool = False,
    at: At,
) -> None:
    """Put Portico into the file of CLIENT, so that CLIENT has it from its next start on. Without
    CLIENT, show which clients are on this machine.

    Only Portico's own entry is written; every other byte of the file stays as it is, and a copy of
    the file is kept.

    Parameters
    ----------
    client
        claude-code, claude-desktop, cursor, vscode, windsurf, zed, codex or gemini.
    scope
        For all of your work, or for the project in this folder only.
    http
        Have it come over HTTP, with a key of its own that is made for it, instead of starting
        `portico stdio`.
    show
        Print the entry, and write nothing.
    dry_run
        Show what would change, and write nothing.
    yes
        Do not ask: replace another entry of that name, and make the file of a client that does
        not seem to be here.
    """

    connecting = at.services.connecting()
    if client is None:
        _list(at, connecting)
        return
    if http and scope == "project":
        raise InvalidUsage(
            "A key does not belong into the file of a project.",
            fix="Leave --http away, or --scope project.",
        )
    proposal = connecting.proposed(client, scope, key=_TO_COME if http else None)
    if show:
        told: JsonObject = {
            "client": client,
            "file": proposal.file,
            "entry": proposal.entry,
            "text": proposal.alone,
        }
        at.data(told, proposal.alone.rstrip("\n"))
        if http:
            at.say(f"KEY stands for a key: portico keys create {client} --agent")
    elif proposal.status == "connected":
        _say_all(at, proposal)
        text = f"{proposal.home.title} is connected already: {_file(proposal)}"
        at.data(proposal_json(proposal, changed=False), text)
    elif dry_run:
        at.say(proposal.diff)
        _say_all(at, proposal)
        at.data(proposal_json(proposal, changed=False), "Nothing was changed.")
    else:
        _check(at, proposal, yes=yes)
        _connect(at, connecting, proposal, http=http)


def _list(at: Terminal, connecting: "Connecting") -> None:

    found = connecting.found()
    rows = [found_row(each) for each in found]
    value = {"data": [found_json(each) for each in found]}
    at.table(["client", "here", "portico", "file", "command"], rows, value, fold=["file"])
    for each in found:
        if each.problem:
            at.say(f"! {each.problem}")


def _check(at: Terminal, proposal: "Proposal", *, yes: bool) -> None:
    """Raises `ClientAbsent`, `EntryDiffers`."""
    from portico.gateway.core.client_entry import ClientAbsent, EntryDiffers

    if not proposal.present and not yes:
        absent = ClientAbsent(proposal.home.title, _file(proposal))
        if not at.confirm(f"{absent} Make it?"):
            raise absent
    at.say(proposal.diff)
    if proposal.status in {"connected otherwise", "another entry"} and not yes:
        differs = EntryDiffers(_file(proposal))
        if not at.confirm("There is another entry named portico. Replace it?"):
            raise differs


def _connect(at: Terminal, connecting: "Connecting", proposal: "Proposal", *, http: bool) -> None:

    if http:
        with ClientKey(at.services, proposal.home.name) as key:
            proposal = connecting.proposed(proposal.home.name, proposal.scope, key=key.text)
            written = connecting.write(proposal, key.id)
    else:
        written = connecting.write(proposal)
    _say_all(at, proposal)
    for note in written.notes:
        at.say(f"! {note}")
    told = proposal_json(proposal, changed=True, copy=written.copy)
    at.data(told, f"{proposal.home.title} is connected: {_file(proposal)}")
    at.say("\n".join(after_lines(proposal, written)))


def _say_all(at: Terminal, proposal: "Proposal") -> None:

    for each in notes(proposal):
        at.say(each)


def _file(proposal: "Proposal") -> str:

    return short(proposal.file)


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

    if (client is None) is not everything:
        raise InvalidUsage(
            "Say which client, or --all.", fix="See which there are: portico connect"
        )
    connecting = at.services.connecting()
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

    if removal.foreign and not yes:
        differs = EntryDiffers(short(removal.file))
        if not at.confirm("Somebody has changed this entry. Take it out?"):
            raise differs
    connecting.take_out(removal)
    _revoke(at, removal)
    if removal.copy and not removal.as_before:
        at.say(f"  as it was before it was connected: {short(removal.copy)}")


def _in_all(found: "Sequence[Removal]", *, dry_run: bool) -> str:

    if not found:
        return "Nothing to do: Portico is not in there."
    return "Nothing was changed." if dry_run else "\n".join(map(removal_text, found))


def _revoke(at: Terminal, removal: "Removal") -> None:
    """The key that was made for it goes with it; if nobody can be asked, its user is told how."""
    if removal.key is None:
        return
    from portico.interfaces.cli.server import Server
    from portico.kernel.errors import PorticoError

    try:
        revoke(Server(at.services), removal.key)
    except PorticoError as error:
        at.say(f"! Its key still works ({error}) Revoke it: portico keys revoke {removal.key}")
