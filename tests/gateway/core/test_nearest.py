"""What stands between a caller and the server that may have it."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from portico.gateway.core.nearest import nearest_servers
from portico.gateway.core.server import Server, ServerId, Stdio

JIRA = Server(
    id=ServerId(UUID(int=1)),
    name="jira",
    origin="added",
    launch=Stdio("jira"),
    launch_pin="p",
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
)
STARTED = replace(JIRA, approved_launch_pin="p")


def test_it_says_what_is_needed_and_how() -> None:
    rows: list[tuple[Server, str]] = [
        (JIRA, "jira waits for approval (portico servers approve jira)"),
        (replace(JIRA, enabled=False), "jira is switched off (portico servers enable jira)"),
        (
            replace(STARTED, failure="SECRET"),
            "jira could not be listed (portico servers logs jira)",
        ),
        (
            replace(STARTED, tools_accepted=True),
            "jira has tools that nobody has approved as they are (portico servers diff jira)",
        ),
    ]

    for server, told in rows:
        assert [str(near) for near in nearest_servers({"jira": server}, ["jira"], 3)] == [told]


def test_each_is_told_once_and_only_a_few_and_none_that_is_not_there() -> None:
    servers = {name: replace(JIRA, name=name) for name in ("a", "b", "c")}

    near = nearest_servers(servers, ["c", "gone", "c", "a", "b"], 2)

    assert [it.server for it in near] == ["c", "a"]
