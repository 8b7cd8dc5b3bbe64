"""Agents of our making, at work on real servers: every call and its answer is written down."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks import ahead_across, ahead_files, ahead_repositories, ahead_tables
from benchmarks.ahead_sessions import Made, Recording, Session
from benchmarks.ahead_work import Ask, Template, Work, code, files, git, memory, query, time_in
from benchmarks.ahead_world import PROJECTS, TABLES, ZONES, World, make_world
from benchmarks.real_programs import PACKAGES, Programs
from portico.kernel.json import JsonObject

TEMPLATES: Final[Sequence[Template]] = (
    *ahead_files.TEMPLATES,
    *ahead_repositories.TEMPLATES,
    *ahead_tables.TEMPLATES,
    *ahead_across.TEMPLATES,
)
SERVERS: Final[Mapping[str, str]] = {
    "filesystem": "mcp-server-filesystem",
    "git": "mcp-server-git",
    "sqlite": "mcp-server-sqlite",
    "memory": "mcp-server-memory",
    "time": "mcp-server-time",
    "code": "mcp-server-tree-sitter",
}
DETOUR: Final = 0.12
"""Chance, before each step, of a call that has nothing to do with it."""
STOP: Final = 0.06
"""Chance, after each step, that the agent has enough."""
SEARCH: Final = 0.6
"""Share of sessions in which the agent looks for its tools first; in others it knows them."""


@dataclass(frozen=True, slots=True)
class Plan:
    seed: int
    sessions: int

    def told(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "sessions": self.sessions,
            "templates": len(TEMPLATES),
            "detours": DETOUR,
            "stops": STOP,
            "searches": SEARCH,
            "servers": {name: PACKAGES[program].pinned for name, program in SERVERS.items()},
        }


async def record(
    plan: Plan, programs: Programs, root: Path, progress: Callable[[str], None]
) -> Recording:
    world = make_world(root, plan.seed)
    async with _clients(programs, world) as clients:
        for repository in world.repositories:
            known = {"path": repository.path, "name": repository.name}
            await clients["code"].call_tool("register_project_tool", known)
        tools = await _tools(clients)
        sessions = []
        for number in range(plan.sessions):
            sessions.append(await _session(number, plan.seed, world, clients))
            if number % 100 == 0:
                progress(f"recording: session {number} of {plan.sessions}")
    return Recording(sessions, tools, plan.told())


async def _session(number: int, seed: int, world: World, clients: Mapping[str, Any]) -> Session:
    chance = Random(f"session {seed} {number}")  # noqa: S311 # work, not secrets
    template = chance.choice(TEMPLATES)
    task = template(world, chance)
    searches = [task.search] if chance.random() < SEARCH else []
    calls = [each async for each in worked(task.work, world, chance, clients)]
    return Session(number, template.__name__, task.intent, searches, calls)


async def worked(
    work: Work, world: World, chance: Random, clients: Mapping[str, Any]
) -> AsyncIterator[Made]:
    try:
        ask = next(work)
        while True:
            while chance.random() < DETOUR:
                yield await _made(_detour(world, chance), clients)
            made = await _made(ask, clients)
            yield made
            if chance.random() < STOP:
                return
            ask = work.send(made.text)
    except (StopIteration, LookupError, ValueError, SyntaxError):
        """It has what it wanted, or cannot make anything of an answer and gives up."""


def _detour(world: World, chance: Random) -> Ask:
    folder = chance.choice(list(world.folders))
    repository = chance.choice(world.repositories)
    return chance.choice(
        [
            files("list_directory", str(Path(folder).parent)),
            files("search_files", str(Path(folder).parent), pattern="**/*.md"),
            files("read_text_file", f"{folder}/{chance.choice(world.folders[folder])}"),
            git("git_status", repository.path),
            git("git_log", repository.path, max_count=chance.choice([1, 5, 10])),
            time_in(chance.choice(ZONES)),
            memory("search_nodes", query=chance.choice(PROJECTS)),
            Ask("sqlite", "list_tables"),
            query(f"SELECT COUNT(*) FROM {chance.choice(list(TABLES))}"),  # noqa: S608 # our own names
            code("list_projects_tool"),
        ]
    )


async def _made(ask: Ask, clients: Mapping[str, Any]) -> Made:
    began = time.perf_counter()
    answer = await clients[ask.server].call_tool(ask.tool, dict(ask.arguments))
    took = time.perf_counter() - began
    text = "\n".join(getattr(each, "text", "") for each in answer.content)
    return Made(
        ask.server,
        ask.tool,
        ask.arguments,
        text,
        answer.structured_content,
        bool(answer.is_error),
        round(took, 5),
    )


async def _tools(clients: Mapping[str, Any]) -> Mapping[str, JsonObject]:
    return {
        f"{server}.{tool.name}": tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        for server, client in clients.items()
        for tool in (await client.list_tools()).tools
    }


@asynccontextmanager
async def _clients(programs: Programs, world: World) -> AsyncIterator[Mapping[str, Any]]:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    with Path(os.devnull).open("w") as nowhere:  # noqa: ASYNC230 # nothing waits there
        async with AsyncExitStack() as open_ones:
            clients = {}
            for server, program in SERVERS.items():
                command, *arguments = [*programs.command(program), *_arguments(server, world)]
                launch = StdioServerParameters(
                    command=command,
                    args=arguments,
                    env={"PATH": os.environ["PATH"], **_environment(world)},
                )
                line = stdio_client(launch, errlog=nowhere)
                clients[server] = await open_ones.enter_async_context(Client(line))
            yield clients


def _arguments(server: str, world: World) -> Sequence[str]:
    return {
        "filesystem": [world.root],
        "sqlite": ["--db-path", world.database],
        "time": ["--local-timezone", "UTC"],
    }.get(server, [])


def _environment(world: World) -> Mapping[str, str]:
    return {
        "HOME": world.root,
        "MEMORY_FILE_PATH": world.memory,
        "GIT_AUTHOR_NAME": "bench",
        "GIT_AUTHOR_EMAIL": "bench@example.org",
        "GIT_COMMITTER_NAME": "bench",
        "GIT_COMMITTER_EMAIL": "bench@example.org",
    }


def record_now(
    plan: Plan, programs: Programs, root: Path, progress: Callable[[str], None]
) -> Recording:
    return asyncio.run(record(plan, programs, root, progress))
