"""The server of our own tools behind the gateway's port, and the way to it."""

import asyncio
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from portico.adapters.builtin import server
from portico.adapters.builtin.offers import INSTRUCTIONS, LAUNCH, OFFERED, VERSION
from portico.adapters.builtin.routing import RoutedUpstreams
from portico.adapters.builtin.server import BuiltinTools
from portico.adapters.builtin.tool import Offered
from portico.adapters.json_schema.check import JsonSchemaCheck
from portico.adapters.system.shipped_effects import shipped_effects
from portico.gateway.core.errors import (
    OfferNotFound,
    ToolNotFound,
    UpstreamDown,
    UpstreamTimedOut,
)
from portico.gateway.core.package import package_of
from portico.gateway.core.pin import definition_pin
from portico.gateway.core.proposal import propose
from portico.gateway.core.reading import read_instructions, read_tools
from portico.gateway.core.server import BUILTIN, Inside, Stdio
from portico.gateway.core.tool import Definition
from portico.gateway.core.upstream import OnBehalf, Phase, Target
from portico.kernel.effect import Effect
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


@pytest.mark.parametrize("offered", OFFERED, ids=NAMES)
def test_its_effect_is_proposed_to_whoever_approves_it(offered: Offered) -> None:
    [definition] = read_tools([offered.definition]).definitions

    proposal = propose(definition, shipped=shipped_effects(), package=package_of(LAUNCH))

    assert proposal.effect is offered.effect
    assert proposal.why == f"listed for builtin {VERSION}"


@pytest.mark.parametrize("offered", OFFERED, ids=NAMES)
def test_what_it_says_of_itself_is_not_better_than_its_effect(offered: Offered) -> None:
    [definition] = read_tools([offered.definition]).definitions

    assert definition.annotations["readOnlyHint"] is offered.effect.reads_only
    outside = {Effect.EXTERNAL_READ, Effect.EXTERNAL_WRITE}
    assert definition.annotations["openWorldHint"] is (offered.effect in outside)


@pytest.mark.parametrize("offered", OFFERED, ids=NAMES)
def test_its_schemas_can_be_checked_against(offered: Offered) -> None:
    [definition] = read_tools([offered.definition]).definitions
    assert definition.output_schema is not None

    flaws = JsonSchemaCheck().flaws(definition.input_schema, {"nobody": "asked"})
    JsonSchemaCheck().flaws(definition.output_schema, {})

    assert flaws
    assert _described(definition)


def _described(definition: Definition) -> bool:
    return len(definition.description) > 40 and bool(definition.title)


LATE = {"pydantic_monty", "portico.adapters.monty.interpreter", "portico.adapters.files.folder"}
SCRIPT = """
import sys
from portico.main.builtin import BuiltinDoors, open_builtin
from portico.main.ground import Ground

async def no_box():
    raise NotImplementedError

ground = Ground()
open_builtin(ground, BuiltinDoors(ground), no_box)
print(*sys.modules, sep="\\n")
"""


@pytest.mark.timeout(60)
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
    assert "portico.adapters.builtin.run_code" in loaded
    assert loaded & LATE == set()
