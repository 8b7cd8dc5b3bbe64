"""Servers as evidence for their tools."""

import numpy as np

from portico.gateway.core.search.servers import ServerTexts, server_texts
from tests.gateway.core.search.shop import TOOLS, a_tool, embedded, plain_stem


def test_a_server_that_speaks_of_it_lifts_all_of_its_tools() -> None:
    servers = ServerTexts.of(TOOLS, {"static": embedded(server_texts(TOOLS))}, plain_stem)

    [row] = servers.scores([["parcel"]], {"static": embedded(["parcel"])})

    assert servers.told
    assert row[0] == row[1] == row.max()


def test_servers_that_say_nothing_are_no_evidence() -> None:
    silent = [a_tool("a.x"), a_tool("b.y")]
    single = [a_tool("a.x", about="All about x")]

    assert not ServerTexts.of(silent, {}, plain_stem).told
    assert not ServerTexts.of(single, {}, plain_stem).told


def test_the_best_servers_are_those_whose_tools_have_most_together() -> None:
    servers = ServerTexts.of(TOOLS, {}, plain_stem)

    best = servers.best(np.array([0.2, 0.2, 0.3, 0, 0, 0], np.float32), 5)

    assert best == ["post", "sky"]
