"""Tools, from the command line: what there is."""

import json
from typing import Literal

from cyclopts import App

from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import PLAIN, At

app = App(
    name="tools",
    help="The tools of all servers.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

Effect = Literal[
    "pure",
    "local_read",
    "external_read",
    "local_write",
    "external_write",
    "irreversible",
    "unknown",
]
Standing = Literal["live", "pending", "new", "changed", "refused", "gone"]


@app.command(name="list", sort_key=1)
def list_(*, server: str | None = None, standing: Standing | None = None, at: At) -> None:
    """Every tool: whether it can be used, what it can change, what it costs.

    Parameters
    ----------
    server
        Only those of this server.
    standing
        Only those that are live, or that wait: pending, new, changed, refused, gone.
    """
    found = list(Server(at.house).pages("/tools", server=server, standing=standing))
    columns = ["tool", "standing", "effect", "call_with", "tokens"]
    at.table(columns, found, {"data": found}, right=["tokens"])


@app.command(name="show", sort_key=2)
def show(tool: str, /, *, at: At) -> None:
    """All that is known of one tool.

    Parameters
    ----------
    tool
        server.tool
    """
    found = Server(at.house).get(path_to("tools", tool))
    if at.json:
        at.data(found, "")
        return
    definition, returns = found.pop("definition"), found.pop("returns")
    at.facts(found)
    print()
    print(definition.get("description") or "No description.")
    print()
    print(json.dumps(definition.get("inputSchema"), indent=2, ensure_ascii=False))
    if returns is not None:
        print()
        print(f"Returns (seen {_times(returns['seen'])}): {returns['shape']}")


@app.command(name="effect", sort_key=3)
def effect(tools: str, effect: Effect, /, *, at: At) -> None:
    """Say what tools can change, by name or by a pattern of names.

    It holds for the definitions that are approved now; what changes or comes later is unknown
    again, and decided where it is approved.

    portico tools effect 'github.get_*' external_read

    Parameters
    ----------
    tools
        server.tool, with * and ? as wildcards.
    effect
        pure < local_read < external_read < local_write < external_write < irreversible < unknown.
    """
    found = Server(at.house).put("/effects", {"tools": tools, "effect": effect})
    at.table(["tool", "before", "after"], found, {"data": found})


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
