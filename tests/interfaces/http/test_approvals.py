"""Requests for approval over REST: seen, answered once, and given to whoever asked."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from portico.guard.core.approvals import Answered, AnswerKind, Approval, Outcome, Status, Via
from portico.guard.core.policy import ArgumentWarning, Danger
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING
from tests.guard.approvals import an_act, an_approval
from tests.interfaces.http.asgi import Answer
from tests.interfaces.http.conftest import Site
from tests.interfaces.http.test_servers import approved

NEVER = BEGINNING + timedelta(days=300)


async def agent(site: Site, name: str = "bot") -> tuple[str, Principal]:
    """A program's key, and who comes in with it."""
    headers = ((b"idempotency-key", f"make {name}".replace(" ", "-").encode()),)
    made = await site.ask("POST", "/api/v1/keys", {"name": name, "agent": True}, headers=headers)
    assert made.status == 201, made.json
    key = str(made.json["key"])
    return key, (await site.use.authenticate(key)).principal


async def asks(site: Site, who: Principal, name: str = "one", **changes: Any) -> Approval:
    """A request of theirs, which waits."""
    act = an_act(who, tool="mail.send", to="bob@else.example", n=name)
    made = an_approval(who, name, act=act, expires_at=NEVER, **changes)
    made = replace(made, marks=(ArgumentWarning("/to", Danger.RECIPIENT),))
    return await site.gateway.approvals.show_approval.approvals.add(who, made, b'{"n":1}')


def claimed(given: Answered) -> dict[str, Any]:
    return {"status": Status.APPROVED, "answered": given, "claimed_at": BEGINNING}


async def answer(site: Site, approval: Approval, body: dict[str, Any], **more: Any) -> Answer:
    return await site.ask("POST", f"/api/v1/approvals/{approval.id}/answer", body, **more)


async def test_what_waits_is_shown_with_its_dangerous_parts(site: Site) -> None:
    _, bot = await agent(site)
    asked = await asks(site, bot)

    [listed] = (await site.ask("GET", "/api/v1/approvals", query="status=waiting")).json["data"]
    shown = (await site.ask("GET", f"/api/v1/approvals/{asked.id}")).json
    none = await site.ask("GET", "/api/v1/approvals", query="status=approved&status=rejected")

    assert listed["id"] == str(asked.id)
    assert listed["asker"] == {"id": str(bot.id), "name": "bot", "kind": "agent", "key": bot.key}
    assert listed["arguments"]["to"] == "bob@else.example"
    assert listed["marks"] == [{"pointer": "/to", "why": "recipient"}]
    assert shown == {**listed, "result": None}
    assert none.json["data"] == []


async def test_a_program_sees_its_own_and_answers_nothing(site: Site) -> None:
    key, bot = await agent(site)
    _, other = await agent(site, "other")
    mine, theirs = await asks(site, bot), await asks(site, other, "two")

    listed = (await site.ask("GET", "/api/v1/approvals", key=key)).json["data"]
    hidden = await site.ask("GET", f"/api/v1/approvals/{theirs.id}", key=key)
    refused = await answer(site, mine, {"answer": "once"}, key=key)

    assert [each["id"] for each in listed] == [str(mine.id)]
    assert (hidden.status, hidden.json["code"]) == (404, "approval_not_found")
    assert refused.status == 403


async def test_the_first_answer_counts_and_the_next_one_hears_whose_it_was(site: Site) -> None:
    _, bot = await agent(site)
    asked = await asks(site, bot)

    first = await answer(site, asked, {"answer": "once", "via": "cli"})
    late = await answer(site, asked, {"answer": "reject"})

    assert first.json["status"] == "approved"
    given = first.json["answered"]
    assert (given["answer"], given["by_name"], given["via"]) == ("once", "ana", "cli")
    assert (late.status, late.json["code"]) == (409, "approval_over")
    assert "approved by ana" in late.json["detail"]


async def test_repeating_an_answer_under_its_key_answers_alike(site: Site) -> None:
    _, bot = await agent(site)
    asked = await asks(site, bot)
    key = ((b"idempotency-key", b"answer-once"),)

    first = await answer(site, asked, {"answer": "once"}, headers=key)
    again = await answer(site, asked, {"answer": "once"}, headers=key)

    assert again.json == first.json
    assert again.headers["idempotency-replayed"] == "true"


async def test_only_the_exact_word_approves(site: Site) -> None:
    _, bot = await agent(site)
    asked = await asks(site, bot)

    for body in (
        {"answer": "yes"},
        {"answer": "Once"},
        {"answer": True},
        {"answer": None},
        {"answer": ["once"]},
        {},
        {"answer": "once", "via": "elicitation"},
        {"answer": "once", "sure": True},
    ):
        assert (await answer(site, asked, body)).status == 422, body
        still = (await site.ask("GET", f"/api/v1/approvals/{asked.id}")).json
        assert still["status"] == "waiting"


