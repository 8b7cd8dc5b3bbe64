"""`portico connect`: one entry in the file of a client, which then has Portico."""

from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter

from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.terminal import At, Terminal
from portico.kernel.json import JsonObject

if TYPE_CHECKING:
    from portico.gateway.core.client_entry import Proposal
    from portico.interfaces.cli.house import Connecting

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
    from portico.interfaces.cli.client_words import proposal_json

    connecting = at.house.connecting()
    if client is None:
        _list(at, connecting)
        return
    if http and scope == "project":
        raise BadUsage(
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
    elif proposal.standing == "connected":
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
    from portico.interfaces.cli.client_words import found_json, found_row

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
    if proposal.standing in {"connected otherwise", "another entry"} and not yes:
        differs = EntryDiffers(_file(proposal))
        if not at.confirm("There is another entry named portico. Replace it?"):
            raise differs


def _connect(at: Terminal, connecting: "Connecting", proposal: "Proposal", *, http: bool) -> None:
    from portico.interfaces.cli.client_words import after_lines, proposal_json

    if http:
        from portico.interfaces.cli.client_keys import ClientKey

        with ClientKey(at.house, proposal.home.name) as key:
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
    from portico.interfaces.cli.client_words import notes

    for each in notes(proposal):
        at.say(each)


def _file(proposal: "Proposal") -> str:
    from portico.interfaces.cli.client_words import short

    return short(proposal.file)
