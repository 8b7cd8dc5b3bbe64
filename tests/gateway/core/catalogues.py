"""Recorded catalogues of real servers: those committed here, or all of them where they are."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from portico.gateway.core.catalog_snapshot import Definition
from portico.gateway.core.discovery import Unreadable, read_tool

COMMITTED = Path(__file__).parents[2] / "fixtures" / "mcp-catalogue"


def folder() -> Path:
    everything = os.environ.get("PORTICO_BENCH_DATA")
    return Path(everything) / "mcp-catalogue" if everything else COMMITTED


@cache
def catalogues() -> Mapping[str, Mapping[str, Any]]:
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder().glob("*.json"))}


@dataclass(frozen=True)
class Recorded:
    server: str
    raw: Mapping[str, Any]

    @cached_property
    def definition(self) -> Definition:
        read = read_tool(self.raw)
        assert not isinstance(read, Unreadable), read
        return read


@cache
def recorded() -> Sequence[Recorded]:
    return [
        Recorded(server, raw)
        for server, catalogue in catalogues().items()
        for raw in catalogue["tools"]
    ]
