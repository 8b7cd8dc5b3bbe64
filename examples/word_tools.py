"""A server of tools, on the official library. Portico starts, boxes, pins and guards it."""

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("words", version="1.0.0")
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


@server.tool(title="Count words", annotations=READS)
def count_words(text: str) -> int:
    """How many words a text has, parted by spaces and line ends."""
    return len(text.split())


@server.tool(title="Find the longest word", annotations=READS)
def longest_word(text: str) -> str:
    """The longest word of a text; of equals the first."""
    return max(text.split(), key=len, default="")


if __name__ == "__main__":
    server.run()
