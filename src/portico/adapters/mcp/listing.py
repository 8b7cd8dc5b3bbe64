"""All that a server offers, page by page, as it says it: one bad entry spoils no other."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, TypeAlias

from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map

from portico.adapters.mcp.wire import Broken, Message

ParamHeaders: TypeAlias = Mapping[tuple[str, ...], str]
"""Where an argument stands, and the header in which it is wanted as well."""

_PAGES: Final = 200
_ENTRIES: Final = 20_000


async def listed(
    ask: Callable[[str, Message], Awaitable[Message]], method: str, field: str
) -> list[Message]:
    """Raises `Refusal`, `Broken`, `Crowded`."""
    found: list[Message] = []
    seen: set[str] = set()
    params: Message = {}
    for _ in range(_PAGES):
        page = await ask(method, params)
        entries = page.get(field)
        if isinstance(entries, list):
            found += [each for each in entries if isinstance(each, dict)]
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or cursor in seen:
            return found
        if len(found) > _ENTRIES:
            break
        seen.add(cursor)
        params = {"cursor": cursor}
    raise Broken(f"its list of {field} does not end")


def wanted_headers(tools: Iterable[Message]) -> dict[str, ParamHeaders]:
    """By tool; those that want them wrongly are not given any."""
    found: dict[str, ParamHeaders] = {}
    for tool in tools:
        name, schema = tool.get("name"), tool.get("inputSchema")
        if isinstance(name, str) and find_invalid_x_mcp_header(schema) is None:
            headers = x_mcp_header_map(schema)
            if headers:
                found[name] = headers
    return found
