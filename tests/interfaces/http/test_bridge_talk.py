"""Projects, conversations and messages over REST, and news of them."""

import asyncio
from dataclasses import replace

import pytest

from portico.interfaces.http.streaming import Manners
from tests.interfaces.http.conftest import Site
from tests.interfaces.http.table import Table, laid

NOBODY = "0" * 26


@pytest.fixture
async def table(site: Site) -> Table:
    return await laid(site)


async def test_a_project_is_made_found_by_its_name_changed_and_put_away(table: Table) -> None:
    made = await table.ana.got("POST", "/projects", {"name": "crane", "description": "Tall."})

    found = await table.ana.got("GET", "/projects/crane")
    renamed = await table.ana.got("PATCH", f"/projects/{made['id']}", {"name": "crane 2"})
    away = await table.ana.got("PATCH", f"/projects/{made['id']}", {"archived": True})
    there = await table.ana.got("GET", "/projects")
    archived = await table.ana.got("GET", "/projects", query="archived=true")

    assert found == made
    assert (made["description"], made["label"], made["archived_at"]) == ("Tall.", "public", None)
    assert (renamed["name"], renamed["description"]) == ("crane 2", "Tall.")
    assert away["archived_at"] is not None
    assert [each["name"] for each in there["data"]] == ["heron"]
    assert [each["name"] for each in archived["data"]] == ["crane 2"]


async def test_a_key_that_may_see_less_does_not_learn_what_was_made_with_a_better_one(
    table: Table,
) -> None:
    lesser = await table.ana.got(
        "POST", "/keys", {"name": "l", "principal": table.scout.id, "clearance": "team"}
    )
    low = replace(table.scout, key=lesser["key"])
    key = (b"idempotency-key", b"one")
    await table.ana.says(table.conversation, "hoot", label="confidential")
    await table.scout.reads(table.conversation)
    project = {"name": "crane"}
    talk = {"project": table.project, "title": "Eggs"}

    for path, body in (("/projects", project), ("/conversations", talk)):
        high = await table.scout.got("POST", path, body, key)
        again = await table.scout.ask("POST", path, body, key)
        other = await low.ask("POST", path, body, key)
        otherwise = await table.scout.ask("POST", path, {**body, "label": "restricted"}, key)

        assert (again.status, again.json["id"]) == (201, high["id"])
        assert again.headers["idempotency-replayed"] == "true"
        assert "idempotency-replayed" not in other.headers
        assert other.status == 201
        assert other.json["id"] != high["id"]
        assert (high["label"], other.json["label"]) in {
            ("confidential", "public"),
            ("confidential", "team"),
        }
        assert otherwise.json["code"] == "idempotency_key_reused"


async def test_whoever_asks_again_has_read_what_was_made(table: Table) -> None:
    key = (b"idempotency-key", b"one")
    wish = {"name": "owl", "label": "confidential"}
    await table.scout.got("POST", "/projects", wish, key)
    before = await table.scout.got("GET", "/whoami")

    await table.scout.got("POST", "/projects", wish, key)

    after = await table.scout.got("GET", "/whoami")
    assert (before["mark"], after["mark"]) == ("public", "confidential")


async def test_what_is_above_somebody_is_not_there_for_them(table: Table) -> None:
    hidden = await table.ana.got("POST", "/projects", {"name": "owl", "label": "restricted"})
    talk = await table.ana.got("POST", "/conversations", {"project": hidden["id"], "title": "Dark"})
    said = await table.ana.says(talk["id"], "hoot")
    file = await table.ana.attaches(table.project, b"deep", query="name=a&label=restricted")
    project = (hidden["id"], f"prj_{NOBODY}")
    conversation = (talk["id"], f"cnv_{NOBODY}")
    message = (said["id"], f"msg_{NOBODY}")

    async def told(method: str, path: str, body: object, name: str) -> bytes:
        answer = await table.robin.ask(method, path.format(name), body)
        return answer.body.replace(name.encode(), b"...")

    told_apart = [
        (method, path)
        for method, path, body, (known, unknown) in [
            ("GET", "/projects/{}", None, project),
            ("GET", "/projects/{}", None, ("owl", "owm")),
            ("PATCH", "/projects/{}", {"name": "x"}, project),
            ("GET", "/projects/{}/memory", None, project),
            ("GET", "/projects/{}/leases", None, project),
            ("GET", "/projects/{}/work", None, project),
            ("GET", "/projects/{}/presence", None, project),
            ("GET", "/projects/{}/export", None, project),
            ("GET", "/conversations/{}", None, conversation),
            ("GET", "/conversations/{}/messages", None, conversation),
            ("GET", "/conversations/{}/participants", None, conversation),
            ("POST", "/conversations/{}/messages", {"body": "x"}, conversation),
            ("POST", "/conversations/{}/participants", {}, conversation),
            ("GET", "/messages/{}", None, message),
            ("GET", "/messages/{}/thread", None, message),
            ("GET", "/messages/{}/versions", None, message),
            ("GET", "/messages/{}/acknowledgements", None, message),
            ("GET", "/messages/{}/declassifications", None, message),
            ("DELETE", "/messages/{}", None, message),
            ("GET", "/attachments/{}", None, (file.json["digest"], "0" * 64)),
        ]
        if await told(method, path, body, known) != await told(method, path, body, unknown)
    ]

    assert told_apart == []
    assert await table.robin.refused("GET", "/projects/owl") == (404, "project_not_found")
    listed = await table.robin.got("GET", "/projects")
    assert [each["name"] for each in listed["data"]] == ["heron"]


