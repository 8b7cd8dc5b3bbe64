"""The audit in the console: read, filtered, verified, taken out."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from portico.guard.audit import ChainedEntry
from portico.guard.core.audit import ChainViolation, Fault, Head, Link, Verdict
from portico.interfaces.console.screens.audit import checked, line
from portico.kernel.json import JsonValue
from portico.testing.memory_store import BEGINNING
from tests.interfaces.console.conftest import Browser
from tests.interfaces.http.test_approvals import agent, asks

RUN = "run_00000000000000000000000001"
APPROVAL = "apr_00000000000000000000000001"
DEBATE = "dbt_00000000000000000000000001"


def found(action: str, subject: str = "x", **act: Any) -> ChainedEntry:
    told: dict[str, JsonValue] = {
        "action": action,
        "subject": subject,
        "name": "ana",
        "kind": "person",
        **act,
    }
    entry: dict[str, JsonValue] = {"act": told, "at": "2026-01-01T10:00:00.000000Z", "by": "x"}
    return ChainedEntry(Link(7, json.dumps(entry).encode(), b"\x01" * 32), entry)


@pytest.mark.parametrize(
    ("action", "subject", "path"),
    [
        ("workflow.started", RUN, f"/runs/{RUN}"),
        ("agent.started", RUN, f"/runs/{RUN}"),
        ("debate.shared", DEBATE, f"/debates/{DEBATE}"),
        ("server.added", "files", "/servers/files"),
        ("call.allowed", "files.read", "/tools/files.read"),
        ("call.denied", "a/b?c.d", "/tools/a%2Fb%3Fc.d"),
        ("tool.accepted", "files.read", "/tools/files.read"),
        ("agent.added", "clerk", "/agents/clerk"),
        ("policy.rule_added", "careful", "/settings/policy"),
        ("key.issued", "abc", "/settings/keys"),
        ("space.founded", "spc_1", None),
    ],
)
def test_an_object_has_a_link_where_it_has_a_page(
    action: str, subject: str, path: str | None
) -> None:
    assert line(found(action, subject)).path == path


@pytest.mark.parametrize(
    ("action", "facts", "decision", "tone"),
    [
        ("call.allowed", {}, "allowed", "ok"),
        ("call.denied", {}, "denied", "bad"),
        ("call.needs_approval", {}, "needs approval", "warn"),
        ("approval.asked", {}, "asked", "warn"),
        ("approval.answered", {"answer": "once"}, "approved, once", "ok"),
        ("approval.answered", {"answer": "reject"}, "rejected", "bad"),
        ("audit.verified", {"sound": False}, "not sound", "bad"),
        ("server.added", {}, None, ""),
        ("odd", {}, None, ""),
    ],
)
def test_how_it_was_decided(
    action: str, facts: dict[str, Any], decision: str | None, tone: str
) -> None:
    entry = line(found(action, facts=facts))

    assert (entry.decision, entry.tone) == (decision, tone)


def test_what_it_is_about_besides_who_allowed_it_and_how_it_is_called() -> None:
    entry = line(found("approval.answered", facts={"approval": APPROVAL, "clearance": "team+x"}))
    allowed = line(found("call.allowed", rule=f"approval:{APPROVAL}"))
    key = line(found("key.issued", "0DsCpHGCK6yi", facts={"name": "report"}))
    rule = line(found("policy.rule_added", "careful", facts={"name": "no"}))

    assert entry.related == [("approval", f"/inbox/{APPROVAL}")]
    assert (str(entry.label), entry.at is None) == ("team+x", False)
    assert allowed.rule_path == f"/inbox/{APPROVAL}"
    assert line(found("call.allowed", rule="default:reads")).rule_path is None
    assert (key.called, rule.called) == ("report", "careful")


def test_what_cannot_be_read_is_shown_as_it_is() -> None:
    entry = line(ChainedEntry(Link(3, b"\xffnonsense", b"\x00" * 32), {}))

    assert entry.action == "not readable"
    assert entry.at is None
    assert "nonsense" in str(entry.details)


def test_what_checking_came_to_in_words() -> None:
    head = Head(2, b"\x00" * 32)
    sound = Verdict(checked=2, last=head, found=0, findings=(), heads=1, compared=1)
    finding = ChainViolation(Fault.CHANGED, 2, "Its hash is another.")
    broken = Verdict(checked=2, last=head, found=3, findings=(finding,), heads=0)

    assert checked(sound).told == "Sound: 2 entries checked, the last is 2."
    assert checked(sound).heads.startswith("It agrees with all 1 of its heads")
    assert "cut off" in checked(replace(sound, heads=0)).heads
    assert checked(broken).findings == ["2: changed. Its hash is another.", "and 2 more"]
    assert checked(broken).heads.startswith("It agrees with no head")


async def test_what_was_done_is_listed_and_filtered_by_its_beginning_and_by_who(
    console: Browser,
) -> None:
    _, bot = await agent(console.site)
    await console.does("/settings/policy", {"decision": "ask", "tools": "a.b", "name": "careful"})
    me = (await console.site.ask("GET", "/api/v1/me")).json["id"]
    head = (await console.site.ask("GET", "/api/v1/audit/head")).json

    every = await console.sees("/audit")
    rules = await console.sees("/audit?action=policy.")
    theirs = await console.sees(f"/audit?who={bot.id}&action=policy.")

    assert all(it in every for it in ("policy.rule_added", 'href="/settings/policy"', "key.issued"))
    assert head["hash"] in every
    assert ("careful" in rules, "key.issued" in rules) == (True, False)
    assert "careful" in await console.sees(f"/audit?action=policy.&who={me}")
    assert "No such entries." in theirs


async def test_a_long_audit_goes_on_by_cursor(console: Browser) -> None:
    _, bot = await agent(console.site)
    for number in range(60):
        asked = await asks(
            console.site, bot, f"n{number}", at=BEGINNING + timedelta(seconds=number)
        )
        await console.site.ask("POST", f"/api/v1/approvals/{asked.id}/answer", {"answer": "reject"})

    first = await console.sees("/audit?action=approval.")
    older = first.partition('class="more"')[2].partition('href="')[2].partition('"')[0]
    second = await console.sees(older.replace("&amp;", "&"))

    assert first.count("data-row") == 50
    assert second.count("data-row") == 10
    assert (await console.get("/audit?after=bm9wZQ")).status == 422


async def test_it_is_verified_and_taken_out_a_line_an_entry(console: Browser) -> None:
    verified = await console.post("/audit/verify")
    answer = await console.get("/audit/export")

    lines = [json.loads(each) for each in answer.body.decode().splitlines()]
    assert (verified.status, b"Sound: " in verified.body) == (200, True)
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert "attachment" in answer.headers["content-disposition"]
    assert [each["number"] for each in lines] == [*range(1, len(lines) + 1)]
