"""The lists of tools of a key and its principal: what is not on all of them is not for it."""

from collections.abc import Iterable, Sequence
from typing import Final

from portico.guard.core.wildcard import fits
from portico.kernel.principal import Principal

OFF_LIST: Final = "it is not on the list of tools of the key or its principal"


def on_lists(caller: Principal, tool: str) -> bool:
    return on_all(caller.tools, tool)


def on_all(lists: Iterable[Sequence[str]], tool: str) -> bool:
    return all(fits(tool, allowed) for allowed in lists)
