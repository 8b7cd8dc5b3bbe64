"""A launch comes back from what is kept of it, and shows everything that would be run."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.errors import BadLaunch
from portico.gateway.core.launch_text import from_json, shown, to_json
from portico.gateway.core.server import (
    FromEnvironment,
    FromFile,
    Http,
    Launch,
    Plain,
    Stdio,
    Template,
)
from portico.kernel.json import JsonValue, kept

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
names = texts.filter(bool)
variables = st.builds(FromEnvironment, names, st.none() | texts)
files = st.builds(FromFile, names, texts, st.sampled_from([None, "braces", "env", "shell"]))
values = (
    st.builds(Plain, texts)
    | variables
    | files
    | st.builds(Template, st.lists(texts | variables, max_size=3).map(tuple))
)
many = st.dictionaries(texts, values, max_size=3)
launches = st.builds(
    Stdio,
    command=names,
    arguments=st.lists(values, max_size=4).map(tuple),
    environment=many,
    folder=st.none() | texts,
) | st.builds(
    Http,
    url=names,
    headers=many,
    transport=st.sampled_from([None, "streamable", "sse"]),
    secret_url=st.none() | files,
)


@given(launches)
def test_a_launch_comes_back_as_it_was_kept(launch: Launch) -> None:
    assert from_json(kept(to_json(launch))) == launch


@given(launches)
def test_nothing_in_what_is_shown_is_hidden(launch: Launch) -> None:
    assert shown(launch).isprintable()


@given(st.lists(texts.map(lambda text: "".join(filter(str.isprintable, text))), max_size=4))
def test_a_shell_would_take_what_is_shown_for_what_is_meant(words: list[str]) -> None:
    launch = Stdio("run it", tuple(map(Plain, words)))

    assert shlex.split(shown(launch)) == ["run it", *words]


def test_a_launch_is_shown_as_it_would_be_typed() -> None:
    rows: list[tuple[Launch, str | None]] = [
        (
            Stdio("npx", (Plain("-y"), Plain("@org/files"), Plain("/my docs"))),
            "npx -y @org/files '/my docs'",
        ),
        (
            Stdio(
                "serve",
                (Plain("${HOME}"), FromEnvironment("HOME"), FromEnvironment("PORT", "80")),
                {"TOKEN": FromFile("/a.json", "/env/TOKEN"), "MODE": Plain("quick")},
                "/srv",
            ),
            "cd /srv && TOKEN=${file:/a.json#/env/TOKEN} MODE=quick"
            " serve '${HOME}' ${HOME} ${PORT:-80}",
        ),
        (Stdio("cat", (Plain("it's\x1b[2K\u202e\U000e0041\\"),)), None),
        (Http("https://a.example/mcp"), "https://a.example/mcp"),
        (
            Http(
                "https://a.example/{key}",
                {"Authorization": Template(("Bearer ", FromEnvironment("KEY"))), "X": Plain("1")},
                "sse",
                FromFile("/a.json", "/url"),
            ),
            "https://a.example/{key} as ${file:/a.json#/url} (sse)"
            " with Authorization: 'Bearer '${KEY}, X: 1",
        ),
    ]

    for launch, text in rows:
        hidden = r"cat $'it\'s\u001b[2K\u202e\U000e0041\\'"

        assert shown(launch) == (text or hidden)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "not an object"),
        ([], "not an object"),
        ({}, "neither stdio nor http"),
        ({"type": "pigeon"}, "neither stdio nor http"),
        ({"type": "stdio"}, "there is no command"),
        ({"type": "stdio", "command": ""}, "there is no command"),
        ({"type": "stdio", "command": 1}, "command is not a text"),
        ({"type": "stdio", "command": "a\0b"}, "no letter"),
        ({"type": "stdio", "command": "a\ud800"}, "no letter"),
        ({"type": "stdio", "command": "a", "arguments": "b"}, "arguments is not a list"),
        ({"type": "stdio", "command": "a", "arguments": 1}, "arguments is not a list"),
        ({"type": "stdio", "command": "a", "arguments": [1]}, "a value is not an object"),
        ({"type": "stdio", "command": "a", "arguments": [{}]}, "there is no env"),
        ({"type": "stdio", "command": "a", "arguments": [{"parts": [1]}]}, "a part is not an obj"),
        ({"type": "stdio", "command": "a", "environment": []}, "environment is not an object"),
        ({"type": "stdio", "command": "a", "environment": {"a\0": "b"}}, "no letter"),
        (
            {"type": "stdio", "command": "a", "arguments": [{"file": "f", "spelling": "odd"}]},
            "spelling",
        ),
        ({"type": "http", "url": "u", "transport": "pigeon"}, "neither streamable nor sse"),
        ({"type": "http", "url": "u", "secret_url": "v"}, "secret_url is not an object"),
    ],
)
def test_what_is_no_launch_is_told_why(value: JsonValue, reason: str) -> None:
    with pytest.raises(BadLaunch, match=reason):
        from_json(value)


def test_what_is_not_set_is_not_written_either() -> None:
    assert to_json(Stdio("a", (FromEnvironment("B"), FromFile("c", "")))) == {
        "type": "stdio",
        "command": "a",
        "arguments": [{"env": "B"}, {"file": "c", "pointer": ""}],
        "environment": {},
    }
    assert to_json(Http("u")) == {"type": "http", "url": "u", "headers": {}}


def test_what_is_left_out_is_nothing() -> None:
    assert from_json({"type": "stdio", "command": "a"}) == Stdio("a")
    assert from_json({"type": "http", "url": "u"}) == Http("u")
    assert from_json({"type": "stdio", "command": "a", "arguments": [{"file": "f"}]}) == Stdio(
        "a", (FromFile("f", ""),)
    )
