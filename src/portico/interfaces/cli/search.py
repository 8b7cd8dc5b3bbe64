"""`portico search`: find tools by what they should do."""

from typing import Annotated

from cyclopts import Parameter

from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At


def search(
    *queries: Annotated[str, Parameter(required=True)],
    why: bool = False,
    budget: int | None = None,
    limit: int = 10,
    at: At,
) -> None:
    """Find tools by what they should do; several queries, one for each step, give one list.

    Parameters
    ----------
    queries
        What a tool should do.
    why
        Also the reason for each.
    budget
        Show it as a model is told, within so many tokens.
    limit
        How many at most.
    """
    if limit < 1:
        raise BadUsage("--limit is 1 or more.")
    found = Server(at.house).post("/search", {"queries": [*queries], "budget": budget})
    found["hits"] = found["hits"][:limit]
    if budget is not None:
        at.data(found, found["text"])
        return
    if not found["fits"]:
        at.say("No tool fits this well; the nearest:" if found["hits"] else "No tool fits this.")
    for near in found["nearest"]:
        at.say(f"{near['server']} {near['needs']}: {near['fix']}")
    rows = [each | {"does": each["summary"]} for each in found["hits"]]
    sentences = ["does", "why"] if why else ["does"]
    columns = ["tool", "call_with", "score", *sentences]
    at.table(columns, rows, found, right=["score"], fold=sentences)