async def test_what_is_said_is_read_on_from_a_cursor_and_back_from_the_end(table: Table) -> None:
    for word in ("one", "two"):
        await table.ana.says(table.conversation, word)
    end = await table.robin.got("GET", f"/conversations/{table.conversation}/cursor")
    await table.ana.says(table.conversation, "three")

    first = await table.robin.reads(table.conversation, "limit=1")
    second = await table.robin.reads(table.conversation, f"cursor={first['cursor']}")
    new = await table.robin.reads(table.conversation, f"cursor={end['cursor']}")
    last = await table.robin.reads(table.conversation, "before=end&limit=2")
    before = await table.robin.reads(table.conversation, f"before={last['cursor']}&limit=2")

    pages = (first, second, new, last, before)
    assert [([each["body"] for each in page["data"]], page["more"]) for page in pages] == [
        (["one"], True),
        (["two", "three"], False),
        (["three"], False),
        (["two", "three"], True),
        (["one"], False),
    ]
    assert not any("seq" in each or "place" in each for each in first["data"])


async def test_several_conversations_are_read_under_one_cursor(table: Table) -> None:
    other = await table.ana.got(
        "POST", "/conversations", {"project": table.project, "title": "Eggs"}
    )
    both = f"conversation={table.conversation}&conversation={other['id']}"
    start = await table.robin.got("GET", "/bridge/cursor", query=both)
    await table.ana.says(table.conversation, "nest")
    await table.ana.says(other["id"], "egg")

    page = await table.robin.got(
        "GET", "/bridge/messages", query=f"{both}&cursor={start['cursor']}"
    )
    read = {"conversations": [table.conversation, other["id"]], "cursor": page["cursor"]}
    await table.robin.got("POST", "/bridge/read", read)

    assert [each["body"] for each in page["data"]] == ["nest", "egg"]
    assert (await table.robin.got("GET", "/inbox"))["total"] == 0


async def test_who_has_read_something_secret_writes_it_as_secret(table: Table) -> None:
    secret = await table.ana.says(table.conversation, "deep", label="confidential")
    await table.scout.reads(table.conversation)

    raised = await table.scout.says(table.conversation, "so I heard")
    path = f"/conversations/{table.conversation}/messages"
    down = await table.scout.refused("POST", path, {"body": "psst", "label": "team"})
    up = await table.robin.refused("POST", path, {"body": "psst", "label": "restricted"})

    assert (secret["raised"], raised["raised"], raised["label"]) == (False, True, "confidential")
    assert (down, up) == ((403, "write_down"), (403, "above_clearance"))
    assert (await table.robin.reads(table.conversation))["data"] == []
    me = await table.scout.got("GET", "/whoami")
    assert (me["mark"], me["clearance"], me["kind"]) == ("confidential", "confidential", "agent")


async def test_who_reads_no_more_than_they_want_stays_low(table: Table) -> None:
    await table.ana.says(table.conversation, "deep", label="confidential")
    await table.ana.says(table.conversation, "shallow")

    page = await table.scout.reads(table.conversation, "upto=team")
    inbox = await table.scout.got("GET", "/inbox", query="upto=team")
    said = await table.scout.says(table.conversation, "still low")

    assert [each["body"] for each in page["data"]] == ["shallow"]
    assert inbox["total"] == 1
    assert (said["label"], said["raised"]) == ("team", False)


