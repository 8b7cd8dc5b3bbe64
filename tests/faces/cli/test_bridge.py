"""`portico bridge`: what is said, read and looked for, against a server that says what it is told
to."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from tests.faces.cli.bridge_answers import (
    ANA,
    HELPER,
    NOON,
    OTHER_ID,
    PLAN,
    PLAN_ID,
    PROJECT_ID,
    TABLE,
    a_conversation,
    a_message,
    message_id,
    messages,
    page,
)
from tests.faces.cli.screen import TtyText, a_screen
from tests.faces.cli.scripted_server import InTurn, Problem, Raw, ScriptedServer
from tests.faces.cli.test_approvals import sent, served, types

Captured = pytest.CaptureFixture[str]

SENT = a_message(7, body="hello", raised=False, absent=[])
SAY = f"POST /conversations/{PLAN_ID}/messages"
READ = f"GET /conversations/{PLAN_ID}/messages"
READING: dict[str, Any] = {
    **TABLE,
    f"GET /conversations/{PLAN_ID}/cursor": {"cursor": "end"},
    f"POST /conversations/{PLAN_ID}/read": {},
    "GET /inbox": {"unread": [], "overdue": [], "total": 0},
}
APPROVAL = "apr_01m7fxv1skfhf86xxtf6psvgnn"


def told(root: Path, some: dict[str, Any], *arguments: str) -> tuple[int, ScriptedServer]:
    with served(root, TABLE | some) as (house, server):
        return run(house, ["bridge", *arguments]), server


def test_something_is_said_where_its_title_says(tmp_path: Path, capsys: Captured) -> None:
    code, server = told(tmp_path, {SAY: SENT}, "post", "plan", "hello", "--key", "k-1")

    assert code == 0
    assert capsys.readouterr().out == "Said in plan, as …m00007.\n"
    assert sent(server)[-1]["body"] == "hello"
    assert server.heads[-1]["Idempotency-Key"] == "k-1"


def test_it_is_directed_answers_and_wants_to_be_acknowledged(tmp_path: Path) -> None:
    some = {SAY: SENT, READ: messages(a_message(3))}

    _, server = told(
        tmp_path, some, "post", "apollo/plan", "hello", "--reply", "m00003", "--to", "helper",
        "--ack", "--by", "2999-01-01T12:00+00:00", "--label", "confidential",
    )  # fmt: skip

    assert sent(server) == [
        {
            "body": "hello",
            "reply_to": message_id(3),
            "addressed": [HELPER],
            "attachments": [],
            "acknowledge": {"until": "2999-01-01T12:00:00+00:00"},
            "label": "confidential",
        }
    ]


def test_what_is_more_secret_than_its_conversation_is_told(
    tmp_path: Path, capsys: Captured
) -> None:
    raised = SENT | {"raised": True, "label": "confidential"}

    told(tmp_path, {SAY: raised}, "post", "plan", "hello")

    assert "It is confidential, and the conversation team" in capsys.readouterr().err


def test_a_text_may_come_through_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("from a pipe\n"))

    _, server = told(tmp_path, {SAY: SENT}, "post", "plan")

    assert sent(server)[-1]["body"] == "from a pipe"


def test_without_a_text_it_is_said_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    types(monkeypatch, "")

    assert told(tmp_path, {}, "post", "plan")[0] == Exit.USAGE
    assert told(tmp_path, {}, "post", "plan", "x", "--by", "2h")[0] == Exit.USAGE
    assert "portico bridge post CONVERSATION" in capsys.readouterr().err


def test_files_go_along(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("one two")
    given = {"digest": "ab" * 32, "name": "notes.txt", "size": 7, "label": "team"}
    some = {SAY: SENT, f"POST /projects/{PROJECT_ID}/attachments": given}

    _, server = told(tmp_path, some, "post", "plan", "see", "--attach", str(file))

    assert sent(server)[0] == b"one two"
    assert server.heads[-2]["Content-Type"] == "text/plain"
    assert server.addresses[-2].endswith("?name=notes.txt")
    assert sent(server)[1]["attachments"] == ["ab" * 32]


def test_a_title_that_nothing_has_may_be_meant_otherwise(tmp_path: Path, capsys: Captured) -> None:
    assert told(tmp_path, {}, "post", "plam", "hello")[0] == Exit.FAILED

    said = capsys.readouterr().err
    assert "conversation_not_found" in said
    assert "Did you mean plan?" in said


def test_a_title_that_two_have_takes_its_project(tmp_path: Path, capsys: Captured) -> None:
    zeus = {"id": "prj_01m7fxv1skfhf86xxtf6psvgzz", "name": "zeus"}
    two = page(PLAN, a_conversation(id=OTHER_ID, project=zeus["id"]))
    some = {
        SAY: SENT,
        "GET /conversations": two,
        "GET /projects": page({"id": PROJECT_ID, "name": "apollo"}, zeus),
    }

    assert told(tmp_path, some, "post", "plan", "hello")[0] == Exit.USAGE
    assert "apollo/plan, zeus/plan" in capsys.readouterr().err
    assert told(tmp_path, some, "post", "apollo/plan", "hello")[0] == 0
    assert told(tmp_path, some, "post", "…svgbb", "hello")[0] != 0
    assert told(tmp_path, some, "post", "…psvgbb", "hello")[0] == 0
    assert told(tmp_path, some, "post", PLAN_ID, "hello")[0] == 0


def test_two_of_one_title_in_one_project_are_known_by_their_ids(
    tmp_path: Path, capsys: Captured
) -> None:
    two = page(PLAN, a_conversation(id=OTHER_ID, label="confidential"))

    told(tmp_path, {"GET /conversations": two}, "post", "plan", "hello")

    assert f"{PLAN_ID}, {OTHER_ID}" in capsys.readouterr().err


def test_what_was_said_last_is_read_and_counts_as_read(tmp_path: Path, capsys: Captured) -> None:
    some = READING | {READ: messages(a_message(1), a_message(2, HELPER))}

    code, server = told(tmp_path, some, "read", "plan")

    assert code == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "12:01  ana  …m00001",
        "       number 1",
        "12:02  helper  …m00002",
        "       number 2",
    ]
    assert sent(server) == [{"cursor": "end", "upto": None}]
    assert server.asked.index((f"GET /conversations/{PLAN_ID}/cursor", None)) < server.asked.index(
        (READ, None)
    )


def test_all_that_is_unread_is_shown_however_much(tmp_path: Path) -> None:
    waiting = {"conversation": PLAN, "count": 230, "mentions": 0}
    inbox = {"unread": [waiting], "overdue": [], "total": 230}
    first = messages(*(a_message(n) for n in range(200)), more=True)
    some = READING | {"GET /inbox": inbox, READ: InTurn(first, messages(*[a_message(1)] * 30))}

    _, server = told(tmp_path, some, "read", "plan", "--keep-unread")

    asked = [each for each in server.addresses if "/messages?" in each]
    assert [each.partition("?")[2] for each in asked] == [
        "before=end&limit=200",
        "before=later&limit=30",
    ]
    assert sent(server) == []


def test_all_is_read_from_the_first_page_by_page(tmp_path: Path, capsys: Captured) -> None:
    pages = InTurn(messages(a_message(1), more=True), messages(a_message(2)))

    _, server = told(tmp_path, READING | {READ: pages}, "read", "plan", "--all", "--json")

    shown = json.loads(capsys.readouterr().out)
    assert [each["id"] for each in shown["data"]] == [message_id(1), message_id(2)]
    assert shown["cursor"] == "end"
    assert [each.partition("?")[2] for each in server.addresses if "/messages?" in each] == [
        "limit=200",
        "cursor=later&limit=200",
    ]


def test_where_nothing_was_said_it_is_said_how_to_begin(tmp_path: Path, capsys: Captured) -> None:
    assert told(tmp_path, READING | {READ: messages()}, "read", "plan", "--last", "5")[0] == 0
    assert "portico bridge post plan" in capsys.readouterr().err

    told(tmp_path, READING | {READ: messages(a_message(), more=True)}, "read", "plan")
    assert "portico bridge read plan --all" in capsys.readouterr().err

    assert told(tmp_path, READING, "read", "plan", "--last", "5", "--all")[0] == Exit.USAGE


def test_a_thread_is_read_by_itself(tmp_path: Path, capsys: Captured) -> None:
    root, answer = a_message(1), a_message(2, reply_to=message_id(1), thread=message_id(1))
    some = {
        READ: messages(root, answer),
        f"GET /messages/{message_id(2)}/thread": page(root, answer),
    }

    assert told(tmp_path, some, "read", "plan", "--thread", "m00002")[0] == 0

    assert "  ↳ ana  …m00002 · answers …m00001" in capsys.readouterr().out


def test_all_that_matters_of_a_message_is_shown(tmp_path: Path, capsys: Captured) -> None:
    one = a_message(
        1,
        HELPER,
        body="@ana\x1b[2J look",
        label="confidential",
        addressed=[ANA, HELPER],
        attachments=["ab" * 32],
        acknowledge={"until": NOON},
        untrusted=True,
        edited_at=NOON,
    )
    gone = a_message(2, body="", deleted_at=NOON, acknowledge={"until": None})

    told(tmp_path, READING | {READ: messages(one, gone)}, "read", "plan")

    said = capsys.readouterr().out
    for fact in (
        "confidential",
        "to you, helper",
        "for you",
        "files abababababab…",
        "to be acknowledged by 2026-01-01",
        "from strangers' words",
        "edited",
        "@ana�[2J look",
        "(deleted)",
    ):
        assert fact in said


def test_names_stand_out_on_a_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = a_screen(monkeypatch)
    one = a_message(1, HELPER, body="@ana and @planner look", mentions=[ANA])

    told(tmp_path, READING | {READ: messages(one)}, "read", "plan")

    assert "@ana and @planner look" in screen.getvalue()


def test_no_word_of_what_is_known_of_a_message_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = a_screen(monkeypatch)
    monkeypatch.setenv("COLUMNS", "44")
    one = a_message(1, HELPER, addressed=[ANA], acknowledge={"until": NOON}, label="restricted")

    told(tmp_path, READING | {READ: messages(one)}, "read", "plan")

    said = screen.getvalue().splitlines()
    head = [line for line in said[1:] if "number 1" not in line]
    assert max(map(len, head)) <= 44
    assert "to be acknowledged by" in " ".join(" ".join(head).split())
    assert head[1].startswith(" " * 7)


def test_what_waits_is_in_the_inbox(tmp_path: Path, capsys: Captured) -> None:
    waiting = {"conversation": PLAN, "count": 3, "mentions": 1}
    late = a_message(4, addressed=[ANA], acknowledge={"until": NOON})
    inbox = {"unread": [waiting], "overdue": [late], "total": 3}

    assert told(tmp_path, {"GET /inbox": inbox}, "inbox")[0] == 0

    said = capsys.readouterr()
    first, second = said.out.splitlines()
    assert first.split("\t")[:4] == ["plan", "3", "1", "team"]
    assert second.split("\t")[0] == "…m00004"
    assert "overdue" in said.err
    assert "portico bridge read plan" in said.err


def test_an_empty_inbox_says_where_to_look(tmp_path: Path, capsys: Captured) -> None:
    told(tmp_path, READING, "inbox")

    assert "portico bridge conversations list" in capsys.readouterr().err


def test_messages_are_found_by_their_words(tmp_path: Path, capsys: Captured) -> None:
    hits = page({"message": a_message(5), "score": 0.5})
    some = {"GET /bridge/search": hits}

    code, server = told(
        tmp_path, some, "search", "number", "5", "--project", "apollo", "--conversation", "plan"
    )

    assert code == 0
    assert capsys.readouterr().out.split("\t")[:2] == ["…m00005", "plan"]
    asked = f"?q=number+5&by=words&project={PROJECT_ID}&conversation={PLAN_ID}&limit=20"
    assert server.addresses[-2].endswith(asked)


def test_of_a_conversation_that_is_gone_since_a_part_of_its_id_is_said(
    tmp_path: Path, capsys: Captured
) -> None:
    gone = Problem(404, {"code": "conversation_not_found"})
    some = {
        "GET /bridge/search": page({"message": a_message(5), "score": 0.5}),
        f"GET /conversations/{PLAN_ID}": InTurn(gone, Problem(403, {"code": "not_permitted"})),
    }

    assert told(tmp_path, some, "search", "number")[0] == 0
    assert capsys.readouterr().out.split("\t")[1] == f"…{PLAN_ID[-6:]}"
    assert told(tmp_path, some, "search", "number")[0] == Exit.DENIED


def test_where_nothing_is_found_it_is_said(tmp_path: Path, capsys: Captured) -> None:
    told(tmp_path, {"GET /bridge/search": page()}, "search", "x")
    told(tmp_path, {"GET /bridge/search": page()}, "search", "x", "--meaning")

    assert capsys.readouterr().err == "Nothing has all of these words.\nNothing is about that.\n"


def test_a_message_is_acknowledged_and_it_is_shown_who_has_it(
    tmp_path: Path, capsys: Captured
) -> None:
    path = f"/messages/{message_id(3)}/acknowledgements"
    some = {
        READ: messages(a_message(3)),
        f"POST {path}": {},
        f"GET {path}": InTurn(page(), page({"by": ANA, "at": NOON})),
    }

    assert told(tmp_path, some, "ack", "…m00003")[0] == 0
    assert told(tmp_path, some, "ack", message_id(3), "--who")[0] == 0
    assert told(tmp_path, some, "ack", message_id(3), "--who")[0] == 0

    said = capsys.readouterr()
    assert said.out.splitlines()[0] == "You have …m00003."
    assert said.out.splitlines()[1].startswith("ana\t")
    assert "Nobody has said so yet." in said.err


def test_a_part_of_an_id_must_be_of_one_message(tmp_path: Path, capsys: Captured) -> None:
    same = a_message(3, id="msg_11m7fxv1skfhf86xxtf6m00003")
    some = {READ: InTurn(messages(a_message(3), same), messages())}

    assert told(tmp_path, some, "ack", "m00003")[0] == Exit.USAGE
    assert told(tmp_path, some, "ack", "m00003")[0] == Exit.FAILED
    assert told(tmp_path, some, "ack", "m3")[0] == Exit.USAGE

    said = capsys.readouterr().err
    assert "short for 2 messages" in said
    assert "message_not_found" in said
    assert "too short" in said


def test_what_one_has_said_is_changed_and_taken_back(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/messages/{message_id(3)}"
    was = {"number": 1, "body": "hullo", "label": "team", "by": ANA, "at": NOON}
    some = {
        f"PATCH {path}": a_message(3),
        f"DELETE {path}": {},
        f"GET {path}/versions": InTurn(page(was), page()),
    }

    _, server = told(tmp_path, some, "edit", message_id(3), "hello")
    assert server.asked[-1] == (f"PATCH {path}", {"body": "hello"})
    told(tmp_path, some, "versions", message_id(3))
    told(tmp_path, some, "versions", message_id(3))
    assert told(tmp_path, some, "delete", message_id(3))[0] == Exit.APPROVAL
    types(monkeypatch, "y\n")
    assert told(tmp_path, some, "delete", message_id(3))[0] == 0
    assert told(tmp_path, some, "delete", message_id(3), "--yes")[0] == 0

    said = capsys.readouterr()
    assert said.out.splitlines()[1].split("\t")[2:] == ["ana", "team", "hullo"]
    assert "It was never changed." in said.err


def test_to_be_less_secret_is_asked_for_with_what_goes(tmp_path: Path, capsys: Captured) -> None:
    path = f"POST /messages/{message_id(3)}/declassification"
    asked = {"approval": APPROVAL, "text": "-", "findings": [], "diff": ["-key abc", "+key ███"]}
    some = {path: InTurn(asked, asked | {"diff": []})}

    code, server = told(tmp_path, some, "declassify", message_id(3), "--to", "team")
    told(tmp_path, some, "declassify", message_id(3), "--to", "team")

    said = capsys.readouterr()
    assert code == 0
    assert sent(server) == [{"to": "team"}]
    assert said.out.startswith("-key abc\n+key ███\nNothing in it looks like")
    assert "portico approvals approve psvgnn" in said.err


def test_what_was_let_out_is_shown_with_whose_word_it_was(tmp_path: Path, capsys: Captured) -> None:
    record = {
        "copy": message_id(4),
        "before": "confidential",
        "after": "team",
        "rules": ["email"],
        "asked_by": HELPER,
        "approved_by": ANA,
        "at": NOON,
        "sound": True,
    }
    path = f"GET /messages/{message_id(3)}/declassifications"
    some = {path: InTurn(page(record), page())}

    told(tmp_path, some, "declassify", message_id(3), "--records")
    told(tmp_path, some, "declassify", message_id(3), "--records")
    code, _ = told(tmp_path, some, "declassify", message_id(3))

    said = capsys.readouterr()
    assert said.out.split("\t")[:5] == ["…m00004", "confidential", "team", "helper", "ana"]
    assert "Nothing was let out of it." in said.err
    assert code == Exit.USAGE


def test_a_file_is_attached_and_fetched(tmp_path: Path, capsys: Captured) -> None:
    file, digest = tmp_path / "a.bin", "ab" * 32
    file.write_bytes(b"\x00\x01")
    given = {"digest": digest, "name": "a.bin", "size": 2, "label": "team"}
    back = Raw(
        b"\x00\x01",
        {
            "Content-Type": "application/octet-stream",
            "Content-Disposition": "attachment; filename*=UTF-8''a%20b.bin",
            "Portico-Label": "team",
        },
    )
    some = {
        f"POST /projects/{PROJECT_ID}/attachments": given,
        f"GET /attachments/{digest}": back,
    }
    out = tmp_path / "out.bin"

    assert told(tmp_path, some, "attach", "apollo", str(file))[0] == 0
    assert capsys.readouterr().out == f"{digest}\n"
    assert told(tmp_path, some, "fetch", digest, "--output", str(out))[0] == 0
    assert capsys.readouterr().out == f"{out} (2 bytes, team)\n"
    assert (out.read_bytes(), out.stat().st_mode & 0o777) == (b"\x00\x01", 0o600)
    assert told(tmp_path, some, "fetch", digest, "--output", str(out))[0] == Exit.FAILED
    assert told(tmp_path, some, "fetch", digest, "--json")[0] == Exit.USAGE


def test_a_file_goes_through_a_pipe_and_never_onto_a_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    digest = "ab" * 32
    some = {f"GET /attachments/{digest}": Raw(b"\x00\x01")}

    assert told(tmp_path, some, "fetch", digest)[0] == 0
    assert capfdbinary.readouterr().out == b"\x00\x01"

    monkeypatch.setattr("sys.stdout", TtyText())
    assert told(tmp_path, some, "fetch", digest)[0] == Exit.USAGE


def test_who_may_know_nobody_by_name_reads_all_the_same(tmp_path: Path, capsys: Captured) -> None:
    some = READING | {
        READ: messages(a_message(1, addressed=[HELPER])),
        "GET /principals": Problem(403, {"code": "not_permitted"}),
        SAY: SENT,
    }

    assert told(tmp_path, some, "read", "plan")[0] == 0
    assert "to …psvgd2" in capsys.readouterr().out
    assert told(tmp_path, some, "post", "plan", "x", "--to", HELPER)[0] == 0
    assert told(tmp_path, some, "post", "plan", "x", "--to", "helper")[0] == Exit.DENIED


def test_what_the_server_refuses_is_told_as_it_says(tmp_path: Path, capsys: Captured) -> None:
    said = {"code": "write_down", "title": "Less secret", "detail": "No.", "fix": "Leave it."}

    code, _ = told(tmp_path, {SAY: Problem(403, said)}, "post", "plan", "x", "--label", "public")

    assert code == Exit.DENIED
    assert "write_down" in capsys.readouterr().err
