"""Projects, conversations and messages over REST."""

from dataclasses import replace

import pytest

from tests.faces.http.conftest import Site
from tests.faces.http.table import Table, laid

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


async def test_lists_are_read_page_by_page(table: Table) -> None:
    for number in range(3):
        await table.ana.got("POST", "/projects", {"name": f"p{number}"})

    first = await table.ana.got("GET", "/projects", query="limit=2")
    second = await table.ana.got("GET", "/projects", query=f"limit=2&after={first['next']}")

    names = [each["name"] for page in (first, second) for each in page["data"]]
    assert names == ["p2", "p1", "p0", "heron"]


async def test_the_same_key_makes_one_project(table: Table) -> None:
    key = (b"idempotency-key", b"one")

    first = await table.ana.ask("POST", "/projects", {"name": "crane"}, key)
    again = await table.ana.ask("POST", "/projects", {"name": "crane"}, key)

    assert first.json == again.json
    assert again.headers["idempotency-replayed"] == "true"


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

    answers = [
        (await table.robin.ask(method, path.format(known), body)).body.replace(
            known.encode(), b"..."
        )
        == (await table.robin.ask(method, path.format(unknown), body)).body.replace(
            unknown.encode(), b"..."
        )
        for method, path, body, known, unknown in [
            ("GET", "/projects/{}", None, hidden["id"], f"prj_{NOBODY}"),
            ("GET", "/projects/{}", None, "owl", "owm"),
            ("PATCH", "/projects/{}", {"name": "x"}, hidden["id"], f"prj_{NOBODY}"),
            ("GET", "/projects/{}/memory", None, hidden["id"], f"prj_{NOBODY}"),
            ("GET", "/projects/{}/leases", None, hidden["id"], f"prj_{NOBODY}"),
            ("GET", "/projects/{}/work", None, hidden["id"], f"prj_{NOBODY}"),
            ("GET", "/projects/{}/presence", None, hidden["id"], f"prj_{NOBODY}"),
            ("GET", "/projects/{}/export", None, hidden["id"], f"prj_{NOBODY}"),
            ("GET", "/conversations/{}", None, talk["id"], f"cnv_{NOBODY}"),
            ("GET", "/conversations/{}/messages", None, talk["id"], f"cnv_{NOBODY}"),
            ("GET", "/conversations/{}/participants", None, talk["id"], f"cnv_{NOBODY}"),
            ("POST", "/conversations/{}/messages", {"body": "x"}, talk["id"], f"cnv_{NOBODY}"),
            ("POST", "/conversations/{}/participants", {}, talk["id"], f"cnv_{NOBODY}"),
            ("GET", "/messages/{}", None, said["id"], f"msg_{NOBODY}"),
            ("GET", "/messages/{}/thread", None, said["id"], f"msg_{NOBODY}"),
            ("GET", "/messages/{}/versions", None, said["id"], f"msg_{NOBODY}"),
            ("GET", "/messages/{}/acknowledgements", None, said["id"], f"msg_{NOBODY}"),
            ("GET", "/messages/{}/declassifications", None, said["id"], f"msg_{NOBODY}"),
            ("DELETE", "/messages/{}", None, said["id"], f"msg_{NOBODY}"),
        ]
    ]

    assert all(answers), answers
    assert await table.robin.refused("GET", "/projects/owl") == (404, "project_not_found")
    listed = await table.robin.got("GET", "/projects")
    assert [each["name"] for each in listed["data"]] == ["heron"]


async def test_what_is_said_is_read_from_where_one_left_off(table: Table) -> None:
    await table.ana.says(table.conversation, "one")
    await table.ana.says(table.conversation, "two")

    first = await table.robin.reads(table.conversation, "limit=1")
    second = await table.robin.reads(table.conversation, f"cursor={first['cursor']}")
    third = await table.robin.reads(table.conversation, f"cursor={second['cursor']}")

    assert [each["body"] for each in (*first["data"], *second["data"])] == ["one", "two"]
    assert (first["more"], second["more"], third["data"]) == (True, False, [])
    assert not any("seq" in each or "place" in each for each in first["data"])


async def test_one_looks_back_from_the_end(table: Table) -> None:
    for word in ("one", "two", "three"):
        await table.ana.says(table.conversation, word)

    last = await table.robin.reads(table.conversation, "before=end&limit=2")
    before = await table.robin.reads(table.conversation, f"before={last['cursor']}&limit=2")

    assert [each["body"] for each in last["data"]] == ["two", "three"]
    assert [each["body"] for each in before["data"]] == ["one"]
    assert (last["more"], before["more"]) == (True, False)


async def test_a_cursor_at_the_end_gives_only_what_comes_then(table: Table) -> None:
    await table.ana.says(table.conversation, "before")
    end = await table.robin.got("GET", f"/conversations/{table.conversation}/cursor")
    await table.ana.says(table.conversation, "after")

    page = await table.robin.reads(table.conversation, f"cursor={end['cursor']}")

    assert [each["body"] for each in page["data"]] == ["after"]


