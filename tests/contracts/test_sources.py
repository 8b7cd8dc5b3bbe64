"""Files that describe servers: said now, and said again when something has changed."""

from collections.abc import Callable, Sequence
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path

import pytest

from portico.adapters.client_configs import ClientFiles, FileSources
from portico.gateway.core.config_documents import Described, ServerSpec
from portico.gateway.core.servers import Stdio
from portico.gateway.ports import Sources
from portico.testing.gateway import ScriptedSources

Say = Callable[[Sequence[str]], None]


def _scripted(_folder: Path) -> tuple[Sources, Say]:
    def described(names: Sequence[str]) -> Described:
        wishes = [
            ServerSpec(name=name, called=name, launch=Stdio(name), where=f"/{name}")
            for name in names
        ]
        return Described(origin="a file", client="a client", wishes=wishes)

    sources = ScriptedSources()
    return sources, lambda names: sources.say(described(names))


def _in_files(folder: Path) -> tuple[Sources, Say]:
    own = folder / "portico.toml"
    files = ClientFiles(home=folder, environment={}, own_url="", own_file=own)

    def say(names: Sequence[str]) -> None:
        own.write_text("\n".join(f'[servers.{name}]\ncommand = "{name}"' for name in names))

    return FileSources(files, list, every=timedelta(milliseconds=5)), say


@pytest.fixture(params=[_scripted, _in_files], ids=["memory", "files"])
def said(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Sources, Say]:
    found: tuple[Sources, Say] = request.param(tmp_path)
    return found


async def names(sources: Sources) -> Sequence[str]:
    return [wish.name for file in await sources.read() for wish in file.wishes]


async def test_where_nothing_is_described_nothing_is_said(said: tuple[Sources, Say]) -> None:
    assert await names(said[0]) == []


async def test_what_is_described_is_read_and_a_change_is_noticed(
    said: tuple[Sources, Say],
) -> None:
    sources, say = said
    say(["a"])
    assert await names(sources) == ["a"]

    say(["a", "b"])
    async with aclosing(sources.changes()) as changes:
        await anext(changes)

    assert await names(sources) == ["a", "b"]
