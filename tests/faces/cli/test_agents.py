"""`portico agents`, against a server that says what it is told to."""

import io
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from portico.faces.cli.moments import moment
from tests.faces.cli.agent_answers import AGENT, NOON, RUN, TRACE, a_run, page
from tests.faces.cli.screen import TtyText, a_screen
from tests.faces.cli.scripted_server import InTurn, Problem, ScriptedServer, Streamed
from tests.faces.cli.test_approvals import sent, served, types

Captured = pytest.CaptureFixture[str]

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
MODELS = [{"model": "ollama:small"}, {"model": "away:large"}]
MADE = {"POST /agents": AGENT, "GET /agents/templates": TEMPLATES, "GET /models": MODELS}


TAKEN = Problem(409, {"code": "agent_name_taken", "title": "Taken", "detail": "It is.", "fix": "-"})


def told(root: Path, some: dict[str, Any], *arguments: str) -> tuple[int, ScriptedServer]:
    with served(root, some) as (house, server):
        return run(house, ["agents", *arguments]), server


def test_they_are_listed(tmp_path: Path, capsys: Captured) -> None:
    some = {"GET /agents": page(AGENT)}

    assert told(tmp_path, some, "list", "--tag", "home")[0] == 0

    assert capsys.readouterr().out.strip().split("\t") == [
        "helper",
        "ollama:small",
        "files.*",
        "home",
        "3",
        "Helps with notes.",
    ]


def test_if_there_are_none_it_is_said_how_to_make_one(tmp_path: Path, capsys: Captured) -> None:
    told(tmp_path, {"GET /agents": page()}, "list")
    assert "portico agents new" in capsys.readouterr().err

    told(tmp_path, {"GET /agents": page()}, "list", "--tag", "hom")
    assert capsys.readouterr().err == "None match.\n"


def test_one_is_shown_with_its_limits_and_its_instructions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = a_screen(monkeypatch)

    assert told(tmp_path, {"GET /agents/helper": AGENT}, "show", "helper")[0] == 0

    limits = "10 turns · 200,000 tokens · $1.00 · 10 min 0 s · 100 calls"
    assert re.search(rf"at most +{re.escape(limits)}", screen.getvalue())
    assert re.search(r"made by +ana", screen.getvalue())
    assert "Be brief.\nSay what you read." in screen.getvalue()


def test_a_program_gets_it_as_it_is(tmp_path: Path, capsys: Captured) -> None:
    told(tmp_path, {"GET /agents/helper": AGENT}, "show", "helper", "--json")
    assert json.loads(capsys.readouterr().out) == AGENT

    told(tmp_path, {"GET /agents/helper": AGENT}, "show", "helper")
    assert "limit of turns\t10" in capsys.readouterr().out


def test_one_is_made_of_what_was_said(tmp_path: Path, capsys: Captured) -> None:
    given = tmp_path / "words.txt"
    given.write_text("Do as told.")

    code, server = told(
        tmp_path, MADE, "new", "helper", "--model", "ollama:small", "--tools", "files.*",
        "time.*", "--instructions", f"@{given}", "--description", "Helps.",
    )  # fmt: skip

    assert code == 0
    assert sent(server) == [
        {
            "name": "helper",
            "model": "ollama:small",
            "tools": ["files.*", "time.*"],
            "instructions": "Do as told.",
            "description": "Helps.",
        }
    ]
    assert "portico agents chat helper" in capsys.readouterr().err


def test_a_template_is_what_it_begins_with(tmp_path: Path) -> None:
    _, server = told(
        tmp_path, MADE, "new", "helper", "--template", "reader", "--model", "away:large"
    )

    assert sent(server) == [
        {
            "name": "helper",
            "model": "away:large",
            "tools": ["files.read"],
            "instructions": "Read.",
        }
    ]


def test_without_a_name_it_is_called_as_its_template(tmp_path: Path) -> None:
    _, server = told(tmp_path, MADE, "new", "--template", "reader", "--model", "away:large")

    assert sent(server)[0]["name"] == "reader"


