"""`portico connect-agent`: it answers whoever names it, once, and stops by itself."""

from typing import Any

import pytest

from portico.interfaces.cli.errors import Exit
from tests.interfaces.cli.agent_answers import AGENT, RUN, event, run_ended, tool_waits
from tests.interfaces.cli.bridge_answers import (
    ANA,
    HELPER,
    NAMES,
    PLAN_ID,
    PLANNER,
    TABLE,
    a_message,
    message_id,
    messages,
    page,
)
from tests.interfaces.cli.command_line import CommandLine, Outcome
from tests.interfaces.cli.scripted_server import Gone, InTurn, Problem, Streamed

AT = f"/conversations/{PLAN_ID}"
MESSAGES, SAY, JOIN = f"GET {AT}/messages", f"POST {AT}/messages", f"POST {AT}/participants"
THERE = f"GET {AT}/participants"
STORY = f"GET /agents/runs/{RUN}/events"
KEY = {"id": "0A0V8CXbKro2", "key": "ptc_helpers", "name": "connect-agent helper"}
APPROVAL = "apr_01m7fxv1skfhf86xxtf6psvgnn"
ITS = AGENT | {"principal": HELPER}
JOINED = page(
    {"principal": HELPER, "name": "helper", "joined_at": "2026-01-01T12:00:30Z", "muted": False}
)
QUESTION = a_message(5, body="@helper what is left?", mentions=[HELPER])
AGAIN = a_message(6, body="@helper and?", mentions=[HELPER])
ANSWER = a_message(6, HELPER, body="Hello.", reply_to=message_id(5), raised=False)
NOT_THERE = Problem(404, {"code": "conversation_not_found", "detail": "None.", "fix": None})
DENIED = Problem(403, {"code": "not_permitted", "detail": "No."})
KIND = {
    f"GET /principals/{who}": {"id": who, "kind": "person" if name == "ana" else "agent"}
    for who, name in NAMES.items()
}
BASE: dict[str, Any] = {
    **TABLE,
    **KIND,
    "GET /agents/helper": ITS,
    "POST /keys": KEY,
    f"DELETE /keys/{KEY['id']}": {},
    JOIN: {},
    THERE: JOINED,
    f"GET {AT}/cursor": {"cursor": "tail"},
    SAY: ANSWER,
    f"POST {AT}/read": {},
    "POST /agents/helper/runs": {"run": RUN},
}


def connected(
    cli: CommandLine,
    some: dict[str, Any] | None = None,
    words: str = "",
    *,
    before: tuple[Any, ...] = (QUESTION,),
) -> Outcome:
    """Ana has asked something, and nothing else happens."""
    usual = {MESSAGES: InTurn(messages(*before), messages()), STORY: Streamed([run_ended()])}
    command = f"connect-agent helper --conversation plan --once {words}"
    return cli(command, BASE | usual | (some or {}))


def posted(got: Outcome) -> list[tuple[str, Any, str]]:
    """What the agent has had done: where, what, and under which key."""
    return [
        (path, body, head["Idempotency-Key"])
        for (path, body), head in zip(got.asked, got.heads, strict=True)
        if path in {"POST /agents/helper/runs", SAY}
    ]


def test_what_waits_for_it_is_answered_under_its_own_name(cli: CommandLine) -> None:
    got = connected(cli)

    (_, asked, run_key), (_, answer, key) = posted(got)
    assert (got.code, got.out) == (0, "helper …m00006: Hello.\n")
    assert "helper takes part in plan" in got.err
    assert answer == {"body": "Hello.", "reply_to": message_id(5)}
    assert key == f"answer-{message_id(5)}"
    assert run_key.startswith(f"answer-{message_id(5)}-")
    assert asked["message"].startswith("You are helper")
    assert asked["message"].endswith("[2026-01-01 12:05 ana]\n@helper what is left?")
    keys = {head["Authorization"] for head in got.heads if "Authorization" in head}
    assert keys == {"Bearer ptc_mine", "Bearer ptc_helpers"}
    assert posted(connected(cli)) == posted(got), "killed after its run, it says the same"
    assert connected(cli, words="--json").json["id"] == message_id(6)


def test_its_key_is_made_for_it_and_ended_when_it_leaves(cli: CommandLine) -> None:
    got = connected(cli, before=())

    made = next(body for path, body in got.asked if path == "POST /keys")
    assert made == {"name": "connect-agent helper", "principal": HELPER, "days": 7}
    assert got.routes[-1] == f"DELETE /keys/{KEY['id']}"


