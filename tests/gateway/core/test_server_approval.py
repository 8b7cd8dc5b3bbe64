"""What is proposed for a tool: in doubt the greater effect, and never a write as a read."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from portico.adapters.system.shipped_lists import shipped_effects
from portico.gateway.core.catalog_snapshot import Definition
from portico.gateway.core.effects import (
    EffectKeyword,
    EffectVerb,
    ShippedEffects,
    meaning,
    name_signs,
    onward_signs,
    parse_shipped,
    sentence_signs,
    words,
)
from portico.gateway.core.pins import Package, definition_pin
from portico.gateway.core.server_approval import propose
from portico.kernel.effect import Effect
from tests.gateway.core.catalogues import catalogues, recorded
from tests.gateway.core.tools import a_tool

READ, WRITE = Effect.EXTERNAL_READ, Effect.EXTERNAL_WRITE
GONE, UNKNOWN = Effect.IRREVERSIBLE, Effect.UNKNOWN


def claiming(name: str = "weather", description: str = "", **hints: bool) -> Definition:
    return a_tool(name, description, annotations=hints)


def test_words_propose() -> None:
    rows: list[tuple[Definition, Effect]] = [
        (a_tool("get_page"), READ),
        (a_tool("search"), READ),
        (a_tool("create_page"), WRITE),
        (a_tool("send_mail"), WRITE),
        (a_tool("delete_page"), GONE),
        (a_tool("drop_table"), GONE),
        (a_tool("run_anything"), UNKNOWN),
        (a_tool("weather"), UNKNOWN),
        (a_tool("weather", "Get the weather."), UNKNOWN),
        (a_tool("get_next", "Get the next message and remove it."), GONE),
        (a_tool("list_all", "Manage all: list, add or edit them."), WRITE),
        (a_tool("show", "Show what an arbitrary SQL statement returns."), UNKNOWN),
        (a_tool("write_file", "Write a file. It will be overwritten."), GONE),
        (a_tool("get_rows", parameters={"sql": {}}), UNKNOWN),
        (a_tool("get_rows", parameters={"dryRun": {"type": "boolean"}}), WRITE),
        (a_tool("get_page", parameters={"file": {"description": "Where to save it."}}), WRITE),
        (a_tool("get_page", parameters={"action": {"enum": ["get", "delete"]}}), GONE),
        (a_tool("get_page", parameters={"sub_command": {"enum": ["get", "set", 3]}}), WRITE),
        (a_tool("get_page", parameters={"operation": {"enum": ["get"]}, "x": True}), READ),
        (a_tool("get_page", parameters={"operation": {"enum": "set"}}), READ),
        (a_tool("get_page", inputSchema={"type": "object", "properties": 3}), READ),
    ]

    for tool, effect in rows:
        assert propose(tool).effect is effect


def test_claims_make_it_worse_and_better_only_where_no_word_speaks_against_it() -> None:
    rows: list[tuple[Definition, Effect]] = [
        (claiming(readOnlyHint=True), READ),
        (claiming("get_create_fields", readOnlyHint=True), READ),
        (claiming("delete_page", readOnlyHint=True), GONE),
        (claiming("update_page", readOnlyHint=True), WRITE),
        (claiming("get_or_create", readOnlyHint=True), WRITE),
        (claiming("anything", "Execute any command.", readOnlyHint=True), UNKNOWN),
        (claiming(readOnlyHint=True, destructiveHint=True), GONE),
        (claiming("get_page", destructiveHint=True), GONE),
        (claiming("get_page", readOnlyHint=False), WRITE),
        (claiming(readOnlyHint=False), UNKNOWN),
        (claiming(readOnlyHint=False, destructiveHint=False), WRITE),
        (claiming("delete_page", readOnlyHint=False, destructiveHint=False), GONE),
        (claiming("create_page", destructiveHint=False), WRITE),
        (a_tool("get_page", annotations={"readOnlyHint": "yes", "destructiveHint": 1}), READ),
    ]

    for tool, effect in rows:
        assert propose(tool).effect is effect


def test_a_proposal_says_why() -> None:
    lying = propose(claiming("delete_page", readOnlyHint=True))

    assert lying.why == "'delete' destroys, although it claims to read only"
    assert propose(a_tool("weather")).why == "nothing tells what it does"


def test_what_is_not_said_to_stay_here_may_go_anywhere() -> None:
    rows: list[tuple[Definition, bool, Effect]] = [
        (claiming("get_page", openWorldHint=False), False, Effect.LOCAL_READ),
        (claiming("create_page", openWorldHint=False), False, Effect.LOCAL_WRITE),
        (claiming("get_page", openWorldHint=False), True, READ),
        (claiming("get_page", openWorldHint=True), False, READ),
        (claiming("get_page"), False, READ),
        (claiming("get_web_page", openWorldHint=False), False, READ),
    ]

    for tool, remote, effect in rows:
        assert propose(tool, remote=remote).effect is effect


def test_our_own_list_comes_first() -> None:
    tool = a_tool("weather")
    listed = parse_shipped(f'{{"npm:sky": {{"1": {{"pure": ["{definition_pin(tool.raw)}"]}}}}}}')

    known = propose(tool, shipped=listed, package=Package("npm", "sky", "1"))

    assert (known.effect, known.why) == (Effect.PURE, "listed for sky 1")
    assert propose(tool, shipped=listed, package=Package("npm", "sky", "2")).effect is UNKNOWN
    assert propose(tool, shipped=listed).effect is UNKNOWN
    assert propose(tool, package=Package("npm", "sky", "1")).effect is UNKNOWN


def kind(effect: Effect) -> str:
    if effect.is_read_only:
        return "reads"
    return {GONE: "destroys", UNKNOWN: "unknown"}.get(effect, "writes")


def labels() -> dict[tuple[str, str], str]:
    """What a person who looked at them one by one says that they do."""
    table = tomllib.loads(Path(__file__).with_name("labelled_tools.toml").read_text("utf-8"))
    return {
        (server, tool): label
        for label, servers in table.items()
        for server, tools in servers.items()
        for tool in tools.split()
    }


def listed(server: str, raw: Any) -> Effect:
    catalogue = catalogues()[server]
    package = Package(catalogue["ecosystem"], catalogue["package"], catalogue["version"])
    effect = shipped_effects().of(package, definition_pin(raw))
    assert effect is not None, (server, raw["name"])
    return effect


@pytest.mark.requirement("gateway:effects:no-write-as-read")
def test_of_all_recorded_tools_no_write_is_proposed_as_a_read() -> None:
    wrong = [
        (tool.server, tool.raw["name"])
        for tool in recorded()
        if propose(tool.definition).effect.is_read_only
        and not listed(tool.server, tool.raw).is_read_only
    ]

    assert wrong == []


def test_our_list_has_every_recorded_tool_and_agrees_with_what_was_labelled_by_hand() -> None:
    known = labels()
    for tool in recorded():
        effect = listed(tool.server, tool.raw)
        label = known.pop((tool.server, tool.raw["name"]), kind(effect))

        assert (label, effect is UNKNOWN) == (kind(effect), False), (tool.server, tool.raw["name"])
    assert known == {}


LISTED = parse_shipped(
    """
    {"npm:server": {
        "1.0": {"external_read": ["a", "b"], "irreversible": ["c"]},
        "2.0": {"external_write": ["a"]}
    }}
    """
)


def test_a_definition_is_known_for_its_version_or_else_as_the_worst_of_all() -> None:
    rows: list[tuple[Package, str, Effect | None]] = [
        (Package("npm", "server", "1.0"), "a", Effect.EXTERNAL_READ),
        (Package("npm", "server", "2.0"), "a", Effect.EXTERNAL_WRITE),
        (Package("npm", "server", "1.0"), "c", Effect.IRREVERSIBLE),
        (Package("npm", "server", "3.0"), "a", None),
        (Package("npm", "other", "1.0"), "a", None),
        (Package("pypi", "server", "1.0"), "a", None),
        (Package("npm", "server", "1.0"), "z", None),
        (Package("npm", "server"), "a", Effect.EXTERNAL_WRITE),
        (Package("npm", "server"), "b", Effect.EXTERNAL_READ),
        (Package("npm", "server"), "z", None),
    ]

    for package, pin, effect in rows:
        assert LISTED.of(package, pin) is effect
    assert ShippedEffects().of(Package("npm", "server"), "a") is None


def test_a_name_is_taken_apart() -> None:
    rows: list[tuple[str, list[str]]] = [
        ("get_http-page", ["get", "http", "page"]),
        ("getHTTPPage", ["get", "http", "page"]),
        ("API-retrieve-a-page", ["api", "retrieve", "a", "page"]),
        ("browser.click2", ["browser", "click"]),
        ("読む", []),
    ]

    for name, parts in rows:
        assert words(name) == parts


def test_a_verb_is_known_in_its_forms() -> None:
    rows: list[tuple[str, EffectVerb | None]] = [
        ("get", EffectVerb.READS),
        ("Gets", EffectVerb.READS),
        ("fetches", EffectVerb.READS),
        ("copies", EffectVerb.WRITES),
        ("Deletes", EffectVerb.DESTROYS),
        ("executes", EffectVerb.RUNS),
        ("banana", None),
    ]

    for word, doing in rows:
        assert meaning(word) is doing


def test_the_worst_word_of_a_name_counts_and_the_name_of_a_thing_does_not() -> None:
    rows: list[tuple[str, EffectVerb | None]] = [
        ("get_pull_request", EffectVerb.READS),
        ("list_commits", EffectVerb.READS),
        ("get_commit", EffectVerb.READS),
        ("search_and_replace", EffectVerb.WRITES),
        ("find_and_update", EffectVerb.WRITES),
        ("get_or_create", EffectVerb.WRITES),
        ("read_then_delete", EffectVerb.DESTROYS),
        ("update_or_delete", EffectVerb.DESTROYS),
        ("post_message", EffectVerb.WRITES),
        ("slack_post_message", EffectVerb.WRITES),
        ("git_fetch", EffectVerb.WRITES),
        ("fetch_page", EffectVerb.READS),
        ("check_out", EffectVerb.WRITES),
        ("check_status", EffectVerb.READS),
        ("run_query", EffectVerb.RUNS),
        ("dropTable", EffectVerb.DESTROYS),
        ("reset_counter", EffectVerb.DESTROYS),
        ("weather", None),
    ]

    for name, doing in rows:
        assert max((sign.doing for sign in name_signs(name)), default=None) is doing


def test_of_a_name_that_claims_to_read_only_what_is_joined_on_speaks_against_it() -> None:
    assert onward_signs("get_create_fields") == [EffectKeyword(EffectVerb.READS, "get")]
    assert onward_signs("get_or_create") == [
        EffectKeyword(EffectVerb.READS, "get"),
        EffectKeyword(EffectVerb.WRITES, "create"),
    ]
    assert onward_signs("delete_file") == [EffectKeyword(EffectVerb.DESTROYS, "delete")]
    assert onward_signs("weather") == []


def test_verbs_are_looked_for_where_a_sentence_has_them() -> None:
    rows: list[tuple[str, list[str]]] = [
        ("Remove and return the first element", ["remove"]),
        ("Get the next message and delete it", ["get", "delete"]),
        ("Manage tags: list all tags, create a new tag", ["manage", "list", "create"]),
        ("Search issues, comments, and commits", ["search"]),
        ("Comment on an issue", ["comment"]),
        ("The weather of tomorrow", []),
        ("", []),
    ]

    for sentence, found in rows:
        assert [sign.word for sign in sentence_signs(sentence)] == found