def test_a_template_that_is_not_there_is_said_with_those_that_are(
    tmp_path: Path, capsys: Captured
) -> None:
    code, _ = told(tmp_path, MADE, "new", "helper", "--template", "writer")

    assert code == Exit.USAGE
    assert "Those there are: reader" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["helper"], "which model"),
        (["--model", "a:b"], "needs a name"),
        (["no spaces", "--model", "a:b"], "cannot be its name"),
    ],
)
def test_where_nobody_can_be_asked_what_is_missing_is_said(
    tmp_path: Path, capsys: Captured, arguments: list[str], said: str
) -> None:
    code, server = told(tmp_path, MADE, "new", *arguments)

    assert code == Exit.USAGE
    assert said in capsys.readouterr().err
    assert sent(server) == []


def test_the_only_model_there_is_need_not_be_named(tmp_path: Path, capsys: Captured) -> None:
    some = {**MADE, "GET /models": [{"model": "ollama:small"}]}

    _, server = told(tmp_path, some, "new", "helper")

    assert sent(server)[0]["model"] == "ollama:small"
    assert "the only model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "made"),
    [
        (
            "1\nhelper\n2\n",
            {
                "name": "helper",
                "model": "away:large",
                "tools": ["files.read"],
                "instructions": "Read.",
            },
        ),
        (
            "0\nhelper\nother:model\nHelp me.\n",
            {"name": "helper", "model": "other:model", "instructions": "Help me."},
        ),
        (
            "reader\n\n1\n",
            {
                "name": "reader",
                "model": "ollama:small",
                "tools": ["files.read"],
                "instructions": "Read.",
            },
        ),
    ],
)
def test_at_a_terminal_what_is_missing_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, made: dict[str, Any]
) -> None:
    types(monkeypatch, typed)

    code, server = told(tmp_path, MADE, "new")

    assert code == 0
    assert sent(server) == [made]


@pytest.mark.parametrize(
    ("typed", "said"),
    [("7\n", "'7' is none of them"), ("0\nhelper\nlarge\n", "'large' is no model")],
)
def test_an_answer_that_is_none_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured, typed: str, said: str
) -> None:
    types(monkeypatch, typed)

    code, server = told(tmp_path, MADE, "new")

    assert code == Exit.USAGE
    assert said in capsys.readouterr().err
    assert sent(server) == []


def test_an_answer_that_is_none_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    types(monkeypatch, "7\n1\nno spaces\nhelper\nlarge\n9\n2\n")

    code, server = told(tmp_path, MADE, "new")

    assert code == 0
    assert (sent(server)[0]["name"], sent(server)[0]["model"]) == ("helper", "away:large")
    assert "'no spaces' cannot be its name. Begin with a letter" in capsys.readouterr().err


def flawed(field: str) -> Problem:
    errors = [{"field": field, "message": "will not do"}]
    return Problem(422, {"code": "bad_agent", "title": "Bad", "detail": "Bad.", "errors": errors})


@pytest.mark.parametrize(
    ("refusal", "typed"),
    [
        (flawed("model"), "0\nhelper\nolama:small\nHelp.\n1\n"),
        (TAKEN, "0\nhelped\n1\nHelp.\nhelper\n"),
    ],
    ids=["model", "name"],
)
def test_an_answer_that_the_server_refuses_is_asked_for_again_and_no_other(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
    refusal: Problem,
    typed: str,
) -> None:
    types(monkeypatch, typed)

    code, server = told(tmp_path, {**MADE, "POST /agents": InTurn(refusal, AGENT)}, "new")

    assert code == 0
    spec = {"name": "helper", "model": "ollama:small", "instructions": "Help."}
    assert sent(server)[1:] == [spec]
    assert ("Did you mean ollama:small?" in capsys.readouterr().err) == ("olama" in typed)


