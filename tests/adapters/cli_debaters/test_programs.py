"""Programs as voices, by one that does as it is told: what is heard, what is seen, what is left."""

import asyncio
import json
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.cli_debaters import debaters
from portico.adapters.cli_debaters.debaters import Availability, ProgramDebaters
from portico.adapters.cli_debaters.programs import (
    DIALECTS,
    USUAL,
    Dialect,
    Program,
    ProgramOutput,
    is_strict,
    programs_of,
)
from portico.adapters.tokens import O200k
from portico.debate.core.debaters import DebaterKind, DebaterReply, DebaterStatus
from portico.debate.core.errors import (
    DebaterInterrupted,
    DebaterNotCleared,
    DebaterNotFound,
    DebaterUnavailable,
)
from portico.kernel.label import Label, Level
from portico.testing.guard import a_person
from tests.adapters.cross_domain.debate_asks import FORM, a_voice, an_ask
from tests.children import gone
from tests.real_servers.watching import eventually

pytestmark = [pytest.mark.process]

ANA = a_person("ana")
STAND_IN = f"{sys.executable} {Path(__file__).with_name('stand_in.py')}"
EVERY = pytest.mark.parametrize("name", sorted(DIALECTS))


ANSWER = '{"answer": "Paris"}'


def _added(**delta: str) -> dict[str, Any]:
    event = {"type": "content_block_delta", "delta": delta}
    return {"type": "stream_event", "event": event}


SAID: dict[str, list[dict[str, Any]]] = {
    "claude": [
        {"type": "system", "subtype": "init", "model": "claude-opus-5", "tools": []},
        {"type": "stream_event", "event": {"type": "message_start"}},
        _added(type="thinking_delta", thinking="hm"),
        _added(type="text_delta", text=ANSWER[:9]),
        _added(type="text_delta", text=ANSWER[9:]),
        {"type": "assistant", "message": {"content": [{"type": "text", "text": ANSWER}]}},
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "result": ANSWER,
            "total_cost_usd": 0.0125,
            "usage": {
                "input_tokens": 10,
                "cache_creation_input_tokens": 20,
                "cache_read_input_tokens": 30,
                "output_tokens": 8,
            },
        },
    ],
    "codex": [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "item.completed", "item": {"type": "error", "message": "unknown model"}},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"type": "reasoning", "text": "hm"}},
        {"type": "error", "message": "Reconnecting... 1/5"},
        {"type": "item.completed", "item": {"type": "agent_message", "text": ANSWER}},
        {
            "type": "turn.completed",
            "usage": {"input_tokens": 60, "cached_input_tokens": 5, "output_tokens": 8},
        },
    ],
    "gemini": [
        {"type": "init", "model": "gemini-3-pro"},
        {"type": "message", "role": "user", "content": "What?"},
        {"type": "message", "role": "assistant", "content": ANSWER[:9], "delta": True},
        {"type": "message", "role": "assistant", "content": ANSWER[9:], "delta": True},
        {"type": "error", "severity": "warning", "message": "loop?"},
        {
            "type": "result",
            "status": "success",
            "stats": {"total_tokens": 68, "input_tokens": 60, "output_tokens": 7},
        },
    ],
}
FAILED: dict[str, tuple[dict[str, Any], str]] = {
    "claude": (
        {"type": "result", "subtype": "success", "is_error": True, "result": "Not logged in"},
        "Not logged in",
    ),
    "codex": ({"type": "turn.failed", "error": {"message": "no credit"}}, "no credit"),
    "gemini": ({"type": "result", "status": "error", "error": {"message": "no key"}}, "no key"),
}


class Scene:
    def __init__(self, home: Path, **commands: str) -> None:
        self.home = home
        self.heard: list[str] = []
        self.programs = programs_of(commands or dict.fromkeys(SAID, STAND_IN))
        self.our = {"PATH": os.environ["PATH"], "HOME": str(home), "PORTICO_PEPPER": "pepper"}

    def voices(self, **environment: str) -> ProgramDebaters:
        ours = {**self.our, **environment}
        return ProgramDebaters(
            programs=self.programs,
            environment=ours,
            availability=Availability(ours),
            tokenizer=O200k(),
        )

    async def ask(
        self, orders: Mapping[str, Any], *, name: str = "claude", **changes: Any
    ) -> DebaterReply:
        ask = an_ask(a_voice(name, DebaterKind.PROGRAM), prompt=f"{json.dumps(orders)}\nWhat?")
        return await self.voices().ask(replace(ask, **changes), self.heard.append)

    async def states(self, **environment: str) -> Mapping[str, DebaterStatus]:
        found = await self.voices(**environment).all(ANA)
        return {state.debater.target: state for state in found}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@EVERY
