"""Secrets over REST: in, listed, away, and never out."""

from tests.interfaces.http.conftest import Site

WHERE = "/api/v1/secrets"
CANARY = "canary-http-77aa01"


async def test_a_secret_is_set_listed_and_unset(site: Site) -> None:
    launch = {
        "type": "stdio",
        "command": "x",
        "environment": {"TOKEN": {"secret": "secret:github"}},
    }
    await site.ask("POST", "/api/v1/servers", {"name": "tracker", "launch": launch})

    made = await site.ask("PUT", f"{WHERE}/github", {"value": CANARY})
    listed = await site.ask("GET", WHERE)
    gone = await site.ask("DELETE", f"{WHERE}/github")
    twice = await site.ask("DELETE", f"{WHERE}/github")

    assert made.status == 200
    assert (made.json["name"], made.json["where"]) == ("github", "memory")
    assert made.json["used_by"] == ["tracker"]
    assert listed.json == [made.json]
    assert CANARY not in repr((made.json, listed.json))
    assert (gone.status, twice.status) == (204, 404)
    assert twice.json["code"] == "secret_not_found"


async def test_what_is_no_secret_is_refused_and_not_repeated(site: Site) -> None:
    for name, body in [
        ("github", {"value": ""}),
        ("github", {"value": "x" * 20_000}),
        ("github", {"value": 12}),
        ("github", {"value": CANARY, "wher": "age"}),
        ("github", {}),
        ("-github", {"value": CANARY}),
        ("github", {"value": f"{CANARY}\x00"}),
    ]:
        refused = await site.ask("PUT", f"{WHERE}/{name}", body)

        assert refused.status == 422, body
        assert CANARY not in repr(refused.json)
        assert "xxxx" not in repr(refused.json)