async def test_a_cursor_is_its_readers_alone(table: Table) -> None:
    page = await table.robin.reads(table.conversation)

    path = f"/conversations/{table.conversation}/messages"
    theirs = await table.scout.refused("GET", path, query=f"cursor={page['cursor']}")

    assert theirs == (422, "bad_cursor")


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


async def test_the_same_key_is_the_same_message(table: Table) -> None:
    path, key = f"/conversations/{table.conversation}/messages", (b"idempotency-key", b"one")

    first = await table.robin.ask("POST", path, {"body": "once"}, key)
    again = await table.robin.ask("POST", path, {"body": "once"}, key)
    other = await table.robin.ask("POST", path, {"body": "twice"}, key)

    assert (first.status, again.status, other.status) == (201, 201, 422)
    assert first.json["id"] == again.json["id"]
    assert again.headers["idempotency-replayed"] == "true"
    assert other.json["code"] == "idempotency_key_reused"
    assert len((await table.ana.reads(table.conversation))["data"]) == 1


async def test_who_has_read_something_secret_writes_it_as_secret(table: Table) -> None:
    secret = await table.ana.says(table.conversation, "deep", label="confidential")
    await table.scout.reads(table.conversation)

    raised = await table.scout.says(table.conversation, "so I heard")
    path = f"/conversations/{table.conversation}/messages"
    down = await table.scout.refused("POST", path, {"body": "psst", "label": "team"})
    up = await table.robin.refused("POST", path, {"body": "psst", "label": "restricted"})

    assert (secret["raised"], raised["raised"]) == (False, True)
    assert raised["label"] == "confidential"
    assert down == (403, "write_down")
    assert up == (403, "above_clearance")
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


async def test_the_inbox_counts_what_is_unread_and_who_is_named(table: Table) -> None:
    await table.ana.says(table.conversation, "hello", mentions=[table.robin.id])
    await table.ana.says(table.conversation, "and more")

    before = await table.robin.got("GET", "/inbox")
    page = await table.robin.reads(table.conversation, "limit=1")
    await table.robin.got(
        "POST", f"/conversations/{table.conversation}/read", {"cursor": page["cursor"]}
    )
    after = await table.robin.got("GET", "/inbox")
    [rest] = (await table.robin.reads(table.conversation, f"cursor={page['cursor']}"))["data"]
    await table.robin.got("POST", f"/messages/{rest['id']}/read")

    [item] = before["unread"]
    assert (item["count"], item["mentions"], before["total"]) == (2, 1, 2)
    assert item["conversation"]["title"] == "Nests"
    assert after["total"] == 1
    assert (await table.robin.got("GET", "/inbox"))["total"] == 0


async def test_what_is_muted_does_not_count(table: Table) -> None:
    path = f"/conversations/{table.conversation}/mute"
    await table.robin.got("PUT", path, {"muted": True})
    await table.ana.says(table.conversation, "hello")
    muted = await table.robin.got("GET", "/inbox")
    await table.robin.got("PUT", path, {"muted": False})

    assert muted["total"] == 0
    assert (await table.robin.got("GET", "/inbox"))["total"] == 1


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


async def test_answers_are_a_thread(table: Table) -> None:
    root = await table.ana.says(table.conversation, "who?")
    await table.ana.says(table.conversation, "by the way")
    answer = await table.robin.says(table.conversation, "I", reply_to=root["id"])

    thread = await table.scout.got("GET", f"/messages/{answer['id']}/thread")

    assert [each["body"] for each in thread["data"]] == ["who?", "I"]
    assert thread["data"][1]["thread"] == root["id"]
    assert thread["next"] is None


async def test_a_thread_is_read_page_by_page(table: Table) -> None:
    root = await table.ana.says(table.conversation, "who?")
    await table.robin.says(table.conversation, "I", reply_to=root["id"])
    path = f"/messages/{root['id']}/thread"

    first = await table.scout.got("GET", path, query="limit=1")
    then = await table.scout.got("GET", path, query=f"limit=1&after={first['next']}")

    assert [each["body"] for page in (first, then) for each in page["data"]] == ["who?", "I"]


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
    answer = await table.ana.ask(
        "POST",
        f"/conversations/{table.conversation}/messages",
        {"body": 1, "label": "secret", "reply_to": "msg", "shout": True},
    )

    assert answer.status == 422
    assert {each["field"] for each in answer.json["errors"]} == {
        "body",
        "label",
        "reply_to",
        "shout",
    }
    hints = {each["field"]: each["message"] for each in answer.json["errors"]}
    assert hints["reply_to"] == "must be a message's id: msg_…"


async def test_nothing_is_not_a_message(table: Table) -> None:
    path = f"/conversations/{table.conversation}/messages"

    assert await table.ana.refused("POST", path, {"body": ""}) == (422, "bad_bridge_input")
