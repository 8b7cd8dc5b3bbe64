"""`portico connect-agent`: it answers whoever names it, once, and stops by itself."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from tests.faces.cli.agent_answers import AGENT, RUN, event, run_ended, tool_waits
from tests.faces.cli.bridge_answers import (
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
from tests.faces.cli.scripted_server import Gone, InTurn, Problem, ScriptedServer, Streamed
from tests.faces.cli.test_approvals import served

Captured = pytest.CaptureFixture[str]

AT = f"/conversations/{PLAN_ID}"
KEY = {"id": "0A0V8CXbKro2", "key": "ptc_helpers", "name": "connect-agent helper"}
APPROVAL = "apr_01m7fxv1skfhf86xxtf6psvgnn"
ITS = AGENT | {"principal": HELPER}
JOINED = page(
    {"principal": HELPER, "name": "helper", "joined_at": "2026-01-01T12:00:30Z", "muted": False}
)
QUESTION = a_message(5, body="@helper what is left?", mentions=[HELPER])
ANSWER = a_message(6, HELPER, body="Hello.", reply_to=message_id(5), raised=False)
NOT_THERE = Problem(404, {"code": "conversation_not_found", "detail": "None.", "fix": None})
KIND = {
    f"GET /principals/{who}": {"id": who, "kind": "person" if name == "ana" else "agent"}
    for who, name in NAMES.items()
}


def a_table(
    more: Mapping[str, Any] | None = None, *, before: tuple[Any, ...] = (QUESTION,)
) -> dict[str, Any]:
    """Ana has asked something, and nothing else happens."""
    return {
        **TABLE,
        **KIND,
        "GET /agents/helper": ITS,
        "POST /keys": KEY,
        f"DELETE /keys/{KEY['id']}": {},
        f"POST {AT}/participants": {},
        f"GET {AT}/participants": JOINED,
        f"GET {AT}/cursor": {"cursor": "tail"},
        f"GET {AT}/messages": InTurn(messages(*before), messages()),
        f"POST {AT}/messages": ANSWER,
        f"POST {AT}/read": {},
        "POST /agents/helper/runs": {"run": RUN},
        f"GET /agents/runs/{RUN}/events": Streamed([run_ended()]),
        **(more or {}),
    }


def connected(root: Path, some: dict[str, Any], *arguments: str) -> tuple[int, ScriptedServer]:
    with served(root, some) as (house, server):
        words = ["connect-agent", "helper", "--conversation", "plan", "--once", *arguments]
        return run(house, words), server


def posted(server: ScriptedServer) -> list[tuple[str, Any, str]]:
    """What the agent has had done: where, what, and under which key."""
    return [
        (path, body, head["Idempotency-Key"])
        for (path, body), head in zip(server.asked, server.heads, strict=True)
        if path in {"POST /agents/helper/runs", f"POST {AT}/messages"}
    ]


def test_what_waits_for_it_is_answered_under_its_own_name(tmp_path: Path, capsys: Captured) -> None:
    code, server = connected(tmp_path, a_table())

    said = capsys.readouterr()
    (_, asked, run_key), (_, answer, key) = posted(server)
    assert code == 0
    assert said.out == "helper …m00006: Hello.\n"
    assert "helper takes part in plan" in said.err
    assert answer == {"body": "Hello.", "reply_to": message_id(5)}
    assert key == f"answer-{message_id(5)}"
    assert run_key.startswith(f"answer-{message_id(5)}-")
    assert asked["message"].startswith("You are helper")
    assert asked["message"].endswith("[2026-01-01 12:05 ana]\n@helper what is left?")
    keys = {head["Authorization"] for head in server.heads if "Authorization" in head}
    assert keys == {"Bearer ptc_mine", "Bearer ptc_helpers"}


def test_its_key_is_made_for_it_and_ended_when_it_leaves(tmp_path: Path) -> None:
    _, server = connected(tmp_path, a_table(before=()))

    made = next(body for path, body in server.asked if path == "POST /keys")
    assert made == {"name": "connect-agent helper", "principal": HELPER, "days": 7}
    assert server.asked[-1][0] == f"DELETE /keys/{KEY['id']}"


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (a_message(5, HELPER, mentions=[HELPER]), "its own echo"),
        (a_message(5), "nobody names it"),
        (a_message(0, mentions=[HELPER]), "before it joined"),
    ],
)
def test_what_is_not_for_it_is_left(tmp_path: Path, message: dict[str, Any], why: str) -> None:
    _, server = connected(tmp_path, a_table(before=(message,)))

    assert posted(server) == [], why


def test_what_it_answered_before_it_was_killed_it_does_not_answer_again(tmp_path: Path) -> None:
    _, server = connected(tmp_path, a_table(before=(QUESTION, ANSWER)))

    assert posted(server) == []


def test_killed_after_its_run_it_asks_for_the_same_run_and_says_the_same(tmp_path: Path) -> None:
    _, first = connected(tmp_path, a_table())
    _, second = connected(tmp_path, a_table())

    assert posted(first) == posted(second)


def test_one_that_was_answered_meanwhile_is_left_at_that(tmp_path: Path, capsys: Captured) -> None:
    used = Problem(409, {"code": "idempotency_key_reused", "detail": "Used."})

    code, _ = connected(tmp_path, a_table({f"POST {AT}/messages": used}))

    assert code == 0
    assert "…m00005 was answered before." in capsys.readouterr().err


def test_what_comes_while_it_sits_there_is_answered_and_read(tmp_path: Path) -> None:
    later = InTurn(messages(), messages(QUESTION, cursor="c2"), messages())

    with served(tmp_path, a_table({f"GET {AT}/messages": later})) as (house, server):
        code = run(house, ["connect-agent", "helper", "--conversation", "plan", "--most", "1"])

    assert code == Exit.BUDGET
    assert len(posted(server)) == 2
    assert {"cursor": "c2", "upto": None} in [body for _, body in server.asked]
    assert any("wait=20" in each for each in server.addresses)


def test_agents_that_answer_agents_are_left_alone_after_a_while(
    tmp_path: Path, capsys: Captured
) -> None:
    talk = [
        a_message(n, PLANNER if n % 2 else HELPER, mentions=[HELPER if n % 2 else PLANNER])
        for n in range(1, 7)
    ]
    more = a_message(7, PLANNER, mentions=[HELPER])
    later = InTurn(messages(*talk, ANSWER), messages(more), messages())

    _, server = connected(
        tmp_path, a_table({f"GET {AT}/messages": later}), "--hops", "0", "--cool-down", "0s"
    )

    assert posted(server) == []
    assert "No answer to …m00007: agents have answered agents" in capsys.readouterr().err


def test_of_two_to_the_same_sender_the_second_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    again = a_message(6, body="@helper and?", mentions=[HELPER])
    ends = Streamed([run_ended(), run_ended()])

    _, server = connected(
        tmp_path,
        a_table({f"GET /agents/runs/{RUN}/events": ends}, before=(QUESTION, again)),
        "--cool-down",
        "1h",
    )

    assert len(posted(server)) == 4
    assert [round(pause / 60) for pause in pauses if pause > 60] == [60]


def test_past_its_answers_what_waits_is_left(tmp_path: Path, capsys: Captured) -> None:
    again = a_message(6, body="@helper and?", mentions=[HELPER])

    code, server = connected(tmp_path, a_table(before=(QUESTION, again)), "--most", "1")

    assert code == Exit.BUDGET
    assert len(posted(server)) == 2
    said = capsys.readouterr().err
    assert "No answer to …m00006" in said
    assert "helper has given 1 answers: enough." in said


def test_a_run_that_waits_says_for_what_and_one_that_fails_says_so(
    tmp_path: Path, capsys: Captured
) -> None:
    told = tool_waits(APPROVAL) + run_ended("", "failed", error_code="model_away", error="Away.")
    table = a_table({f"GET /agents/runs/{RUN}/events": Streamed([told])})

    _, server = connected(tmp_path, table)

    said = capsys.readouterr().err
    assert "mail.send has to be approved: portico approvals approve psvgnn" in said
    assert "model_away" in said
    assert posted(server)[1][1]["body"] == "I could not answer this: model_away."


def test_with_nothing_to_say_it_says_nothing(tmp_path: Path, capsys: Captured) -> None:
    table = a_table({f"GET /agents/runs/{RUN}/events": Streamed([run_ended(" ")])})

    _, server = connected(tmp_path, table)

    assert len(posted(server)) == 1
    assert "It had nothing to say." in capsys.readouterr().err


def test_a_run_of_which_nothing_is_told_any_more_is_an_error(tmp_path: Path) -> None:
    table = a_table({f"GET /agents/runs/{RUN}/events": Streamed([event("end")])})

    assert connected(tmp_path, table)[0] == Exit.FAILED


def test_an_answer_that_is_more_secret_is_told_as_such(tmp_path: Path, capsys: Captured) -> None:
    raised = ANSWER | {"raised": True, "label": "confidential"}

    connected(tmp_path, a_table({f"POST {AT}/messages": raised}))

    assert "It is confidential, and the conversation team" in capsys.readouterr().err


def test_what_is_too_long_is_cut_off(tmp_path: Path) -> None:
    table = a_table({f"GET /agents/runs/{RUN}/events": Streamed([run_ended("x" * 100_001)])})

    _, server = connected(tmp_path, table)

    body = posted(server)[1][1]["body"]
    assert (len(body), body[-1]) == (100_000, "…")


def test_it_is_told_of_the_last_messages_and_of_who_answers_whom(tmp_path: Path) -> None:
    first, gone = a_message(1), a_message(2, PLANNER, deleted_at="2026-01-01T12:03:00Z")
    reply = a_message(3, PLANNER, reply_to=message_id(2), thread=message_id(2))

    _, server = connected(
        tmp_path, a_table(before=(first, gone, reply, QUESTION)), "--remembers", "3"
    )

    asked = posted(server)[0][1]["message"]
    assert "number 1" not in asked
    assert "[2026-01-01 12:02 planner]\n(deleted)" in asked
    assert "[2026-01-01 12:03 planner, to planner]\nnumber 3" in asked


def test_a_changed_clearance_begins_anew(tmp_path: Path) -> None:
    later = InTurn(
        messages(QUESTION, ANSWER), messages(QUESTION, reset=True), messages(QUESTION, ANSWER),
        messages(),
    )  # fmt: skip

    _, server = connected(tmp_path, a_table({f"GET {AT}/messages": later}))

    assert posted(server) == []
    assert [path for path, _ in server.asked].count(f"GET {AT}/cursor") == 2


def test_a_server_that_goes_away_is_waited_for(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    away = Problem(503, {"code": "not_ready"})
    table = a_table({f"POST {AT}/messages": InTurn(away, Gone(), ANSWER)})

    code, server = connected(tmp_path, table)

    said = capsys.readouterr().err
    assert code == 0
    assert said.count("The server has gone") == 1
    assert "It is back." in said
    assert len({key for path, _, key in posted(server) if path.endswith("/messages")}) == 1


def test_what_the_server_never_does_it_is_not_asked_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    table = a_table({f"POST {AT}/messages": Problem(500, {"code": "internal_error"})})

    assert connected(tmp_path, table)[0] == Exit.FAILED


def test_whose_kind_nobody_may_know_is_no_person(tmp_path: Path, capsys: Captured) -> None:
    hidden = Problem(404, {"code": "principal_not_found"})

    _, server = connected(tmp_path, a_table({f"GET /principals/{ANA}": hidden}), "--hops", "0")

    assert posted(server) == []


def test_into_a_closed_conversation_it_is_let_by_whoever_connects_it(tmp_path: Path) -> None:
    joins = InTurn(NOT_THERE, {})

    code, server = connected(tmp_path, a_table({f"POST {AT}/participants": joins}, before=()))

    assert code == 0
    assert [body for path, body in server.asked if path == f"POST {AT}/participants"] == [
        {},
        {"principal": HELPER},
    ]


def test_where_it_is_not_cleared_it_is_said_so(tmp_path: Path, capsys: Captured) -> None:
    table = a_table({f"POST {AT}/participants": InTurn(NOT_THERE, {})})

    code, server = connected(tmp_path, table | {f"GET {AT}/participants": NOT_THERE})

    assert code == Exit.USAGE
    assert "helper is not cleared for what is team" in capsys.readouterr().err
    assert server.asked[-1][0] == f"DELETE /keys/{KEY['id']}"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_else_is_refused_there_is_told(tmp_path: Path, method: str) -> None:
    no = Problem(403, {"code": "not_permitted", "detail": "No."})

    assert connected(tmp_path, a_table({f"{method} {AT}/participants": no}))[0] == Exit.DENIED


def test_who_may_make_no_key_is_told_how_to_have_one(tmp_path: Path, capsys: Captured) -> None:
    no = Problem(403, {"code": "not_permitted", "detail": "No."})
    odd = Problem(422, {"code": "bad", "detail": "No."})

    assert connected(tmp_path, a_table({"POST /keys": no}))[0] == Exit.DENIED
    assert "portico keys create NAME --to helper" in capsys.readouterr().err
    assert connected(tmp_path, a_table({"POST /keys": odd}))[0] == Exit.USAGE


def test_a_key_of_its_own_may_lie_in_a_file(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "helper.key"
    file.write_text("ptc_kept\n")
    its = {"id": HELPER, "name": "helper", "kind": "agent"}

    code, server = connected(tmp_path, a_table({"GET /me": its}), "--key-file", str(file))
    other, _ = connected(tmp_path, a_table(), "--key-file", str(file))

    assert (code, other) == (0, Exit.USAGE)
    assert {head["Authorization"] for head in server.heads} == {"Bearer ptc_kept"}
    assert not any(path.endswith("/keys") for path, _ in server.asked)
    assert "That key is ana's" in capsys.readouterr().err


def test_with_a_key_in_a_file_nobody_else_lets_it_in(tmp_path: Path) -> None:
    file = tmp_path / "helper.key"
    file.write_text("ptc_kept\n")
    its = {"id": HELPER, "name": "helper", "kind": "agent"}
    table = a_table({"GET /me": its, f"POST {AT}/participants": NOT_THERE})

    assert connected(tmp_path, table, "--key-file", str(file))[0] == Exit.FAILED


def test_an_agent_that_is_not_there_is_made_of_a_model(tmp_path: Path, capsys: Captured) -> None:
    none = Problem(404, {"code": "agent_not_found", "detail": "None."})
    table = a_table(
        {
            "GET /agents/helper": none,
            "GET /agents": page(),
            "GET /principals": InTurn(page(), Problem(403, {"code": "not_permitted"}), page()),
            "GET /models/ollama%3Asmall": {},
            "POST /agents": ITS,
        }
    )

    code, server = connected(
        tmp_path, table, "--model", "ollama:small", "--instructions", "Be brief."
    )
    connected(tmp_path, table, "--model", "ollama:small")
    lost, _ = connected(tmp_path, table)

    made = next(body for path, body in server.asked if path == "POST /agents")
    assert (code, lost) == (0, Exit.FAILED)
    assert made == {"name": "helper", "model": "ollama:small", "instructions": "Be brief."}
    assert "model" not in posted(server)[0][1]
    assert "portico agents remove helper" in capsys.readouterr().err


def test_who_comes_in_with_a_key_of_its_own_is_told_from_one_that_is_run_here(
    tmp_path: Path, capsys: Captured
) -> None:
    none = Problem(404, {"code": "agent_not_found", "detail": "None."})
    table = a_table({"GET /agents/helper": none, "GET /agents": page()})

    for model in ((), ("--model", "ollama:small")):
        with_model = table | {"GET /models/ollama%3Asmall": {}}
        assert connected(tmp_path, with_model, *model)[0] == Exit.FAILED
        said = capsys.readouterr().err
        assert "helper comes in with a key of its own" in said
        assert "portico agents new NAME" in said


def test_another_model_may_be_asked_and_other_instructions_may_not(
    tmp_path: Path, capsys: Captured
) -> None:
    table = a_table({"GET /models/ollama%3Alarge": {}})

    _, server = connected(tmp_path, table, "--model", "ollama:large")
    code, _ = connected(tmp_path, a_table(), "--instructions", "Be long.")

    assert posted(server)[0][1]["model"] == "ollama:large"
    assert code == Exit.USAGE
    assert "portico agents edit helper" in capsys.readouterr().err


def test_a_program_gets_each_answer_as_a_line(tmp_path: Path, capsys: Captured) -> None:
    connected(tmp_path, a_table(), "--json")

    assert json.loads(capsys.readouterr().out)["id"] == message_id(6)
