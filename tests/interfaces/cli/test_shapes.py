"""What many commands have in common: a list of nothing says how to begin, and of what is not there
it is said which may be meant."""

from typing import Any

import pytest

from portico.interfaces.cli.errors import Exit
from tests.interfaces.cli import agent_answers, bridge_answers
from tests.interfaces.cli.agent_answers import AGENT, page
from tests.interfaces.cli.bridge_answers import PLAN_ID, PROJECT_ID, message_id
from tests.interfaces.cli.command_line import CommandLine
from tests.interfaces.cli.scripted_server import Problem

AT, TALK = f"projects/{PROJECT_ID}", f"conversations/{PLAN_ID}"
THIRD = f"messages/{message_id(3)}"
BEGIN = "There are none. To begin one: portico"
EMPTY = bridge_answers.messages() | {"next": None, "waiting": []}
PLACES = {
    **bridge_answers.TABLE,
    "GET /agents/helper": AGENT,
    f"GET /{TALK}/cursor": {"cursor": "end"},
    f"POST /{TALK}/read": {},
    "GET /inbox": {"unread": [], "overdue": [], "total": 0},
}


@pytest.mark.parametrize(
    ("command", "place", "said"),
    [
        ("agents list", "agents", "portico agents new"),
        ("agents list --tag hom", "agents", "None match.\n"),
        ("agents runs", "traces", "portico agents chat NAME"),
        ("agents runs --tool files.reed", "traces", "None match.\n"),
        ("agents runs helper", "traces", f"{BEGIN} agents chat helper"),
        ("agents stats models", "stats/models", "Nothing has been used yet."),
        ("agents diff helper 1 2", "agents/helper/diff", "are the same"),
        ("ahead edges", "ahead/edges", "work that repeats itself"),
        ("approvals list", "approvals", "Nothing waits"),
        ("bridge inbox", "messages", "portico bridge conversations list"),
        ("bridge read plan --last 5", f"{TALK}/messages", "portico bridge post plan"),
        ("bridge search x", "bridge/search", "Nothing has all of these words.\n"),
        ("bridge search x --meaning", "bridge/search", "Nothing is about that.\n"),
        (f"bridge ack {message_id(3)} --who", f"{THIRD}/acknowledgements", "Nobody has said so"),
        (f"bridge versions {message_id(3)}", f"{THIRD}/versions", "It was never changed."),
        (f"bridge declassify {message_id(3)} --records", f"{THIRD}/declassifications",
         "Nothing was let out of it."),
        ("bridge projects list", "projects", f"{BEGIN} bridge projects new NAME"),
        ("bridge projects list --archived", "projects", "None is archived."),
        ("bridge conversations list", "conversations",
         f"{BEGIN} bridge conversations new PROJECT TITLE"),
        ("bridge conversations list --archived", "conversations", "None is archived."),
        ("bridge conversations people plan", f"{TALK}/participants",
         "portico bridge conversations join plan"),
        ("bridge presence list apollo", f"{AT}/presence", "Nobody says that they are there."),
        ("bridge memory list apollo", f"{AT}/memory",
         "Nothing is remembered. To begin: portico bridge memory set PROJECT KEY VALUE"),
        ("bridge memory find apollo a", f"{AT}/memory/search", "Nothing has all of these words."),
        ("bridge memory history apollo k", f"{AT}/memory/history", "There was never anything."),
        ("bridge lease list apollo", f"{AT}/leases", "Nothing is held."),
        ("bridge work list apollo", f"{AT}/work", "portico bridge work add apollo TITLE"),
        ("bridge work list apollo --state open", f"{AT}/work", "Nothing is open."),
        ("debate list", "debates", "There are none. To hold one"),
        ("debate list prime", "debates", "None match."),
        ("debate voices", "debate-voices", "portico models providers"),
        ("workflows list", "workflows", "portico run plan.toml"),
        ("workflows saved", "saved-workflows", "portico workflows save"),
    ],
)  # fmt: skip
def test_where_there_is_nothing_the_next_command_is_said(
    cli: CommandLine, command: str, place: str, said: str
) -> None:
    got = cli(command, PLACES | {f"GET /{place}": EMPTY})

    assert (got.code, got.out) == (Exit.OK, "")
    assert said in got.err


@pytest.mark.parametrize(
    ("command", "said"),
    [("models list", "portico models providers"), ("models providers", "OPENAI_API_KEY")],
)
def test_without_a_model_it_is_said_where_one_comes_from(
    cli: CommandLine, command: str, said: str
) -> None:
    got = cli(command, {"GET /models": [], "GET /models/providers": []})

    assert got.code == Exit.OK
    assert said in got.err


THERE: dict[str, Any] = {
    **PLACES,
    "GET /agents": page(AGENT),
    "GET /traces": page(),
    "GET /models": [{"model": "router:acme/large"}],
    "POST /agents/helper/runs": agent_answers.STARTED,
}


@pytest.mark.parametrize(
    ("command", "route", "meant"),
    [
        ("agents show helpr", "GET /agents/helpr", "helper"),
        ("agents export helpr", "GET /agents/helpr/export", "helper"),
        ("agents remove helpr --yes", "DELETE /agents/helpr", "helper"),
        ("agents runs helpr", "GET /agents/helpr", "helper"),
        ("agents chat helpr Hi", "POST /agents/helpr/runs", "helper"),
        ("agents chat helper Hi --model router:acme/lage", "GET /models/router%3Aacme/lage",
         "router:acme/large"),
        ("agents test helper Hi --model router:acme/lage", "GET /models/router%3Aacme/lage",
         "router:acme/large"),
        ("models show router:acme/lage", "GET /models/router%3Aacme/lage", "router:acme/large"),
        ("models test routr:acme/large", "POST /models/test", "router:acme/large"),
        ("bridge projects show appolo", "GET /projects/appolo", "apollo"),
        ("bridge conversations new apollo plan --with helpre", "", "helper"),
        ("bridge post plam hello", "", "plan"),
    ],
)  # fmt: skip
def test_of_what_is_not_there_it_is_said_which_may_be_meant(
    cli: CommandLine, command: str, route: str, meant: str
) -> None:
    code = {"agents": "agent_not_found", "projects": "project_not_found"}
    found = {"code": code.get(route.split("/")[1] if route else "", "no_such_model")}

    got = cli(command, THERE | {route: Problem(404, found | {"detail": "No.", "fix": "See."})})

    assert (got.code, got.out) == (Exit.FAILED, "")
    fix = " See" if route else ""
    assert f"Did you mean {meant}?{fix}" in got.err
    assert not {"POST /agents/helper/runs", "POST /conversations"} & set(got.routes)
