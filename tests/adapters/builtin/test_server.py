"""The server of our own tools behind the gateway's port, and the way to it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from portico.adapters.builtin import server
from portico.adapters.builtin.offers import LAUNCH, OFFERED
from portico.adapters.builtin.routing import RoutedUpstreams
from portico.adapters.builtin.server import BuiltinTools
from portico.gateway.core.errors import (
    OfferNotFound,
    ToolNotFound,
    UpstreamDown,
    UpstreamTimedOut,
)
from portico.gateway.core.server import BUILTIN, Inside, Stdio
from portico.gateway.core.upstream import OnBehalf, Phase, Target
from portico.testing.box import ScriptedBox
from portico.testing.gateway import a_server
from portico.testing.upstreams import ScriptedUpstreams, seen, text
from tests.adapters.builtin.bench import ANA, SECONDS, Bench, target

NAMES = [offered.name for offered in OFFERED]
FILES = replace(target(server="files"), launch=Stdio("serve"), caller=None)


async def test_it_offers_all_of_its_tools(tmp_path: Path) -> None:
    found = await Bench(tmp_path).tools.look(target())

    assert [tool["name"] for tool in found.tools] == NAMES
    assert found.identity.name == "Portico"


async def test_without_a_box_it_offers_no_shell_and_says_why(tmp_path: Path) -> None:
    tools = Bench(tmp_path, None).tools

    found = await tools.look(target())

    assert [tool["name"] for tool in found.tools] == NAMES[1:]
    assert tools.vitals(ANA.space, "builtin").lacking == (
        "There is no shell: Nothing can be run here: there are no user namespaces. "
        "Install bubblewrap."
    )


async def test_once_there_is_a_box_nothing_is_lacking(tmp_path: Path) -> None:
    tools = Bench(tmp_path).tools

    await tools.look(target())

    assert tools.vitals(ANA.space, "builtin").lacking is None


async def test_a_tool_that_it_does_not_have_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(ToolNotFound):
        await Bench(tmp_path).tools.call(target(), "wipe", {}, timeout=SECONDS)


async def test_nothing_is_done_for_nobody(tmp_path: Path) -> None:
    nobody = replace(target(), caller=None)

    with pytest.raises(UpstreamDown, match="nobody is calling"):
        await Bench(tmp_path).tools.call(nobody, "list_files", {}, timeout=SECONDS)

    assert not (tmp_path / str(ANA.space)).exists()  # a test waits for it


async def test_stopping_it_ends_what_it_does(tmp_path: Path) -> None:
    box = ScriptedBox(None)
    tools = Bench(tmp_path, box).tools
    call = asyncio.ensure_future(tools.call(target(), "shell", {"command": "x"}, timeout=SECONDS))
    await box.begun.wait()
    before = tools.vitals(ANA.space, "builtin")

    await tools.stop(ANA.space, "other")
    await tools.stop(ANA.space, "builtin")

    with pytest.raises(UpstreamDown, match="it was stopped") as told:
        await call
    assert told.value.reached
    assert (before.phase, before.calls_now) == (Phase.RUNNING, 1)
    assert tools.vitals(ANA.space, "builtin").phase is Phase.IDLE
    assert box.ended == 1


async def test_after_it_was_stopped_it_serves_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    await bench.tools.stop(ANA.space, "builtin")

    assert not (await bench("list_files")).failed


async def test_a_tool_that_does_not_keep_its_limits_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_MARGIN", 0.0)
    box = ScriptedBox(None)
    soon = timedelta(milliseconds=1)

    with pytest.raises(UpstreamTimedOut, match=r"builtin\.shell"):
        await Bench(tmp_path, box).tools.call(target(), "shell", {"command": "x"}, timeout=soon)

    assert box.ended == len(box.runs)


Ask = Callable[[BuiltinTools], Awaitable[object]]
ASKED: list[Ask] = [
    lambda tools: tools.read_resource(target(), "a:b", timeout=SECONDS),
    lambda tools: tools.get_prompt(target(), "a", {}, timeout=SECONDS),
    lambda tools: tools.complete(target(), {}, timeout=SECONDS),
]


@pytest.mark.parametrize("ask", ASKED)
async def test_it_has_nothing_but_tools(tmp_path: Path, ask: Ask) -> None:
    with pytest.raises(OfferNotFound):
        await ask(Bench(tmp_path).tools)


async def test_what_is_part_of_portico_goes_inside_and_all_else_goes_out(tmp_path: Path) -> None:
    outside = ScriptedUpstreams(offers={"files": seen({"name": "read"})}, results={"u": {"a": 1}})
    ways = RoutedUpstreams({BUILTIN: Bench(tmp_path).tools}, outside)

    ours, theirs = await ways.look(target()), await ways.look(FILES)
    inside = await ways.call(target(), "list_files", {}, timeout=SECONDS)
    away = await ways.call(FILES, "read", {}, timeout=SECONDS)
    read = await ways.read_resource(FILES, "u", timeout=SECONDS)
    prompt = await ways.get_prompt(FILES, "u", {}, timeout=SECONDS)
    with pytest.raises(OfferNotFound):
        await ways.complete(target(), {}, timeout=SECONDS)

    assert len(ours.tools) == len(OFFERED)
    assert [tool["name"] for tool in theirs.tools] == ["read"]
    assert inside.structured == {"entries": [], "more": False}
    assert away == text("files.read was called")
    assert read == prompt == {"a": 1}
    assert [each.caller for each in outside.looked] == [None]


async def test_each_is_told_how_it_is_and_stopped_by_its_own(tmp_path: Path) -> None:
    outside = ScriptedUpstreams(offers={"files": seen()})
    ways = RoutedUpstreams({BUILTIN: Bench(tmp_path, None).tools}, outside)
    await ways.look(target())
    await ways.look(FILES)

    await ways.stop(ANA.space, "files")

    assert ways.vitals(ANA.space, "builtin").lacking is not None
    assert ways.vitals(ANA.space, "files").phase is Phase.RUNNING
    assert outside.stopped == ["files"]


def test_no_other_server_is_told_who_calls() -> None:
    ours = a_server("builtin", launch=LAUNCH)

    assert Target.of(ANA.space, ours, ANA.id).caller == ANA.id
    assert Target.of(ANA.space, a_server(), ANA.id).caller is None


async def test_a_part_that_is_not_among_them_is_looked_for_further_out(tmp_path: Path) -> None:
    outside = ScriptedUpstreams(offers={"builtin": seen()})
    ways = RoutedUpstreams({BUILTIN: Bench(tmp_path).tools}, outside)

    await ways.look(replace(target(), launch=Inside("another", "1")))

    assert len(outside.looked) == 1


def test_only_a_part_of_portico_acts_for_whoever_calls() -> None:
    ours = a_server("builtin", launch=LAUNCH)

    assert Target.of(ANA.space, ours, ANA.id, acting=OnBehalf(ANA)).acting == OnBehalf(ANA)
    assert Target.of(ANA.space, a_server(), ANA.id, acting=OnBehalf(ANA)).acting is None
