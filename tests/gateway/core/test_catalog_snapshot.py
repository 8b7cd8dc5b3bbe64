"""What servers and tools are called, here and elsewhere, and which names look alike."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.catalog_snapshot import (
    ToolRef,
    server_name,
    slug,
    vendor_name,
    vendor_names,
)
from portico.gateway.core.errors import InvalidServerName
from portico.gateway.core.untrusted_text import look_alike, skeleton
from tests.gateway.core.catalogues import catalogues, recorded

VENDOR = re.compile(r"[A-Za-z0-9_-]{1,48}")
names = st.text(min_size=1, max_size=80)


def test_a_plain_name_is_a_servers_name() -> None:
    for text in ("github", "a", "s3", "my-own-server-2", "x" * 32):
        assert server_name(text) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "begins with a letter"),
        ("GitHub", "a-z, 0-9 and -"),
        ("git_hub", "a-z, 0-9 and -"),
        ("git.hub", "a-z, 0-9 and -"),
        ("2fa", "a-z, 0-9 and -"),
        ("-a", "a-z, 0-9 and -"),
        ("a\n", "a-z, 0-9 and -"),
        ("g\u0456thub", "a-z, 0-9 and -"),
        ("git\u200bhub", "hides U\\+200B"),
        ("x" * 33, "longer than 32"),
    ],
)
def test_what_is_none_is_refused_and_says_why(text: str, reason: str) -> None:
    with pytest.raises(InvalidServerName, match=reason):
        server_name(text)


def test_what_a_file_calls_a_server_becomes_a_name() -> None:
    rows: list[tuple[str, str]] = [
        ("github", "github"),
        ("GitHub MCP", "github-mcp"),
        ("@modelcontextprotocol/server-git", "modelcontextprotocol-server-git"),
        ("my_server.v2", "my-server-v2"),
        ("Büro", "buro"),
        ("1password", "s-1password"),
        ("--", "server-d8156b"),
        ("天気", "server-bc79d8"),
        ("a" * 40, "a" * 32),
        ("a" * 31 + "-b", "a" * 31),
    ]

    for text, name in rows:
        assert slug(text) == name


def test_a_name_that_is_taken_or_looks_like_one_is_numbered() -> None:
    assert slug("github", {"github"}) == "github-2"
    assert slug("github", {"github", "github-2"}) == "github-3"
    assert slug("git-hub", {"github"}) == "git-hub-2"
    assert slug("x" * 32, {"x" * 32}) == "x" * 27 + "-2"


@given(names, st.lists(names, max_size=4))
def test_whatever_a_file_says_becomes_a_name_unlike_others(text: str, others: list[str]) -> None:
    taken = {slug(other) for other in others}

    name = slug(text, taken)

    assert server_name(name) == name
    assert skeleton(name) not in map(skeleton, taken)


def test_a_plain_tool_is_called_by_its_server_and_its_name() -> None:
    assert vendor_name(ToolRef("github", "create_issue")) == "github__create_issue"
    assert vendor_name(ToolRef("my-own", "API-get-user")) == "my-own__API-get-user"


def test_what_vendors_do_not_take_is_written_otherwise_and_marked() -> None:
    for name in ("a.b", "a b", "créer", "読む", "x" * 60):
        given = vendor_name(ToolRef("s", name))

        assert VENDOR.fullmatch(given), name
        assert re.search(r"_[0-9a-f]{6}$", given), name
        assert given == vendor_name(ToolRef("s", name))


def test_a_name_that_is_taken_gets_a_mark_and_then_a_longer_one() -> None:
    ref = ToolRef("s", "tool")

    marked = vendor_name(ref, {"s__tool"})
    longer = vendor_name(ref, {"s__tool", marked})

    assert marked == "s__tool_9b96e6"
    assert len(longer) == len(marked) + 1
    assert longer.startswith(marked)


@given(st.lists(st.builds(ToolRef, st.from_regex(r"[a-z][a-z0-9-]{0,31}", fullmatch=True), names)))
def test_no_two_tools_have_one_name_and_none_is_too_long(refs: list[ToolRef]) -> None:
    named = vendor_names(refs)

    assert set(named) == set(refs)
    assert len(set(named.values())) == len(named)
    assert all(map(VENDOR.fullmatch, named.values()))
    assert named == vendor_names(reversed(refs))


def test_real_tools_keep_their_names_unless_they_are_too_long() -> None:
    named = vendor_names(ToolRef(tool.server, tool.raw["name"]) for tool in recorded())
    plain = [ref for ref, name in named.items() if name == f"{ref.server}__{ref.name}"]

    assert len(set(named.values())) == len(named)
    assert all(map(VENDOR.fullmatch, named.values()))
    assert all(len(f"{ref.server}__{ref.name}") > 48 for ref in named if ref not in plain)


def test_what_looks_alike_is_alike() -> None:
    rows: list[tuple[str, str]] = [
        ("github", "GitHub"),
        ("github", "g1thub"),
        ("github", "glthub"),
        ("gitlab", "git-lab"),
        ("gitlab", "git_lab"),
        ("gitlab", "gitIab"),
        ("paypal", "p\u0430yp\u0430l"),
        ("scope", "\u0455\u0441\u043e\u0440\u0435"),
        ("google", "g\u03bf\u03bfgle"),
        ("google", "g00gle"),
        ("read_file", "read.file"),
        ("read", "\uff52\uff45\uff41\uff44"),
        ("modern", "rnodern"),
        ("wiki", "vviki"),
        ("cafe", "café"),
        ("file", "ﬁle"),
        ("disk", "d\u0131sk"),
        ("hotel", "h\u0585tel"),
        ("yellow", "ye\u0142low"),
    ]

    for one, other in rows:
        assert skeleton(one) == skeleton(other)


def test_what_does_not_is_not() -> None:
    rows: list[tuple[str, str]] = [
        ("github", "gitlab"),
        ("slack", "slacks"),
        ("s3", "s4"),
        ("db-1", "db-2"),
        ("a", "b"),
    ]

    for one, other in rows:
        assert skeleton(one) != skeleton(other)


def test_the_other_is_named_and_a_name_is_not_its_own_other() -> None:
    assert look_alike("g1thub", ["slack", "github"]) == "github"
    assert look_alike("github", ["slack", "github"]) is None


def test_real_servers_have_no_two_tools_that_look_alike() -> None:
    for server, catalogue in catalogues().items():
        counted = Counter(skeleton(tool["name"]) for tool in catalogue["tools"])

        assert [name for name, count in counted.items() if count > 1] == [], server