@pytest.mark.parametrize(
    "before",
    [
        (a_message(5, HELPER, mentions=[HELPER]),),
        (a_message(5),),
        (a_message(0, mentions=[HELPER]),),
        (QUESTION, ANSWER),
    ],
    ids=["its own echo", "nobody names it", "before it joined", "answered before it was killed"],
)
def test_what_is_not_for_it_is_left(cli: CommandLine, before: tuple[Any, ...]) -> None:
    assert posted(connected(cli, before=before)) == []


def test_what_comes_while_it_sits_there_is_answered_and_read(cli: CommandLine) -> None:
    later = InTurn(messages(), messages(QUESTION, cursor="c2"), messages())
    some = BASE | {MESSAGES: later, STORY: Streamed([run_ended()])}

    got = cli("connect-agent helper --conversation plan --most 1", some)

    assert (got.code, len(posted(got))) == (Exit.BUDGET, 2)
    assert {"cursor": "c2", "upto": None} in got.sent
    assert any("wait=20" in each for each in got.addresses)


def test_agents_that_answer_agents_are_left_alone_after_a_while(cli: CommandLine) -> None:
    talk = [
        a_message(n, PLANNER if n % 2 else HELPER, mentions=[HELPER if n % 2 else PLANNER])
        for n in range(1, 7)
    ]
    more = a_message(7, PLANNER, mentions=[HELPER])
    later = InTurn(messages(*talk, ANSWER), messages(more), messages())

    got = connected(cli, {MESSAGES: later}, "--hops 0 --cool-down 0s")

    assert posted(got) == []
    assert "No answer to …m00007: agents have answered agents" in got.err