async def test_the_inbox_counts_what_is_unread_who_is_named_and_not_what_is_muted(
    table: Table,
) -> None:
    here = f"/conversations/{table.conversation}"
    await table.ana.says(table.conversation, "hello", mentions=[table.robin.id])
    await table.ana.says(table.conversation, "and more")

    before = await table.robin.got("GET", "/inbox")
    page = await table.robin.reads(table.conversation, "limit=1")
    await table.robin.got("POST", f"{here}/read", {"cursor": page["cursor"]})
    await table.robin.got("PUT", f"{here}/mute", {"muted": True})
    muted = await table.robin.got("GET", "/inbox")
    await table.robin.got("PUT", f"{here}/mute", {"muted": False})
    after = await table.robin.got("GET", "/inbox")
    [rest] = (await table.robin.reads(table.conversation, f"cursor={page['cursor']}"))["data"]
    await table.robin.got("POST", f"/messages/{rest['id']}/read")

    [item] = before["unread"]
    assert (item["count"], item["mentions"], before["total"]) == (2, 1, 2)
    assert item["conversation"]["title"] == "Nests"
    assert (muted["total"], after["total"]) == (0, 1)
    assert (await table.robin.got("GET", "/inbox"))["total"] == 0


async def test_a_message_is_changed_by_its_sender_and_keeps_what_it_was(table: Table) -> None:
    said = await table.robin.says(table.conversation, "teh nest")
    path = f"/messages/{said['id']}"

    others = await table.scout.refused("PATCH", path, {"body": "mine"})
    edited = await table.robin.got("PATCH", path, {"body": "the nest"})
    versions = await table.ana.got("GET", f"{path}/versions")
    await table.robin.got("DELETE", path)
    gone = await table.ana.got("GET", path)

    assert others == (403, "not_yours")
    assert (edited["body"], edited["edited_at"] is not None) == ("the nest", True)
    assert [each["body"] for each in versions["data"]] == ["teh nest"]
    assert (gone["body"], gone["deleted_at"] is not None) == ("", True)


async def test_answers_are_a_thread_which_is_read_page_by_page(table: Table) -> None:
    root = await table.ana.says(table.conversation, "who?")
    await table.ana.says(table.conversation, "by the way")
    answer = await table.robin.says(table.conversation, "I", reply_to=root["id"])
    path = f"/messages/{answer['id']}/thread"

    thread = await table.scout.got("GET", path)
    first = await table.scout.got("GET", path, query="limit=1")
    then = await table.scout.got("GET", path, query=f"limit=1&after={first['next']}")

    assert [each["body"] for each in thread["data"]] == ["who?", "I"]
    assert (thread["data"][1]["thread"], thread["next"]) == (root["id"], None)
    assert first["data"] + then["data"] == thread["data"]


async def test_what_is_to_be_acknowledged_is_overdue_until_it_is(table: Table) -> None:
    said = await table.ana.says(
        table.conversation,
        "fire",
        addressed=[table.robin.id],
        acknowledge={"until": "2020-01-01T00:00:00Z"},
    )
    path = f"/messages/{said['id']}/acknowledgements"

    before = await table.robin.got("GET", "/inbox")
    await table.robin.got("POST", path)
    known = await table.ana.got("GET", path)
    after = await table.robin.got("GET", "/inbox")

    assert [each["id"] for each in before["overdue"]] == [said["id"]]
    assert [each["by"] for each in known["data"]] == [table.robin.id]
    assert after["overdue"] == []


async def test_a_closed_conversation_is_for_those_who_take_part(table: Table) -> None:
    wish = {"project": table.project, "title": "Us", "closed": True}
    made = await table.ana.got("POST", "/conversations", {**wish, "participants": [table.scout.id]})
    path = f"/conversations/{made['id']}"

    outside = await table.robin.refused("GET", path)
    await table.scout.got("POST", f"{path}/participants", {"principal": table.robin.id})
    inside = await table.robin.got("GET", path)
    taking_part = await table.robin.got("GET", f"{path}/participants")
    await table.robin.got("DELETE", f"{path}/participants/{table.robin.id}")

    assert outside == (404, "conversation_not_found")
    assert inside["closed"]
    names = [each["name"] for each in taking_part["data"]]
    assert sorted(names) == ["ana", "robin", "scout"]
    assert await table.robin.refused("GET", path) == (404, "conversation_not_found")


async def test_a_conversation_is_renamed_and_put_away(table: Table) -> None:
    path = f"/conversations/{table.conversation}"
    renamed = await table.ana.got("PATCH", path, {"title": "Eggs"})
    await table.ana.got("PATCH", path, {"archived": True})

    refused = await table.robin.refused("POST", f"{path}/messages", {"body": "late"})
    there = await table.ana.got("GET", "/conversations", query=f"project={table.project}")
    away = await table.ana.got("GET", "/conversations", query="archived=true")

    assert renamed["title"] == "Eggs"
    assert refused == (409, "archived")
    assert there["data"] == []
    assert [each["title"] for each in away["data"]] == ["Eggs"]


