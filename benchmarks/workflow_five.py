"""The plan of five tools over five real servers."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.real_programs import Programs
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.workflows.core.plan import ArgumentTemplate, Plan, Reference, Step, Template

PROGRAMS: Final = {
    "time": "mcp-server-time",
    "git": "mcp-server-git",
    "filesystem": "mcp-server-filesystem",
    "memory": "mcp-server-memory",
    "everything": "mcp-server-everything",
}
"""Two from PyPI and three from npm, by the names that the registries gave them."""
_NOTE: Final = "heron"
_ANYBODYS: Final = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
}
"""In a box another account looks at the repository than made it, which git refuses otherwise."""


def launches(programs: Programs, world: Path) -> Mapping[str, Mapping[str, Any]]:
    """By the name of each server, as it is added. Whatever they work on is in `world`."""
    arguments = {"time": ["--local-timezone", "UTC"], "filesystem": [str(world)]}
    return {
        server: {
            "type": "stdio",
            "command": programs.command(program)[0],
            "arguments": [*programs.command(program)[1:], *arguments.get(server, [])],
            "environment": {"MEMORY_FILE_PATH": str(world / "memory.jsonl"), **_ANYBODYS},
            "folder": str(world),
        }
        for server, program in PROGRAMS.items()
    }


def make_world(world: Path) -> None:
    world.mkdir()
    (world / "note.txt").write_text(f"The {_NOTE} stands in the reeds.\n", encoding="utf-8")
    (world / "memory.jsonl").write_text(
        f'{{"type":"entity","name":"{_NOTE}","entityType":"bird","observations":["it stands"]}}\n',
        encoding="utf-8",
    )
    who = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    git = ["git", "-C", str(world)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "add", "note.txt"], check=True)
    subprocess.run([*git, *who, "commit", "--quiet", "-m", "The heron arrives"], check=True)


def five_steps(world: str) -> Plan:
    """Three that need nothing, one that needs one of them, and one that needs all."""
    said = Template(
        ["At ", _of("now"), " ", _of("log"), " ", _of("note"), " ", _of("known")],
    )
    return Plan(
        steps=[
            _step("now", "time.get_current_time", {"timezone": "UTC"}),
            _step("log", "git.git_log", {"repo_path": world, "max_count": 5}),
            _step("note", "filesystem.read_text_file", {"path": f"{world}/note.txt"}),
            _step("known", "memory.search_nodes", {"query": _NOTE}, after=["note"]),
            _step("said", "everything.echo", {"message": said}),
        ],
        output=_of("said"),
        has_output=True,
    )


def _of(step: str) -> Reference:
    return Reference(step, "text")


def _step(
    name: str, tool: str, arguments: Mapping[str, ArgumentTemplate], after: Sequence[str] = ()
) -> Step:
    return Step(id=name, tool=ToolRef.parse(tool), arguments=arguments, after=after)
