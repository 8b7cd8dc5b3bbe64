"""Files as people and programs write them, in every way that their forms allow."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

GAPS = ["", " ", "\t", "\n", "\r\n", "\n    ", "// a, b }\n", "/* { , */", " // x\r\n  ", "\n\n"]
NAMES = st.sampled_from(["a", "b", 'q"', "ü", "x.y", "files", "portico2", "mcpServers "])
PLAIN = st.none() | st.booleans() | st.integers(-9, 99) | st.text('ab,}{/*"\\\n é', max_size=5)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=5,
)
SERVERS = st.dictionaries(NAMES, VALUES, max_size=3)


@st.composite
def gap(draw: st.DrawFn) -> str:
    return "".join(draw(st.lists(st.sampled_from(GAPS), max_size=2)))


def _object(draw: st.DrawFn, members: Sequence[tuple[str, Any]], *, tidy: bool) -> str:
    def between() -> str:
        return " " if tidy else draw(gap())

    texts = [
        f"{between()}{json.dumps(name)}{between()}:{between()}{_text(draw, value, tidy=tidy)}"
        for name, value in members
    ]
    last = "," if texts and not tidy and draw(st.booleans()) else ""
    return "{" + f"{between()},".join(texts) + last + between() + "}"


def _text(draw: st.DrawFn, value: Any, *, tidy: bool) -> str:
    if isinstance(value, Mapping):
        return _object(draw, list(value.items()), tidy=tidy)
    if isinstance(value, list):
        items = [_text(draw, each, tidy=tidy) for each in value]
        last = "," if items and not tidy and draw(st.booleans()) else ""
        return f"[{', '.join(items)}{last}]"
    return json.dumps(value)


@st.composite
def json_files(draw: st.DrawFn) -> str:
    """With comments, or as a program writes it; with or without a list of servers, or with two of
    them; or with nothing in it."""
    mark = draw(st.sampled_from(["", "\ufeff"]))
    kind = draw(st.sampled_from(["free", "free", "free", "tidy", "dumped", "blank"]))
    if kind == "blank":
        return mark + draw(st.sampled_from(["", " ", "\n", "\r\n\t"]))
    members = list(draw(st.dictionaries(NAMES, VALUES, max_size=3)).items())
    for _ in range(draw(st.integers(0, 2))):
        members.insert(draw(st.integers(0, len(members))), ("mcpServers", draw(SERVERS)))
    if kind == "dumped":
        indent = draw(st.sampled_from([None, 1, 2, 4, "\t"]))
        text = json.dumps(dict(members), indent=indent, ensure_ascii=False)
        return mark + text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    before, after = ("", "") if kind == "tidy" else (draw(gap()), draw(gap()))
    return mark + before + _object(draw, members, tidy=kind == "tidy") + after


LISTS = {
    "none": [],
    "tables": ["[mcp_servers.a]", 'command = "a"', "", "[mcp_servers.a.env]", "K = 'v'"],
    "spaced": ["  [ mcp_servers . 'a b' ]", "args = [", '  "x", # "]"', "]"],
    "one table": ["[mcp_servers]", 'a = { command = "a" }', 'b.command = "b"'],
}
AT_THE_TOP = {
    "dotted": ['mcp_servers.a.command = "a"', "mcp_servers.'b'.args = [1, [2]]"],
    "inline": ['mcp_servers = { a = { command = "}" }, "b,".x = [1,2] } # {'],
    "empty": ["mcp_servers = {}"],
    "empty, wide": ["mcp_servers = {  }"],
    "alone": ["mcp_servers = {a.x=1,a.y=2}"],
}
OTHERS = [
    ["[features]", "x = 1"],
    ["[[profiles]]", "name = '''", "[mcp_servers.portico]", "'''"],
    ['["mcp_servers2".portico]', 'command = "no"'],
    ["[a]", 's = """', 'x = "\\""" ""', '"""', "d = 1979-05-27"],
]
FREE = st.lists(st.sampled_from(["# c", "", "   ", "# [x]"]), max_size=2)


@st.composite
def toml_files(draw: st.DrawFn) -> str:
    lines = draw(FREE) + draw(
        st.lists(
            st.sampled_from(
                ["n = nan", 'm = "o4" # ='],
            ),
            unique=True,
        )
    )
    listed = draw(st.sampled_from([*LISTS, *AT_THE_TOP]))
    lines += AT_THE_TOP.get(listed, []) + draw(FREE)
    tables = draw(st.lists(st.sampled_from(OTHERS), max_size=2, unique_by=id))
    tables.insert(draw(st.integers(0, len(tables))), LISTS.get(listed, []))
    for table in tables:
        lines += [*table, *draw(FREE)]
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    ends = draw(st.sampled_from(["", newline])) if lines else ""
    return draw(st.sampled_from(["", "\ufeff"])) + newline.join(lines) + ends
