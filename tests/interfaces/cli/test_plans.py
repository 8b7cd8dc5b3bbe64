"""Plans in files at the command line: checked with a server or without, described, converted, and
their missing edges proposed, accepted and written into the file."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from portico.interfaces.cli.errors import Exit
from portico.interfaces.cli.plan_files import with_references
from portico.workflows.core.plan_documents import plan_schema
from portico.workflows.core.plan_files import PlanFormat
from tests.interfaces.cli.command_line import CommandLine, Outcome
from tests.interfaces.cli.workflow_answers import CHECKED

TOML = """\
# What it is for
[[steps]]
id = "read"
tool = "files.read"

[[steps]]
id = "send"
tool = "mail.send"
arguments.text = { "$from" = "read.text" }
"""
FLAW = {"place": "/steps/1/tool", "what": "There is no tool 'mail.send'.", "fix": "Look."}
NO_TOOL: dict[str, Any] = {**CHECKED, "ok": False, "steps": [], "flaws": [FLAW]}


def check(
    cli: CommandLine,
    checked: dict[str, Any] | None = CHECKED,
    *,
    text: str = TOML,
    option: str = "",
) -> Outcome:
    """The file is plan.toml; without an answer there is no server."""
    some = {"POST /workflows/check": checked} if checked else None
    return cli(f"plan check {cli.file('plan.toml', text)} {option}", some)


def test_a_plan_is_held_against_the_tools_there_are(cli: CommandLine) -> None:
    got = check(cli)

    assert got.asked == [("POST /workflows/check", {"plan": tomllib.loads(TOML)})]
    assert got.rows[-1] == ["c", "x.c", "external_write", "it writes (default)"]
    assert "At worst: external_write" in got.err
    assert check(cli, option="--json").json == {**CHECKED, "checked_tools": True}


@pytest.mark.parametrize(
    ("text", "checked", "asked", "said"),
    [
        (TOML, NO_TOOL, 1, "plan.toml:8:1: /steps/1/tool There is no tool 'mail.send'. Look."),
        (TOML.replace("read.text", "reed.text"), CHECKED, 0,
         "plan.toml:9:20: /steps/1/arguments/text/$from There is no step 'reed'. "
         "Did you mean 'read'?"),
    ],
    ids=["by the server", "by its form, before the server is asked"],
)  # fmt: skip
def test_what_is_wrong_is_found_with_its_line(
    cli: CommandLine, text: str, checked: dict[str, Any], asked: int, said: str
) -> None:
    got = check(cli, checked, text=text)

    assert (got.code, len(got.asked)) == (Exit.USAGE, asked)
    assert said in " ".join(got.err.split())


def test_without_a_server_it_says_that_only_the_form_was_checked(cli: CommandLine) -> None:
    got = check(cli, None)

    assert got.code == 0
    assert "The form of its 2 steps is right." in got.out
    assert "Only its form was checked" in got.err
    assert "portico up" in got.err
    told = check(cli, None, option="--json").json
    assert told == {"ok": True, "checked_tools": False, "steps": ["read", "send"]}


def test_the_schema_is_printed_for_editors(cli: CommandLine) -> None:
    assert cli("plan schema").json == plan_schema()


def test_a_plan_is_written_in_the_other_language(cli: CommandLine) -> None:
    file, target = cli.file("plan.toml", TOML), cli.root / "plan.json"
    convert = f"plan convert {file} --output {target}"

    assert cli(f"plan convert {file}").json == tomllib.loads(TOML)
    assert tomllib.loads(cli(f"plan convert {file} --to toml").out) == tomllib.loads(TOML)
    assert "is written" in cli(convert).err
    assert json.loads(target.read_text()) == tomllib.loads(TOML)
    target.write_text("mine")
    assert (cli(convert).code, target.read_text()) == (Exit.FAILED, "mine")
    assert cli(f"{convert} --replace").code == 0
    assert json.loads(target.read_text()) == tomllib.loads(TOML)


def an_edge(path: str, parameter: str, *, sure: bool, ambiguous: bool = False) -> dict[str, Any]:
    return {
        "edge": f"read.{path} -> write.{parameter}",
        "from_step": "read",
        "path": path,
        "to_step": "write",
        "parameter": parameter,
        "confidence": 0.93 if sure else 0.4,
        "reason": "same name, same type",
        "ambiguous": ambiguous,
        "sure": sure,
    }


SURE = an_edge("json.path", "path", sure=True)
UNSURE = an_edge('json."x-y"', "content", sure=False)
UNCLEAR = an_edge("json.a", "to", sure=False, ambiguous=True)
PROPOSED: dict[str, Any] = {
    "edges": [SURE, UNSURE, UNCLEAR],
    "missing": [{"step": "write", "parameter": "mode", "could_give": ["m.now", "m.old"]}],
    "plan": None,
}
LACKING = {"steps": [{"id": "read", "tool": "f.read"}, {"id": "write", "tool": "f.write"}]}
PROPOSE = "POST /workflows/propose"


@pytest.fixture
def lacking(cli: CommandLine) -> Path:
    """A file with a plan that lacks something."""
    return cli.file("plan.json", json.dumps(LACKING))


def propose(cli: CommandLine, words: str, found: Any = None, **how: Any) -> Outcome:
    return cli(f"plan propose {words}", {PROPOSE: found or PROPOSED}, **how)


def test_what_is_proposed_is_shown_with_how_sure_it_is(cli: CommandLine, lacking: Path) -> None:
    got = propose(cli, str(lacking))

    assert (got.code, got.asked) == (0, [(PROPOSE, {"plan": LACKING})])
    assert got.lines == [
        "read.json.path -> write.path\t0.93\tsure\tsame name, same type",
        'read.json."x-y" -> write.content\t0.40\tunsure\tsame name, same type',
        "read.json.a -> write.to\t0.40\tambiguous\tsame name, same type",
    ]
    assert "write.mode: no step seems to give it. These might: m.now, m.old\n" in got.err
    assert lacking.read_text() == json.dumps(LACKING)
    assert propose(cli, f"{lacking} --json").json == PROPOSED


def test_all_that_are_sure_are_written_and_no_other(cli: CommandLine, lacking: Path) -> None:
    got = propose(cli, f"{lacking} --accept all-sure --write")

    written = json.loads(lacking.read_text())
    assert written["steps"][1]["arguments"] == {"path": {"$from": "read.json.path"}}
    assert got.sent[1]["accept"] == ["read.json.path -> write.path"]
    assert "accepted: read.json.path -> write.path" in got.err


def test_without_write_the_plan_is_printed(cli: CommandLine, lacking: Path) -> None:
    printed = propose(cli, f"{lacking} --accept '{UNSURE['edge']}'").json
    piped = propose(cli, "/dev/stdin --accept all-sure", piped=json.dumps(LACKING)).json

    assert printed["steps"][1]["arguments"] == {"content": {"$from": 'read.json."x-y"'}}
    assert piped["steps"][1]["arguments"] == {"path": {"$from": "read.json.path"}}
    assert lacking.read_text() == json.dumps(LACKING)


@pytest.mark.parametrize(
    ("found", "options", "said"),
    [
        ({}, "--accept all-sure --write", "Nothing that it has to be told is left out."),
        ({"left_out": ["s7", "s8"]}, "", "nothing was looked for for s7, s8."),
    ],
)
def test_what_lacks_nothing_or_was_not_looked_at_is_said(
    cli: CommandLine, lacking: Path, found: dict[str, Any], options: str, said: str
) -> None:
    nothing = {"edges": [], "missing": [], "plan": None} | found

    err = propose(cli, f"{lacking} {options}", nothing).err

    assert said in err
    assert ("left out" in err) is not bool(found)
    assert lacking.read_text() == json.dumps(LACKING)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("{plan} --accept 'read.json.other -> write.path'", "is not proposed"),
        ("/dev/stdin --accept all-sure --write", "no file to write to"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    cli: CommandLine, lacking: Path, command: str, said: str
) -> None:
    got = propose(cli, command.format(plan=lacking), piped=json.dumps(LACKING))

    assert got.code == Exit.USAGE
    assert said in " ".join(got.err.split())


BARE = """# what it is for
[[steps]]
id = "read"  # the first
tool = "f.read"

[[steps]]
id = "write"
tool = "f.write"
"""
ARGUMENTS = "[steps.arguments]\n"
PATH = 'path = {"$from" = "read.json.path"}\n'
CONTENT = 'content = {"$from" = "read.json.\\"x-y\\""}\n'
THIRD = '\n[[steps]]\nid = "third"\ntool = "f.third"\n'
MODE = f'{BARE}{ARGUMENTS}mode = "new"  # mine\n'


@pytest.mark.parametrize(
    ("text", "edges", "written"),
    [
        (BARE, [SURE, UNSURE], f"{BARE}\n{ARGUMENTS}{PATH}{CONTENT}"),
        (BARE + THIRD, [SURE], f"{BARE}\n{ARGUMENTS}{PATH}{THIRD}"),
        (MODE, [SURE], MODE + PATH),
    ],
    ids=["comments", "steps apart as before", "arguments that are there"],
)
def test_a_file_in_toml_keeps_what_is_there(text: str, edges: Any, written: str) -> None:
    assert with_references(text, PlanFormat.TOML, edges) == written