def test_of_two_to_the_same_sender_the_second_waits(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    ends = Streamed([run_ended(), run_ended()])

    got = connected(cli, {STORY: ends}, "--cool-down 1h", before=(QUESTION, AGAIN))

    assert len(posted(got)) == 4
    assert [round(pause / 60) for pause in pauses if pause > 60] == [60]


def test_past_its_answers_what_waits_is_left(cli: CommandLine) -> None:
    got = connected(cli, words="--most 1", before=(QUESTION, AGAIN))

    assert (got.code, len(posted(got))) == (Exit.BUDGET, 2)
    assert "No answer to …m00006" in got.err
    assert "helper has given 1 answers: enough." in got.err


def test_a_run_that_waits_says_for_what_and_one_that_fails_says_so(cli: CommandLine) -> None:
    told = tool_waits(APPROVAL) + run_ended("", "failed", error_code="model_away", error="Away.")

    got = connected(cli, {STORY: Streamed([told])})

    assert "mail.send has to be approved: portico approvals approve psvgnn" in got.err
    assert "model_away" in got.err
    assert posted(got)[1][1]["body"] == "I could not answer this: model_away."


@pytest.mark.parametrize(
    ("some", "posts", "said"),
    [
        ({STORY: Streamed([run_ended(" ")])}, 1, "It had nothing to say."),
        ({SAY: ANSWER | {"raised": True, "label": "confidential"}}, 2,
         "It is confidential, and the conversation team"),
        ({SAY: Problem(409, {"code": "idempotency_key_reused", "detail": "Used."})}, 2,
         "…m00005 was answered before."),
    ],
    ids=["nothing to say", "more secret", "answered meanwhile"],
)  # fmt: skip
def test_what_became_of_an_answer_is_told(
    cli: CommandLine, some: dict[str, Any], posts: int, said: str
) -> None:
    got = connected(cli, some)

    assert (got.code, len(posted(got))) == (0, posts)
    assert said in got.err


def test_what_is_too_long_is_cut_off(cli: CommandLine) -> None:
    got = connected(cli, {STORY: Streamed([run_ended("x" * 100_001)])})

    body = posted(got)[1][1]["body"]
    assert (len(body), body[-1]) == (100_000, "…")


def test_it_is_told_of_the_last_messages_and_of_who_answers_whom(cli: CommandLine) -> None:
    first, gone = a_message(1), a_message(2, PLANNER, deleted_at="2026-01-01T12:03:00Z")
    reply = a_message(3, PLANNER, reply_to=message_id(2), thread=message_id(2))

    got = connected(cli, words="--remembers 3", before=(first, gone, reply, QUESTION))

    asked = posted(got)[0][1]["message"]
    assert "number 1" not in asked
    assert "[2026-01-01 12:02 planner]\n(deleted)" in asked
    assert "[2026-01-01 12:03 planner, to planner]\nnumber 3" in asked


def test_a_changed_clearance_begins_anew(cli: CommandLine) -> None:
    answered = messages(QUESTION, ANSWER)
    later = InTurn(answered, messages(QUESTION, reset=True), answered, messages())

    got = connected(cli, {MESSAGES: later})

    assert posted(got) == []
    assert got.routes.count(f"GET {AT}/cursor") == 2


def test_a_server_that_goes_away_is_waited_for(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    away = InTurn(Problem(503, {"code": "not_ready"}), Gone(), ANSWER)

    got = connected(cli, {SAY: away})
    never = connected(cli, {SAY: Problem(500, {"code": "internal_error"})})

    assert (got.code, never.code) == (0, Exit.FAILED)
    assert got.err.count("The server has gone") == 1
    assert "It is back." in got.err
    assert len({key for path, _, key in posted(got) if path == SAY}) == 1


def test_whose_kind_nobody_may_know_is_no_person(cli: CommandLine) -> None:
    hidden = Problem(404, {"code": "principal_not_found"})

    assert posted(connected(cli, {f"GET /principals/{ANA}": hidden}, "--hops 0")) == []


def test_into_a_closed_conversation_it_is_let_by_whoever_connects_it(cli: CommandLine) -> None:
    got = connected(cli, {JOIN: InTurn(NOT_THERE, {})}, before=())

    assert got.code == 0
    joins = [body for path, body in got.asked if path == JOIN]
    assert joins == [{}, {"principal": HELPER}]


NO_AGENT = {
    "GET /agents/helper": Problem(404, {"code": "agent_not_found", "detail": "None."}),
    "GET /agents": page(),
}
SMALL: dict[str, Any] = {"GET /models/ollama%3Asmall": {}}


@pytest.mark.parametrize(
    ("some", "words", "code", "said"),
    [
        ({STORY: Streamed([event("end")])}, "", Exit.FAILED, ""),
        ({JOIN: InTurn(NOT_THERE, {}), THERE: NOT_THERE}, "", Exit.USAGE,
         "helper is not cleared for what is team"),
        ({JOIN: DENIED}, "", Exit.DENIED, ""),
        ({THERE: DENIED}, "", Exit.DENIED, ""),
        ({"POST /keys": DENIED}, "", Exit.DENIED, "portico keys create NAME --to helper"),
        ({"POST /keys": Problem(422, {"code": "bad", "detail": "No."})}, "", Exit.USAGE, ""),
        (NO_AGENT | SMALL, "", Exit.FAILED, "helper comes in with a key of its own"),
        (NO_AGENT | SMALL, "--model ollama:small", Exit.FAILED, "portico agents new NAME"),
        ({}, "--instructions 'Be long.'", Exit.USAGE, "portico agents edit helper"),
    ],
    ids=["no end", "not cleared", "joins", "people", "no key", "bad", "its key", "model", "edit"],
)  # fmt: skip
def test_what_is_refused_is_told(
    cli: CommandLine, some: dict[str, Any], words: str, code: int, said: str
) -> None:
    got = connected(cli, some, words)

    assert got.code == code
    assert said in got.err
    if JOIN in got.routes:
        assert got.routes[-1] == f"DELETE /keys/{KEY['id']}"


def test_a_key_of_its_own_may_lie_in_a_file(cli: CommandLine) -> None:
    file = cli.file("helper.key", "ptc_kept\n")
    words = f"--key-file {file}"
    its = {"GET /me": {"id": HELPER, "name": "helper", "kind": "agent"}}

    got = connected(cli, its, words)
    other = connected(cli, {}, words)
    closed = connected(cli, its | {JOIN: NOT_THERE}, words)

    assert (got.code, other.code, closed.code) == (0, Exit.USAGE, Exit.FAILED)
    assert {head["Authorization"] for head in got.heads} == {"Bearer ptc_kept"}
    assert not any(path.endswith("/keys") for path in got.routes)
    assert "That key is ana's" in other.err


def test_an_agent_that_is_not_there_is_made_of_a_model(cli: CommandLine) -> None:
    table = {**NO_AGENT, **SMALL, "GET /principals": page(), "POST /agents": ITS}

    got = connected(cli, table, "--model ollama:small --instructions 'Be brief.'")
    unsure = connected(cli, table | {"GET /principals": DENIED}, "--model ollama:small")
    lost = connected(cli, table)

    made = next(body for path, body in got.asked if path == "POST /agents")
    assert (got.code, unsure.code, lost.code) == (0, 0, Exit.FAILED)
    assert made == {"name": "helper", "model": "ollama:small", "instructions": "Be brief."}
    assert "model" not in posted(got)[0][1]
    assert "portico agents remove helper" in got.err


def test_another_model_may_be_asked(cli: CommandLine) -> None:
    got = connected(cli, {"GET /models/ollama%3Alarge": {}}, "--model ollama:large")

    assert posted(got)[0][1]["model"] == "ollama:large"
