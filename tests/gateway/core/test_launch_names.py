"""What a launch names, as far as somebody has approved it."""

from portico.box.core.profile import Place
from portico.gateway.core.launch_names import (
    Texts,
    approved_texts,
    paths_in,
    places_in,
    written_out,
)
from portico.gateway.core.server import FromEnvironment, FromFile, Plain, Stdio, Template

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
    rows: list[tuple[str, list[Place]]] = [
        ("http://127.0.0.1:8080/api", [Place("127.0.0.1", 8080)]),
        ("https://tools.example", [Place("tools.example", 443)]),
        ("--url=http://tools.example/x", [Place("tools.example", 80)]),
        ("postgresql+asyncpg://u:p@db/x", [Place("db", 5432)]),
        ("redis://[::1]:6380/0", [Place("::1", 6380)]),
        ("mongodb://a:1,b:2/x", [Place("a", 1), Place("b", 2)]),
        ("mongodb://a,b/x", [Place("a", 27017), Place("b", 27017)]),
        ("unknown://somewhere/x", []),
        ("unknown://somewhere:99/x", [Place("somewhere", 99)]),
        ("file:///srv/x", []),
        ("db.example:5432", [Place("db.example", 5432)]),
        ("--listen=127.0.0.1:9000", [Place("127.0.0.1", 9000)]),
        ("npx", []),
        ("pkg@1.2.3", []),
        ("db.example:99999", []),
    ]

    for text, found in rows:
        assert list(places_in(Texts([text, None], {}))) == found
        assert list(places_in(Texts([], {"IT": text}))) == found


def test_a_host_and_a_port_that_belong_together_are_a_place() -> None:
    rows: list[tuple[dict[str, str], list[Place]]] = [
        ({"DB_HOST": "127.0.0.1", "DB_PORT": "5432"}, [Place("127.0.0.1", 5432)]),
        ({"HOST": "::1", "PORT": "80"}, [Place("::1", 80)]),
        ({"DB_HOSTNAME": "db", "DB_PORT": "1"}, [Place("db", 1)]),
        ({"DB_HOST": "db"}, []),
        ({"DB_HOST": "db", "OTHER_PORT": "1"}, []),
    ]

    for environment, found in rows:
        assert list(places_in(Texts([], environment))) == found
