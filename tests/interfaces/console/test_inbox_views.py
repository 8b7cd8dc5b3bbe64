"""What is drawn of requests: how each stands, its arguments, and what may be said to it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from portico.guard.core.access_request import Action
from portico.guard.core.approvals import Approval, Outcome, Status, Waiter
from portico.guard.core.policy import ArgumentWarning, Danger
from portico.guard.core.principals import Scope
from portico.interfaces.console.forms import InvalidForm
from portico.interfaces.console.screens.approval_view import (
    asked,
    diffs,
    kind_of,
    one_line,
    seen,
    shown_changes,
    state_badge,
    table,
)
from portico.interfaces.console.screens.approvals import (
    EMPTY,
    ApprovalQueue,
    Show,
    chips,
    ordered,
    row,
    show_of,
    written,
)
from portico.kernel.effect import Effect
from portico.kernel.ids import PrincipalId, RunId, SpaceId
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.guard.approvals import an_act, an_answer, an_approval

NOW = BEGINNING + timedelta(minutes=5)
SPACE = SpaceId.mint(BEGINNING, SeededEntropy("space"))


def somebody(name: str, kind: PrincipalKind, *scopes: Scope) -> Principal:
    id_ = PrincipalId.mint(BEGINNING, SeededEntropy(name))
    return Principal(id=id_, space=SPACE, kind=kind, name=name, scopes=frozenset(scopes))


BOT = somebody("bot", PrincipalKind.AGENT)
ANA = somebody(
    "ana", PrincipalKind.PERSON, Scope.APPROVALS_ANSWER, Scope.POLICY_WRITE, Scope.APPROVALS_READ
)


def request(name: str = "one", *, arguments: dict[str, Any] | None = None, **more: Any) -> Approval:
    act = an_act(BOT, tool="mail.send", **(arguments or {"to": "bob@else.example"}))
    return an_approval(BOT, name, act=act, **more)


@pytest.mark.parametrize(
    ("approval", "text", "tone"),
    [
        (request(expires_at=NOW + timedelta(hours=1)), "needs approval", "warn"),
        (request(expires_at=NOW + timedelta(minutes=1)), "expires soon", "bad"),
        (request(expires_at=NOW), "expired", ""),
        (request(status=Status.REJECTED), "rejected", "bad"),
        (request(status=Status.WITHDRAWN), "taken back", ""),
        (request(status=Status.REPLACED), "approved otherwise", "ok"),
        (request(status=Status.APPROVED, outcome=Outcome.DONE), "done", "ok"),
        (
            request(status=Status.APPROVED, outcome=Outcome.DONE, error="no"),
            "done, with an error",
            "warn",
        ),
        (request(status=Status.APPROVED, outcome=Outcome.UNCERTAIN), "outcome not known", "bad"),
    ],
)
def test_how_each_stands(approval: Approval, text: str, tone: str) -> None:
    badge = state_badge(approval, NOW)

    assert (badge.text, badge.tone) == (text, tone)


def test_of_what_kind_each_is() -> None:
    run = RunId.mint(BEGINNING, SeededEntropy("run"))
    step = request(waiter=Waiter(run, "~approval:send:1", PUBLIC))
    message = request(action=Action.DECLASSIFY)
    debate = request(arguments={"debate": "dbt_1"}, action=Action.DECLASSIFY)

    kinds = [kind_of(each) for each in (request(), step, message, debate)]

    assert kinds == [
        "Tool call",
        "Step of a run",
        "Less secret message",
        "Less secret debate",
    ]


def test_what_ends_soon_comes_first_and_then_the_newest() -> None:
    late = NOW + timedelta(hours=1)
    made = [
        request("new", expires_at=late),
        request("soon", expires_at=NOW + timedelta(minutes=9)),
        request("old", expires_at=late),
        request("sooner", expires_at=NOW + timedelta(minutes=1)),
    ]

    found = ordered(made, NOW)

    assert [made.index(each) for each in found] == [3, 1, 0, 2]


def test_an_unknown_filter_is_what_waits() -> None:
    assert [show_of(each) for each in (None, "answered", "everything", "")] == [
        Show.WAITING,
        Show.ANSWERED,
        Show.WAITING,
        Show.WAITING,
    ]
    assert [chip.path for chip in chips(Show.ALL)] == [
        "/inbox",
        "/inbox?show=answered",
        "/inbox?show=expired",
        "/inbox?show=all",
    ]


def test_after_an_answer_the_next_one_is_opened_and_at_the_end_the_one_before() -> None:
    rows = [row(request(name), Show.WAITING, NOW, None) for name in ("one", "two", "three")]
    queue = ApprovalQueue(
        show=Show.WAITING,
        unsure=[],
        rows=rows,
        chips=[],
        older=None,
        part="",
        empty=EMPTY[Show.WAITING],
    )
    one, two, three = (each.id for each in rows)

    assert [queue.after(each) for each in (one, two, three)] == [two, three, two]
    assert queue.after("apr_other") == one
    assert replace(queue, rows=rows[:1]).after(one) is None


def test_a_row_says_the_first_of_what_to_look_at() -> None:
    asked_for = replace(request(), marks=(ArgumentWarning("/to", Danger.RECIPIENT),))

    assert row(asked_for, Show.WAITING, NOW, asked_for.id).risk == "to: bob@else.example"
    assert row(asked_for, Show.WAITING, NOW, asked_for.id).marked


def test_whoever_may_answer_is_told_how_and_others_why_not() -> None:
    found = request()

    assert asked(found, ANA, NOW).may_answer
    assert asked(found, ANA, NOW).lasting
    assert not asked(request(rule="ask-mail"), ANA, NOW).lasting
    assert not asked(found, BOT, NOW).may_answer
    assert not asked(request(status=Status.REJECTED), ANA, NOW).may_answer
    refusal = asked(found, somebody("vi", PrincipalKind.PERSON), NOW).refusal
    assert refusal is not None
    assert "approvals:answer" in str(refusal.fix)


def test_what_would_be_let_out_is_shown_whole_and_apart() -> None:
    arguments = {"message": "msg_1", "to": "public", "text": "hello", "changes": ["-a", "+b"]}
    found = asked(request(arguments=arguments, action=Action.DECLASSIFY), ANA, NOW)

    assert found.text == "hello"
    assert [each.name for each in found.arguments] == ["message", "to"]
    assert [line.kind for line in found.diffs[0].lines] == ["gone", "new"]
    assert not found.editable
    assert not found.lasting


def test_what_is_too_long_for_a_form_is_not_edited_here() -> None:
    found = asked(request(arguments={"body": "x" * 30_000}), ANA, NOW)

    assert (found.editable, found.too_long) == (False, True)
    assert asked(request(), ANA, NOW).editable


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"tainted": False}, None),
        ({"label": PUBLIC}, "Its task has read what strangers wrote."),
        ({"rule": "default:taint"}, "Its task has read team, and what strangers wrote."),
        ({"rule": "cold"}, "Its task has read team, and maybe what strangers wrote."),
    ],
)
def test_what_the_task_has_read_is_said_as_far_as_it_is_known(
    facts: dict[str, Any], said: str | None
) -> None:
    told: dict[str, Any] = {"tainted": True, "label": Label.parse("team"), **facts}

    assert asked(request(**told), ANA, NOW).has_read == said


def test_what_an_answer_for_longer_lets_through_is_said() -> None:
    clean = asked(request(), ANA, NOW).grants
    read = asked(request(tainted=True, label=Label.parse("team")), ANA, NOW).grants

    assert clean["run"].endswith("until its task has read strangers' words.")
    assert read["always"].endswith("also after it has read strangers' words and up to team.")
    assert clean["once"] == ""


def test_what_was_answered_and_came_before_is_told() -> None:
    call = {"tool": "web.fetch", "effect": "external_read", "at": "never", "outcome": None}
    answered = an_answer(ANA, reason="fine")
    found = asked(
        request(before=(call,), status=Status.APPROVED, answered=answered, effect=Effect.UNKNOWN),
        ANA,
        NOW,
    )

    assert (found.before[0].effect, found.before[0].outcome) == ("external read", "under way")
    assert found.before[0].at is None
    assert found.given is not None
    assert (found.given.told, found.given.reason) == ("Approved once", "fine")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\u202egpj.exe", "\\u{202e}gpj.exe"),
        ("a\u200bb", "a\\u{200b}b"),
        ("\x1b[31m", "\\u{1b}[31m"),
    ],
)
def test_what_would_hide_is_spelt_out(text: str, shown: str) -> None:
    assert seen(text) == shown


def test_a_line_is_cut_where_there_is_no_room() -> None:
    assert one_line("a  b\nc", 10) == "a b c"
    assert one_line("abcdefghij", 5) == "abcd…"


def test_each_value_stands_under_its_path_with_what_is_said_of_it() -> None:
    rows = table(
        {"to": ["a@x.example", "b@x.example"], "body": {"text": "hi", "size": 3}, "more": []},
        (ArgumentWarning("/to", Danger.RECIPIENT), ArgumentWarning("/body/text", Danger.HIDDEN)),
    )

    assert [(each.name, each.value, each.risks) for each in rows] == [
        ("to.0", "a@x.example", ("recipient",)),
        ("to.1", "b@x.example", ("recipient",)),
        ("body.text", "hi", ("part of this is not shown",)),
        ("body.size", "3", ()),
        ("more", "[]", ()),
    ]


def test_what_is_said_of_all_of_it_is_said_of_each() -> None:
    [only] = table({"a": 1}, (ArgumentWarning("", Danger.UNSEEN),))

    assert only.risks == ("there is more than was looked through",)


def test_a_long_value_is_folded_unless_something_is_said_against_it() -> None:
    long = "x" * 5000

    plain, risky = table({"a": long, "path": long}, (ArgumentWarning("/path", Danger.PATH),))

    assert plain.folded
    assert (plain.cut, len(plain.value)) == (1000, 4000)
    assert not risky.folded
    assert risky.value == long


def test_against_what_it_replaces_each_change_is_told() -> None:
    rows = table({"a": 1, "c": 3, "d": 4}, (), {"a": 1, "b": 2, "c": 0})

    told = [(each.name, each.value, each.was, each.new) for each in rows]
    assert told == [
        ("a", "1", None, False),
        ("c", "3", "0", False),
        ("d", "4", None, True),
        ("b", "", "2", False),
    ]


def test_a_text_and_what_takes_its_place_are_compared() -> None:
    [diff] = diffs({"edits": [{"oldText": "one\ntwo", "newText": "one\nthree"}]})

    assert diff.title == "edits.0"
    assert [(line.kind, line.text) for line in diff.lines] == [
        ("same", "one"),
        ("gone", "two"),
        ("new", "three"),
    ]


def test_what_is_too_long_to_compare_is_not() -> None:
    assert diffs({"old": "a\n" * 1000, "new": "b"}) == []


def test_what_the_bridge_says_of_changes_is_told_apart() -> None:
    lines = shown_changes(["line 2:", " before", "-mail me", "+[address]"])

    assert [line.kind for line in lines] == ["place", "same", "gone", "new"]
    assert shown_changes("no list") == []


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON: line 1"),
        ("[1]", "must be an object"),
        ('{"a": NaN}', "NaN"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"b": {"a": 1, "a": 2}}', "twice"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_arguments_that_are_none_say_where(text: str, flaw: str) -> None:
    with pytest.raises(InvalidForm, match=flaw):
        written(text)
