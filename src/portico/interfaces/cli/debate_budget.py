"""`portico debate budget`: what the debates of a project may spend in all."""

from typing import Any

from portico.interfaces.cli.agent_words import money
from portico.interfaces.cli.bridge_names import find_project
from portico.interfaces.cli.debate_wish import dollars, number_of_tokens
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At


def budget(
    project: str,
    /,
    *,
    tokens: str | None = None,
    usd: str | None = None,
    none: bool = False,
    at: At,
) -> None:
    """What the debates of a project may spend in all, and have spent or set aside.

    portico debate budget harbour --tokens 2M --usd 20

    Parameters
    ----------
    project
        Its name or its id.
    tokens
        So many in all from now on, such as 500k.
    usd
        So many US dollars in all from now on.
    none
        No limit from now on, beside those of each debate.
    """
    if none and (tokens is not None or usd is not None):
        raise BadUsage("Either --none, or a limit.", fix="portico debate budget PROJECT --none")
    server = Server(at.house)
    its = find_project(server, project)
    path = path_to("projects", its["id"], "debate-budget")
    found = server.get(path)
    if none or tokens is not None or usd is not None:
        found = server.put(path, _changed(found["cap"], tokens, usd, none=none))
    cap, spent = found["cap"], found["spent"]
    facts = {
        "project": its["name"],
        "tokens": f"{spent['tokens']:,} of {_limit(cap['tokens'])}",
        "money": f"{money(spent['money'])} of {_dollars(cap['money'])}",
        "calls": spent["calls"],
    }
    at.facts(found if at.json else facts)


def _changed(
    cap: dict[str, Any], tokens: str | None, usd: str | None, *, none: bool
) -> dict[str, Any]:
    """What is not said stays as it is."""
    if none:
        return {"tokens": None, "money": None}
    return {
        "tokens": cap["tokens"] if tokens is None else number_of_tokens("--tokens", tokens),
        "money": cap["money"] if usd is None else dollars("--usd", usd),
    }


def _limit(tokens: int | None) -> str:
    return "any number" if tokens is None else f"{tokens:,}"


def _dollars(amount: str | None) -> str:
    return "any sum" if amount is None else money(amount)
