"""Tools counted one by one, and counted by how they stand: the same numbers."""

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.server import Server, standing
from portico.gateway.core.tally import Tally, standings, tally
from portico.gateway.core.tool import Tool
from portico.kernel.effect import Effect
from portico.kernel.tokens import Tokens
from portico.testing.gateway import a_server, a_tool, an_approved_server

KINDS: list[Tool] = [
    a_tool("files.new"),
    a_tool("files.agreed", effect=Effect.PURE),
    replace(a_tool("files.changed", effect=Effect.PURE), pin="another"),
    replace(a_tool("files.refused"), refused="odd"),
    replace(a_tool("files.gone", effect=Effect.PURE), gone=True),
    replace(a_tool("files.both", effect=Effect.PURE), gone=True, refused="odd"),
]


@given(st.lists(st.sampled_from(KINDS)), st.sampled_from([a_server(), an_approved_server()]))
def test_counting_first_or_last_makes_no_difference(tools: list[Tool], server: Server) -> None:
    assert standings(server, tally(tools)) == Counter(standing(server, tool) for tool in tools)


def test_what_is_gone_costs_nothing_and_is_not_there() -> None:
    counted = tally(KINDS)

    tokens = sum(tool.tokens for tool in KINDS if not tool.gone)
    assert counted == Tally(agreed=1, new=1, changed=1, refused=1, gone=2, tokens=Tokens(tokens))
    assert counted.there == 4