async def test_always_makes_a_rule_that_can_be_seen_and_a_no_carries_its_reason(site: Site) -> None:
    _, bot = await agent(site)
    asked, other = await asks(site, bot), await asks(site, bot, "two")

    made = (await answer(site, asked, {"answer": "always", "pattern": "mail.*"})).json
    no = (await answer(site, other, {"answer": "reject", "reason": "not today"})).json
    rules = (await site.ask("GET", "/api/v1/policy/rules")).json["data"]

    rule = next(each for each in rules if each["name"] == made["answered"]["rule"])
    assert rule["tools"] == ["mail.*"]
    assert (no["status"], no["answered"]["reason"]) == ("rejected", "not today")


async def test_what_came_of_it_is_the_askers_alone(site: Site) -> None:
    key, bot = await agent(site)
    ana = PrincipalId.parse((await site.ask("GET", "/api/v1/me")).json["id"])
    given = Answered(AnswerKind.ONCE, ana, "ana", Via.CLI, BEGINNING)
    done: dict[str, Any] = {"outcome": Outcome.DONE, "ended_at": BEGINNING, "resolved_by": "ana"}
    asked = await asks(site, bot, **claimed(given), **done)

    mine = (await site.ask("GET", f"/api/v1/approvals/{asked.id}", key=key)).json
    theirs = (await site.ask("GET", f"/api/v1/approvals/{asked.id}")).json

    assert mine["result"]["content"][0]["type"] == "text"
    assert theirs["result"] is None
    assert theirs["outcome"] == "done"


async def test_a_person_says_what_became_of_what_nobody_knows(site: Site) -> None:
    _, bot = await agent(site)
    given = Answered(AnswerKind.ONCE, bot.id, "ana", Via.CLI, BEGINNING)
    asked = await asks(site, bot, **claimed(given), outcome=Outcome.UNCERTAIN)
    path = f"/api/v1/approvals/{asked.id}/resolve"

    done = await site.ask("POST", path, {"outcome": "done"})
    again = await site.ask("POST", path, {"outcome": "skip"})
    odd = await site.ask("POST", path, {"outcome": "maybe"})

    assert done.json["outcome"] == "done"
    assert (again.status, again.json["code"]) == (409, "approval_over")
    assert odd.status == 422


async def test_a_call_that_waits_is_answered_with_where_to_ask(site: Site) -> None:
    await approved(site)
    rule = {"name": "careful", "decision": "ask", "tools": ["files.*"], "reads": True}
    made = await site.ask("POST", "/api/v1/policy/rules", rule)

    called = await site.ask("POST", "/api/v1/calls", {"tool": "files.read_file"})

    assert made.status == 201, made.json
    assert called.status == 202
    assert called.json["status"] == "approval_pending"
    assert called.headers["location"] == f"/api/v1/approvals/{called.json['approval']}"


async def test_whose_word_a_program_passes_on_is_seen_and_set(site: Site) -> None:
    key, _ = await agent(site)
    me = (await site.ask("GET", "/api/v1/me")).json["id"]
    path = f"/api/v1/keys/{key.split('_')[1]}/trust"

    before = await site.ask("GET", path)
    trusted = await site.ask("PUT", path, {"person": me})
    refused = await site.ask("PUT", path, {"person": me}, key=key)

    assert before.json["person"] is None
    assert trusted.json["person"] == (await site.ask("GET", path)).json["person"] == me
    assert refused.status == 403


async def test_whoever_asked_takes_it_back_and_nobody_else(site: Site) -> None:
    key, bot = await agent(site)
    asked = await asks(site, bot)
    path = f"/api/v1/approvals/{asked.id}/withdraw"

    others = await site.ask("POST", path)
    own = await site.ask("POST", path, key=key)
    again = await site.ask("POST", path, key=key)

    assert others.status == 404
    assert (own.status, own.json["status"]) == (200, "withdrawn")
    assert (again.status, again.json["code"]) == (409, "approval_over")


async def test_where_a_rule_asks_nothing_lasting_is_taken(site: Site) -> None:
    _, bot = await agent(site)
    asked = await asks(site, bot, rule="ask-mail")

    shown = (await site.ask("GET", f"/api/v1/approvals/{asked.id}")).json
    refused = await answer(site, asked, {"answer": "always"})

    assert shown["answers"] == ["once", "reject"]
    assert (refused.status, refused.json["code"]) == (409, "rule_asks_on")
