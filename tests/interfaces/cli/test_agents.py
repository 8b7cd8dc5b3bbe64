"""`portico agents`, against a server that says what it is told to."""

import re
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from portico.interfaces.cli.errors import Exit
from portico.interfaces.cli.terminal import moment
from tests.interfaces.cli.agent_answers import AGENT, NOON, RUN, TRACE, a_run, page
from tests.interfaces.cli.command_line import CommandLine
from tests.interfaces.cli.scripted_server import InTurn, Problem, Streamed

TOML = 'name = "helper"\nmodel = "ollama:small"\ninstructions = """\nBe brief.\n"""\n'
SPEC = {"name": "helper", "model": "ollama:small", "instructions": "Be brief.\n"}
TEMPLATES = {
    "data": [
        {
            "name": "reader",
            "description": "Reads files.",
            "agent": {
                "name": "reader",
                "model": "",
                "temperature": None,
                "tools": ["files.read"],
                "instructions": "Read.",
            },
        }
    ]
}
READER = {"tools": ["files.read"], "instructions": "Read."}
MODELS = [{"model": "ollama:small"}, {"model": "away:large"}]
MADE = {"POST /agents": AGENT, "GET /agents/templates": TEMPLATES, "GET /models": MODELS}
SHOWN = {"GET /agents/helper": AGENT}
TAKEN = Problem(409, {"code": "agent_name_taken", "title": "Taken", "detail": "It is.", "fix": "-"})
SOME_RUNS = {"GET /traces": page(a_run())}


def flawed(*flaws: tuple[str, str]) -> Problem:
    errors = [{"field": field, "message": message} for field, message in flaws]
    return Problem(422, {"code": "bad_agent", "title": "Bad", "detail": "Bad.", "errors": errors})


@pytest.fixture
def toml(cli: CommandLine) -> Path:
    return cli.file("helper.toml", TOML)


def test_they_are_listed(cli: CommandLine) -> None:
    got = cli("agents list --tag home", {"GET /agents": page(AGENT)})

    assert got.code == 0
    assert got.rows == [["helper", "ollama:small", "files.*", "home", "3", "Helps with notes."]]


def test_one_is_shown_with_its_limits_and_its_instructions(cli: CommandLine) -> None:
    shown = cli("agents show helper", SHOWN, screen=100).out

    limits = "10 turns · 200,000 tokens · $1.00 · 10 min 0 s · 100 calls"
    assert re.search(rf"at most +{re.escape(limits)}", shown)
    assert re.search(r"made by +ana", shown)
    assert "Be brief.\nSay what you read." in shown
    assert "limit of turns\t10" in cli("agents show helper", SHOWN).out
    assert cli("agents show helper --json", SHOWN).json == AGENT


@pytest.mark.parametrize(
    ("words", "spec"),
    [
        (
            "helper --model ollama:small --tools files.* time.* --instructions @{words} "
            "--description Helps.",
            {"name": "helper", "model": "ollama:small", "tools": ["files.*", "time.*"],
             "instructions": "Do as told.", "description": "Helps."},
        ),
        ("helper --template reader --model away:large",
         {"name": "helper", "model": "away:large", **READER}),
        ("--template reader --model away:large",
         {"name": "reader", "model": "away:large", **READER}),
        ("--from {toml}", SPEC),
        ("other --from {toml} --model away:large",
         {**SPEC, "name": "other", "model": "away:large"}),
    ],
    ids=["words", "template", "its name", "file", "words beside a file"],
)  # fmt: skip
def test_one_is_made_of_what_was_said(
    cli: CommandLine, toml: Path, words: str, spec: dict[str, Any]
) -> None:
    given = cli.file("words.txt", "Do as told.")

    got = cli(f"agents new {words.format(words=given, toml=toml)}", MADE)

    assert (got.code, got.sent) == (0, [spec])
    assert "portico agents chat helper" in got.err