def test_what_was_not_asked_for_is_not_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    types(monkeypatch, "0\nhelper\n1\nHelp.\nhelper\n")

    code, server = told(tmp_path, {**MADE, "POST /agents": flawed("limits.turns")}, "new")

    assert code == Exit.USAGE
    assert len(sent(server)) == 1


def test_of_models_it_is_said_which_are_not_made_for_the_tools_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    models = [{"model": "here:small", "tools": "no"}, {"model": "here:large", "tools": "yes"}]
    types(monkeypatch, "1\nhelper\n1\n")

    told(tmp_path, {**MADE, "GET /models": models}, "new")

    said = capsys.readouterr().err
    assert "  1  here:small  (is not made for tools)\n  2  here:large\n" in said


def test_if_no_model_answers_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    some = {**MADE, "GET /models": []}

    assert told(tmp_path, some, "new", "helper")[0] == Exit.USAGE
    assert "No model answers" in capsys.readouterr().err

    types(monkeypatch, "1\nhelper\nlater:model\n")
    assert sent(told(tmp_path, some, "new")[1])[0]["model"] == "later:model"
    assert "No model answers" in capsys.readouterr().err


def test_of_many_models_some_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    many = [{"model": f"away:m{number}"} for number in range(20)]
    types(monkeypatch, "0\nhelper\n3\n\n")

    _, server = told(tmp_path, {**MADE, "GET /models": many}, "new")

    assert sent(server)[0]["model"] == "away:m2"
    assert "… and 8 more" in capsys.readouterr().err


def test_one_is_made_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "helper.toml"
    file.write_text(TOML)
    some = {"POST /agents": AGENT, "POST /agents/import": AGENT}

    _, first = told(tmp_path, some, "new", "--from", str(file))
    _, second = told(tmp_path, some, "import", str(file), "--replace")

    assert sent(first) == [SPEC]
    assert sent(second) == [{"toml": TOML, "replace": True}]


def test_what_is_said_beside_a_file_counts_more_than_what_stands_there(tmp_path: Path) -> None:
    file = tmp_path / "helper.toml"
    file.write_text(TOML)

    code, server = told(
        tmp_path, MADE, "new", "other", "--from", str(file), "--model", "away:large"
    )

    assert code == 0
    assert sent(server) == [{**SPEC, "name": "other", "model": "away:large"}]


@pytest.mark.parametrize(
    ("words", "body"),
    [
        (["import", "-"], {"toml": TOML, "replace": False}),
        (["new", "other", "--from", "-"], {**SPEC, "name": "other"}),
        (["new", "--from=-"], SPEC),
    ],
)
def test_one_is_made_from_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], body: dict[str, Any]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(TOML))
    some = {"POST /agents": AGENT, "POST /agents/import": AGENT}

    code, server = told(tmp_path, some, *words)

    assert code == 0
    assert sent(server) == [body]


def test_what_comes_in_under_a_taken_name_may_replace_what_has_it(
    tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "helper.toml"
    file.write_text(TOML)
    some = {"POST /agents/import": TAKEN}

    assert told(tmp_path, some, "import", str(file))[0] == Exit.FAILED
    assert "--replace" in capsys.readouterr().err

    told(tmp_path, some, "import", str(file), "--replace")
    assert "--replace" not in capsys.readouterr().err


@pytest.mark.parametrize("words", [["import"], ["new", "--from"], ["edit", "helper", "--from"]])
def test_what_is_wrong_in_a_file_is_told_with_its_line(
    tmp_path: Path, capsys: Captured, words: list[str]
) -> None:
    file = tmp_path / "helper.toml"
    file.write_text(TOML)
    flaws = [{"field": "model", "message": "is no model"}, {"field": "tags", "message": "are odd"}]
    bad = Problem(422, {"code": "bad_agent", "title": "Bad", "detail": "Bad.", "errors": flaws})
    routes = ["POST /agents", "POST /agents/import", "PUT /agents/helper"]

    code, _ = told(tmp_path, {**EDITED, **dict.fromkeys(routes, bad)}, *words, str(file))

    said = capsys.readouterr().err
    assert code == Exit.USAGE
    assert "model: is no model (line 2)\n" in said
    assert "tags: are odd\n" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [("oops\n", "line 1"), ("a = 2026-01-01", "no dates"), ("a = nan", "not JSON compliant")],
)
def test_what_no_agent_can_have_is_not_sent(
    tmp_path: Path, capsys: Captured, text: str, said: str
) -> None:
    file = tmp_path / "odd.toml"
    file.write_text(text)

    code, server = told(tmp_path, MADE, "new", "--from", str(file))

    assert code == Exit.USAGE
    assert said in capsys.readouterr().err
    assert sent(server) == []


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a" * 1_000_001], ids=["bytes", "long"])
def test_a_file_that_is_no_text_about_an_agent_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "odd.toml"
    file.write_bytes(content)

    assert told(tmp_path, {}, "import", str(file))[0] == Exit.USAGE


