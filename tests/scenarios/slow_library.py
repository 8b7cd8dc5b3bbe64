"""A server of tools that takes its time: it finds books, and tells of one and of who wrote it.

Started with the seconds that each answer takes and a folder in which the texts of the books are.
"""

import asyncio
import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

SECONDS, FOLDER = float(sys.argv[1]), Path(sys.argv[2])
TOOLS = {
    "find_books": ("Find books on a topic.", "topic"),
    "read_card": ("Read the card of a book: its title, its author, where its text is.", "book_id"),
    "read_author": ("Read who an author is.", "author_id"),
    "lend_book": ("Lend a book to somebody.", "book_id"),
}
LENT: set[str] = set()


def number(kind: str, of: str) -> str:
    return f"{kind}-{hashlib.sha256(of.encode()).hexdigest()[:8]}"


def find_books(topic: str) -> Mapping[str, Any]:
    titles = [f"On {topic}", f"More on {topic}"]
    return {"books": [{"book_id": number("book", it), "title": it} for it in titles]}


def read_card(book_id: str) -> Mapping[str, Any]:
    return {
        "book_id": book_id,
        "author_id": number("author", book_id),
        "text_file": str(FOLDER / f"{book_id}.txt"),
        "lent": book_id in LENT,
    }


def read_author(author_id: str) -> Mapping[str, Any]:
    return {"author_id": author_id, "name": f"Somebody of {author_id[-4:]}"}


def lend_book(book_id: str) -> Mapping[str, Any]:
    LENT.add(book_id)
    return {"lent": book_id}


ANSWERS: Mapping[str, Callable[[str], Mapping[str, Any]]] = {
    "find_books": find_books,
    "read_card": read_card,
    "read_author": read_author,
    "lend_book": lend_book,
}


async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(
        tools=[
            types.Tool(
                name=name,
                description=description,
                input_schema={
                    "type": "object",
                    "properties": {argument: {"type": "string"}},
                    "required": [argument],
                },
                annotations=types.ToolAnnotations(
                    read_only_hint=name != "lend_book", open_world_hint=False
                ),
            )
            for name, (description, argument) in TOOLS.items()
        ]
    )


async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    await asyncio.sleep(SECONDS)
    [given] = (params.arguments or {}).values()
    text = json.dumps(ANSWERS[params.name](str(given)))
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def main() -> None:
    server = Server[Any]("library", version="1.0", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
