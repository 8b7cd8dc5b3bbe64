"""Set up this installation."""

import getpass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from portico.interfaces.cli.house import Welcome
from portico.interfaces.cli.terminal import At
from portico.kernel.json import JsonObject


async def init(  # noqa: PLR0913 # one for each option
    *,
    name: str | None = None,
    recover: bool = False,
    source: Annotated[list[Path] | None, Parameter(name="--from")] = None,
    yes: bool = False,
    no_import: bool = False,
    dry_run: bool = False,
    at: At,
) -> None:
    """Make the database, your space and your key, and take over the servers of tools that you have
    in other programs. Safe to repeat: what is there stays.

    Each server is shown with the command that starts it, and you say which are taken. Those are
    started once, to see what they offer. The files that describe them are read from then on, and
    never written.

    Parameters
    ----------
    name
        What you are called in Portico, the first time; your account's name if left away.
    recover
        Make a new key even if yours works, and a new pepper if that is lost: no old key works then.
    source
        Take servers from this file instead of looking for files; may be given several times.
    yes
        Take every server of your own files, unasked, and let in its tools: those that only read
        as reading, all others as destructive.
    no_import
        Do not look for servers.
    dry_run
        Show which servers there are, and change nothing.
    """
    from portico.interfaces.cli.client_words import could_connect
    from portico.interfaces.cli.init_import import choose, show_found, take_over
    from portico.interfaces.cli.init_words import found_json

    importing = at.house.importing()
    found = [] if no_import else importing.found(source or [])
    if dry_run:
        show_found(at, found)
        at.data({"dry_run": True, "found": found_json(found)}, "Nothing was changed.")
        return
    with at.working("setting up") as progress:
        welcome = await at.house.install(
            admin=name or getpass.getuser(), recover=recover, progress=progress
        )
    if name and not welcome.new and name != welcome.admin:
        at.say(f"--name {name} is ignored: this installation has its first admin already.")
    at.say(_greeting(welcome))
    show_found(at, found)
    chosen = choose(at, found, yes=yes, named=source is not None)
    with at.alone():
        taken = await take_over(at, importing, found, chosen, yes=yes)
    could = could_connect(at.house.connecting().found())
    if at.json:
        told = {**_facts(welcome, at.house.whereabouts().server_url), **taken}
        at.facts({**told, "could_connect": could})
    first = [] if at.house.keeping().servers() else ["portico up"]
    if following := [*first, *could]:
        at.say("\nNext: " + "\n      ".join(following))


def _facts(welcome: Welcome, server: str) -> JsonObject:
    return {
        "new": welcome.new,
        "recovered": welcome.recovered,
        "space": welcome.space,
        "admin": welcome.admin,
        "key_file": str(welcome.key_file),
        "agent_key_file": str(welcome.agent_key_file),
        "migrations_applied": welcome.migrations,
        "server": server,
    }


def _greeting(welcome: Welcome) -> str:
    done = "Portico is set up." if welcome.new else "Portico was set up already; all is in place."
    if welcome.recovered:
        done = "A new key is in place."
    return (
        f"{done}\n\n"
        f"  space      {welcome.space}\n"
        f"  you are    {welcome.admin} (admin)\n"
        f"  your key   {welcome.key_file} (only you can read it)\n"
        f"  programs   {welcome.agent_key_file} (what they come in with: an agent, not you)"
    )
