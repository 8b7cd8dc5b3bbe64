"""A server that is a part of Portico is kept, shown and pinned as any other is."""

from dataclasses import replace

import pytest

from portico.gateway.core.client_files.wish import Wish
from portico.gateway.core.errors import BadLaunch
from portico.gateway.core.launch_text import check_launch, from_json, shown, to_json
from portico.gateway.core.package import Package, package_of
from portico.gateway.core.pin import launch_pin, unpinned_loaders
from portico.gateway.core.reconciling import newly_wished
from portico.gateway.core.server import Inside, Stdio
from portico.gateway.core.start_advice import advice
from portico.kernel.json import JsonValue, kept
from portico.testing.gateway import a_server
from portico.testing.kernel import BEGINNING

OURS = Inside("builtin", "1")


def test_it_comes_back_as_it_was_kept() -> None:
    assert from_json(kept(to_json(OURS))) == OURS


@pytest.mark.parametrize(
    "written",
    [
        {"type": "inside"},
        {"type": "inside", "name": "", "version": "1"},
        {"type": "inside", "name": "builtin", "version": 1},
    ],
)
def test_what_says_too_little_is_none(written: JsonValue) -> None:
    with pytest.raises(BadLaunch):
        from_json(written)


def test_nobody_can_describe_one() -> None:
    with pytest.raises(BadLaunch, match="nobody else"):
        check_launch(OURS)


def test_it_is_shown_for_what_it_is() -> None:
    assert shown(OURS) == "part of Portico: builtin, version 1"
    assert shown(Inside("a\u200bb", "1")).isprintable()


def test_another_version_has_another_pin() -> None:
    assert launch_pin(OURS) != launch_pin(replace(OURS, version="2"))
    assert launch_pin(OURS) != launch_pin(replace(OURS, name="other"))


def test_it_is_a_package_of_ours_and_nothing_that_is_loaded() -> None:
    assert package_of(OURS) == Package("portico", "builtin", "1")
    assert unpinned_loaders(OURS) == ()
    assert advice(OURS, "No module named 'mcp.server.fastmcp'", []) is None


def test_a_file_cannot_give_its_name_to_another() -> None:
    for name in ("builtin", "bui1tin", "Built-in"):
        wish = Wish(name=name, called=name, launch=Stdio("a"), where="/a")

        server = newly_wished(a_server().id, "/a.json", wish, [], BEGINNING)

        assert server.name.endswith("-2"), name