def test_one_is_exported_as_it_is_written(tmp_path: Path, capsys: Captured) -> None:
    code, _ = told(tmp_path, {"GET /agents/helper/export": Streamed([TOML])}, "export", "helper")

    assert code == 0
    assert capsys.readouterr().out == TOML


def test_what_is_exported_replaces_no_file_unasked(tmp_path: Path) -> None:
    file = tmp_path / "helper.toml"

    def export(*more: str) -> int:
        some = {"GET /agents/helper/export": Streamed([TOML])}
        return told(tmp_path, some, "export", "helper", "--output", str(file), *more)[0]

    assert export() == 0
    assert file.read_text() == TOML
    file.write_text("mine")
    assert export() == Exit.FAILED
    assert file.read_text() == "mine"
    assert export("--replace") == 0
    assert file.read_text() == TOML


NOT_FOUND = Problem(
    404,
    {"code": "agent_not_found", "title": "No such agent", "detail": "No.", "fix": "See the list."},
)


@pytest.mark.parametrize(
    ("words", "route"),
    [
        (["show", "helpr"], "GET /agents/helpr"),
        (["export", "helpr"], "GET /agents/helpr/export"),
        (["remove", "helpr", "--yes"], "DELETE /agents/helpr"),
        (["runs", "helpr"], "GET /agents/helpr"),
        (["chat", "helpr", "Hi"], "POST /agents/helpr/runs"),
    ],
)
def test_of_one_that_is_not_there_it_is_said_which_may_be_meant(
    tmp_path: Path, capsys: Captured, words: list[str], route: str
) -> None:
    some = {route: NOT_FOUND, "GET /agents": page(AGENT), "GET /traces": page()}

    assert told(tmp_path, some, *words)[0] == Exit.FAILED

    told_ = capsys.readouterr()
    assert "Did you mean helper? See the list." in told_.err
    assert told_.out == ""


@pytest.mark.parametrize("there", [page({**AGENT, "name": "else"}), None])
def test_if_nothing_is_like_it_nothing_is_guessed(
    tmp_path: Path, capsys: Captured, there: dict[str, Any] | None
) -> None:
    told(tmp_path, {"GET /agents/helpr": NOT_FOUND, "GET /agents": there}, "show", "helpr")

    said = capsys.readouterr().err
    assert "See the list." in said
    assert "Did you mean" not in said


def test_whoever_says_delete_is_told_how_it_is_called(tmp_path: Path, capsys: Captured) -> None:
    assert told(tmp_path, {}, "delete", "helper")[0] == Exit.USAGE
    assert 'Did you mean "remove"?' in capsys.readouterr().err


