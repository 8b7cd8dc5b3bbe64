"""`portico tools`, `search` and `call`: find tools, show them, call one."""

import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from cyclopts import App, Parameter

from portico.gateway.core.errors import ToolSaidNo
from portico.interfaces.cli.errors import ApprovalNeeded, InvalidUsage
from portico.interfaces.cli.server import Refused, Server, api_path
from portico.interfaces.cli.terminal import PLAIN, At
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject


def named_values(pairs: Iterable[str]) -> dict[str, Any]:
    """A value that is JSON is taken as that, anything else as a text. Raises `InvalidUsage`."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise InvalidUsage(f"{pair!r} is not NAME=VALUE.")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def whole_result(server: Server, result: str) -> str:
    return "".join(_pages(server, result))


def _pages(server: Server, result: str) -> Iterator[str]:
    number, many = 0, 1
    while number < many:
        found = server.get(api_path("results", result), page=number + 1)
        yield found["text"]
        number, many = number + 1, found["pages"]


_BEFORE: Final = 1.5
"""Seconds; most calls are over by then, and nothing more is asked for their sake."""
_BETWEEN: Final = 3.0


@contextmanager
def told_what_waits(server: Server, tool: str, tell: Callable[[str], None]) -> Iterator[None]:
    over = threading.Event()
    watching = threading.Thread(target=_watch, args=(server, tool, tell, over), daemon=True)
    watching.start()
    try:
        yield
    finally:
        over.set()


def _watch(server: Server, tool: str, tell: Callable[[str], None], over: threading.Event) -> None:
    pause, me = _BEFORE, ""
    while not over.wait(pause):
        pause = _BETWEEN
        with suppress(PorticoError):  # whoever may not look is told less
            waiting = server.get("/approvals", status="waiting", limit=50)["data"]
            me = me or server.get("/me")["id"]
            mine = (each for each in waiting if each["asker"]["id"] == me)
            found = next((each for each in mine if each["tool"] == tool), None)
            if found is not None and not over.is_set():
                name = found["id"][-6:]
                tell(f"{tool} waits for approval: portico approvals show {name}")


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
ToolState = Literal["live", "pending", "new", "changed", "refused", "gone"]


@app.command(name="list", sort_key=1)
def list_(*, server: str | None = None, standing: ToolState | None = None, at: At) -> None:
    """Every tool: whether it can be used, what it can change, what it costs.

    Parameters
    ----------
    server
        Only those of this server.
    standing
        Only those that are live, or that wait: pending, new, changed, refused, gone.
    """
    found = list(Server(at.services).pages("/tools", server=server, standing=standing))
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
    found = Server(at.services).get(api_path("tools", tool))
    if at.json:
        at.data(found, "")
        return
    definition, returns = found.pop("definition"), found.pop("returns")
    at.details(found)
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
    found = Server(at.services).put("/effects", {"tools": tools, "effect": effect})
    at.table(["tool", "before", "after"], found, {"data": found})


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


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
        raise InvalidUsage("--limit is 1 or more.")
    found = Server(at.services).post("/search", {"queries": [*queries], "budget": budget})
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


_PENDING: Final = "approval_pending"


def call(
    tool: str,
    /,
    *pairs: str,
    input_: Annotated[str | None, Parameter(name="--input", allow_leading_hyphen=True)] = None,
    wait: bool = False,
    context: str | None = None,
    at: At,
) -> None:
    """Call a tool, and print what it gives.

    portico call time.get_current_time timezone=Europe/Berlin

    Parameters
    ----------
    tool
        server.tool, as `portico search` shows it.
    pairs
        NAME=VALUE; a value that is JSON is taken as that, anything else as a text.
    input_
        All arguments as a JSON object, or @FILE to read it from there, or - for standard input.
    wait
        If somebody has to approve it, until they have answered, however long it takes. Without it
        a call that is not answered at once ends with exit code 6, and goes on waiting by itself.
    context
        The task that it is part of, as `portico contexts open` gives it; that of your key if left
        away.
    """
    arguments = {**_object(input_), **named_values(pairs)}
    server = Server(at.services, context=context)
    with at.working(f"calling {tool}") as progress:
        answer = _answered(server, tool, arguments, progress, wait=wait)
        text = "" if at.json else _text(server, answer)
    at.data(answer, text)
    if answer["failed"]:
        raise ToolSaidNo(tool, fix=f"See what it takes: portico tools show {tool}")


def _answered(
    server: Server, tool: str, arguments: JsonObject, progress: Callable[[str], None], *, wait: bool
) -> Any:  # noqa: ANN401 # likewise
    """Raises `ApprovalNeeded`."""
    asked = None
    while True:
        with told_what_waits(server, tool, progress):
            answer = _answer(server, tool, arguments)
        if answer.get("status") != _PENDING:
            return answer
        another = asked is not None and asked != answer["approval"]
        asked = answer["approval"]
        if another or not wait:
            raise ApprovalNeeded(tool, asked)


def _answer(server: Server, tool: str, arguments: JsonObject) -> Any:  # noqa: ANN401 # JSON, shown as it is
    try:
        return server.post("/calls", {"tool": tool, "arguments": arguments})
    except Refused as error:
        if error.code == "bad_arguments":
            error.fix = f"See what it takes: portico tools show {tool}"
        raise


def _text(server: Server, answer: dict[str, Any]) -> str:
    """All of it. Of an answer that was kept, the first block is only the beginning, and the last
    one says to a model how to go on."""
    blocks = answer["content"]
    if answer["result"] is None:
        return "\n".join(map(_shown, blocks))
    whole = whole_result(server, answer["result"])
    return "\n".join([whole, *map(_shown, blocks[1:-1])])


def _object(text: str | None) -> JsonObject:
    if text is None:
        return {}
    try:
        found = json.loads(_read(text))
    except (ValueError, OSError) as error:
        raise InvalidUsage(f"--input cannot be read: {error}.") from error
    if not isinstance(found, dict):
        raise InvalidUsage("--input is a JSON object.")
    return found


def _read(text: str) -> str:
    if text == "-":
        return sys.stdin.read()
    return Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text


def _shown(block: dict[str, Any]) -> str:
    if isinstance(block.get("text"), str):
        return str(block["text"])
    data = block.get("data")
    size = f", {len(data):,} characters" if isinstance(data, str) else ""
    return f"[{block.get('type')} {block.get('mimeType', '')}{size}]"
