"""What is a secret by its form, by its name or by its disorder, and what is not."""

from portico.gateway.core.client_files.secrecy import looks_secret, shown_url


def test_a_secret_is_known() -> None:
    rows: list[tuple[str, str]] = [
        ("--api-key=hunter2", ""),
        ("hunter2", "--api-key"),
        ("hunter2", "--figmaApiKey"),
        ("hunter2", "-token"),
        ("Authorization: Bearer 0123456789", "--header"),
        ("GITHUB_TOKEN=hunter2", "-e"),
        ("postgresql://ana:hunter2@db/shop", ""),
        ("https://tools.example/mcp?apikey=hunter2", ""),
        ("tvly-dev-a1b2c3d4e5f6g7", ""),
        ("patA1b2C3d4E5f6G.a1b2c3", ""),
    ]

    for text, before in rows:
        assert looks_secret(text, before)


def test_what_is_none_is_not_taken_for_one() -> None:
    rows: list[tuple[str, str]] = [
        ("-y", ""),
        ("--verbose", "--token"),
        ("@modelcontextprotocol/server-filesystem@2026.8.31", "-y"),
        ("mcp-server-time==2026.10.19", ""),
        ("office-powerpoint-mcp-server", ""),
        ("GITHUB_PERSONAL_ACCESS_TOKEN", "-e"),
        ("/home/ana/a1b2c3d4e5f6a7/x", ""),
        ("https://tools.example/mcp?lang=en", ""),
        ("/etc/token", "--token-file"),
        ("", "--token"),
        ("key", "token"),
    ]

    for text, before in rows:
        assert not looks_secret(text, before)


def test_an_address_is_shown_without_what_is_secret() -> None:
    rows: list[tuple[str, str]] = [
        ("https://a.example/mcp?x=1&y=", "https://a.example/mcp?x=1&y="),
        ("https://u:p4ss@a.example/", "https://u:********@a.example/"),
        ("https://a.example/s/a1b2c3d4e5f6g7h8/mcp", "https://a.example/s/********/mcp"),
        ("https://a.example/?token=x&lang=de", "https://a.example/?token=********&lang=de"),
        ("https://a.example/?tavilyApiKey=x", "https://a.example/?tavilyApiKey=********"),
        (
            "https://a.example/?key=a1b2c3d4e5f6g7&u=${HOST}/x",
            "https://a.example/?key=********&u=${HOST}/x",
        ),
        ("https://a.example/?token=${TOKEN}", "https://a.example/?token=********"),
        ("https://[a.example/", "********"),
    ]

    for url, shown in rows:
        assert shown_url(url) == shown


def test_an_address_shows_the_host_that_it_leads_to() -> None:
    shown = shown_url("https://u:pass@evil.example:1/x@good.example/mcp")

    assert shown == "https://u:********@evil.example:1/x@good.example/mcp"