def test_nothing_is_removed_without_a_yes(tmp_path: Path, capsys: Captured) -> None:
    some: dict[str, Any] = {"DELETE /agents/helper": {}}

    code, server = told(tmp_path, some, "remove", "helper")
    assert code == Exit.APPROVAL
    assert [asked for asked, _ in server.asked] == ["GET /traces"]

    assert told(tmp_path, some, "remove", "helper", "--yes")[0] == 0
    assert "helper is gone." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        (1, "a run of it that is not over"),
        (2, "2 runs of it that are not over"),
        (200, "200 or more runs of it that are not over"),
    ],
)
def test_whoever_removes_one_is_told_which_runs_end_by_it(
    tmp_path: Path, capsys: Captured, runs: int, said: str
) -> None:
    which = "agent=helper&status=running&status=waiting&limit=200"
    found = page(*[a_run(status="waiting")] * runs)
    some = {"DELETE /agents/helper": {}, f"GET /traces?{which}": found}

    assert told(tmp_path, some, "remove", "helper")[0] == Exit.APPROVAL
    assert f"with all its versions, and end {said}?" in capsys.readouterr().err

    told(tmp_path, some, "remove", "helper", "--yes")
    assert f"With it ended {said}." in capsys.readouterr().err


def test_an_agent_whose_tools_cannot_be_used_is_made_with_a_warning(
    tmp_path: Path, capsys: Captured
) -> None:
    warned = {**AGENT, "warnings": [{"field": "tools", "message": "nothing now"}]}
    some = {
        "POST /agents": warned,
        "POST /agents/import": warned,
        "POST /agents/helper/duplicate": warned,
        "POST /agents/helper/restore": warned,
        "GET /agents/helper": warned,
        "PUT /agents/helper": warned,
    }
    file = tmp_path / "helper.toml"
    file.write_text(TOML, encoding="utf-8")

    for words in (
        ("new", "helper", "--model", "ollama:small"),
        ("import", str(file)),
        ("duplicate", "helper", "helper"),
        ("restore", "helper", "1"),
        ("show", "helper"),
        ("edit", "helper", "--from", str(file)),
    ):
        assert told(tmp_path, some, *words)[0] == 0
        assert "! tools: nothing now." in capsys.readouterr().err, words


def test_one_is_duplicated_and_restored(tmp_path: Path, capsys: Captured) -> None:
    some = {
        "POST /agents/helper/duplicate": {**AGENT, "name": "other"},
        "POST /agents/helper/restore": {**AGENT, "version": 4},
    }

    _, first = told(tmp_path, some, "duplicate", "helper", "other")
    _, second = told(tmp_path, some, "restore", "helper", "1")

    assert sent(first) == [{"name": "other"}]
    assert sent(second) == [{"version": 1}]
    assert "now version 4" in capsys.readouterr().out


def test_versions_are_listed(tmp_path: Path, capsys: Captured) -> None:
    some = {"GET /agents/helper/versions": page({"number": 3, "by_name": "ana", "at": NOON})}

    told(tmp_path, some, "versions", "helper")

    assert capsys.readouterr().out.startswith("3\tana\t")


DIFF = {
    "data": [
        {"field": "model", "before": "a:b", "after": "c:d", "lines": []},
        {
            "field": "instructions",
            "before": "x",
            "after": "y",
            "lines": ["-Be brief.", "+Be long."],
        },
    ]
}


def test_the_last_two_versions_are_compared_unless_others_are_named(
    tmp_path: Path, capsys: Captured
) -> None:
    some = {"GET /agents/helper": AGENT, "GET /agents/helper/diff?from=2&to=3": DIFF}

    assert told(tmp_path, some, "diff", "helper")[0] == 0

    assert capsys.readouterr().out.splitlines() == [
        "model",
        "  -a:b",
        "  +c:d",
        "instructions",
        "  -Be brief.",
        "  +Be long.",
    ]


def test_of_the_same_nothing_is_different(tmp_path: Path, capsys: Captured) -> None:
    some = {"GET /agents/helper/diff?from=1&to=2": page()}

    told(tmp_path, some, "diff", "helper", "1", "2")
    assert "are the same" in capsys.readouterr().err

    told(tmp_path, some, "diff", "helper", "1", "2", "--json")
    assert json.loads(capsys.readouterr().out) == page()


def test_one_that_was_never_changed_has_no_difference(tmp_path: Path) -> None:
    some = {"GET /agents/helper": {**AGENT, "version": 1}}

    assert told(tmp_path, some, "diff", "helper")[0] == Exit.USAGE


