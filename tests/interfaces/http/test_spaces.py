"""Tasks over REST, and the header that says which one a request is part of."""

from portico.testing.gateway import seen
from tests.interfaces.http.conftest import Site
from tests.interfaces.http.test_servers import approved


async def opened(site: Site) -> str:
    made = await site.ask("POST", "/api/v1/contexts", {"name": "quarter"})
    assert made.status == 201, made.body
    return str(made.json["id"])


def at(context: str) -> tuple[bytes, bytes]:
    return b"portico-context", context.encode()


async def test_a_task_is_clean_at_first_and_listed_until_it_is_closed(site: Site) -> None:
    context = await opened(site)

    [listed] = (await site.ask("GET", "/api/v1/contexts")).json
    closed = await site.ask("DELETE", f"/api/v1/contexts/{context}")

    assert (listed["id"], listed["label"], listed["untrusted"]) == (context, "public", False)
    assert closed.status == 204
    assert (await site.ask("GET", "/api/v1/contexts")).json == []
    assert (await site.ask("DELETE", f"/api/v1/contexts/{context}")).status == 404


async def test_a_request_that_names_a_task_is_part_of_it(site: Site) -> None:
    site.upstreams.offers["files"] = seen()
    await approved(site)
    context, other = await opened(site), await opened(site)

    called = await site.ask(
        "POST", "/api/v1/calls", {"tool": "files.read_file"}, headers=(at(context),)
    )

    assert called.status == 200, called.body
    listed = {it["id"]: it["untrusted"] for it in (await site.ask("GET", "/api/v1/contexts")).json}
    assert listed == {context: True, other: False}


async def test_only_one_open_task_is_entered(site: Site) -> None:
    one, other, closed = [await opened(site) for _ in range(3)]
    await site.ask("DELETE", f"/api/v1/contexts/{closed}")

    async def entering(*contexts: str) -> tuple[int, str]:
        headers = tuple(at(each) for each in contexts)
        answer = await site.ask("GET", "/api/v1/servers", headers=headers)
        return answer.status, answer.json["code"]

    assert await entering(one, other) == (422, "bad_id")
    assert await entering("ctx_no") == await entering("") == (422, "bad_id")
    nowhere = await entering(f"ctx_{'0' * 26}")
    assert await entering(closed) == nowhere == (404, "context_not_found")


async def test_an_agent_opens_none_and_is_at_none_but_its_keys(site: Site) -> None:
    context = await opened(site)
    made = await site.ask("POST", "/api/v1/keys", {"name": "desk", "agent": True})
    agent = str(made.json["key"])

    asked = await site.ask("POST", "/api/v1/contexts", {"name": "clean"}, key=agent)
    entered = await site.ask("GET", "/api/v1/servers", headers=(at(context),), key=agent)

    assert (asked.status, asked.json["code"]) == (403, "not_permitted")
    assert (entered.status, entered.json["code"]) == (403, "not_permitted")
    assert (await site.ask("GET", "/api/v1/servers", key=agent)).status == 200
