"""Approvals in the console: what is seen of them, and how they are answered."""

from dataclasses import replace
from datetime import timedelta

from portico.testing.memory_store import BEGINNING
from tests.guard.approvals import an_act, an_approval
from tests.interfaces.console.conftest import Browser
from tests.interfaces.console.requests_made import another_id, status, three, uncertain
from tests.interfaces.http.test_approvals import NEVER, agent, asks
from tests.interfaces.http.test_servers import approved


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


async def test_one_yes_and_the_next_one_is_open_until_there_is_none(console: Browser) -> None:
    _, (new, middle, old) = await three(console)
    fields = {"answer": "once", "once": "a1"}

    to = await console.does(f"/inbox/{new.id}/answer", fields)
    again = await console.post(f"/inbox/{new.id}/answer", fields)
    await console.does(f"/inbox/{middle.id}/answer", {"answer": "once"})
    last = await console.does(f"/inbox/{old.id}/answer", {"answer": "once"})

    assert (to, again.status, last) == (f"/inbox/{middle.id}?done=once", 303, "/inbox?done=once")
    found = await status(console, new)
    assert (found["status"], found["answered"]["via"]) == ("approved", "web")
    assert "Approved, once." in await console.sees(last)


async def test_a_no_carries_its_reason_and_who_comes_late_is_told_who_was_first(
    console: Browser,
) -> None:
    _, (new, *_) = await three(console)

    await console.does(f"/inbox/{new.id}/answer", {"answer": "reject", "reason": " not today "})
    late = await console.post(f"/inbox/{new.id}/answer", {"answer": "once"})

    found = await status(console, new)
    assert (found["status"], found["answered"]["reason"]) == ("rejected", "not today")
    assert (late.status, b"rejected by ana" in late.body) == (409, True)


async def test_only_one_exact_word_answers(console: Browser) -> None:
    _, (new, *_) = await three(console)
    unsure = await uncertain(console)
    words: list[str | list[str]] = ["", "yes", "Once", "true", "ONCE", ["once", "reject"]]

    for word in words:
        answer = await console.post(f"/inbox/{new.id}/answer", {"answer": word})
        outcome = await console.post(f"/inbox/{unsure.id}/resolve", {"outcome": word})

        assert (answer.status, outcome.status) == (422, 422), word
    assert (await status(console, new))["status"] == "waiting"
    assert (await status(console, unsure))["outcome"] == "uncertain"


async def test_always_makes_a_rule(console: Browser) -> None:
    _, (new, *_) = await three(console)

    await console.does(f"/inbox/{new.id}/answer", {"answer": "always", "pattern": "mail.*"})

    made = (await status(console, new))["answered"]["rule"]
    assert made in await console.sees("/settings/policy")


async def test_edited_arguments_are_another_request_and_are_compared(console: Browser) -> None:
    await approved(console.site)
    _, bot = await agent(console.site)
    act = an_act(bot, tool="files.read_file", path="/etc/passwd")
    made = an_approval(bot, act=act, expires_at=NEVER)
    approvals = console.site.gateway.approvals.show_approval.approvals
    asked = await approvals.add(bot, made, b"{}")

    to = await console.does(f"/inbox/{asked.id}/edit", {"arguments": '{"path": "/srv/notes"}'})

    found = await status(console, asked)
    after = await console.sees(f"/inbox/{found['replaced_by']}")
    assert to == "/inbox?done=edited"
    assert found["status"] == "replaced"
    assert "Arguments, and what they were" in after
    assert '<del class="inbox-value">/etc/passwd</del>' in after
    assert '<ins class="inbox-value">/srv/notes</ins>' in after


async def test_arguments_that_are_none_are_shown_again_with_what_is_wrong(
    console: Browser,
) -> None:
    _, (new, *_) = await three(console)

    answer = await console.post(f"/inbox/{new.id}/edit", {"arguments": '{"to": '})

    assert answer.status == 422
    assert b"is not JSON: line 1" in answer.body
    assert b"{&#34;to&#34;:" in answer.body
    assert b'data-key="e" open' in answer.body
    assert (await status(console, new))["status"] == "waiting"


async def test_what_nobody_knows_is_said_by_a_person(console: Browser) -> None:
    for outcome, came in (("done", "done"), ("skip", "skipped"), ("retry", None)):
        unsure = await uncertain(console, outcome)

        text = await console.sees("/inbox")
        await console.does(f"/inbox/{unsure.id}/resolve", {"outcome": outcome})

        assert "Nobody knows whether these were made" in text
        assert (await status(console, unsure))["outcome"] == came


async def test_nobody_answers_their_own_but_takes_it_back(console: Browser) -> None:
    ana = (await console.site.use.authenticate(console.site.key)).principal
    own = await asks(console.site, ana)

    text = await console.sees(f"/inbox/{own.id}")
    refused = await console.post(f"/inbox/{own.id}/answer", {"answer": "once"})
    await console.does(f"/inbox/{own.id}/withdraw")

    assert 'data-key="a"' not in text
    assert "Take it back" in text
    assert refused.status == 403
    assert (await status(console, own))["status"] == "withdrawn"
