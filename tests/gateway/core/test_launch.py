"""A launch comes back from what is kept of it, and shows everything that would be run."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.client_config_values import credentials_in, told
from portico.gateway.core.client_configs import CLIENTS, CURSOR, PORTICO_TOML, Client
from portico.gateway.core.errors import InvalidLaunch
from portico.gateway.core.launch import (
    Texts,
    approved_texts,
    from_json,
    paths_in,
    places_in,
    referred,
    shown,
    to_json,
    written_out,
)
from portico.gateway.core.pins import Package, launch_pin, package_of, unpinned_loaders
from portico.gateway.core.servers import (
    FromEnvironment,
    FromFile,
    FromSecret,
    Http,
    Launch,
    Plain,
    Stdio,
    Template,
    Value,
)
from portico.kernel.json import JsonValue, kept
from portico.sandbox.core.profile import NetworkEndpoint
from tests.gateway.core.client_files.reading import by_name, said

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
    with pytest.raises(InvalidLaunch, match=reason):
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


HOME = "/home/ana"


def test_what_stands_in_a_launch_and_in_our_environment_counts_and_no_file_does() -> None:
    launch = Stdio(
        "serve",
        (
            Plain("/srv/a"),
            FromEnvironment("NOTES"),
            FromEnvironment("NOWHERE"),
            FromEnvironment("NOWHERE", "/srv/default"),
            FromFile("/home/ana/mcp.json", "/args/1"),
            Template(("/srv/", FromEnvironment("WHO"), FromEnvironment("NOWHERE"))),
        ),
        {"KEY": FromFile("/home/ana/mcp.json", "/env/KEY"), "URL": Plain("http://a:1")},
    )

    texts = approved_texts(launch, {"NOTES": "/srv/notes", "WHO": "ana"})

    assert texts == Texts(
        ["/srv/a", "/srv/notes", None, "/srv/default", None, "/srv/ana"], {"URL": "http://a:1"}
    )


def test_whole_paths_are_found_among_arguments() -> None:
    rows: list[tuple[str, list[str]]] = [
        ("/srv/notes", ["/srv/notes"]),
        ("/srv/notes/", ["/srv/notes"]),
        ("/", ["/"]),
        ("--db=/srv/db.sqlite", ["/srv/db.sqlite"]),
        ("--db=~/db.sqlite", ["/home/ana/db.sqlite"]),
        ("~", ["/home/ana"]),
        ("~/notes", ["/home/ana/notes"]),
        ("~bob/notes", []),
        ("notes", []),
        ("--verbose", []),
        ("/srv/../etc", []),
        ("/srv/..", []),
        ("/srv/a\nb", []),
        ("http://a.example/srv", []),
    ]

    for argument, found in rows:
        assert list(paths_in(Texts([argument, None], {}), HOME)) == found


def test_paths_are_found_in_the_environment() -> None:
    assert list(paths_in(Texts([], {"DB": "/srv/db", "MODE": "rw"}), HOME)) == ["/srv/db"]


def test_without_a_home_a_tilde_is_a_tilde() -> None:
    assert written_out("~/notes", "") == "~/notes"


def test_places_are_found_in_addresses_and_beside_colons() -> None:
    rows: list[tuple[str, list[NetworkEndpoint]]] = [
        ("http://127.0.0.1:8080/api", [NetworkEndpoint("127.0.0.1", 8080)]),
        ("https://tools.example", [NetworkEndpoint("tools.example", 443)]),
        ("--url=http://tools.example/x", [NetworkEndpoint("tools.example", 80)]),
        ("postgresql+asyncpg://u:p@db/x", [NetworkEndpoint("db", 5432)]),
        ("redis://[::1]:6380/0", [NetworkEndpoint("::1", 6380)]),
        ("mongodb://a:1,b:2/x", [NetworkEndpoint("a", 1), NetworkEndpoint("b", 2)]),
        ("mongodb://a,b/x", [NetworkEndpoint("a", 27017), NetworkEndpoint("b", 27017)]),
        ("unknown://somewhere/x", []),
        ("unknown://somewhere:99/x", [NetworkEndpoint("somewhere", 99)]),
        ("file:///srv/x", []),
        ("db.example:5432", [NetworkEndpoint("db.example", 5432)]),
        ("--listen=127.0.0.1:9000", [NetworkEndpoint("127.0.0.1", 9000)]),
        ("npx", []),
        ("pkg@1.2.3", []),
        ("db.example:99999", []),
    ]

    for text, found in rows:
        assert list(places_in(Texts([text, None], {}))) == found
        assert list(places_in(Texts([], {"IT": text}))) == found


def test_a_host_and_a_port_that_belong_together_are_a_place() -> None:
    rows: list[tuple[dict[str, str], list[NetworkEndpoint]]] = [
        ({"DB_HOST": "127.0.0.1", "DB_PORT": "5432"}, [NetworkEndpoint("127.0.0.1", 5432)]),
        ({"HOST": "::1", "PORT": "80"}, [NetworkEndpoint("::1", 80)]),
        ({"DB_HOSTNAME": "db", "DB_PORT": "1"}, [NetworkEndpoint("db", 1)]),
        ({"DB_HOST": "db"}, []),
        ({"DB_HOST": "db", "OTHER_PORT": "1"}, []),
    ]

    for environment, found in rows:
        assert list(places_in(Texts([], environment))) == found


def launch(line: str, **environment: str) -> Stdio:
    command, *arguments = line.split()
    given = {name: Plain(value) for name, value in environment.items()}
    return Stdio(command, tuple(map(Plain, arguments)), given)


def test_a_launcher_names_its_package() -> None:
    rows: list[tuple[str, Package]] = [
        ("npx -y @scope/server-github", Package("npm", "@scope/server-github")),
        ("npx --yes @scope/server@2025.4.8 /data", Package("npm", "@scope/server", "2025.4.8")),
        ("/usr/bin/npx tavily-mcp@0.2.22", Package("npm", "tavily-mcp", "0.2.22")),
        ("bunx server", Package("npm", "server")),
        ("pnpm dlx server", Package("npm", "server")),
        ("uvx mcp-server-git --repository x", Package("pypi", "mcp-server-git")),
        ("uvx mcp-server-git==2026.10.19", Package("pypi", "mcp-server-git", "2026.10.19")),
        ("uvx mcp-server-git@2026.10.19", Package("pypi", "mcp-server-git", "2026.10.19")),
        ("uv tool run mcp-server-time", Package("pypi", "mcp-server-time")),
        ("pipx run mcp-server-time", Package("pypi", "mcp-server-time")),
    ]

    for line, package in rows:
        assert package_of(launch(line)) == package


def test_whatever_could_run_something_else_is_not_taken_for_a_package() -> None:
    rows: list[str] = [
        "npx",
        "npx -y",
        "npx -p evil server",
        "npx --registry=https://example.com server",
        "npx server@latest",
        "npx git+https://example.com/x",
        "npx ./here",
        "uvx --from evil mcp-server-git",
        "uvx --with evil mcp-server-git",
        "uvx mcp-server-git>=1",
        "uv run server",
        "python -m server",
        "docker run image",
        "node server.js",
    ]

    for line in rows:
        assert package_of(launch(line)) is None


def test_a_variable_that_decides_which_code_runs_makes_it_any_package() -> None:
    assert package_of(launch("npx server", TOKEN="x")) == Package("npm", "server")
    assert package_of(launch("npx server", NODE_OPTIONS="-r evil")) is None
    assert package_of(launch("npx server", npm_config_registry="https://example.com")) is None


def test_an_argument_from_elsewhere_ends_what_is_known() -> None:
    assert package_of(Stdio("npx", (FromEnvironment("SERVER"),))) is None
    assert package_of(Http("https://example.com")) is None


def test_a_package_is_told_with_its_version() -> None:
    assert str(Package("npm", "server", "1.0")) == "server 1.0"
    assert str(Package("npm", "server")) == "server"


URL = "https://tools.example/api/mcp"


def test_what_has_a_meaning_may_be_said() -> None:
    rows: list[tuple[str, str]] = [
        ("AWS_REGION", "eu-central-1"),
        ("MODEL", "gpt-4o-mini"),
        ("ALLOWED", "/home/ana/My Documents"),
        ("FOLDER", r"C:\Users\ana"),
        ("HOST", "db.example:5432"),
        ("USER", "ana@example.com"),
        ("REPOSITORY", "acme/website"),
        ("DEBUG", "true"),
        ("PORT", "8080"),
        ("PATTERN", "PathOfTheDay"),
        ("BASE", URL),
        ("BASE", f"{URL}?project=website"),
        ("HEADERS", '{"Accept": "text/plain", "n": 1}'),
        ("PATH", "/usr/bin:/bin"),
        ("COMPASS", "north"),
    ]

    for name, value in rows:
        assert list(credentials_in(name, value)) == []


def test_what_is_named_so_or_has_none_is_a_credential() -> None:
    rows: list[tuple[str, str]] = [
        ("API_TOKEN", "words-alone"),
        ("DB_PASS", "correct horse"),
        ("OPENAI_KEY", "x"),
        ("GITHUB_PAT", "p"),
        ("apiKey", "y"),
        ("X", "s3cr3t-value"),
        ("X", "AbCdEfGhIj"),
        ("X", "abcdefghijklmnopqrstuvwxyz"),
        ("X", "123456789"),
        ("X", "what!ever"),
        ("X", "{not json"),
        ("X", "http://[broken"),
    ]

    for name, value in rows:
        assert value in credentials_in(name, value)


def test_of_an_address_or_a_document_it_is_the_part_and_the_whole() -> None:
    rows: list[tuple[str, set[str]]] = [
        (f"{URL}?key=abc", {"abc"}),
        (f"{URL}?x=a1b2c3d4e5", {"a1b2c3d4e5"}),
        ("postgres://ana:hunter@db/x", {"hunter"}),
        ("https://x.example/s/a1b2c3d4e5f6g7h8/mcp", {"a1b2c3d4e5f6g7h8"}),
        ('{"Authorization": "Bearer words", "v": "2022-06-28"}', {"Bearer words", "words"}),
        ('[{"token": ["x"]}]', {"x"}),
    ]

    for value, found in rows:
        assert set(credentials_in("X", value)) == {value, *found}


def test_a_credential_may_be_repeated_without_what_stands_before_it() -> None:
    assert set(told("Authorization: Bearer abc")) == {"Authorization: Bearer abc", "abc"}
    assert set(told("--token=abc")) == {"--token=abc", "abc"}


OURS = "/home/ana/.config/portico/portico.toml"


def test_a_reference_is_found() -> None:
    rows: list[tuple[str, Value]] = [
        ("secret:github", FromSecret("secret:github")),
        ("keyring:github/ana", FromSecret("keyring:github/ana")),
        ("env:TOKEN", FromEnvironment("TOKEN")),
        ("file:~/token", FromFile("~/token", "")),
        ("Bearer secret:github", Template(("Bearer ", FromSecret("secret:github")))),
        ("token file:/etc/t", Template(("token ", FromSecret("file:/etc/t")))),
        ("Basic env:TOKEN", Template(("Basic ", FromEnvironment("TOKEN")))),
    ]

    for text, value in rows:
        assert referred(text) == value


def test_anything_else_is_none() -> None:
    for text in ("", "plain", "secret:", "Bearer plain", "see secret:github"):
        assert referred(text) is None


def test_our_own_file_may_refer_to_secrets() -> None:
    text = """
        [servers.github]
        command = "npx"
        args = ["server", "--key", "secret:github"]
        env = { TOKEN = "secret:github", KEY = "keyring:work/ana", PLAIN = "secrets" }

        [servers.far]
        url = "https://far.example/mcp"
        headers = { Authorization = "Bearer secret:far" }
    """
    found = by_name(said(PORTICO_TOML, text, OURS))

    assert found["github"].launch == Stdio(
        "npx",
        (Plain("server"), Plain("--key"), FromSecret("secret:github")),
        {
            "TOKEN": FromSecret("secret:github"),
            "KEY": FromSecret("keyring:work/ana"),
            "PLAIN": FromFile(OURS, "/servers/github/env/PLAIN"),
        },
    )
    assert found["far"].launch == Http(
        "https://far.example/mcp",
        {"Authorization": Template(("Bearer ", FromSecret("secret:far")))},
    )


@pytest.mark.requirement("guard:secrets:own-file-only")
def test_a_file_of_a_project_cannot_ask_for_our_secrets() -> None:
    entry = '{"command": "x", "args": ["secret:github"], "env": {"K": "secret:github"}}'
    text = f'{{"mcpServers": {{"x": {entry}}}}}'

    launch = by_name(said(CURSOR, text, "/srv/shop/.cursor/mcp.json"))["x"].launch

    assert isinstance(launch, Stdio)
    assert launch.arguments == (Plain("secret:github"),)
    assert launch.environment == {
        "K": FromFile("/srv/shop/.cursor/mcp.json", "/mcpServers/x/env/K")
    }


@pytest.mark.parametrize("client", CLIENTS, ids=lambda each: each.name)
def test_no_other_client_has_references(client: Client) -> None:
    text = f'{{"{client.key}": {{"x": {{"command": "x", "env": {{"K": "secret:github"}}}}}}}}'

    told = said(client, text, f"/home/ana/{client.name}.json")

    assert "FromSecret" not in repr(told)


def test_a_pin_is_over_the_reference_and_a_launch_comes_back() -> None:
    launch = Stdio(
        "x",
        (FromSecret("secret:a"),),
        {"K": FromSecret("keyring:s/n"), "H": Template(("Bearer ", FromSecret("secret:b")))},
    )

    assert from_json(to_json(launch)) == launch
    assert launch_pin(launch) != launch_pin(
        Stdio("x", (FromSecret("secret:b"),), launch.environment)
    )
    assert shown(launch) == "K=${keyring:s/n} H='Bearer '${secret:b} x ${secret:a}"


def test_what_is_no_reference_is_no_launch() -> None:
    with pytest.raises(InvalidLaunch, match="secret:NAME"):
        from_json({"type": "stdio", "command": "x", "arguments": [{"secret": "github"}]})


def test_what_a_secret_holds_is_nothing_that_was_approved() -> None:
    launch = Stdio("x", (FromSecret("secret:a"),), {"LD_PRELOAD": FromSecret("secret:b")})

    assert approved_texts(launch, {}).arguments == [None]
    assert approved_texts(launch, {}).environment == {}
    assert unpinned_loaders(launch) == ("LD_PRELOAD",)
