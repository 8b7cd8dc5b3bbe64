"""The server of our own tools behind the gateway's port, and the way to it."""

import asyncio
import json
import os
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from portico.adapters.builtin import server
from portico.adapters.builtin.server import INSTRUCTIONS, LAUNCH, OFFERED, VERSION, RoutedUpstreams
from portico.adapters.json_schema import JsonSchemaCheck
from portico.adapters.system.shipped_lists import shipped_effects
from portico.gateway.core.calls import OnBehalf, Phase, UpstreamTarget
from portico.gateway.core.discovery import read_instructions, read_tools
from portico.gateway.core.errors import (
    OfferNotFound,
    ToolNotFound,
    UpstreamDown,
    UpstreamTimedOut,
)
from portico.gateway.core.pins import definition_pin, package_of
from portico.gateway.core.server_approval import propose
from portico.gateway.core.servers import BUILTIN, Inside, Stdio
from portico.kernel.effect import Effect
from portico.testing.gateway import ScriptedUpstreams, a_server, seen, text
from portico.testing.sandbox import ScriptedSandbox
from tests.adapters.builtin.bench import ANA, SECONDS, Bench, target

NAMES = [offered.name for offered in OFFERED]
FILES = replace(target(server="files"), launch=Stdio("serve"), caller=None)


async def test_it_offers_all_of_its_tools_but_no_shell_without_a_box(tmp_path: Path) -> None:
    whole, boxless = Bench(tmp_path).tools, Bench(tmp_path, None).tools

    all_of_it, rest = await whole.look(target()), await boxless.look(target())

    assert [tool["name"] for tool in all_of_it.tools] == NAMES
    assert all_of_it.identity.name == "Portico"
    assert whole.health(ANA.space, "builtin").lacking is None
    assert [tool["name"] for tool in rest.tools] == NAMES[1:]
    assert boxless.health(ANA.space, "builtin").lacking == (
        "There is no shell: Nothing can be run here: there are no user namespaces. "
        "Install bubblewrap."
    )


async def test_it_has_nothing_but_its_tools_and_does_nothing_for_nobody(tmp_path: Path) -> None:
    tools, nobody = Bench(tmp_path).tools, replace(target(), caller=None)

    with pytest.raises(ToolNotFound):
        await tools.call(target(), "wipe", {}, timeout=SECONDS)
    for asked in (
        tools.read_resource(target(), "a:b", timeout=SECONDS),
        tools.get_prompt(target(), "a", {}, timeout=SECONDS),
        tools.complete(target(), {}, timeout=SECONDS),
    ):
        with pytest.raises(OfferNotFound):
            await asked
    with pytest.raises(UpstreamDown, match="nobody is calling"):
        await tools.call(nobody, "list_files", {}, timeout=SECONDS)

    assert not (tmp_path / str(ANA.space)).exists()


async def test_stopping_it_ends_what_it_does_and_it_serves_again(tmp_path: Path) -> None:
    box = ScriptedSandbox(None)
    bench = Bench(tmp_path, box)
    tools = bench.tools
    call = asyncio.ensure_future(tools.call(target(), "shell", {"command": "x"}, timeout=SECONDS))
    await box.started.wait()
    before = tools.health(ANA.space, "builtin")

    await tools.stop(ANA.space, "other")
    await tools.stop(ANA.space, "builtin")

    with pytest.raises(UpstreamDown, match="it was stopped") as told:
        await call
    assert told.value.reached
    assert (before.phase, before.calls_now) == (Phase.RUNNING, 1)
    assert tools.health(ANA.space, "builtin").phase is Phase.IDLE
    assert box.ended == 1
    assert not (await bench("list_files")).failed