async def test_its_answer_comes_as_it_says_it(scene: Scene, name: str) -> None:
    reply = await scene.ask({"lines": ["a word to people", *SAID[name]]}, name=name)

    assert (reply.text, "".join(scene.heard)) == (ANSWER, ANSWER)
    assert (reply.prompt_tokens, reply.output_tokens, reply.cost.tokens) == (60, 8, 68)
    assert reply.overrun == 68 - 10 - 8


@EVERY
async def test_it_sees_a_room_of_its_own_and_nothing_of_ours(
    scene: Scene, name: str, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"

    await scene.ask({"lines": SAID[name], "report": str(report)}, name=name)

    seen = json.loads(report.read_text())
    assert "PORTICO_PEPPER" not in seen["environment"]
    assert (seen["folder"], seen["rest"]) == ([], "What?")
    assert "You are a critic." in seen["files"].values()
    assert "critic" not in json.dumps(seen["argv"])
    assert not Path(seen["cwd"]).parent.exists()


async def test_where_it_is_told_what_it_is_to_do_nobody_else_looks(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []

    def leave(folder: Path) -> None:
        modes.append(stat.S_IMODE(folder.stat().st_mode))

    monkeypatch.setattr(debaters, "remove_tree", leave)
    await scene.ask({"lines": SAID["claude"]})

    assert modes == [0o700]


async def test_one_that_fails_says_why_in_one_line_and_no_secret_and_is_charged_with_all_of_it(
    scene: Scene,
) -> None:
    complaint = f"first\nbad key sk-ant-{'abcdefgh' * 5}\n\n"
    spent = {"input_tokens": 300_000, "output_tokens": 5}
    end = {"type": "result", "subtype": "error_max_turns", "is_error": True, "usage": spent}

    with pytest.raises(DebaterInterrupted) as caught:
        await scene.ask({"complains": complaint, "ends": 3})
    with pytest.raises(DebaterInterrupted, match="error_max_turns") as charged:
        await scene.ask({"lines": [end]})

    assert "it ended with 3: bad key" in str(caught.value)
    assert "abcdefgh" not in str(caught.value)
    assert caught.value.cost is None, "it did not come to say what it has used"
    assert charged.value.cost is not None
    assert charged.value.cost.tokens == 300_005


async def test_one_that_ends_well_and_says_nothing_has_not_answered(scene: Scene) -> None:
    with pytest.raises(DebaterInterrupted, match="empty"):
        await scene.ask({"lines": ["[]", "null", '{"type": "result"', "{"]})


@pytest.mark.parametrize("cut_off", [False, True])
async def test_too_late_or_cut_off_it_is_ended_with_all_that_it_has_started(
    scene: Scene, tmp_path: Path, cut_off: bool
) -> None:
    file = tmp_path / "children"
    orders = {"child": str(file), "sleeps": 600, "ignores_signals": not cut_off}
    seconds = timedelta(seconds=60 if cut_off else 3)

    asking = asyncio.create_task(scene.ask(orders, timeout=seconds))
    if cut_off:
        await asyncio.to_thread(eventually, lambda: file.exists() and file.read_text() != "", 20.0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    else:
        with pytest.raises(DebaterInterrupted, match="within 3 seconds"):
            await asking

    assert _gone(file)


@pytest.mark.parametrize("lines", [SAID["claude"], []])
async def test_what_it_leaves_behind_when_it_ends_by_itself_is_ended_too(
    scene: Scene, tmp_path: Path, lines: list[Any]
) -> None:
    """With its answer, and without one, while somebody holds its pipe open."""
    file = tmp_path / "children"

    with suppress(DebaterInterrupted):
        await scene.ask({"child": str(file), "lines": lines, "ends": 1})

    assert _gone(file)


@pytest.mark.parametrize(
    ("bound", "most", "orders"),
    [
        ("LONGEST_LINE", 100_000, {"endless": True}),
        ("MOST_SAID", 1_000, {"lines": ["x" * 500] * 3, "sleeps": 600}),
    ],
)
async def test_one_that_never_ends_a_line_or_says_too_much_in_all_is_ended(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, bound: str, most: int, orders: dict[str, Any]
) -> None:
    monkeypatch.setattr(debaters, bound, most)

    with pytest.raises(DebaterInterrupted, match="more than anybody reads"):
        await scene.ask(orders)


async def test_what_is_too_secret_is_not_told_to_it(scene: Scene) -> None:
    with pytest.raises(DebaterNotCleared):
        await scene.ask({"lines": SAID["claude"]}, label=Label(Level.CONFIDENTIAL))


@EVERY
async def test_it_is_there_if_it_answers_and_somebody_is_logged_in(scene: Scene, name: str) -> None:
    state = (await scene.states(GEMINI_API_KEY="key"))[name]
    voice = await scene.voices(GEMINI_API_KEY="key").named(ANA, f"program:{name}")

    assert (state.available, state.why) == (True, None)
    assert state.debater == voice
    assert (voice.bounded, voice.kind, voice.clearance.level) == (
        False,
        DebaterKind.PROGRAM,
        Level.TEAM,
    )


async def test_what_is_missing_is_said_with_the_command_that_mends_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path, claude="claude-is-not-here", codex=STAND_IN, gemini=STAND_IN)
    broken = Scene(tmp_path, codex=f"{sys.executable} -c 'import sys; sys.exit(1)' codex")

    found = await scene.states()

    assert not any(found[name].available for name in ("claude", "gemini"))
    assert "npm install -g @anthropic-ai/claude-code" in (found["claude"].why or "")
    assert found["codex"].available
    assert "logged in" in (found["gemini"].why or "")
    assert "--version" in ((await broken.states())["codex"].why or "")
    with pytest.raises(DebaterUnavailable, match="npm install"):
        await scene.voices().named(ANA, "program:claude")
    with pytest.raises(DebaterNotFound):
        await scene.voices().named(ANA, "program:nobody")
    with pytest.raises(DebaterUnavailable):
        await scene.ask({}, name="nobody")
    with pytest.raises(DebaterUnavailable, match="cannot be started"):
        await scene.ask({}, name="claude")


async def test_it_is_not_asked_each_time_whether_it_is_there(tmp_path: Path) -> None:
    scene = Scene(tmp_path, claude="claude-is-not-here")
    voices = scene.voices()
    [before] = await voices.all(ANA)
    program = tmp_path / "claude-is-not-here"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    scene.our["PATH"] = f"{tmp_path}:{scene.our['PATH']}"
    looking = scene.voices()

    assert not before.available
    assert not (await voices.all(ANA))[0].available
    assert (await looking.all(ANA, fresh=True))[0].available


def _gone(file: Path) -> bool:
    pids = [int(each) for each in file.read_text().split()]
    return gone(*pids)


def heard_of(dialect: Dialect, events: Sequence[Any]) -> tuple[ProgramOutput, str]:
    heard = ProgramOutput()
    return heard, "".join([dialect.receive(event, heard) for event in events])


@EVERY
def test_its_answer_and_what_it_used_are_read_from_its_lines(name: str) -> None:
    heard, spoken = heard_of(DIALECTS[name], SAID[name])

    assert (heard.text, spoken, heard.problem, heard.ended) == (ANSWER, ANSWER, None, True)
    assert (heard.input, heard.output) == (60, 8)
    if name == "claude":
        assert (heard.money, heard.model) == (Decimal("0.0125"), "claude-opus-5")


@EVERY
def test_one_that_could_not_answer_says_why(name: str) -> None:
    event, why = FAILED[name]

    heard, _ = heard_of(DIALECTS[name], [event])

    assert (heard.problem, heard.ended) == (why, True)


_WORDS = [
    "type",
    "event",
    "delta",
    "item",
    "text",
    "usage",
    "stats",
    "error",
    "result",
    "input_tokens",
    "output_tokens",
    "total_cost_usd",
    "message",
    "status",
]
_TYPES = ["result", "stream_event", "item.completed", "message", "turn.completed", "init"]
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(_WORDS), inner | st.sampled_from(_TYPES), max_size=4)
    ),
    max_leaves=12,
)


