"""The bridge in a running Portico: two agents and a person at one table, over REST alone."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import httpx2
import pytest

from tests.installation import Installation, installation

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.timeout(300),
]

NOBODY = "0" * 26


@dataclass(frozen=True)
class Seat:
    house: Installation
    id: str
    key: str

    def ask(self, method: str, path: str, body: object = None, **more: Any) -> httpx2.Response:
        with self.house.client(self.key) as client:
            sent: dict[str, Any] = {} if body is None else {"json": body}
            return client.request(method, path, **sent, **more)

    def got(self, method: str, path: str, body: object = None, **more: Any) -> Any:
        answer = self.ask(method, path, body, **more)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    def refused(self, method: str, path: str, body: object = None, **more: Any) -> tuple[int, str]:
        answer = self.ask(method, path, body, **more)
        return answer.status_code, answer.json()["code"]

    def says(self, conversation: str, text: str, **more: object) -> Any:
        path = f"/conversations/{conversation}/messages"
        return self.got("POST", path, {"body": text, **more})

    def reads(self, conversation: str, **query: object) -> Any:
        return self.got("GET", f"/conversations/{conversation}/messages", params=query)

    @contextmanager
    def following(self, *conversations: str) -> Iterator[Iterator[tuple[str, Any]]]:
        with (
            self.house.client(self.key) as client,
            client.stream("GET", "/bridge/events", params={"conversation": conversations}) as told,
        ):
            assert told.status_code == 200
            yield events(told.iter_lines())


def events(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    name = ""
    for line in lines:
        assert not line.startswith("id:"), "a wake-up carries no id"
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


@dataclass(frozen=True)
class Table:
    """Ana is cleared for all, `scout` for what is confidential, `robin` for the team's."""

    house: Installation
    ana: Seat
    scout: Seat
    robin: Seat
    project: str

    def begun(self, title: str, **more: object) -> str:
        wish = {"project": self.project, "title": title, **more}
        wish.setdefault("participants", [self.scout.id, self.robin.id])
        made: str = self.ana.got("POST", "/conversations", wish)["id"]
        return made


@pytest.fixture(scope="module")
def house() -> Iterator[Installation]:
    with installation() as house, house.serving():
        yield house
        assert "Traceback" not in house.log


@pytest.fixture
def table(house: Installation, request: pytest.FixtureRequest) -> Table:
    """With agents and a project of its own: what is read in one test is not forgotten in the
    next."""
    with house.client() as client:
        me = client.get("/me").json()["id"]
    ana, which = Seat(house, me, house.key), sha256(request.node.name.encode()).hexdigest()[:8]
    scout = seated(ana, f"scout-{which}", "confidential")
    robin = seated(ana, f"robin-{which}", "team")
    project = ana.got("POST", "/projects", {"name": f"heron {which}", "label": "team"})
    return Table(house, ana, scout, robin, project["id"])


def seated(ana: Seat, name: str, clearance: str) -> Seat:
    made = ana.got("POST", "/principals", {"kind": "agent", "name": name, "clearance": clearance})
    wish = {"name": f"{name}'s", "principal": made["id"], "clearance": clearance}
    return Seat(ana.house, made["id"], ana.got("POST", "/keys", wish)["key"])


def test_a_message_wakes_those_who_follow_and_is_read_by_their_cursor(table: Table) -> None:
    talk = table.begun("Nests")
    with table.robin.following(talk) as told:
        first = next(told)
        start = table.robin.reads(talk)
        table.ana.says(talk, "There are three eggs.")
        second = next(told)
        page = table.robin.reads(talk, cursor=start["cursor"])

    assert first == second == ("news", {"conversation": talk})
    assert [each["body"] for each in page["data"]] == ["There are three eggs."]
    assert page["data"][0]["sender_name"] == table.ana.got("GET", "/me")["name"]


def test_a_reader_waits_until_something_is_said(table: Table) -> None:
    talk = table.begun("Waiting")
    end = table.robin.got("GET", f"/conversations/{talk}/cursor")
    saying = threading.Thread(target=table.scout.says, args=(talk, "Here."))

    saying.start()
    page = table.robin.reads(talk, cursor=end["cursor"], wait=30)
    saying.join()

    assert [each["body"] for each in page["data"]] == ["Here."]


