"""What of a server's environment is a credential, and what it needs to say."""

from portico.gateway.core.credentials import credentials_in, told

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