@EVERY
@given(events=st.lists(_JSON, max_size=5))
def test_whatever_it_says_is_taken_for_what_it_can_be(name: str, events: list[Any]) -> None:
    lines = [each for each in events if isinstance(each, dict)]

    heard, spoken = heard_of(DIALECTS[name], lines)

    assert heard.input >= 0
    assert heard.output >= 0
    assert heard.money >= 0
    assert isinstance(spoken, str)


@EVERY
def test_no_word_of_a_debate_is_among_its_arguments(name: str, tmp_path: Path) -> None:
    ask = an_ask(a_voice(name, DebaterKind.PROGRAM), prompt="heron", system="ibis")

    call = DIALECTS[name].call(ask, tmp_path)

    told = json.dumps([*call.arguments, *call.environment.values()])
    assert "heron" not in told
    assert "ibis" not in told
    assert call.given == "heron"
    assert "ibis" in [file.read_text() for file in tmp_path.iterdir()]


def test_codex_is_held_to_a_form_that_openai_takes(tmp_path: Path) -> None:
    loose = {"type": "object", "properties": {"answer": {"type": "string"}}}
    voice = a_voice("codex", DebaterKind.PROGRAM)

    strict = DIALECTS["codex"].call(an_ask(voice), tmp_path)
    told = DIALECTS["codex"].call(an_ask(voice, schema=loose), tmp_path)

    assert "--output-schema" in strict.arguments
    assert "--output-schema" not in told.arguments


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (FORM, True),
        ({**FORM, "required": []}, False),
        ({**FORM, "additionalProperties": True}, False),
        ({**FORM, "properties": {"answer": {"type": "object"}}}, False),
        ({"anyOf": [FORM, {"type": "null"}]}, True),
        ({"anyOf": [FORM, {"properties": {}}]}, False),
    ],
)
def test_a_schema_is_strict_if_each_object_must_have_all_that_it_names(
    schema: Any, strict: bool
) -> None:
    assert is_strict(schema) is strict


