"""The page of `portico.testing`: every module of it, and what it offers."""

import ast
from pathlib import Path
from typing import Final

_TESTING: Final = Path(__file__).parents[2] / "src/portico/testing"

_HEAD: Final = """\
# portico.testing

In-memory doors, shipped with Portico: what you build on it can be tested without a database, a network or a
clock. Each keeps the promises of the real door, refusals included, since one suite of tests runs against
both (`tests/contracts/` in the repository). Names here are public: a change of one is in the changelog.

```python
import asyncio

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.guard.core.errors import ApprovalPending
from portico.kernel.effect import Effect
from portico.app.gateway_wiring import assemble_gateway
from portico.testing.engine import MemoryBus
from portico.testing.gateway import ScriptedUpstreams, a_tool, an_approved_server, seen, text
from portico.testing.gateway_fakes import memory_gateway
from portico.testing.guard import a_person, a_space, an_identity
from portico.testing.memory_store import InMemoryStore, SeededEntropy, TickingClock

ANA = a_person("ana")
READ = a_tool("files.read", "Reads a file.", effect=Effect.LOCAL_READ)
DROP = a_tool("files.drop", "Deletes a file for good.", effect=Effect.IRREVERSIBLE)


async def main() -> None:
    world = InMemoryStore()
    world.spaces[ANA.space] = a_space()
    world.identities.insert((ANA.space, ANA.id), an_identity("ana"))
    files = an_approved_server("files")
    world.servers[ANA.space, files.id] = files
    world.tools[ANA.space, files.id] = [READ, DROP]

    upstreams = ScriptedUpstreams(offers={"files": seen()}, replies={READ.ref: text("milk, eggs")})
    doors = memory_gateway(
        world, upstreams, bus=MemoryBus(), clock=TickingClock(), entropy=SeededEntropy()
    )
    use = assemble_gateway(doors).over_http

    called = await use.call_tool(ANA, ToolRef("files", "read"), {"path": "list.txt"})
    print(called.answer.content[0]["text"])
    #> milk, eggs
    try:
        await use.call_tool(ANA, ToolRef("files", "drop"), {"path": "list.txt"})
    except ApprovalPending as error:
        print(error.code)
        #> approval_pending
    print([str(ref) for ref, _ in upstreams.called])
    #> ['files.read']


asyncio.run(main())
```

How they are named: `Memory…` keeps what it is given, `Scripted…` says what it was told to say and remembers what
it was asked, `a_…` and `an_…` make one of a thing with usual values. `InMemoryStore` is what doors share: hand
the same one to all of them, and what one writes another reads, behind the same walls.

"""


def testing_doors() -> str:
    files = [each for each in sorted(_TESTING.glob("*.py")) if each.stem != "__init__"]
    rows = "".join(map(_row, files))
    return f"{_HEAD}| module | what it is | what it offers |\n|---|---|---|\n{rows}"


def _row(file: Path) -> str:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    about = " ".join((ast.get_docstring(tree) or "").split())
    public = [
        f"`{node.name}`"
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and not node.name.startswith("_")
    ]
    return f"| `portico.testing.{file.stem}` | {about} | {', '.join(public)} |\n"
