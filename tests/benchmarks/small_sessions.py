"""A shop with three tools, and agents that always do the same there."""

from collections.abc import Mapping
from typing import Any

from benchmarks.ahead_baselines import foretold_of
from benchmarks.ahead_foretold import Foretold
from benchmarks.ahead_sessions import Made, Recording, Session
from benchmarks.ahead_truth import LetIn, let_in

LIST = "filesystem.list_directory"
READ = "filesystem.read_text_file"
WRITE = "filesystem.write_file"


def made(name: str, text: str = "", *, failed: bool = False, **arguments: object) -> Made:
    server, _, tool = name.partition(".")
    return Made(server, tool, arguments, text, None, failed, 0.002)


def session(*calls: Made, number: int = 0, template: str = "look", **more: Any) -> Session:
    given: dict[str, Any] = {"intent": "look at it", "searches": ["read a file"], **more}
    return Session(number, template, calls=calls, **given)


def tool(name: str, *parameters: str, **hints: bool) -> Mapping[str, Any]:
    properties = {each: {"type": "string"} for each in parameters}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    short = name.partition(".")[2]
    return {"name": short, "inputSchema": schema, "annotations": {"openWorldHint": False, **hints}}


def recording(*sessions: Session) -> Recording:
    tools = {
        LIST: tool(LIST, "path", readOnlyHint=True),
        READ: tool(READ, "path", readOnlyHint=True),
        WRITE: tool(WRITE, "path", "content"),
    }
    return Recording(sessions, tools, {"templates": 2})


def tools() -> Mapping[str, LetIn]:
    return let_in(recording())


def looks(number: int) -> Session:
    """Lists a folder, and reads the one file that is in it."""
    folder = f"/home/folder-{number:03}"
    return session(
        made(LIST, f"[FILE] note-{number}.md", path=folder),
        made(READ, "a heron", path=f"{folder}/note-{number}.md"),
        number=number,
        template="look" if number % 2 else "gaze",
    )


def foretold(path: str, name: str = READ, sure: float = 0.9) -> Foretold:
    return foretold_of(tools()[name], {"path": path}, sure)