@pytest.mark.parametrize(
    ("command", "body"),
    [
        ("agents import -", {"toml": TOML, "replace": False}),
        ("agents import - --replace", {"toml": TOML, "replace": True}),
        ("agents new other --from -", {**SPEC, "name": "other"}),
        ("agents new --from=-", SPEC),
    ],
)
def test_one_is_made_from_standard_input(
    cli: CommandLine, command: str, body: dict[str, Any]
) -> None:
    got = cli(command, {"POST /agents": AGENT, "POST /agents/import": AGENT}, piped=TOML)

    assert (got.code, got.sent) == (0, [body])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("helper", "which model"),
        ("--model a:b", "needs a name"),
        ("'no spaces' --model a:b", "cannot be its name"),
        ("helper --template writer", "Those there are: reader"),
    ],
)
def test_where_nobody_can_be_asked_what_is_missing_is_said(
    cli: CommandLine, words: str, said: str
) -> None:
    got = cli(f"agents new {words}", MADE)

    assert (got.code, got.sent) == (Exit.USAGE, [])
    assert said in got.err


@pytest.mark.parametrize(
    ("typed", "made"),
    [
        ("1\nhelper\n2\n", {"name": "helper", "model": "away:large", **READER}),
        ("0\nhelper\nother:model\nHelp me.\n",
         {"name": "helper", "model": "other:model", "instructions": "Help me."}),
        ("reader\n\n1\n", {"name": "reader", "model": "ollama:small", **READER}),
        ("7\n1\nno spaces\nhelper\nlarge\n9\n2\n",
         {"name": "helper", "model": "away:large", **READER}),
    ],
    ids=["template", "none", "its name", "asked again"],
)  # fmt: skip
def test_at_a_terminal_what_is_missing_is_asked_for(
    cli: CommandLine, typed: str, made: dict[str, Any]
) -> None:
    got = cli("agents new", MADE, typed=typed)

    assert (got.code, got.sent) == (0, [made])
    refused = "'no spaces' cannot be its name. Begin with a letter" in got.err
    assert refused == ("no spaces" in typed)


@pytest.mark.parametrize(
    ("typed", "said"),
    [("7\n", "'7' is none of them"), ("0\nhelper\nlarge\n", "'large' is no model")],
)
def test_an_answer_that_is_none_ends_it(cli: CommandLine, typed: str, said: str) -> None:
    got = cli("agents new", MADE, typed=typed)

    assert (got.code, got.sent) == (Exit.USAGE, [])
    assert said in got.err


@pytest.mark.parametrize(
    ("refusal", "typed"),
    [
        (flawed(("model", "will not do")), "0\nhelper\nolama:small\nHelp.\n1\n"),
        (TAKEN, "0\nhelped\n1\nHelp.\nhelper\n"),
    ],
    ids=["model", "name"],
)
def test_an_answer_that_the_server_refuses_is_asked_for_again_and_no_other(
    cli: CommandLine, refusal: Problem, typed: str
) -> None:
    got = cli("agents new", {**MADE, "POST /agents": InTurn(refusal, AGENT)}, typed=typed)

    assert got.code == 0
    spec = {"name": "helper", "model": "ollama:small", "instructions": "Help."}
    assert got.sent[1:] == [spec]
    assert ("Did you mean ollama:small?" in got.err) == ("olama" in typed)


def test_what_was_not_asked_for_is_not_asked_for_again(cli: CommandLine) -> None:
    refused = {**MADE, "POST /agents": flawed(("limits.turns", "will not do"))}

    got = cli("agents new", refused, typed="0\nhelper\n1\nHelp.\nhelper\n")

    assert (got.code, len(got.sent)) == (Exit.USAGE, 1)


FOR_TOOLS = [{"model": "here:small", "tools": "no"}, {"model": "here:large", "tools": "yes"}]
MANY = [{"model": f"away:m{number}"} for number in range(20)]


@pytest.mark.parametrize(
    ("models", "name", "typed", "model", "said"),
    [
        (MODELS[:1], "helper", None, "ollama:small", "the only model"),
        (FOR_TOOLS, "", "1\nhelper\n1\n", "here:small",
         "  1  here:small  (is not made for tools)\n  2  here:large\n"),
        ([], "", "1\nhelper\nlater:model\n", "later:model", "No model answers"),
        ([], "helper", None, None, "No model answers"),
        (MANY, "", "0\nhelper\n3\n\n", "away:m2", "… and 8 more"),
    ],
    ids=["one", "not made for tools", "none", "none, and nobody to ask", "many"],
)  # fmt: skip
def test_what_is_to_be_known_of_the_models_there_are_is_said(
    cli: CommandLine, *, models: Any, name: str, typed: str | None, model: str | None, said: str
) -> None:
    got = cli(f"agents new {name}", {**MADE, "GET /models": models}, typed=typed)

    assert [spec["model"] for spec in got.sent] == ([model] if model else [])
    assert got.code == (0 if model else Exit.USAGE)
    assert said in got.err


