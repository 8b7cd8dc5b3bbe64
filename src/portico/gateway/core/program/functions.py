"""Which functions a program has, and which call of which tool one of its calls means."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from portico.gateway.core.errors import BadToolRef
from portico.gateway.core.tool import ToolRef
from portico.kernel.json import JsonObject, JsonValue
from portico.sandbox.core.requests import Pending, Raised

CALL: Final = "call"
"""The function that takes a tool's own name, and what it is given."""
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_]")
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call of a tool that a program waits for."""

    number: int
    """As the interpreter counts them."""
    ref: ToolRef
    arguments: JsonObject


def function_name(ref: ToolRef) -> str:
    """`server__tool`, with _ for whatever no name in Python can have."""
    return _UNFIT.sub("_", f"{ref.server}__{ref.name}")


def functions_in(code: str, refs: Iterable[ToolRef]) -> Mapping[str, ToolRef]:
    """Those that the code names; the rest is not there for it. What is alike in two tools is
    neither's: `call` tells them apart."""
    words = _words(code)
    named = [(function_name(ref), ref) for ref in sorted(refs)]
    times = Counter(name for name, _ in named)
    return {name: ref for name, ref in named if name in words and times[name] == 1}


def uses_call(code: str) -> bool:
    return CALL in _words(code)


def wanted(pending: Pending, functions: Mapping[str, ToolRef]) -> Wanted | Raised:
    if pending.function == CALL:
        return _by_name(pending)
    arguments: JsonValue
    match pending.arguments:
        case []:
            arguments = pending.named
        case [Mapping() as only] if not pending.named:
            arguments = only
        case _:
            words = f"{pending.function} takes its arguments by their names"
            return Raised(words, "TypeError")
    return Wanted(pending.number, functions[pending.function], arguments)


def _by_name(pending: Pending) -> Wanted | Raised:
    given = dict(zip(("tool", "arguments"), pending.arguments, strict=False))
    if len(pending.arguments) > 2 or given.keys() & pending.named.keys():
        return Raised("call takes a tool and its arguments", "TypeError")
    match {"arguments": {}, **given, **pending.named}:
        case {"tool": str(tool), "arguments": Mapping() as arguments, **rest} if not rest:
            return _parsed(pending.number, tool, arguments)
        case _:
            words = 'call takes the name of a tool and an object: call("server.tool", {…})'
            return Raised(words, "TypeError")


def _parsed(number: int, tool: str, arguments: JsonObject) -> Wanted | Raised:
    try:
        return Wanted(number, ToolRef.parse(tool), arguments)
    except BadToolRef as error:
        return Raised(str(error), "ValueError")


def _words(code: str) -> set[str]:
    """As Python reads names: two spellings of a letter are one."""
    return set(_WORD.findall(unicodedata.normalize("NFKC", code)))
