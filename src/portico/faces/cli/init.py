"""Set up this installation."""

import getpass

from portico.faces.cli.terminal import At
from portico.kernel.json import JsonObject


async def init(*, name: str | None = None, recover: bool = False, at: At) -> None:
    """Make the database, your space and your key. Safe to repeat: what is there stays.

    Parameters
    ----------
    name
        What you are called in Portico, the first time; your account's name if left away.
    recover
        Make a new key even if yours works, and a new pepper if that is lost: no old key works then.
    """
    with at.working("setting up") as progress:
        welcome = await at.house.install(
            admin=name or getpass.getuser(), recover=recover, progress=progress
        )
    facts: JsonObject = {
        "new": welcome.new,
        "recovered": welcome.recovered,
        "space": welcome.space,
        "admin": welcome.admin,
        "key_file": str(welcome.key_file),
        "migrations_applied": welcome.migrations,
        "server": at.house.whereabouts().server_url,
    }
    if name and not welcome.new and name != welcome.admin:
        at.say(f"--name {name} is ignored: this installation has its first admin already.")
    if at.json:
        at.facts(facts)
        return
    done = "Portico is set up." if welcome.new else "Portico was set up already; all is in place."
    if welcome.recovered:
        done = "A new key is in place."
    at.say(
        f"{done}\n\n"
        f"  space      {welcome.space}\n"
        f"  you are    {welcome.admin} (admin)\n"
        f"  your key   {welcome.key_file} (only you can read it)\n\n"
        "Next: portico serve"
    )
