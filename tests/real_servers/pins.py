"""Which packages the real servers need, as the two package worlds write it down."""

import json

from tests.real_servers.catalogue import CONSTRAINTS, SERVERS, Shelf


def manifest() -> str:
    """package.json"""
    pinned = {s.package: s.version for s in SERVERS if s.shelf is Shelf.NPM}
    return json.dumps({"name": "real-servers", "private": True, "dependencies": pinned})


def requirements(shelf: Shelf) -> list[str]:
    return [f"{s.package}=={s.version}" for s in SERVERS if s.shelf is shelf] + [
        *CONSTRAINTS[shelf]
    ]
