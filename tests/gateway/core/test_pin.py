"""A pin changes with whatever changes, and with nothing else."""

import json
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from random import Random
from typing import Any

import pytest

from portico.gateway.core.pin import (
    LOADERS,
    decides_the_code,
    definition_pin,
    launch_pin,
    set_pin,
    unpinned_loaders,
)
from portico.gateway.core.server import FromEnvironment, FromFile, Http, Launch, Plain, Stdio
from portico.gateway.core.tool import Tool, ToolRef
from portico.kernel.json import JsonObject
from portico.kernel.tokens import NO_TOKENS
from tests.gateway.core.catalogues import recorded
from tests.gateway.core.mutations import differs, mutations, places
from tests.gateway.core.tools import a_tool

SERVER = Stdio(
    "npx",
    (Plain("-y"), Plain("@scope/server@1.2.3"), FromEnvironment("HOME")),
    {"TOKEN": FromFile("/home/ana/a.json", "/env/TOKEN"), "NODE_OPTIONS": Plain("--no-warnings")},
)
PAGE = Http("https://example.com/mcp", {"Authorization": FromEnvironment("TOKEN")})


@pytest.mark.timeout(120)
@pytest.mark.requirement("gateway:pins:every-mutation")
def test_ten_thousand_single_mutations_of_real_definitions_each_change_the_pin() -> None:
    random = Random(20261114)
    tried = 0
    unseen = []
    for tool in recorded():
        raw = json.loads(json.dumps(tool.raw))
        pin = definition_pin(raw)
        everywhere = list(places(raw))
        for holder, key in random.sample(everywhere, min(18, len(everywhere))):
            was = holder[key]
            others = [other for other in mutations(was, random) if differs(was, other)]
            holder[key] = random.choice(others)
            tried += 1
            if definition_pin(raw) == pin:
                unseen.append((tool.server, raw["name"], key, was, holder[key]))
            holder[key] = was
        assert definition_pin(raw) == pin

    assert unseen == []
    assert tried >= 10_000


@pytest.mark.requirement("gateway:pins:every-mutation")
def test_reordering_the_keys_of_real_definitions_never_changes_the_pin() -> None:
    random = Random(7)
    moved = [
        t for t in recorded() if definition_pin(shuffled(t.raw, random)) != definition_pin(t.raw)
    ]

    assert moved == []


def shuffled(value: Any, random: Random) -> Any:
    if isinstance(value, list):
        return [shuffled(item, random) for item in value]
    if not isinstance(value, Mapping):
        return value
    keys = random.sample(list(value), len(value))
    return {key: shuffled(value[key], random) for key in keys}


def test_a_pin_is_the_hash_of_the_canonical_text() -> None:
    text = '{"description":"é","name":"a"}'

    assert definition_pin({"name": "a", "description": "é"}) == sha256(text.encode()).hexdigest()


def test_a_number_is_not_taken_for_another_or_for_a_text() -> None:
    rows: list[Any] = ["1", 1.0, True, 2, None, [1], 1.5, -1]

    for other in rows:
        assert definition_pin({"default": 1}) != definition_pin({"default": other})


def test_where_a_whole_number_is_written_with_a_point_matters_too() -> None:
    here: JsonObject = {"a": {"x": [1.0, 1]}, "b": "x"}
    there: JsonObject = {"a": {"x": [1, 1.0]}, "b": "x"}

    assert definition_pin(here) != definition_pin(there)


def test_what_a_store_gives_back_as_an_integer_is_the_same_number() -> None:
    assert definition_pin({"maximum": 1e16}) == definition_pin({"maximum": 10**16})
    assert definition_pin({"maximum": 1e300}) == definition_pin({"maximum": 1e300})