def test_what_comes_in_under_a_taken_name_may_replace_what_has_it(
    cli: CommandLine, toml: Path
) -> None:
    some = {"POST /agents/import": TAKEN}

    refused = cli(f"agents import {toml}", some)

    assert refused.code == Exit.FAILED
    assert "--replace" in refused.err
    assert "--replace" not in cli(f"agents import {toml} --replace", some).err


@pytest.mark.parametrize("words", ["import", "new --from", "edit helper --from"])
def test_what_is_wrong_in_a_file_is_told_with_its_line(
    cli: CommandLine, toml: Path, words: str
) -> None:
    bad = flawed(("model", "is no model"), ("tags", "are odd"))
    routes = ["POST /agents", "POST /agents/import", "PUT /agents/helper"]

    got = cli(f"agents {words} {toml}", {**EDITED, **dict.fromkeys(routes, bad)})

    assert got.code == Exit.USAGE
    assert "model: is no model (line 2)\n" in got.err
    assert "tags: are odd\n" in got.err


@pytest.mark.parametrize(
    ("words", "content", "said"),
    [
        ("new --from", b"oops\n", "line 1"),
        ("new --from", b"a = 2026-01-01", "no dates"),
        ("new --from", b"a = nan", "not JSON compliant"),
        ("import", b"\xff\xfe", "odd.toml"),
        ("import", b"a" * 1_000_001, "odd.toml"),
    ],
    ids=["toml", "date", "number", "bytes", "long"],
)
def test_what_no_agent_can_have_is_not_sent(
    cli: CommandLine, words: str, content: bytes, said: str
) -> None:
    got = cli(f"agents {words} {cli.file('odd.toml', content)}", MADE)

    assert (got.code, got.sent) == (Exit.USAGE, [])
    assert said in got.err


def test_one_is_exported_and_replaces_no_file_unasked(cli: CommandLine) -> None:
    file = cli.root / "exported.toml"

    def export(*options: str) -> int:
        some = {"GET /agents/helper/export": Streamed([TOML])}
        return cli(f"agents export helper --output {file} {' '.join(options)}", some).code

    printed = cli("agents export helper", {"GET /agents/helper/export": Streamed([TOML])})
    assert (printed.code, printed.out) == (0, TOML)
    assert (export(), file.read_text()) == (0, TOML)
    file.write_text("mine")
    assert (export(), file.read_text()) == (Exit.FAILED, "mine")
    assert (export("--replace"), file.read_text()) == (0, TOML)


NOT_FOUND = Problem(
    404,
    {"code": "agent_not_found", "title": "No such agent", "detail": "No.", "fix": "See the list."},
)


@pytest.mark.parametrize("there", [page({**AGENT, "name": "else"}), None])
def test_if_nothing_is_like_it_nothing_is_guessed(
    cli: CommandLine, there: dict[str, Any] | None
) -> None:
    got = cli("agents show helpr", {"GET /agents/helpr": NOT_FOUND, "GET /agents": there})

    assert "See the list." in got.err
    assert "Did you mean" not in got.err