EDITED = {
    "GET /agents/helper": AGENT,
    "GET /agents/helper/export": Streamed([]),
    "PUT /agents/helper": {**AGENT, "version": 4},
}


def editing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> dict[str, Any]:
    """An editor that does what the script says to its file, $1."""
    editor = tmp_path / "editor.sh"
    editor.write_text(f"#!/bin/sh\n{script}\n")
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    return {**EDITED, "GET /agents/helper/export": Streamed([TOML])}


def puts(server: ScriptedServer) -> list[Any]:
    return [body for asked, body in server.asked if asked.startswith("PUT")]


def test_one_is_edited_as_toml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    some = editing(tmp_path, monkeypatch, "sed -i 's/brief/kind/' $1")
    types(monkeypatch, "")

    code, server = told(tmp_path, some, "edit", "helper")

    assert code == 0
    assert puts(server) == [
        {"name": "helper", "model": "ollama:small", "instructions": "Be kind.\n"}
    ]
    assert "helper is at version 4." in capsys.readouterr().out


def test_what_was_left_as_it_was_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    some = editing(tmp_path, monkeypatch, "true")
    types(monkeypatch, "")

    _, server = told(tmp_path, some, "edit", "helper")

    assert puts(server) == []
    assert "Nothing was changed." in capsys.readouterr().err


def test_what_is_wrong_is_told_with_its_line_and_what_was_written_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    some = editing(tmp_path, monkeypatch, "sed -i 's/ollama:small/small/' $1")
    flaws = [{"field": "model", "message": "is no model"}, {"field": "tags", "message": "are"}]
    bad = {"code": "bad_agent", "title": "Bad", "detail": "Bad.", "errors": flaws}
    some["PUT /agents/helper"] = Problem(422, bad)
    types(monkeypatch, "n\n")

    code, _ = told(tmp_path, some, "edit", "helper")

    said = capsys.readouterr().err
    assert code == Exit.USAGE
    assert "model: is no model" in said
    assert 'line 2: model = "small"' in said
    assert "What you wrote is in" in said
    [kept] = tmp_path.glob("portico-*/helper.toml")
    assert 'model = "small"' in kept.read_text()


def test_what_is_no_toml_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    some = editing(
        tmp_path, monkeypatch, "if grep -q oops $1; then echo 'a = 1' >$1; else echo oops >>$1; fi"
    )
    types(monkeypatch, "y\n")

    code, server = told(tmp_path, some, "edit", "helper")

    assert code == 0
    assert "Not TOML" in capsys.readouterr().err
    assert puts(server) == [{"a": 1}]


def test_an_editor_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    some = editing(tmp_path, monkeypatch, "exit 3")
    types(monkeypatch, "")

    assert told(tmp_path, some, "edit", "helper")[0] == Exit.USAGE
    assert "ended with 3: nothing was changed" in capsys.readouterr().err


