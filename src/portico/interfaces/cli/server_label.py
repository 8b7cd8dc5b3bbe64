"""How secret a server is, shown and said at a terminal."""

from typing import Annotated

from cyclopts import Parameter

from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At
from portico.kernel.label import Label


def label(
    name: str,
    label: str | None = None,
    /,
    *,
    clearance: str | None = None,
    trusted: Annotated[bool | None, Parameter(negative="--untrusted")] = None,
    at: At,
) -> None:
    """Show how secret a server's results are and what may be sent to it, or say so.

    Whoever is not cleared for its label does not see the server. To change it you must be cleared
    for what it was and for what it becomes.

    portico servers label wiki confidential --clearance confidential

    A compartment, as in confidential+finance, takes somebody who is cleared for it.

    Parameters
    ----------
    name
        Which one.
    label
        What its results carry: public, team, confidential, restricted, with compartments.
    clearance
        The most that may be sent to it.
    trusted
        Whether its results count as your own words, and not as a stranger's.
    """
    server, wish = Server(at.house), {"label": label, "clearance": clearance, "trusted": trusted}
    said = {field: value for field, value in wish.items() if value is not None}
    if said:
        found = server.put(path_to("servers", name, "label"), said)
    else:
        whole = server.get(path_to("servers", name))
        found = {field: whole[field] for field in wish}
    if at.json:
        at.data(found, "")
    else:
        at.facts({"name": name, **found})
    if not Label.parse(found["clearance"]).covers(Label.parse(found["label"])):
        at.say(
            f"What it gives is {found['label']}, and it may be sent {found['clearance']} at most: "
            "a task that has read it asks before it sends anything there. To have it not ask: "
            f"portico servers label {name} --clearance {found['label']}"
        )