@pytest.mark.parametrize(
    ("command", "answers", "code", "said"),
    [
        ("trace nobody", SOME_RUNS | {"GET /runs": page()}, Exit.FAILED, "portico agents runs"),
        ("trace short", SOME_RUNS | {"GET /runs": page()}, Exit.USAGE, "portico agents runs"),
        (
            f"resume {RUN}",
            {f"POST /agents/runs/{RUN}/resume": Problem(409, {"code": "run_not_over"})},
            Exit.FAILED,
            "portico agents chat NAME --continues psvgnn",
        ),
        (
            "diff helper",
            {"GET /agents/helper": {**AGENT, "version": 1}},
            Exit.USAGE,
            "helper",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_done_is_told_with_its_fix(
    cli: CommandLine, command: str, answers: dict[str, Any], code: int, said: str
) -> None:
    got = cli(f"agents {command}", answers)

    assert got.code == code
    assert said in got.err


def test_nothing_is_removed_without_a_yes(cli: CommandLine) -> None:
    some: dict[str, Any] = {"DELETE /agents/helper": {}}

    unsaid = cli("agents remove helper", some)
    said = cli("agents remove helper --yes", some)

    assert (unsaid.code, unsaid.routes) == (Exit.APPROVAL, ["GET /traces"])
    assert said.code == 0
    assert "helper is gone." in said.out


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        (1, "a run of it that is not over"),
        (2, "2 runs of it that are not over"),
        (200, "200 or more runs of it that are not over"),
    ],
)
def test_whoever_removes_one_is_told_which_runs_end_by_it(
    cli: CommandLine, runs: int, said: str
) -> None:
    which = "agent=helper&status=running&status=waiting&limit=200"
    found = page(*[a_run(status="waiting")] * runs)
    some = {"DELETE /agents/helper": {}, f"GET /traces?{which}": found}

    asked = cli("agents remove helper", some)

    assert asked.code == Exit.APPROVAL
    assert f"with all its versions, and end {said}?" in asked.err
    assert f"With it ended {said}." in cli("agents remove helper --yes", some).err


@pytest.mark.parametrize(
    ("command", "route"),
    [
        ("new helper --model ollama:small", "POST /agents"),
        ("import {toml}", "POST /agents/import"),
        ("duplicate helper helper", "POST /agents/helper/duplicate"),
        ("restore helper 1", "POST /agents/helper/restore"),
        ("show helper", "GET /agents/helper"),
        ("edit helper --from {toml}", "PUT /agents/helper"),
    ],
)
def test_an_agent_whose_tools_cannot_be_used_is_made_with_a_warning(
    cli: CommandLine, toml: Path, command: str, route: str
) -> None:
    warned = {**AGENT, "warnings": [{"field": "tools", "message": "nothing now"}]}

    got = cli(f"agents {command.format(toml=toml)}", SHOWN | {route: warned})

    assert got.code == 0
    assert "! tools: nothing now." in got.err


def test_one_is_duplicated_and_restored(cli: CommandLine) -> None:
    some = {
        "POST /agents/helper/duplicate": {**AGENT, "name": "other"},
        "POST /agents/helper/restore": {**AGENT, "version": 4},
    }

    restored = cli("agents restore helper 1", some)

    assert cli("agents duplicate helper other", some).sent == [{"name": "other"}]
    assert restored.sent == [{"version": 1}]
    assert "now version 4" in restored.out


def test_versions_are_listed(cli: CommandLine) -> None:
    some = {"GET /agents/helper/versions": page({"number": 3, "by_name": "ana", "at": NOON})}

    assert cli("agents versions helper", some).rows[0][:2] == ["3", "ana"]


def test_the_last_two_versions_are_compared_unless_others_are_named(cli: CommandLine) -> None:
    model = {"field": "model", "before": "a:b", "after": "c:d", "lines": []}
    lines = ["-Be brief.", "+Be long."]
    words = {"field": "instructions", "before": "x", "after": "y", "lines": lines}

    some = SHOWN | {"GET /agents/helper/diff?from=2&to=3": page(model, words)}

    shown = ["model", "  -a:b", "  +c:d", "instructions", "  -Be brief.", "  +Be long."]
    assert cli("agents diff helper", some).lines == shown
    assert cli("agents diff helper 2 3 --json", some).json == page(model, words)


EDITED = {
    "GET /agents/helper": AGENT,
    "GET /agents/helper/export": Streamed([]),
    "PUT /agents/helper": {**AGENT, "version": 4},
}


@pytest.fixture
def editing(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An editor that does what the script says to its file, $1; what the server says then."""

    def made(script: str) -> dict[str, Any]:
        editor = cli.file("editor.sh", f"#!/bin/sh\n{script}\n")
        editor.chmod(0o755)
        monkeypatch.setenv("VISUAL", str(editor))
        return {**EDITED, "GET /agents/helper/export": Streamed([TOML])}

    return made


@pytest.mark.parametrize(
    ("script", "typed", "code", "sent", "said"),
    [
        ("sed -i s/brief/kind/ $1", "", 0, [SPEC | {"instructions": "Be kind.\n"}], "version 4."),
        ("true", "", 0, [], "Nothing was changed."),
        ("if grep -q oops $1; then echo 'a = 1' >$1; else echo oops >>$1; fi", "y\n", 0, [{"a": 1}],
         "Not TOML"),
        ("exit 3", "", Exit.USAGE, [], "ended with 3: nothing was changed"),
    ],
    ids=["changed", "left as it was", "no toml", "failed"],
)  # fmt: skip
def test_one_is_edited_as_toml(
    cli: CommandLine, editing: Any, *, script: str, typed: str, code: int, sent: Any, said: str
) -> None:
    got = cli("agents edit helper", editing(script), typed=typed)

    assert (got.code, got.sent) == (code, sent)
    assert said in got.out + got.err


def test_what_is_wrong_is_told_with_its_line_and_what_was_written_is_kept(
    cli: CommandLine, editing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(cli.root))
    monkeypatch.setattr("tempfile.tempdir", None)
    some = editing("sed -i 's/ollama:small/small/' $1")
    some["PUT /agents/helper"] = flawed(("model", "is no model"), ("tags", "are"))

    got = cli("agents edit helper", some, typed="n\n")

    assert got.code == Exit.USAGE
    assert "model: is no model" in got.err
    assert 'line 2: model = "small"' in got.err
    assert "What you wrote is in" in got.err
    [kept] = cli.root.glob("portico-*/helper.toml")
    assert 'model = "small"' in kept.read_text()


def test_where_nobody_can_edit_a_file_is_taken(cli: CommandLine, toml: Path) -> None:
    refused = cli("agents edit helper", EDITED)

    assert refused.code == Exit.USAGE
    assert "--from FILE.toml" in refused.err
    assert cli(f"agents edit helper --from {toml}", EDITED).sent == [SPEC]


def test_a_file_about_another_changes_nothing_unless_it_is_to_be_renamed(cli: CommandLine) -> None:
    file = cli.file("other.toml", TOML.replace("helper", "other"))

    refused = cli(f"agents edit helper --from {file}", EDITED)
    renamed = cli(f"agents edit helper --from {file} --rename", EDITED)

    assert (refused.code, refused.sent) == (Exit.USAGE, [])
    assert "The file is about other, and not about helper." in refused.err
    assert "--rename" in refused.err
    assert renamed.sent[0]["name"] == "other"


def test_runs_are_listed_with_what_they_took(cli: CommandLine) -> None:
    some = {"GET /traces": page(a_run(), a_run(money="12.5", error_code="model_unavailable"))}

    got = cli("agents runs helper --mine --status completed", some)

    first, second = got.rows
    asked = "What is in my notes?"
    assert got.code == 0
    assert first[:3] == ["…psvgnn", "helper", "completed"]
    assert first[4:] == ["2.5 s", "2", "1", "1234", "$0.0042", "-", asked]
    assert second[8:] == ["$12.50", "model_unavailable", asked]


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("2026-05-01T14:30+02:00", "2026-05-01T12:30:00+00:00"),
        ("2026-05-01T14:30:05Z", "2026-05-01T14:30:05+00:00"),
    ],
)
def test_runs_are_listed_by_when_they_were_started(
    cli: CommandLine, written: str, asked: str
) -> None:
    some = {f"GET /traces?limit=20&since={quote(asked, safe='')}": page(a_run())}

    assert "psvgnn" in cli(f"agents runs --since {written}", some).out


@pytest.mark.parametrize("text", ["90m", "2h", "3d", "2026-05-01"])
def test_a_time_may_be_a_day_or_so_long_ago(text: str) -> None:
    found = moment("--since", text)

    assert found is not None
    assert datetime.fromisoformat(found).tzinfo is not None


@pytest.mark.parametrize("name", ["psvgnn", "…psvgnn"])
def test_a_trace_is_a_tree_of_turns_and_tools(cli: CommandLine, name: str) -> None:
    assert cli(f"agents trace {name}", SOME_RUNS | {f"GET /traces/{RUN}": TRACE}).lines == [
        f"{RUN}  helper v3  completed",
        "├─ said  What is in my notes?",
        "├─ turn 1  ollama:small · 1.5 s · 1,200 → 34 tokens · 40 tokens/s · $0.0042 · 2 tries",
        "│    ! the first model did not answer",
        "│    “I look.”",
        "│  ├─ ✓ files.read  0.2 s, begun early",
        "│  │    path notes.md · limit 3",
        "│  │    → # Notes",
        "├─ turn 2  ollama:small · 0.5 s · 1,200 → 34 tokens",
        "└─ completed  Done.",
    ]


OTHER_RUN = RUN.replace("psvgnn", "psvgn0")
AWAY = a_run(status="failed", error_code="model_unavailable", error="It is away.")


@pytest.mark.parametrize(
    ("changes", "place", "line"),
    [
        ({"run": a_run(continues=OTHER_RUN)}, 1, f"├─ continues  {OTHER_RUN}"),
        ({"run": AWAY, "turns": []}, -1, "└─ failed  model_unavailable: It is away."),
    ],
)
def test_a_trace_says_what_it_continues_and_why_it_failed(
    cli: CommandLine, changes: dict[str, Any], place: int, line: str
) -> None:
    assert cli(f"agents trace {RUN}", {f"GET /traces/{RUN}": TRACE | changes}).lines[place] == line


@pytest.mark.parametrize(("option", "route"), [("--json", ""), ("--otlp", "/export")])
def test_a_trace_is_given_to_programs_as_it_is_or_for_a_collector(
    cli: CommandLine, option: str, route: str
) -> None:
    assert cli(f"agents trace {RUN} {option}", {f"GET /traces/{RUN}{route}": TRACE}).json == TRACE


@pytest.mark.parametrize(
    ("words", "body", "said"),
    [
        ("stop {}", None, ""),
        ("resume {}", None, ""),
        ("resolve {} call-2-0 retry", {"step": "call-2-0", "outcome": "retry"}, ""),
        ("say {} 'Be quick.'", {"message": "Be quick."}, "before its next turn"),
    ],
)
def test_a_run_is_stepped_into(cli: CommandLine, words: str, body: object, said: str) -> None:
    verb = words.split(maxsplit=1)[0]
    route = f"POST /agents/runs/{RUN}/{'messages' if verb == 'say' else verb}"
    answer = {"run": RUN, "number": 2, "at": NOON} if verb == "say" else {}

    got = cli(f"agents {words.format('psvgnn')}", SOME_RUNS | {route: answer})

    assert (got.code, got.asked[-1]) == (0, (route, body))
    assert said in got.out


def test_how_tools_were_doing_is_told(cli: CommandLine) -> None:
    line = {
        "tool": "files.read",
        "uses": 4,
        "failures": 1,
        "codes": {"tool_not_allowed": 1},
        "early": 2,
        "p50": 0.25,
        "p95": 1.5,
        "last_at": NOON,
    }

    assert cli("agents stats", {"GET /stats/tools": page(line)}).rows == [
        ["files.read", "4", "1", "2", "0.2 s", "1.5 s", "tool_not_allowed 1"]
    ]


def test_how_models_were_doing_is_told(cli: CommandLine) -> None:
    line = {
        "model": "ollama:small",
        "turns": 4,
        "retried": 0,
        "input": 100,
        "output": 20,
        "cached": 0,
        "money": "0",
        "p50": 1.0,
        "p95": 2.0,
        "first_piece": None,
        "tokens_a_second": 41.7,
        "last_at": NOON,
    }
    some = {"GET /stats/models": page(line, {**line, "tokens_a_second": None})}

    first, second = cli("agents stats models --agent helper", some).rows

    assert first[1:] == ["4", "100", "20", "$0.00", "1.0 s", "2.0 s", "42"]
    assert second[-1] == "-"


def test_a_strangers_text_moves_no_cursor(cli: CommandLine) -> None:
    evil = {**TRACE, "said": [{"number": 1, "text": "\x1b[2Jgone \u202eback", "at": NOON}]}

    shown = cli(f"agents trace {RUN}", {f"GET /traces/{RUN}": evil}, screen=80).out

    assert "gone" in shown
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown
