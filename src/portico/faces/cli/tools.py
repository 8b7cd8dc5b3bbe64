"""Tools, from the command line: what there is."""

import json
from typing import Literal

from cyclopts import App

from portico.faces.cli.server import Server
from portico.faces.cli.terminal import PLAIN, At

app = App(
    name="tools",
    help="The tools of all servers.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

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


@app.command(sort_key=2)
def show(tool: str, /, *, at: At) -> None:
    """All that is known of one tool.

    Parameters
    ----------
    tool
        server.tool
    """
    found = Server(at.house).get(f"/tools/{tool}")
    if at.json:
        at.data(found, "")
        return
    definition = found.pop("definition")
    at.facts(found)
    print()
    print(definition.get("description") or "No description.")
    print()
    print(json.dumps(definition.get("inputSchema"), indent=2, ensure_ascii=False))