async def test_a_tool_that_does_not_keep_its_limits_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_MARGIN", 0.0)
    box = ScriptedSandbox(None)
    soon = timedelta(milliseconds=1)

    with pytest.raises(UpstreamTimedOut, match=r"builtin\.shell"):
        await Bench(tmp_path, box).tools.call(target(), "shell", {"command": "x"}, timeout=soon)

    assert box.ended == len(box.runs)


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
    await ways.look(replace(target(), server="files", launch=Inside("another", "1")))

    assert len(ours.tools) == len(OFFERED)
    assert [tool["name"] for tool in theirs.tools] == ["read"]
    assert inside.structured == {"entries": [], "more": False}
    assert away == text("files.read was called")
    assert read == prompt == {"a": 1}
    assert [each.caller for each in outside.looked] == [None, ANA.id]


async def test_each_is_told_how_it_is_and_stopped_by_its_own(tmp_path: Path) -> None:
    outside = ScriptedUpstreams(offers={"files": seen()})
    ways = RoutedUpstreams({BUILTIN: Bench(tmp_path, None).tools}, outside)
    await ways.look(target())
    await ways.look(FILES)

    await ways.stop(ANA.space, "files")

    assert ways.health(ANA.space, "builtin").lacking is not None
    assert ways.health(ANA.space, "files").phase is Phase.RUNNING
    assert outside.stopped == ["files"]


def test_only_a_part_of_portico_is_told_who_calls_and_acts_for_them() -> None:
    ours, others = (
        UpstreamTarget.of(ANA.space, server, ANA.id, acting=OnBehalf(ANA))
        for server in (a_server("builtin", launch=LAUNCH), a_server())
    )

    assert (ours.caller, ours.acting) == (ANA.id, OnBehalf(ANA))
    assert (others.caller, others.acting) == (None, None)


def test_all_of_it_is_readable() -> None:
    read = read_tools([offered.definition for offered in OFFERED])

    assert read.unreadable == []
    assert [each.name for each in read.definitions] == NAMES
    assert read_instructions(INSTRUCTIONS) == INSTRUCTIONS


def test_our_list_has_exactly_these_definitions() -> None:
    wanted: dict[str, list[str]] = defaultdict(list)
    for offered in OFFERED:
        wanted[offered.effect].append(definition_pin(offered.definition))
    listed: dict[str, list[str]] = defaultdict(list)
    for pin, effect in shipped_effects().listed["portico:builtin"][VERSION].items():
        listed[effect].append(pin)

    right = {effect: sorted(pins) for effect, pins in sorted(wanted.items())}
    assert {effect: sorted(pins) for effect, pins in sorted(listed.items())} == right, (
        f"gateway/core/data/effects.json should say: {json.dumps({VERSION: right}, indent=1)}"
    )


def test_each_tool_is_fit_to_be_approved_and_says_nothing_better_of_itself() -> None:
    outside = {Effect.EXTERNAL_READ, Effect.EXTERNAL_WRITE}
    for offered in OFFERED:
        [definition] = read_tools([offered.definition]).definitions
        assert definition.output_schema is not None

        proposal = propose(definition, shipped=shipped_effects(), package=package_of(LAUNCH))
        JsonSchemaCheck().field_errors(definition.output_schema, {})

        assert proposal.effect is offered.effect
        assert proposal.why == f"listed for builtin {VERSION}"
        assert definition.annotations["readOnlyHint"] is offered.effect.is_read_only
        assert definition.annotations["openWorldHint"] is (offered.effect in outside)
        assert JsonSchemaCheck().field_errors(definition.input_schema, {"nobody": "asked"})
        assert len(definition.description) > 40
        assert definition.title


LATE = {
    "pydantic_monty",
    "portico.adapters.monty.interpreter",
    "portico.adapters.confined_files",
}
SCRIPT = """
import sys
from portico.app.gateway import BuiltinDependencies, open_builtin
from portico.app.app_context import AppContext

async def no_box():
    raise NotImplementedError

context = AppContext()
open_builtin(context, BuiltinDependencies(context), no_box)
print(*sys.modules, sep="\\n")
"""


def test_interpreter_and_files_are_loaded_when_they_are_first_used(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PORTICO_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "portico.adapters.builtin.programs" in loaded
    assert loaded & LATE == set()
