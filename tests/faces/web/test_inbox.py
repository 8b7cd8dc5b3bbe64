"""Approvals in the console: what is seen of them, and by whom."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.guard.core.roles import Role
from portico.kernel.label import Label
from portico.testing.kernel import BEGINNING
from tests.faces.http.test_approvals import NEVER, agent, asks
from tests.faces.web.conftest import Browser
from tests.faces.web.requests_made import another_id, status, three
from tests.faces.web.somebody import somebody

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e'


async def test_with_nothing_waiting_it_says_so(console: Browser) -> None:
    text = await console.sees("/inbox")

    assert "Nothing waits for you." in text


async def test_what_waits_is_listed_and_the_newest_is_open(console: Browser) -> None:
    _, (new, *_) = await three(console)

    text = await console.sees("/inbox")

    assert text.count("data-row") == 3
    assert f'id="row-{new.id}"' in text.partition('aria-current="true"')[0]
    assert f'data-from="/inbox/{new.id}/part"' in text
    assert "bob@else.example" in text
    assert "recipient" in text
    assert 'data-key="a"' in text
    assert 'data-key="x"' in text
    assert 'data-key="e"' in text
    assert 'data-key="w"' in text
    assert "Open the run" in text


async def test_chips_show_what_is_over(console: Browser) -> None:
    _, (new, middle, old) = await three(console)
    await console.does(f"/inbox/{new.id}/answer", {"answer": "reject"})

    waiting, answered = await console.sees("/inbox"), await console.sees("/inbox?show=answered")
    expired, every = (
        await console.sees("/inbox?show=expired"),
        await console.sees("/inbox?show=all"),
    )

    assert f"row-{new.id}" not in waiting
    assert f"row-{new.id}" in answered
    assert "Nothing has expired." in expired
    assert all(f"row-{each.id}" in every for each in (new, middle, old))


async def test_a_long_list_goes_on_by_cursor(console: Browser) -> None:
    _, bot = await agent(console.site)
    made = [
        await asks(console.site, bot, f"n{each}", at=BEGINNING + timedelta(seconds=each))
        for each in range(27)
    ]

    first = await console.sees("/inbox")
    older = first.partition('class="more"')[2].partition('href="')[2].partition('"')[0]
    second = await console.sees(older.replace("&amp;", "&"))

    assert first.count("data-row") == 25
    assert second.count("data-row") == 2
    assert f"row-{made[0].id}" in second


async def test_the_parts_are_asked_for_by_themselves(console: Browser) -> None:
    _, (new, *_) = await three(console)

    listed = (await console.get(f"/inbox/list?marked={new.id}", part=True)).body.decode()
    one = (await console.get(f"/inbox/{new.id}/part", part=True)).body.decode()

    assert listed.strip().startswith('<section id="inbox-list"')
    assert 'data-live="approvals"' in listed
    assert one.strip().startswith('<section id="inbox-detail"')
    assert len(listed) < 50_000
    assert len(one) < 50_000


async def test_long_arguments_are_at_an_address_of_their_own(console: Browser) -> None:
    _, bot = await agent(console.site)
    asked = await asks(console.site, bot)
    approvals = console.site.gateway.approvals.show_approval.approvals
    long = replace(asked, id=another_id(asked), hash="another", arguments={"body": "<b>" * 60_000})
    await approvals.add(bot, long, b"{}")

    one = await console.get(f"/inbox/{long.id}/part", part=True)
    whole = await console.get(f"/inbox/{long.id}/arguments")

    assert len(one.body) < 50_000
    assert b"too long to be edited here" in one.body
    assert whole.headers["content-type"].startswith("text/plain")
    assert whole.body.count(b"<b>") == 60_000


async def test_why_is_told_or_why_not(console: Browser) -> None:
    _, (new, *_) = await three(console)

    answer = await console.get(f"/inbox/{new.id}/why", part=True)

    assert answer.status == 200
    assert b"mail.send" in answer.body or b'role="alert"' in answer.body


@pytest.mark.parametrize("path", ["/inbox/apr_nothing", "/inbox/run_00000000000000000000000000"])
async def test_what_is_no_request_is_not_there(console: Browser, path: str) -> None:
    assert (await console.get(path)).status == 404


async def test_a_bad_cursor_is_told(console: Browser) -> None:
    assert (await console.get("/inbox?after=bm9wZQ")).status == 422


async def test_who_may_not_answer_sees_their_own_and_no_buttons(console: Browser) -> None:
    _, (new, *_) = await three(console)
    bo = await somebody(console, "bo")

    listed = await bo.sees("/inbox")

    assert "Nothing waits for you." in listed
    assert (await bo.get(f"/inbox/{new.id}")).status == 404
    assert (await bo.post(f"/inbox/{new.id}/answer", {"answer": "once"})).status in {403, 404}
    assert (await status(console, new))["status"] == "waiting"


async def test_what_is_above_somebody_is_not_there(console: Browser) -> None:
    _, bot = await agent(console.site)
    ana = (await console.site.use.authenticate(console.site.key)).principal
    approvals = console.site.gateway.approvals.show_approval.approvals
    plain = await asks(console.site, bot)
    secret = await asks(console.site, bot, "two", at=BEGINNING + timedelta(seconds=9))
    hidden = replace(
        secret,
        id=another_id(secret),
        hash="another",
        label=Label.parse("restricted"),
        tool="vault.open_the_safe",
    )
    await approvals.add(ana, hidden, b"{}")
    op = await somebody(console, "op", role=Role.OPERATOR, clearance="team")

    text = await op.sees("/inbox?show=all")

    assert f"row-{plain.id}" in text
    assert "open_the_safe" not in text
    assert "open_the_safe" in await console.sees("/inbox?show=all")
    for path in ("", "/part", "/why", "/arguments"):
        assert (await op.get(f"/inbox/{hidden.id}{path}")).status == 404
    assert (await op.post(f"/inbox/{hidden.id}/answer", {"answer": "once"})).status == 404


async def test_hostile_names_are_text(console: Browser) -> None:
    _, bot = await agent(console.site)
    approvals = console.site.gateway.approvals.show_approval.approvals
    plain = await asks(console.site, bot)
    await console.does(f"/inbox/{plain.id}/answer", {"answer": "reject"})
    hostile = replace(
        plain,
        id=another_id(plain),
        hash="another",
        tool=f"mail.{HOSTILE}",
        server=HOSTILE,
        rule=HOSTILE,
        reason=HOSTILE,
        asker=replace(plain.asker, name=HOSTILE),
        arguments={HOSTILE: HOSTILE, "old": HOSTILE, "new": "b"},
        before=({"tool": HOSTILE, "effect": HOSTILE, "at": HOSTILE, "outcome": HOSTILE},),
        expires_at=NEVER,
    )
    await approvals.add(bot, hostile, b"{}")

    text = await console.sees(f"/inbox/{hostile.id}")

    assert "<script>alert" not in text
    assert "<img" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "\u202e" not in text.replace("\\u202e", "")
