"""What a model pays: for every tool of 54 real servers, and for the same behind the gateway."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Annotated, Any, Final

import httpx2
from cyclopts import Parameter

from portico.adapters.tokens import O200k
from portico.bench.clients import asked, let_in, mcp_client, rest
from portico.bench.code_mode import PROGRAMS, code_mode_example, found_programs
from portico.bench.processes import PORTICO, answering, environment, free_port, scratch_home
from portico.bench.report import Report, skipped
from portico.interfaces.cli.terminal import At

_BUDGETS: Final = (None, 200, 500, 1_000, 3_000)
"""None: what the settings say, which is what most searches have."""
_CATALOGUE: Final = "mcp-catalogue"
_QUESTIONS: Final = "tool-search/livemcpbench.json"


@dataclass(frozen=True, slots=True)
class _Replies:
    usual: Sequence[int]
    """Tokens of each reply whose budget was the usual one."""
    most_over: int
    searches: int


def context(
    *,
    data: Annotated[Path | None, Parameter(help="Folder of the evaluation data.")] = None,
    searches: Annotated[int, Parameter(help="How many searches.")] = 5_000,
    servers: Annotated[
        str | None,
        Parameter(
            help="Folders with mcp-server-filesystem and mcp-server-sqlite, as in PATH; for the "
            "example of a program."
        ),
    ] = None,
    at: At,
) -> int:
    """Tokens of everything listed, of the surface, and of replies, which never pass a budget; and
    of one question, answered by calls and by a program."""
    folder = data or Path(os.environ.get("PORTICO_BENCH_DATA", ""))
    files = sorted((folder / _CATALOGUE).glob("*.json"))
    if not files or not (folder / _QUESTIONS).exists():
        return skipped(at, "context", f"no {_CATALOGUE} and {_QUESTIONS} in {str(folder)!r}")
    recorded = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}
    count = O200k().count
    definitions = [_definition(tool) for each in recorded.values() for tool in each["tools"]]
    run_as = {each.path: each.value for each in at.services.settings()}["database.run_as"]
    with (
        _house(str(run_as or "")) as house,
        rest(house.url, house.key) as client,
        mcp_client(house.url, house.key) as model,
        scratch_home() as workplace,
    ):
        with at.working("letting servers in") as progress:
            tools = sum(_let_in_all(client, files, progress))
        surface = model.listed()
        with at.working("searching") as progress:
            replies = _search(client, count, folder, searches, progress)
        programs = found_programs(servers)
        example = programs and code_mode_example(client, model, count, programs, workplace)
    every = sum(map(count, definitions))
    shown = sum(count(_compact(tool)) for tool in surface)
    reply = round(median(replies.usual))
    return Report(
        benchmark="context",
        corpus=f"tools/list of {len(files)} recorded servers, {tools} tools; "
        f"{replies.searches} searches with questions and steps of LiveMCPBench, alone and several, "
        "under five budgets",
        figures={
            "all_tools_tokens": every,
            "surface_tokens": shown,
            "median_search_reply_tokens": reply,
            "reduction": round(1 - (shown + reply) / every, 4),
            "max_reply_over_budget": replies.most_over,
            "tools": tools,
            "surface_tools": len(surface),
            "code_mode_example": example,
        },
        baseline={
            "median_tool_tokens": round(median(map(count, definitions))),
            "largest_tool_tokens": max(map(count, definitions)),
            "servers": len(files),
        },
        conditions={
            "tokenizer": "o200k_base, of compact JSON: name, description, input schema",
            "code_mode_example": "each token counted once: calls as compact JSON of name and "
            "arguments, and the texts that the model is given"
            if example
            else f"left out: no {' and '.join(PROGRAMS)} (--servers), or no node",
        },
    ).tell(at)


def _definition(tool: dict[str, Any]) -> str:
    names = ("name", "description", "inputSchema")
    return _compact({name: tool[name] for name in names if name in tool})


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _let_in_all(
    client: httpx2.Client, files: Sequence[Path], progress: Callable[[str], None]
) -> Iterator[int]:
    for number, file in enumerate(files):
        progress(f"letting in {file.stem}, {number + 1} of {len(files)}")
        arguments = ["-m", "portico.bench.replay_server", str(file.resolve())]
        launch = {"type": "stdio", "command": sys.executable, "arguments": arguments}
        yield let_in(client, file.stem, launch)


def _search(
    client: httpx2.Client,
    count: Callable[[str], int],
    folder: Path,
    searches: int,
    progress: Callable[[str], None],
) -> _Replies:
    questions = _questions(json.loads((folder / _QUESTIONS).read_text(encoding="utf-8")))
    chance = Random(7)  # noqa: S311 # a fixed choice of questions, no secret
    usual: list[int] = []
    most_over = 0
    for number in range(searches):
        if number % 100 == 0:
            progress(f"searching: {number} of {searches}")
        queries = chance.sample(questions, chance.choice((1, 1, 1, 2, 4)))
        budget = _BUDGETS[number % len(_BUDGETS)]
        reply = asked(client, "POST", "/search", {"queries": queries, "budget": budget})
        tokens = count(reply["text"])
        if budget is None:
            usual.append(tokens)
        else:
            most_over = max(most_over, tokens - budget)
    return _Replies(usual, max(most_over, 0), searches)


def _questions(recorded: dict[str, Any]) -> list[str]:
    every = [query["q"] for query in recorded["queries"]]
    steps = [
        step.strip(" 0123456789.)")
        for query in recorded["queries"]
        for step in (query.get("steps") or "").splitlines()
    ]
    return [text[:2_000] for text in [*every, *steps] if text]


@dataclass(frozen=True, slots=True)
class _House:
    """Where it answers, and a key to it."""

    url: str
    key: str


@contextmanager
def _house(run_as: str) -> Iterator[_House]:
    with scratch_home() as home:
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        env = environment(
            PORTICO_HOME=str(home),
            PORTICO_SERVER__PORT=str(port),
            PORTICO_DATABASE__RUN_AS=run_as,
            PORTICO_LOG__LEVEL="warning",
        )
        subprocess.run([*PORTICO, "init"], env=env, check=True, capture_output=True)
        key = (home / "config" / "client.key").read_text().strip()
        with answering([*PORTICO, "serve"], f"{url}/readyz", env, home / "server.log"):
            yield _House(url, key)
