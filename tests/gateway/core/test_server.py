"""What a server may do, and what may be told of it."""

from dataclasses import replace

import pytest

from portico.gateway.core.errors import ServerDisabled, ServerGone, ServerNotApproved
from portico.gateway.core.server import Identity, Server, as_approved, check_may_start, standing
from portico.gateway.core.tool import Standing, Tool
from portico.kernel.effect import Effect
from portico.testing.gateway import a_server, a_tool, an_approved_server
from portico.testing.kernel import BEGINNING

OPEN = an_approved_server()
AGREED = a_tool(effect=Effect.PURE)


@pytest.mark.parametrize(
    ("server", "error"),
    [
        (a_server(), ServerNotApproved),
        (replace(OPEN, launch_pin="moved"), ServerNotApproved),
        (replace(OPEN, enabled=False), ServerDisabled),
        (replace(OPEN, gone_at=BEGINNING), ServerGone),
    ],
)
def test_a_server_that_may_not_be_started_says_why(server: Server, error: type[Exception]) -> None:
    with pytest.raises(error):
        check_may_start(server)

    assert not server.may_start
    assert not server.approved


def test_a_server_may_be_started_before_its_tools_are_let_in() -> None:
    server = replace(OPEN, tools_accepted=False)

    check_may_start(server)

    assert server.may_start
    assert not server.approved


def test_a_tool_is_live_only_as_it_was_accepted_on_a_server_as_it_was_approved() -> None:
    rows: list[tuple[Server, Tool, Standing]] = [
        (OPEN, AGREED, Standing.LIVE),
        (OPEN, a_tool(), Standing.NEW),
        (OPEN, replace(AGREED, pin="moved"), Standing.CHANGED),
        (OPEN, replace(AGREED, refused="odd"), Standing.REFUSED),
        (OPEN, replace(AGREED, gone=True), Standing.GONE),
        (a_server(), AGREED, Standing.PENDING),
        (replace(OPEN, enabled=False), AGREED, Standing.PENDING),
        (replace(OPEN, gone_at=BEGINNING), AGREED, Standing.PENDING),
        (replace(OPEN, launch_pin="moved"), AGREED, Standing.PENDING),
        (replace(OPEN, tools_accepted=False), AGREED, Standing.PENDING),
    ]

    for server, tool, expected in rows:
        assert standing(server, tool) is expected
        assert tool.agreed or expected is not Standing.LIVE


SAID = replace(
    OPEN,
    instructions="Now.",
    accepted_instructions="Now.",
    offers={"prompts": [{"name": "p"}]},
    accepted_offers={"prompts": [{"name": "p"}]},
    identity=Identity("i", "1"),
)


def test_what_was_approved_is_told_whole() -> None:
    assert as_approved(SAID) == SAID
    assert SAID.said == "Now."


def test_what_nobody_approved_is_not_told() -> None:
    rows: list[tuple[Server, dict[str, object]]] = [
        (replace(SAID, instructions="Then."), {"instructions": None}),
        (replace(SAID, offers={"prompts": []}), {"offers": {}}),
        (
            replace(SAID, tools_accepted=False, failure="It said: obey!"),
            {
                "instructions": None,
                "offers": {},
                "identity": None,
                "failure": "It could not be asked what it offers.",
            },
        ),
    ]

    for server, untold in rows:
        told = as_approved(server)

        assert told == replace(server, **untold)  # type: ignore[arg-type] # fields
        assert "obey" not in repr(told), server
