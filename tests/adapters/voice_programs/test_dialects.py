"""What the lines of `claude`, `codex` and `gemini` mean, and what they are called with."""

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.voice_programs.codex import is_strict
from portico.adapters.voice_programs.dialect import Dialect, Heard
from portico.adapters.voice_programs.program import DIALECTS, USUAL, Program, programs_of
from portico.debate.core.voice import VoiceKind
from tests.adapters.joins.debate_asks import FORM, a_voice, an_ask

EVERY = pytest.mark.parametrize("name", sorted(DIALECTS))
ANSWER = '{"answer": "Paris"}'

SAID: dict[str, list[dict[str, Any]]] = {
    "claude": [
        {"type": "system", "subtype": "init", "model": "claude-opus-5", "tools": []},
        {"type": "stream_event", "event": {"type": "message_start"}},
        {
            "type": "stream_event",
            "event": {
                "type": "content_block_delta",
                "delta": {"type": "thinking_delta", "thinking": "hm"},
            },
        },
        {
            "type": "stream_event",
            "event": {
                "type": "content_block_delta",
                "delta": {"type": "text_delta", "text": ANSWER[:9]},
            },
        },
        {
            "type": "stream_event",
            "event": {
                "type": "content_block_delta",
                "delta": {"type": "text_delta", "text": ANSWER[9:]},
            },
        },
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


def heard_of(dialect: Dialect, events: Sequence[Any]) -> tuple[Heard, str]:
    heard = Heard()
    return heard, "".join([dialect.hear(event, heard) for event in events])


@EVERY
def test_its_answer_and_what_it_used_are_read_from_its_lines(name: str) -> None:
    heard, spoken = heard_of(DIALECTS[name], SAID[name])

    assert (heard.text, spoken, heard.problem, heard.ended) == (ANSWER, ANSWER, None, True)
    assert (heard.input, heard.output) == (60, 8)


def test_claude_says_what_it_cost_and_who_answered() -> None:
    heard, _ = heard_of(DIALECTS["claude"], SAID["claude"])

    assert (heard.money, heard.model) == (Decimal("0.0125"), "claude-opus-5")


@EVERY
def test_one_that_could_not_answer_says_why(name: str) -> None:
    event, why = FAILED[name]

    heard, _ = heard_of(DIALECTS[name], [event])

    assert (heard.problem, heard.ended) == (why, True)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
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
            ),
            inner
            | st.sampled_from(
                ["result", "stream_event", "item.completed", "message", "turn.completed", "init"]
            ),
            max_size=4,
        )
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
    ask = an_ask(a_voice(name, VoiceKind.PROGRAM), prompt="heron", system="ibis")

    call = DIALECTS[name].call(ask, tmp_path)

    told = json.dumps([*call.arguments, *call.environment.values()])
    assert "heron" not in told
    assert "ibis" not in told
    assert call.given == "heron"
    assert "ibis" in [file.read_text() for file in tmp_path.iterdir()]


def test_codex_is_held_to_a_form_that_openai_takes(tmp_path: Path) -> None:
    loose = {"type": "object", "properties": {"answer": {"type": "string"}}}
    voice = a_voice("codex", VoiceKind.PROGRAM)

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