async def test_messages_are_found_by_words_and_by_meaning(table: Table) -> None:
    await table.ana.says(table.conversation, "the heron stands")
    await table.ana.says(table.conversation, "zzz")
    await table.ana.says(table.conversation, "the heron flies", label="confidential")

    by_words = await table.robin.got("GET", "/bridge/search", query="q=heron")
    by_meaning = await table.robin.got(
        "GET", "/bridge/search", query=f"q=heron&by=meaning&conversation={table.conversation}"
    )
    of_all = await table.scout.got(
        "GET", "/bridge/search", query=f"q=heron&project={table.project}"
    )

    assert [each["message"]["body"] for each in by_words["data"]] == ["the heron stands"]
    assert by_meaning["data"][0]["message"]["body"] == "the heron stands"
    assert len(of_all["data"]) == 2


async def test_every_flaw_of_a_request_is_told_with_its_field(table: Table) -> None:
    path = f"/conversations/{table.conversation}/messages"
    wrong = {"body": 1, "label": "secret", "reply_to": "msg", "shout": True}

    answer = await table.ana.ask("POST", path, wrong)
    empty = await table.ana.refused("POST", path, {"body": ""})
    patient = await table.ana.refused("GET", path, query="wait=31")

    assert answer.status == 422
    hints = {each["field"]: each["message"] for each in answer.json["errors"]}
    assert hints.keys() == {"body", "label", "reply_to", "shout"}
    assert hints["reply_to"] == "must be a message's id: msg_…"
    assert (empty, patient) == ((422, "bad_bridge_input"), (422, "invalid_request"))


async def test_a_stream_says_where_there_is_news_and_nothing_else(table: Table) -> None:
    async with table.robin.follows(table.conversation) as stream:
        await stream.takes(1)
        await table.ana.says(table.conversation, "hello")
        first, second = await stream.takes(2)

    assert first == second
    assert (second.event, second.id) == ("news", None)
    assert second.data == {"conversation": table.conversation}
    assert stream.headers["content-type"].startswith("text/event-stream")


async def test_a_secret_wakes_those_who_are_cleared_for_it_and_they_have_read_as_much(
    table: Table,
) -> None:
    async with (
        table.robin.follows(table.conversation) as stream,
        table.scout.follows(table.conversation) as cleared,
    ):
        await stream.takes(1)
        await cleared.takes(1)
        await table.ana.says(table.conversation, "deep", label="confidential")
        await cleared.takes(2)
        marked = await table.scout.got("GET", "/whoami")
        await table.ana.says(table.conversation, "shallow")
        await stream.takes(2)

    assert len(stream.events) == 2
    assert marked["mark"] == "confidential"


async def test_who_may_not_follow_is_told_before_anything_is_sent(table: Table) -> None:
    query = f"conversation={table.conversation}&conversation=cnv_{NOBODY}"

    refused = await table.robin.refused("GET", "/bridge/events", query=query)
    none = await table.robin.refused("GET", "/bridge/events")

    assert refused == (404, "conversation_not_found")
    assert none == (422, "invalid_request")


async def test_another_clearance_is_a_reset_that_ends_a_stream_and_a_cursor(site: Site) -> None:
    table = await laid(site, manners=Manners(heartbeat=0.05, wait_timeout=1.0))
    await table.ana.says(table.conversation, "one")
    page = await table.scout.reads(table.conversation)
    async with table.scout.follows(table.conversation) as stream:
        await stream.takes(1)
        await table.ana.got("PATCH", f"/principals/{table.scout.id}", {"clearance": "team"})
        await stream.until(lambda: stream.complete)
    again = await table.scout.reads(table.conversation, f"cursor={page['cursor']}")

    assert stream.names[0] == "news"
    assert stream.names[-2:] == ["reset", "end"]
    assert stream.events[-2].data == {"conversation": table.conversation}
    assert again["reset"]
    assert [each["body"] for each in again["data"]] == ["one"]


async def test_a_reader_may_wait_for_what_comes(table: Table) -> None:
    end = await table.robin.got("GET", f"/conversations/{table.conversation}/cursor")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(
            table.robin.reads(table.conversation, f"cursor={end['cursor']}&wait=30")
        )
        await asyncio.sleep(0)
        await table.ana.says(table.conversation, "there you are")

    assert [each["body"] for each in waiting.result()["data"]] == ["there you are"]
