"""What an agent was asked for, and how it goes about it: one call after the other."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from benchmarks.ahead_world import World


@dataclass(frozen=True, slots=True)
class Ask:
    server: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


Work = Generator[Ask, str, None]
"""Yields a call, is sent the text of its result, and ends when it has what it wanted."""


@dataclass(frozen=True, slots=True)
class Task:
    intent: str
    search: str
    """How one would look for the tools of it: an ability, in words, without this task's values."""
    work: Work


class Template(Protocol):
    __name__: str

    def __call__(self, world: World, chance: Random, /) -> Task: ...


def files(tool: str, path: str, **more: object) -> Ask:
    return Ask("filesystem", tool, {"path": path, **more})


def git(tool: str, repository: str, **more: object) -> Ask:
    return Ask("git", tool, {"repo_path": repository, **more})


def query(sql: str) -> Ask:
    return Ask("sqlite", "read_query", {"query": sql})


def memory(tool: str, **arguments: object) -> Ask:
    return Ask("memory", tool, arguments)


def time_in(zone: str) -> Ask:
    return Ask("time", "get_current_time", {"timezone": zone})


def code(tool: str, **arguments: object) -> Ask:
    return Ask("code", tool, arguments)


def now_and_then(chance: Random, share: float, *asks: Ask) -> Work:
    """All of them, or none."""
    if chance.random() < share:
        for ask in asks:  # noqa: UP028 # a tuple cannot be sent answers
            yield ask