def test_whatever_changes_in_a_command_changes_its_pin() -> None:
    rows: list[Launch] = [
        replace(SERVER, command="/usr/bin/npx"),
        replace(SERVER, arguments=SERVER.arguments[:2]),
        replace(SERVER, arguments=(Plain("-y"), Plain("@scope/server@1.2.4"), SERVER.arguments[2])),
        replace(SERVER, arguments=(*SERVER.arguments[:2], Plain("HOME"))),
        replace(SERVER, arguments=(*SERVER.arguments[:2], FromEnvironment("HOME", "/"))),
        replace(SERVER, folder="/"),
        replace(SERVER, environment={}),
        replace(SERVER, environment={**SERVER.environment, "MORE": Plain("")}),
        replace(SERVER, environment={**SERVER.environment, "TOKEN": Plain("x")}),
        replace(
            SERVER, environment={**SERVER.environment, "TOKEN": FromFile("/b.json", "/env/TOKEN")}
        ),
        replace(
            SERVER, environment={**SERVER.environment, "TOKEN": FromFile("/home/ana/a.json", "/")}
        ),
        PAGE,
    ]

    for other in rows:
        assert launch_pin(other) != launch_pin(SERVER)


def test_whatever_changes_in_an_address_changes_its_pin() -> None:
    rows: list[Launch] = [
        replace(PAGE, url="https://example.com/mcp/"),
        replace(PAGE, transport="sse"),
        replace(PAGE, headers={}),
        replace(PAGE, headers={"Authorization": FromEnvironment("TOKEN_2")}),
        replace(PAGE, secret_url=FromFile("/a.json", "/url")),
    ]

    for other in rows:
        assert launch_pin(other) != launch_pin(PAGE)


def test_the_order_of_variables_is_nothing_that_of_arguments_is() -> None:
    turned = dict(reversed(list(SERVER.environment.items())))

    assert launch_pin(replace(SERVER, environment=turned)) == launch_pin(SERVER)
    assert launch_pin(replace(SERVER, arguments=SERVER.arguments[::-1])) != launch_pin(SERVER)


def test_the_value_of_a_variable_that_can_smuggle_code_is_in_the_pin() -> None:
    for variable in sorted(LOADERS):
        one = replace(SERVER, environment={variable: Plain("")})
        other = replace(SERVER, environment={variable: Plain("--require=./evil.js")})

        assert decides_the_code(variable)
        assert launch_pin(one) != launch_pin(other), variable
        assert unpinned_loaders(one) == (), variable


def test_a_loader_whose_value_comes_from_elsewhere_is_pointed_out() -> None:
    elsewhere = FromFile("/home/ana/a.json", "/env/X")
    names = ["node_options", "LD_SOMETHING", "npm_config_registry", "TOKEN", "PATH"]
    launch = replace(SERVER, environment={**dict.fromkeys(names, elsewhere), "ENV": Plain("x")})

    assert unpinned_loaders(launch) == (
        "LD_SOMETHING",
        "PATH",
        "node_options",
        "npm_config_registry",
    )
    assert unpinned_loaders(PAGE) == ()


def a_listed_tool(name: str, pin: str, *, gone: bool = False) -> Tool:
    return Tool(
        ref=ToolRef("s", name), definition=a_tool(name), pin=pin, tokens=NO_TOKENS, gone=gone
    )


def test_the_pin_of_a_set_knows_its_names_and_its_definitions_but_no_order() -> None:
    one, two = a_listed_tool("one", "p1"), a_listed_tool("two", "p2")

    assert set_pin([one, two]) == set_pin([two, one])
    assert set_pin([one, two]) != set_pin([one])
    assert set_pin([one, two]) != set_pin([one, a_listed_tool("two", "p3")])
    assert set_pin([one, two]) != set_pin([one, a_listed_tool("three", "p2")])
    assert set_pin([]) != set_pin([one])


def test_a_tool_that_is_gone_is_not_in_the_set() -> None:
    one = a_listed_tool("one", "p1")

    assert set_pin([one, a_listed_tool("two", "p2", gone=True)]) == set_pin([one])
