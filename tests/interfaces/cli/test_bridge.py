"""`portico bridge`: what is said, read and looked for, against a server that says what it is told
to."""

import json
from typing import Any

import pytest

from portico.interfaces.cli.errors import Exit
from tests.interfaces.cli.bridge_answers import (
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
from tests.interfaces.cli.command_line import CommandLine, Outcome
from tests.interfaces.cli.screen import TtyText
from tests.interfaces.cli.scripted_server import InTurn, Problem, Raw, Streamed

SENT = a_message(7, body="hello", raised=False, absent=[])
SAY = f"POST /conversations/{PLAN_ID}/messages"
READ = f"GET /conversations/{PLAN_ID}/messages"
READING: dict[str, Any] = {
    f"GET /conversations/{PLAN_ID}/cursor": {"cursor": "end"},
    f"POST /conversations/{PLAN_ID}/read": {},
    "GET /inbox": {"unread": [], "overdue": [], "total": 0},
}
APPROVAL = "apr_01m7fxv1skfhf86xxtf6psvgnn"
THIRD = f"/messages/{message_id(3)}"
DENIED = Problem(403, {"code": "not_permitted"})
DIGEST = "ab" * 32


def bridge(cli: CommandLine, words: str, some: dict[str, Any], **how: Any) -> Outcome:
    return cli(f"bridge {words}", TABLE | some, **how)


def read(cli: CommandLine, *said: Any, words: str = "plan", **how: Any) -> Outcome:
    return bridge(cli, f"read {words}", READING | {READ: messages(*said)}, **how)


def queries(got: Outcome, path: str) -> list[str]:
    return [each.partition("?")[2] for each in got.addresses if f"{path}?" in each]


def test_something_is_said_where_its_title_says(cli: CommandLine) -> None:
    got = bridge(cli, "post plan hello --key k-1", {SAY: SENT})

    assert (got.code, got.out) == (0, "Said in plan, as …m00007.\n")
    assert got.sent[-1]["body"] == "hello"
    assert got.heads[-1]["Idempotency-Key"] == "k-1"
    piped = bridge(cli, "post plan", {SAY: SENT}, piped="from a pipe\n")
    assert piped.sent[-1]["body"] == "from a pipe"
    nothing = bridge(cli, "post plan", {SAY: SENT}, typed="")
    assert (nothing.code, nothing.sent) == (Exit.USAGE, [])
    assert "portico bridge post CONVERSATION" in nothing.err


def test_it_is_directed_answers_and_wants_to_be_acknowledged(cli: CommandLine) -> None:
    words = "--reply m00003 --to helper --ack --by 2999-01-01T12:00+00:00 --label confidential"

    got = bridge(cli, f"post apollo/plan hello {words}", {SAY: SENT, READ: messages(a_message(3))})

    assert got.sent == [
        {
            "body": "hello",
            "reply_to": message_id(3),
            "addressed": [HELPER],
            "attachments": [],
            "acknowledge": {"until": "2999-01-01T12:00:00+00:00"},
            "label": "confidential",
        }
    ]


def test_files_go_along(cli: CommandLine) -> None:
    file = cli.file("notes.txt", "one two")
    given = {"digest": DIGEST, "name": "notes.txt", "size": 7, "label": "team"}
    some = {SAY: SENT, f"POST /projects/{PROJECT_ID}/attachments": given}

    got = bridge(cli, f"post plan see --attach {file}", some)

    assert got.sent[0] == b"one two"
    assert got.heads[-2]["Content-Type"] == "text/plain"
    assert got.addresses[-2].endswith("?name=notes.txt")
    assert got.sent[1]["attachments"] == [DIGEST]


TWINS = {"GET /conversations": page(PLAN, a_conversation(id=OTHER_ID, label="confidential"))}
SAME = a_message(3, id="msg_11m7fxv1skfhf86xxtf6m00003")
WRITE_DOWN = {"code": "write_down", "title": "Less secret", "detail": "No.", "fix": "Leave it."}


@pytest.mark.parametrize(
    ("words", "some", "code", "said"),
    [
        ("post plan hello", TWINS, Exit.USAGE, f"{PLAN_ID}, {OTHER_ID}"),
        ("post plan x --label public", {SAY: Problem(403, WRITE_DOWN)}, Exit.DENIED, "write_down"),
        ("ack m00003", {READ: messages(a_message(3), SAME)}, Exit.USAGE, "short for 2 messages"),
        ("ack m00003", {READ: messages()}, Exit.FAILED, "message_not_found"),
        (f"fetch {DIGEST} --json", {f"GET /attachments/{DIGEST}": Raw(b"x")}, Exit.USAGE, ""),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_told(
    cli: CommandLine, words: str, some: dict[str, Any], code: int, said: str
) -> None:
    got = bridge(cli, words, some)

    assert got.code == code
    assert said in got.err


@pytest.mark.parametrize(
    ("words", "some", "said"),
    [
        ("post plan hello", {SAY: SENT | {"raised": True, "label": "confidential"}},
         "It is confidential, and the conversation team"),
        ("read plan", READING | {READ: messages(a_message(), more=True)},
         "portico bridge read plan --all"),
    ],
)  # fmt: skip
def test_what_should_be_known_besides_is_told(
    cli: CommandLine, words: str, some: dict[str, Any], said: str
) -> None:
    got = bridge(cli, words, some)

    assert got.code == 0
    assert said in got.err


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("plan", Exit.USAGE, "apollo/plan, zeus/plan"),
        ("apollo/plan", 0, ""),
        ("…svgbb", Exit.FAILED, ""),
        ("…psvgbb", 0, ""),
        (PLAN_ID, 0, ""),
    ],
)
def test_a_title_that_two_have_takes_its_project(
    cli: CommandLine, name: str, code: int, said: str
) -> None:
    zeus = {"id": "prj_01m7fxv1skfhf86xxtf6psvgzz", "name": "zeus"}
    some = {
        SAY: SENT,
        "GET /conversations": page(PLAN, a_conversation(id=OTHER_ID, project=zeus["id"])),
        "GET /projects": page({"id": PROJECT_ID, "name": "apollo"}, zeus),
    }

    got = bridge(cli, f"post {name} hello", some)

    assert got.code == code
    assert said in got.err


def test_what_was_said_last_is_read_and_counts_as_read(cli: CommandLine) -> None:
    got = read(cli, a_message(1), a_message(2, HELPER))

    assert got.code == 0
    assert got.lines[1:] == [
        "12:01  ana  …m00001",
        "       number 1",
        "12:02  helper  …m00002",
        "       number 2",
    ]
    assert got.sent == [{"cursor": "end", "upto": None}]
    assert got.routes.index(f"GET /conversations/{PLAN_ID}/cursor") < got.routes.index(READ)


def test_all_that_is_unread_is_shown_however_much(cli: CommandLine) -> None:
    inbox = {"unread": [{"conversation": PLAN, "count": 230, "mentions": 0}], "overdue": []}
    first = messages(*(a_message(n) for n in range(200)), more=True)
    pages = InTurn(first, messages(*[a_message(1)] * 30))
    some = READING | {"GET /inbox": inbox | {"total": 230}, READ: pages}

    got = bridge(cli, "read plan --keep-unread", some)

    assert queries(got, "/messages") == ["before=end&limit=200", "before=later&limit=30"]
    assert got.sent == []


def test_all_is_read_from_the_first_page_by_page(cli: CommandLine) -> None:
    pages = InTurn(messages(a_message(1), more=True), messages(a_message(2)))

    got = bridge(cli, "read plan --all --json", READING | {READ: pages})

    assert [each["id"] for each in got.json["data"]] == [message_id(1), message_id(2)]
    assert got.json["cursor"] == "end"
    assert queries(got, "/messages") == ["limit=200", "cursor=later&limit=200"]


def test_a_thread_is_read_by_itself(cli: CommandLine) -> None:
    root, answer = a_message(1), a_message(2, reply_to=message_id(1), thread=message_id(1))
    some = {
        READ: messages(root, answer),
        f"GET /messages/{message_id(2)}/thread": page(root, answer),
    }

    got = bridge(cli, "read plan --thread m00002", some)

    assert "  ↳ ana  …m00002 · answers …m00001" in got.out


def test_all_that_matters_of_a_message_is_shown(cli: CommandLine) -> None:
    one = a_message(
        1,
        HELPER,
        body="@ana\x1b[2J look",
        label="confidential",
        addressed=[ANA, HELPER],
        attachments=[DIGEST],
        acknowledge={"until": NOON},
        untrusted=True,
        edited_at=NOON,
    )
    gone = a_message(2, body="", deleted_at=NOON, acknowledge={"until": None})

    said = read(cli, one, gone).out

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


def test_names_stand_out_on_a_screen(cli: CommandLine) -> None:
    one = a_message(1, HELPER, body="@ana and @planner look", mentions=[ANA])

    assert "@ana and @planner look" in read(cli, one, screen=80).out


def test_no_word_of_what_is_known_of_a_message_is_broken(cli: CommandLine) -> None:
    one = a_message(1, HELPER, addressed=[ANA], acknowledge={"until": NOON}, label="restricted")

    head = [line for line in read(cli, one, screen=44).lines[1:] if "number 1" not in line]

    assert max(map(len, head)) <= 44
    assert "to be acknowledged by" in " ".join(" ".join(head).split())
    assert head[1].startswith(" " * 7)


def test_what_waits_is_in_the_inbox(cli: CommandLine) -> None:
    waiting = {"conversation": PLAN, "count": 3, "mentions": 1}
    late = a_message(4, addressed=[ANA], acknowledge={"until": NOON})
    inbox = {"unread": [waiting], "overdue": [late], "total": 3}

    got = bridge(cli, "inbox", {"GET /inbox": inbox})

    first, second = got.rows
    assert (first[:4], second[0]) == (["plan", "3", "1", "team"], "…m00004")
    assert "overdue" in got.err
    assert "portico bridge read plan" in got.err


HIT = {"GET /bridge/search": page({"message": a_message(5), "score": 0.5})}


def test_messages_are_found_by_their_words(cli: CommandLine) -> None:
    got = bridge(cli, "search number 5 --project apollo --conversation plan", HIT)

    assert (got.code, got.rows[0][:2]) == (0, ["…m00005", "plan"])
    asked = f"q=number+5&by=words&project={PROJECT_ID}&conversation={PLAN_ID}&limit=20"
    assert queries(got, "/bridge/search") == [asked]


def test_of_a_conversation_that_is_gone_since_a_part_of_its_id_is_said(cli: CommandLine) -> None:
    gone = {f"GET /conversations/{PLAN_ID}": Problem(404, {"code": "conversation_not_found"})}
    denied = {f"GET /conversations/{PLAN_ID}": DENIED}

    assert bridge(cli, "search number", HIT | gone).rows[0][1] == f"…{PLAN_ID[-6:]}"
    assert bridge(cli, "search number", HIT | denied).code == Exit.DENIED


def test_a_message_is_acknowledged_and_it_is_shown_who_has_it(cli: CommandLine) -> None:
    path = f"{THIRD}/acknowledgements"
    there = page({"by": ANA, "at": NOON})

    done = bridge(cli, "ack …m00003", {READ: messages(a_message(3)), f"POST {path}": {}})
    who = bridge(cli, f"ack {message_id(3)} --who", {f"GET {path}": there})

    assert (done.code, done.out) == (0, "You have …m00003.\n")
    assert who.rows[0][0] == "ana"


def test_what_one_has_said_is_changed_and_taken_back(cli: CommandLine) -> None:
    was = {"number": 1, "body": "hullo", "label": "team", "by": ANA, "at": NOON}
    deleting: dict[str, Any] = {f"DELETE {THIRD}": {}}

    edited = bridge(cli, f"edit {message_id(3)} hello", {f"PATCH {THIRD}": a_message(3)})
    versions = bridge(cli, f"versions {message_id(3)}", {f"GET {THIRD}/versions": page(was)})

    assert edited.asked[-1] == (f"PATCH {THIRD}", {"body": "hello"})
    assert versions.rows[0][2:] == ["ana", "team", "hullo"]
    assert bridge(cli, f"delete {message_id(3)}", deleting, typed="y\n").code == 0
    assert bridge(cli, f"delete {message_id(3)} --yes", deleting).code == 0


@pytest.mark.parametrize(
    ("diff", "shown"),
    [(["-key abc", "+key ███"], "-key abc\n+key ███\n"), ([], "Nothing in it looks like")],
)
def test_to_be_less_secret_is_asked_for_with_what_goes(
    cli: CommandLine, diff: list[str], shown: str
) -> None:
    asked = {"approval": APPROVAL, "text": "-", "findings": [], "diff": diff}

    got = bridge(
        cli, f"declassify {message_id(3)} --to team", {f"POST {THIRD}/declassification": asked}
    )

    assert (got.code, got.sent) == (0, [{"to": "team"}])
    assert got.out.startswith(shown)
    assert "portico approvals approve psvgnn" in got.err


def test_what_was_let_out_is_shown_with_whose_word_it_was(cli: CommandLine) -> None:
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
    some = {f"GET {THIRD}/declassifications": page(record)}

    got = bridge(cli, f"declassify {message_id(3)} --records", some)

    assert got.rows[0][:5] == ["…m00004", "confidential", "team", "helper", "ana"]


def test_a_file_is_attached_and_fetched(cli: CommandLine) -> None:
    file, out = cli.file("a.bin", b"\x00\x01"), cli.root / "out.bin"
    given = {"digest": DIGEST, "name": "a.bin", "size": 2, "label": "team"}
    back = Raw(
        b"\x00\x01",
        {
            "Content-Type": "application/octet-stream",
            "Content-Disposition": "attachment; filename*=UTF-8''a%20b.bin",
            "Portico-Label": "team",
        },
    )
    fetching = {f"GET /attachments/{DIGEST}": back}

    attached = bridge(
        cli, f"attach apollo {file}", {f"POST /projects/{PROJECT_ID}/attachments": given}
    )
    fetched = bridge(cli, f"fetch {DIGEST} --output {out}", fetching)

    assert attached.out == f"{DIGEST}\n"
    assert fetched.out == f"{out} (2 bytes, team)\n"
    assert (out.read_bytes(), out.stat().st_mode & 0o777) == (b"\x00\x01", 0o600)
    assert bridge(cli, f"fetch {DIGEST} --output {out}", fetching).code == Exit.FAILED


def test_a_file_goes_through_a_pipe_and_never_onto_a_screen(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = {f"GET /attachments/{DIGEST}": Raw(b"to be piped")}

    assert bridge(cli, f"fetch {DIGEST}", some).out == "to be piped"

    monkeypatch.setattr("sys.stdout", TtyText())
    assert bridge(cli, f"fetch {DIGEST}", some).code == Exit.USAGE


def test_who_may_know_nobody_by_name_reads_all_the_same(cli: CommandLine) -> None:
    hidden = {"GET /principals": DENIED, SAY: SENT}
    said = {READ: messages(a_message(1, addressed=[HELPER]))}

    assert "to …psvgd2" in bridge(cli, "read plan", READING | hidden | said).out
    assert bridge(cli, f"post plan x --to {HELPER}", hidden).code == 0
    assert bridge(cli, "post plan x --to helper", hidden).code == Exit.DENIED


NEWS = f'event: news\ndata: {{"conversation": "{PLAN_ID}"}}\n\n'
RESET = "event: reset\ndata: {}\n\n"
END = "event: end\ndata: {}\n\n"


def watched(cli: CommandLine, stream: list[str], pages: list[Any], words: str = "plan") -> Outcome:
    """Woken by the stream, it reads from where it stands."""
    rest = a_conversation(id=OTHER_ID, title="rest", label="public")
    some = {
        "GET /conversations": page(PLAN, rest),
        "GET /bridge/cursor": {"cursor": "tail"},
        "GET /bridge/events": Streamed(stream),
        "GET /bridge/messages": InTurn(*pages),
        "POST /bridge/read": {},
        READ: messages(a_message(1), a_message(3)),
        f"GET /conversations/{OTHER_ID}/messages": messages(a_message(2, conversation=OTHER_ID)),
    }
    return bridge(cli, f"watch {words}", some)


def numbers(got: Outcome) -> list[str]:
    return [line.strip() for line in got.lines if "number" in line]


def test_what_was_said_last_comes_first_and_then_what_is_said(cli: CommandLine) -> None:
    pages = [messages(a_message(4), more=True), messages(a_message(5), cursor="there")]

    got = watched(cli, [NEWS + END], pages)

    assert got.code == 0
    assert numbers(got) == ["number 1", "number 3", "number 4", "number 5"]
    assert queries(got, "/bridge/messages") == [
        f"conversation={PLAN_ID}&cursor=tail&limit=200",
        f"conversation={PLAN_ID}&cursor=later&limit=200",
    ]
    assert got.sent == [
        {"conversations": [PLAN_ID], "cursor": "later", "upto": None},
        {"conversations": [PLAN_ID], "cursor": "there", "upto": None},
    ]


def test_several_are_followed_in_the_order_in_which_things_are_said(cli: CommandLine) -> None:
    got = watched(cli, [END], [messages()], "plan rest --last 2")

    assert [line for line in got.lines if "number" not in line][1:] == [
        "12:02  ana  …m00002 · in rest · team",
        "12:03  ana  …m00003 · in plan",
    ]


def test_a_broken_stream_is_taken_up_again_and_nothing_is_told_twice(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    pages = [messages(a_message(4)), messages(), messages(a_message(5))]

    got = watched(cli, [NEWS, RESET + NEWS + END], pages, "plan --last 0 --keep-unread --upto team")

    assert numbers(got) == ["number 4", "number 5"]
    assert "The server has gone" in got.err
    assert "What you may see has changed." in got.err


def test_a_program_gets_a_line_each(cli: CommandLine) -> None:
    got = watched(cli, [NEWS + END], [messages(a_message(4))], "plan --json")

    found = [json.loads(line)["body"] for line in got.lines]
    assert found == ["number 1", "number 3", "number 4"]