def test_where_nobody_can_edit_a_file_is_taken(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "helper.toml"
    file.write_text(TOML)

    assert told(tmp_path, EDITED, "edit", "helper")[0] == Exit.USAGE
    assert "--from FILE.toml" in capsys.readouterr().err
    _, server = told(tmp_path, EDITED, "edit", "helper", "--from", str(file))

    assert puts(server)[0]["model"] == "ollama:small"


def test_a_file_about_another_changes_nothing_unless_it_is_to_be_renamed(
    tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "other.toml"
    file.write_text(TOML.replace("helper", "other"))
    words = ["edit", "helper", "--from", str(file)]

    code, refused = told(tmp_path, EDITED, *words)
    said = capsys.readouterr().err
    _, renamed = told(tmp_path, EDITED, *words, "--rename")

    assert code == Exit.USAGE
    assert "The file is about other, and not about helper." in said
    assert "--rename" in said
    assert puts(refused) == []
    assert puts(renamed)[0]["name"] == "other"


def test_runs_are_listed_with_what_they_took(tmp_path: Path, capsys: Captured) -> None:
    some = {"GET /traces": page(a_run(), a_run(money="12.5", error_code="model_unavailable"))}

    assert told(tmp_path, some, "runs", "helper", "--mine", "--status", "completed")[0] == 0

    first, second = capsys.readouterr().out.splitlines()
    assert first.split("\t")[:3] == ["…psvgnn", "helper", "completed"]
    asked = "What is in my notes?"
    assert first.split("\t")[4:] == ["2.5 s", "2", "1", "1234", "$0.0042", "-", asked]
    assert second.split("\t")[8:] == ["$12.50", "model_unavailable", asked]


def test_without_runs_it_is_said_how_to_begin_one(tmp_path: Path, capsys: Captured) -> None:
    told(tmp_path, {"GET /traces": page()}, "runs")

    assert "portico agents chat NAME" in capsys.readouterr().err
    assert told(tmp_path, {}, "runs", "--limit", "0")[0] == Exit.USAGE


def test_if_none_are_as_they_were_asked_for_that_is_said(tmp_path: Path, capsys: Captured) -> None:
    some = {"GET /traces": page(), "GET /agents/helper": AGENT}

    told(tmp_path, some, "runs", "--tool", "files.reed")
    assert capsys.readouterr().err == "None match.\n"

    told(tmp_path, some, "runs", "helper")
    assert "There are none. To begin one: portico agents chat helper" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("2026-05-01T14:30+02:00", "2026-05-01T12:30:00+00:00"),
        ("2026-05-01T14:30:05Z", "2026-05-01T14:30:05+00:00"),
    ],
)
def test_runs_are_listed_by_when_they_were_started(
    tmp_path: Path, capsys: Captured, written: str, asked: str
) -> None:
    some = {f"GET /traces?limit=20&since={quote(asked, safe='')}": page(a_run())}

    assert told(tmp_path, some, "runs", "--since", written)[0] == 0
    assert "psvgnn" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["90m", "2h", "3d", "2026-05-01"])
def test_a_time_may_be_a_day_or_so_long_ago(text: str) -> None:
    found = moment("--since", text)

    assert found is not None
    assert datetime.fromisoformat(found).tzinfo is not None


def test_what_is_no_time_is_refused(tmp_path: Path, capsys: Captured) -> None:
    assert told(tmp_path, {}, "runs", "--until", "yesterday")[0] == Exit.USAGE
    assert "--until: 'yesterday' is no time." in capsys.readouterr().err


def test_a_trace_says_which_run_it_continues(tmp_path: Path, capsys: Captured) -> None:
    other = RUN.replace("psvgnn", "psvgn0")
    some = {f"GET /traces/{RUN}": {**TRACE, "run": a_run(continues=other)}}

    told(tmp_path, some, "trace", RUN)

    assert capsys.readouterr().out.splitlines()[1] == f"├─ continues  {other}"


@pytest.mark.parametrize(("name", "code"), [("nobody", Exit.FAILED), ("short", Exit.USAGE)])
def test_of_a_run_that_is_not_there_it_is_said_what_lists_those_that_are(
    tmp_path: Path, capsys: Captured, name: str, code: int
) -> None:
    some = {"GET /traces": page(a_run()), "GET /runs": page()}

    assert told(tmp_path, some, "trace", name)[0] == code
    assert "portico agents runs" in capsys.readouterr().err


def test_of_a_run_that_is_done_it_is_said_how_to_go_on_with_it(
    tmp_path: Path, capsys: Captured
) -> None:
    done = Problem(409, {"code": "run_not_over", "title": "No", "detail": "Done.", "fix": "Fork."})

    code, _ = told(tmp_path, {f"POST /agents/runs/{RUN}/resume": done}, "resume", RUN)

    assert code == Exit.FAILED
    assert "portico agents chat NAME --continues psvgnn" in capsys.readouterr().err


