"""The demo, made, looked at, repeated and taken away by commands as they are typed."""

import json
from typing import Any

import psutil
import pytest

from tests.children import named
from tests.installation import Installation, installation
from tests.real_servers.watching import eventually

pytestmark = [pytest.mark.scenario]


def told(house: Installation, *arguments: str) -> Any:
    done = house.run(*arguments, "--json")
    assert done.code == 0, (arguments, done.err, done.out)
    return json.loads(done.out)


@pytest.mark.requirement("house:demo:everything")
@pytest.mark.requirement("house:demo:removed")
def test_everything_can_be_seen_and_is_gone_again() -> None:
    """That it needs neither `init` nor a server is seen where its page is walked through."""
    with installation() as house, house.serving() as server, house.client() as own:
        assert own.post("/projects", json={"name": "Mine"}).is_success
        made = told(house, "demo")
        assert (made["new"], made["serving"]) == (True, True)
        _everything_is_there(house, made)
        assert _tool_servers(server.pid)
        _is_as_it_was(house, made)
        assert told(house, "demo", "--remove")["removed"]
        _nothing_is_left(house)
        assert eventually(lambda: not _tool_servers(server.pid), 10)


def _tool_servers(house: int) -> list[str]:
    """That run for the demo, below the server."""
    below = psutil.Process(house).children(recursive=True)
    return [each for each in named(below) if "samples" in each]


def _everything_is_there(house: Installation, made: dict[str, Any]) -> None:
    """And none of it is among what is the user's own."""
    assert made["tools"] == 11
    with house.client((house.home / "config" / "demo.key").read_text().strip()) as demo:
        runs = demo.get("/workflows").json()["data"]
        assert {each["name"]: each["status"] for each in runs} == {
            "demo-triage": "done",
            "demo-fails": "failed",
            "demo-refund": "waiting",
        }
        [debate] = demo.get("/debates").json()["data"]
        assert debate["status"] == "decided"
        near = demo.get("/graph/neighbours/demo-tickets.read_ticket").text
        assert "demo-orders.read_order" in near
        [waiting] = demo.get("/approvals?status=waiting").json()["data"]
        assert waiting["id"] == made["waiting"][0]
        answered = demo.post(f"/approvals/{waiting['id']}/answer", json={"answer": "once"})
        assert answered.is_success, answered.text
    with house.client() as own:
        assert own.get("/approvals?status=waiting").json()["data"] == []
        assert "demo-" not in own.get("/servers").text


def _is_as_it_was(house: Installation, made: dict[str, Any]) -> None:
    """Only what was answered meanwhile is asked anew."""
    again = told(house, "demo")
    assert (again["new"], again["serving"]) == (False, True)
    same = ("servers", "runs", "project", "debate", "conversations")
    assert {name: again[name] for name in same} == {name: made[name] for name in same}
    assert len(again["waiting"]) == 1
    assert again["waiting"] != made["waiting"]


def _nothing_is_left(house: Installation) -> None:
    assert list((house.home / "data" / "homes").glob("*")) == []
    assert list((house.home / "state" / "debates").glob("*")) == []
    assert not list((house.home / "config").glob("demo*"))
    with house.client() as own:
        assert [each["name"] for each in own.get("/projects").json()["data"]] == ["Mine"]