def test_how_a_program_is_spoken_to_is_known_by_its_name_or_its_file() -> None:
    commands = {
        **USUAL,
        "gemini": "",
        "mine": "/opt/claude/bin/claude --model opus",
        "codex-work": "codex --profile work",
        "wrapped": "node /opt/gemini.js",
        "unknown": "cat",
        "unreadable": "'half",
    }

    found = programs_of(commands)

    assert {name: program.dialect.family for name, program in found.items()} == {
        "claude": "anthropic",
        "codex": "openai",
        "mine": "anthropic",
        "codex-work": "openai",
        "wrapped": "google",
    }
    assert found["mine"].command == ("/opt/claude/bin/claude", "--model", "opus")


def test_a_program_sees_of_our_environment_what_it_needs_and_no_more() -> None:
    ours = {
        "PATH": "/bin",
        "HOME": "/home/ana",
        "LC_ALL": "C",
        "HTTPS_PROXY": "http://proxy",
        "ANTHROPIC_API_KEY": "sk-ant",
        "OPENAI_API_KEY": "sk",
        "PORTICO_PEPPER": "pepper",
        "DATABASE_URL": "postgres://",
    }
    program = Program(name="claude", command=("claude",), dialect=DIALECTS["claude"])

    its = program.environment(ours)

    assert sorted(its) == ["ANTHROPIC_API_KEY", "HOME", "HTTPS_PROXY", "LC_ALL", "PATH"]


def test_whoever_is_set_up_otherwise_needs_no_login(tmp_path: Path) -> None:
    at_home = {"HOME": str(tmp_path)}
    claude, codex, gemini = (DIALECTS[name] for name in ("claude", "codex", "gemini"))

    assert not any(each.needs_no_login(at_home) for each in (claude, codex, gemini))
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text('model_provider = "mine"\n')
    (tmp_path / ".gemini").mkdir()
    settings = {"security": {"auth": {"selectedType": "oauth-personal"}}}
    (tmp_path / ".gemini" / "settings.json").write_text(json.dumps(settings))

    assert codex.needs_no_login(at_home)
    assert gemini.needs_no_login(at_home)
    assert claude.needs_no_login({"ANTHROPIC_API_KEY": "sk"})
    assert codex.needs_no_login({"CODEX_API_KEY": "sk"})
    assert gemini.needs_no_login({"GEMINI_API_KEY": "key"})