def test_a_trace_is_a_tree_of_turns_and_tools(tmp_path: Path, capsys: Captured) -> None:
    some = {"GET /traces": page(a_run()), f"GET /traces/{RUN}": TRACE}

    assert told(tmp_path, some, "trace", "psvgnn")[0] == 0

    assert capsys.readouterr().out.splitlines() == [
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


def test_a_run_is_found_by_what_a_list_shows_of_it(tmp_path: Path, capsys: Captured) -> None:
    some = {"GET /traces": page(a_run()), f"GET /traces/{RUN}": TRACE}

    assert told(tmp_path, some, "trace", "…psvgnn")[0] == 0

    assert capsys.readouterr().out.startswith(RUN)


def test_a_trace_that_failed_ends_with_why(tmp_path: Path, capsys: Captured) -> None:
    failed = {
        **TRACE,
        "run": a_run(status="failed", error_code="model_unavailable", error="It is away."),
        "turns": [],
    }

    told(tmp_path, {f"GET /traces/{RUN}": failed}, "trace", RUN)

    assert "└─ failed  model_unavailable: It is away." in capsys.readouterr().out


def test_a_trace_is_given_to_programs_as_it_is_or_for_a_collector(
    tmp_path: Path, capsys: Captured
) -> None:
    otlp: dict[str, Any] = {"resourceSpans": []}
    some = {f"GET /traces/{RUN}": TRACE, f"GET /traces/{RUN}/export": otlp}

    told(tmp_path, some, "trace", RUN, "--json")
    assert json.loads(capsys.readouterr().out) == TRACE

    told(tmp_path, some, "trace", RUN, "--otlp")
    assert json.loads(capsys.readouterr().out) == otlp


@pytest.mark.parametrize(
    ("words", "body"),
    [
        (["stop", RUN], None),
        (["resume", RUN], None),
        (["resolve", RUN, "call-2-0", "retry"], {"step": "call-2-0", "outcome": "retry"}),
    ],
)
def test_a_run_is_stepped_into(tmp_path: Path, words: list[str], body: object) -> None:
    some: dict[str, Any] = {f"POST /agents/runs/{RUN}/{words[0]}": {}}

    code, server = told(tmp_path, some, *words)

    assert code == 0
    assert sent(server) == [body]


def test_something_is_said_to_a_run(tmp_path: Path, capsys: Captured) -> None:
    said = {"run": RUN, "number": 2, "at": NOON}
    some = {"GET /traces": page(a_run()), f"POST /agents/runs/{RUN}/messages": said}

    code, server = told(tmp_path, some, "say", "psvgnn", "Be quick.")

    assert code == 0
    assert sent(server) == [{"message": "Be quick."}]
    assert "before its next turn" in capsys.readouterr().out


def test_how_tools_were_doing_is_told(tmp_path: Path, capsys: Captured) -> None:
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

    told(tmp_path, {"GET /stats/tools": page(line)}, "stats")

    assert capsys.readouterr().out.strip().split("\t") == [
        "files.read", "4", "1", "2", "0.2 s", "1.5 s", "tool_not_allowed 1",
    ]  # fmt: skip


def test_how_models_were_doing_is_told(tmp_path: Path, capsys: Captured) -> None:
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

    told(tmp_path, some, "stats", "models", "--agent", "helper")
    first, second = capsys.readouterr().out.splitlines()
    assert first.split("\t")[1:] == ["4", "100", "20", "$0.00", "1.0 s", "2.0 s", "42"]
    assert second.endswith("\t-")

    told(tmp_path, {"GET /stats/models": page()}, "stats", "models")
    assert "Nothing has been used yet." in capsys.readouterr().err


def test_a_strangers_text_moves_no_cursor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen: TtyText = a_screen(monkeypatch)
    evil = {**TRACE, "said": [{"number": 1, "text": "\x1b[2Jgone \u202eback", "at": NOON}]}

    told(tmp_path, {f"GET /traces/{RUN}": evil}, "trace", RUN)

    assert "\x1b[2J" not in screen.getvalue()
    assert "\u202e" not in screen.getvalue()
