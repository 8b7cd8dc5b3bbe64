"""A request in words: nothing hidden, and nothing cut that could hurt."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from inline_snapshot import snapshot

from portico.debate.core.debates import DebaterAnswer, Decision, Option, Verdict, Why
from portico.interfaces.cli.approval_text import (
    answered,
    asks_on,
    grants,
    left,
    over,
    row,
    state,
    told,
)
from portico.interfaces.cli.untrusted_text import columns, visible
from tests.interfaces.cli.requests import a_request, an_answer


def lines(**changes: Any) -> list[str]:
    return [line.text for line in told(a_request(**changes))]


def loud(**changes: Any) -> list[str]:
    return [line.text for line in told(a_request(**changes)) if line.loud]


RUN = "run_01kdvdna07e0083vtk892ms2mc"
SECRET = "  task      has read team, and "


@pytest.mark.parametrize(
    ("changes", "said", "unsaid"),
    [
        ({}, ["desktop (agent) wants mail.send", "irreversible: cannot be undone", "  expires",
              "default:taint: the task has read what strangers wrote",
              "mail.get_inbox (external_read): done",
              "  task      has read what strangers wrote"], ["workflows show"]),
        ({"status": "approved"}, [], ["  expires"]),
        ({"step": "send[3]", "run": RUN},
         ["  step      send[3] of …2ms2mc (portico workflows show 2ms2mc)"], []),
        ({"label": "team"}, [f"{SECRET}what strangers wrote"], []),
        ({"label": "team", "rule": "ask-mail"}, [f"{SECRET}maybe what strangers wrote"], []),
        ({"arguments": {}, "marks": []}, ["    nothing"], []),
    ],
    ids=["who wants what and why", "only what waits expires", "a step", "a secret task", "asked",
         "no arguments"],
)  # fmt: skip
def test_a_request_says_who_wants_what_and_why_it_was_asked(
    changes: dict[str, Any], said: list[str], unsaid: list[str]
) -> None:
    told = "\n".join(lines(**changes))

    assert [words for words in said if words not in told] == []
    assert [words for words in unsaid if words in told] == []


def test_the_dangerous_part_stands_out_with_its_reason_and_lines_of_a_text_stay_lines() -> None:
    assert loud()[1:] == ["    to    │ bob@else.example   ← recipient"]
    assert lines()[-2:] == ["    text  │ one", "          │ two"]


def test_what_is_long_is_cut_unless_it_is_dangerous() -> None:
    long = "x" * 1_000
    marks = [{"pointer": "/command", "why": "command"}]

    said = lines(arguments={"note": long, "command": long}, marks=marks)
    whole = [line.text for line in told(a_request(arguments={"note": long}), whole=True)]

    assert said[-2] == "             … and 700 letters more (w shows them)"
    assert said[-1] == f"    command  │ {long}   ← command"
    assert whole[-1] == f"    note  │ {long}"


def test_no_value_begins_a_line_of_ours_at_whatever_width() -> None:
    forged = "x" * 60 + "  expires   in 58 min" + "漢" * 40 + "\n  because   all is well"
    arguments = {"to": forged, "text": forged, "a very" + " long" * 20: "1"}
    marks = [{"pointer": "/to", "why": "recipient"}]
    for width in (40, 80, 200):
        said = [
            line.text for line in told(a_request(arguments=arguments, marks=marks), width=width)
        ]

        assert max(columns(line) for line in said) <= width
        values = said[said.index("  with") + 1 :]
        assert all(line.startswith("    ") for line in values)
        assert [line for line in values if "in 58" in line and line[10:11] not in "│┊"] == []
        assert sum(line.startswith("  because ") for line in said) == 1


def test_a_value_that_does_not_fit_has_its_reason_above_it() -> None:
    long = a_request(arguments={"to": "b" * 40, "text": "ok"})

    said = [line.text for line in told(long, width=40)]

    assert said[-4:] == [
        "    to   ← recipient",
        f"          │ {'b' * 27}",
        f"          ┊ {'b' * 13}",
        "    text  │ ok",
    ]


def test_names_that_are_no_names_stand_in_quotes() -> None:
    said = lines(arguments={"path  │ safe": "/etc", "x" * 40: "y"}, marks=[])

    assert said[-3:] == [
        '    "path  │ safe"  │ /etc',
        f"    {'x' * 40}",
        f"{' ' * 21}│ y",
    ]


def test_what_lasts_says_what_it_covers() -> None:
    assert grants(a_request(), "always") == (
        "From now on desktop (agent) may use mail.send with whatever arguments, for effects up to "
        "irreversible, without asking, also after it has read strangers' words"
    )
    secret = a_request(label="team")
    assert grants(secret, "always", "mail.*").endswith("strangers' words and up to team")
    clean = grants(a_request(tainted=False), "run")
    assert clean.startswith("In this task, for up to 8 hours, desktop (agent)")
    assert clean.endswith("until the task has read strangers' words")


def test_where_a_rule_asks_nothing_lasts() -> None:
    ruled = a_request(rule="ask-mail", answers=["once", "reject"])

    assert asks_on(ruled) == "The rule ask-mail goes on asking; change that one, or answer once."
    assert asks_on(a_request()) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"status": "expired"}, "It has expired; nobody answered."),
        ({"status": "withdrawn"}, "It was taken back, or done since by a rule that allows it."),
        ({"status": "approved"}, "Somebody was first: approved."),
    ],
)
def test_why_it_waits_no_more(changes: dict[str, Any], said: str) -> None:
    assert over(a_request(**changes)) == said


def test_what_is_inside_of_something_dangerous_is_dangerous() -> None:
    marks = [{"pointer": "/to", "why": "recipient"}]
    arguments = {"to": ["a@b.c", {"x": 1}], "a/b": {}, "c": []}

    said = loud(arguments=arguments, marks=marks)
    all_ = lines(arguments=arguments, marks=marks)

    assert [line.split()[:3] for line in said[1:]] == [["to.0", "│", "a@b.c"], ["to.1.x", "│", "1"]]
    assert [line.split() for line in all_[-2:]] == [["a~1b", "│", "{}"], ["c", "│", "[]"]]


def test_all_that_is_said_against_a_value_is_told() -> None:
    marks = [
        {"pointer": "/to", "why": "hidden"},
        {"pointer": "/to", "why": "recipient"},
        {"pointer": "", "why": "unseen"},
    ]

    said = loud(arguments={"to": "a ********", "text": "x" * 1_000}, marks=marks)

    assert said[1].endswith("to    │ a ********   ← part of this is not shown, recipient")
    assert said[2].endswith(f"{'x' * 1_000}   ← there is more than was looked through")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm\u202e -rf", "rm\\u{202e} -rf"),
        ("a\x1b[2Jb", "a\\u{1b}[2Jb"),
        ("zero\u200bwidth", "zero\\u{200b}width"),
        ("é 😀 ok", "é 😀 ok"),
    ],
)
def test_what_would_not_be_seen_is_spelt_out(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert any(shown in line for line in lines(arguments={"to": text}))


def test_an_answer_says_whose_it_was_and_what_it_made() -> None:
    given = an_answer("always", reason="fine", rule="always-1")

    assert answered(given) == "approved from now on by ana (cli), rule always-1: fine"
    assert answered(a_request()) is None
    assert state(given | {"outcome": "done"}) == "approved, done"
    failed = given | {"outcome": "done", "error": "The tool says that it failed."}
    assert state(failed) == "approved, done, with an error"


@pytest.mark.parametrize(
    ("before", "said"),
    [(0, "in 30 s"), (5, "in 5 min"), (150, "in 2 h 30 min"), (-60 * 24 * 2, "over")],
)
def test_a_line_of_a_list_says_how_long_there_is_left(before: int, said: str) -> None:
    now = datetime(2998, 12, 31, 23, 59, 30, tzinfo=UTC) - timedelta(minutes=before)

    assert left(a_request(), now) == said


def test_a_line_of_a_list_says_which_and_of_which_step() -> None:
    assert row(a_request(step="send[3]", run=RUN))["step"] == "send[3] of …2ms2mc"
    assert row(a_request())["step"] is None
    assert row(a_request())["id"] == "…psvgnn"
    assert row(a_request(status="expired"))["expires"] is None


def a_promotion(**changes: Any) -> dict[str, Any]:
    """As it is asked for when a debate is to be less secret."""
    options = (
        Option(
            key="no", shown="no", probability=0.9, debaters=("a:one", "b:two"), rationale="7·13"
        ),
        Option(key="yes", shown="yes", probability=0.1, debaters=("c:three",)),
    )
    decision = Decision(
        verdict=Verdict.DECIDED,
        why=Why.ALL_ASKED,
        answer="no",
        probability=0.9,
        options=options,
        n_eff=1.5,
        rule="cold",
        weights=(("a:one", 0.84),),
        asked=3,
    )
    one = DebaterAnswer(
        voice="a:one", round=1, answer="No.", key="no", shown="no", rationale="7·13\n= 91"
    )
    again = DebaterAnswer(
        voice="b:two", round=2, answer="no", key="no", shown="no", changed_because="slip"
    )
    notes = [
        {"name": "said:1:a:one", "kind": "said", "voice": "a:one", "round": 1,
         "body": one.as_json(), "at": "2026-01-01T10:00:00+00:00"},
        {"name": "said:2:b:two", "kind": "said", "voice": "b:two", "round": 2,
         "body": again.as_json(), "at": "2026-01-01T10:00:00+00:00"},
        {"name": "said:1:c:three", "kind": "failed", "voice": "c:three", "round": 1,
         "body": {"code": "voice_broke", "why": "gone"}, "at": "2026-01-01T10:00:00+00:00"},
    ]  # fmt: skip
    question = {"text": "Is 91 a prime?", "kind": "yes_no", "choices": [], "topic": "general"}
    content = {"body": {"question": question}, "decision": decision.as_json(), "notes": notes}
    arguments = {
        "debate": "dbt_01m7fxv1skfhf86xxtf6psvgnn",
        "from": "confidential",
        "to": "team",
        "found": {"aws-key": 2},
        "content": content,
    }
    facts = {"tool": "bridge.declassify", "rule": "debate:promotion", "marks": []}
    return {**facts, "arguments": arguments, **changes}


def test_a_debate_that_is_to_be_less_secret_is_told_in_words() -> None:
    told_so = lines(**a_promotion())

    assert "  lowers    a debate, confidential → team" in told_so
    assert told_so.index("  lowers    a debate, confidential → team") == 1
    assert "  secrets   blacked out before it goes: 2 of aws-key" in told_so
    assert told_so[told_so.index("  what others could read then") + 1 : -1] == snapshot(
        [
            "    question      │ Is 91 a prime?",
            "    decision      │ Decided: no (90 %), since all have been asked.",
            "    answer        │ no",
            "    a:one         │ No.",
            "                  │ because 7·13",
            "                  │ = 91",
            "    b:two, again  │ no",
            "                  │ changed, because slip",
            "    c:three       │ (gave no answer) gone",
        ]
    )
    assert told_so[-1].startswith("  and       ")
    assert told_so[-1].endswith(" are folded: w, or portico approvals show psvgnn --raw")
    assert row(a_request(**a_promotion()))["arguments"] == "confidential → team: Is 91 a prime?"


@pytest.mark.parametrize("how", [{"whole": True}, {"raw": True}])
def test_every_value_of_it_is_a_key_or_an_option_away(how: dict[str, bool]) -> None:
    said = "\n".join(line.text for line in told(a_request(**a_promotion()), **how))

    assert "content.decision.weights.0.1" in said
    assert "  lowers    a debate, confidential → team" in said


def test_what_is_marked_in_it_is_never_folded() -> None:
    pointer = "/content/notes/0/body/rationale"
    said = loud(**a_promotion(marks=[{"pointer": pointer, "why": "recipient"}]))

    assert any("content.notes.0.body.rationale" in line and "recipient" in line for line in said)


@pytest.mark.parametrize(
    "changes",
    [
        {"rule": "default:taint"},
        {"arguments": {"debate": "dbt_1", "from": "team", "to": "public", "content": {"body": 1}}},
    ],
)
def test_whatever_is_not_asked_by_the_house_in_this_way_is_shown_as_it_is(
    changes: dict[str, Any],
) -> None:
    said = "\n".join(lines(**a_promotion(**changes)))

    assert "lowers" not in said
    assert "  with" in said
    assert "content.body" in said