def test_the_same_key_is_one_message_however_often_it_is_sent(table: Table) -> None:
    talk = table.begun("Once")
    path, headers = f"/conversations/{talk}/messages", {"Idempotency-Key": "once"}

    sent = {table.robin.got("POST", path, {"body": "Once."}, headers=headers)["id"] for _ in "12"}

    assert len(sent) == 1
    assert len(table.ana.reads(talk)["data"]) == 1


def test_nothing_of_what_is_above_somebody_reaches_them(table: Table) -> None:
    talk = table.begun("Two levels")
    low = table.ana.says(talk, "The heron is grey.")
    high = table.ana.says(talk, "The heron is a spy.", label="confidential")
    hidden = table.ana.got("POST", "/projects", {"name": "owl", "label": "restricted"})["id"]

    page = table.robin.reads(talk)
    found = table.robin.got("GET", "/bridge/search", params={"q": "heron"})
    unread = [
        each
        for each in table.robin.got("GET", "/inbox")["unread"]
        if each["conversation"]["id"] == talk
    ]
    known = table.robin.ask("GET", f"/messages/{high['id']}").text
    unknown = table.robin.ask("GET", f"/messages/msg_{NOBODY}").text

    assert [each["id"] for each in page["data"]] == [low["id"]]
    assert [each["message"]["id"] for each in found["data"]] == [low["id"]]
    assert [each["count"] for each in unread] == [1]
    assert known.replace(high["id"], "") == unknown.replace(f"msg_{NOBODY}", "")
    assert table.robin.refused("GET", f"/projects/{hidden}") == (404, "project_not_found")
    assert hidden not in table.robin.ask("GET", "/projects").text


def test_who_has_read_above_writes_above_and_not_below(table: Table) -> None:
    listener = seated(table.ana, "listener", "confidential")
    talk = table.begun("Marks")
    table.ana.says(talk, "Deep.", label="confidential")
    below = listener.says(talk, "Before I have read.")
    listener.reads(talk)

    above = listener.says(talk, "After I have read.")
    down = listener.refused(
        "POST", f"/conversations/{talk}/messages", {"body": "Psst.", "label": "team"}
    )
    lease = listener.refused("POST", f"/projects/{table.project}/leases", {"resource": "a"})

    assert (below["label"], above["label"], above["raised"]) == ("team", "confidential", True)
    assert down == lease == (403, "write_down")
    assert listener.got("GET", "/whoami")["mark"] == "confidential"


def test_the_inbox_goes_down_as_one_reads(table: Table) -> None:
    reader = seated(table.ana, "reader", "team")
    talk = table.begun("Unread", participants=[reader.id])
    for word in ("one", "two", "three"):
        table.ana.says(talk, word, mentions=[reader.id])

    before = reader.got("GET", "/inbox")
    page = reader.reads(talk, limit=2)
    reader.got("POST", f"/conversations/{talk}/read", {"cursor": page["cursor"]})
    after = reader.got("GET", "/inbox")

    assert (before["total"], before["unread"][0]["mentions"], after["total"]) == (3, 3, 1)


def test_memory_is_written_upon_what_was_read(table: Table) -> None:
    """In a project of its own: whoever reads what is restricted there writes as much from then
    on."""
    project = table.ana.got("POST", "/projects", {"name": "stork", "label": "team"})["id"]
    path, key = f"/projects/{project}/memory/value", {"key": "notes/eggs"}
    first = table.robin.got("PUT", path, {"value": {"eggs": 3}, "version": 0}, params=key)
    second = table.robin.got("PUT", path, {"value": {"eggs": 4}, "version": 1}, params=key)
    late = table.ana.refused("PUT", path, {"value": {"eggs": 2}, "version": 1}, params=key)
    secret = {"value": "five", "label": "restricted"}
    table.ana.got("PUT", path, secret, params=key)

    assert (first["version"], second["version"]) == (1, 2)
    assert late == (409, "memory_changed")
    assert table.robin.got("GET", path, params=key)["value"] == {"eggs": 4}
    assert table.ana.got("GET", path, params=key)["value"] == "five"


def test_a_file_goes_along_with_a_message(table: Table) -> None:
    talk, content = table.begun("Files"), b"\x00nest" * 500_000
    added = table.robin.got(
        "POST",
        f"/projects/{table.project}/attachments",
        params={"name": "nest.bin"},
        content=content,
        headers={"Content-Type": "application/octet-stream"},
    )
    table.robin.says(talk, "See the nest.", attachments=[added["digest"]])

    fetched = table.ana.ask("GET", f"/attachments/{added['digest']}")

    assert fetched.content == content
    assert fetched.headers["Portico-Label"] == "team"


