"""What a tool or a workflow gave and the server kept, since it was long."""

from collections.abc import Iterator

from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server


def whole_result(server: Server, result: str) -> str:
    return "".join(_pages(server, result))


def _pages(server: Server, result: str) -> Iterator[str]:
    number, many = 0, 1
    while number < many:
        found = server.get(path_to("results", result), page=number + 1)
        yield found["text"]
        number, many = number + 1, found["pages"]