def test_two_agents_share_out_work_and_do_not_touch_the_same_thing(table: Table) -> None:
    seen = [seated(table.ana, name, "team") for name in ("one", "two")]
    one, two = seen
    work = table.ana.got("POST", f"/projects/{table.project}/work", {"title": "Draw the nest"})
    leases = f"/projects/{table.project}/leases"

    claimed = one.got("POST", f"/work/{work['id']}/claim")
    taken = two.refused("POST", f"/work/{work['id']}/claim")
    held = one.got("POST", leases, {"resource": "drawings/**"})
    busy = two.refused("POST", leases, {"resource": "drawings/nest.svg"})
    one.got("POST", f"/leases/{held['id']}/release", {"token": held["token"]})
    next_ = two.got("POST", leases, {"resource": "drawings/nest.svg"})
    stale = one.refused(
        "POST", f"{leases}/check", {"resource": "drawings/nest.svg", "token": held["token"]}
    )
    done = one.got(
        "POST", f"/work/{work['id']}/end", {"token": claimed["token"], "outcome": "Drawn."}
    )

    assert (taken, busy, stale) == ((409, "work_taken"), (409, "lease_held"), (409, "lease_lost"))
    assert next_["token"] > held["token"]
    assert (done["state"], done["outcome"]) == ("done", "Drawn.")


def test_a_lowered_copy_is_posted_once_somebody_else_has_said_yes(table: Table) -> None:
    talk = table.begun("Lowering")
    said = table.ana.says(talk, "Bob is bob@else.example.", label="confidential")
    with table.robin.following(talk) as told:
        next(told)
        asked = table.scout.got("POST", f"/messages/{said['id']}/declassification", {"to": "team"})
        table.ana.got("POST", f"/approvals/{asked['approval']}/answer", {"answer": "once"})
        woken = next(told)
        page = table.robin.reads(talk)

    [copy] = page["data"]
    records = table.scout.got("GET", f"/messages/{said['id']}/declassifications")["data"]
    assert woken == ("news", {"conversation": talk})
    assert "bob@else.example" not in copy["body"]
    assert said["id"] not in str(page)
    assert [(each["copy"], each["sound"]) for each in records] == [(copy["id"], True)]


def test_another_clearance_resets_whoever_follows(table: Table) -> None:
    changed = seated(table.ana, "changed", "confidential")
    talk = table.begun("Reset", participants=[changed.id])
    table.ana.says(talk, "Low.")
    page = changed.reads(talk)
    with changed.following(talk) as told:
        next(told)
        table.ana.got("PATCH", f"/principals/{changed.id}", {"clearance": "team"})
        table.ana.says(talk, "Low again.")
        names = [name for name, _ in told]

    again = changed.reads(talk, cursor=page["cursor"])
    assert names[-2:] == ["reset", "end"]
    assert again["reset"]
    assert [each["body"] for each in again["data"]] == ["Low.", "Low again."]


def test_what_was_said_is_found_by_what_it_means(table: Table) -> None:
    talk = table.begun("Meaning")
    table.ana.says(talk, "The bird sits on its eggs in spring.")
    table.ana.says(talk, "Invoices are paid within thirty days.")

    found = _both_found(table, {"q": "nesting animals", "by": "meaning", "conversation": talk})

    assert found[0] == "The bird sits on its eggs in spring."


def test_a_project_is_taken_along_whole(table: Table) -> None:
    talk = table.begun("Export")
    table.ana.says(talk, "Take me along.")

    answer = table.ana.ask("GET", f"/projects/{table.project}/export")
    lines = [json.loads(line) for line in answer.text.splitlines()]

    assert answer.headers["content-type"] == "application/x-ndjson"
    assert "Take me along." in json.dumps(lines)


def _both_found(table: Table, query: dict[str, str]) -> list[str]:
    """Vectors are made behind everybody's back, within seconds."""
    deadline = time.monotonic() + 60
    while True:
        hits = table.robin.got("GET", "/bridge/search", params=query)
        found = [each["message"]["body"] for each in hits["data"]]
        if len(found) == 2:
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.5)
