"""Tasks over REST, and the header that says which one a request is part of."""

import pytest

from portico.testing.upstreams import seen
from tests.faces.http.conftest import Site
from tests.faces.http.test_servers import approved


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


@pytest.mark.parametrize(
    ("context", "status"),
    [("ctx_00000000000000000000000000", 404), ("ctx_no", 422), ("", 422)],
)
async def test_a_task_that_is_not_there_is_told_before_anything_is_done(
    site: Site, context: str, status: int
) -> None:
    answer = await site.ask("GET", "/api/v1/servers", headers=(at(context),))

    assert answer.status == status


async def test_nobody_is_at_two_tasks(site: Site) -> None:
    headers = (at(await opened(site)), at(await opened(site)))

    assert (await site.ask("GET", "/api/v1/servers", headers=headers)).status == 422


async def test_a_closed_task_is_not_entered(site: Site) -> None:
    context = await opened(site)
    await site.ask("DELETE", f"/api/v1/contexts/{context}")

    answer = await site.ask("GET", "/api/v1/servers", headers=(at(context),))

    assert (answer.status, answer.json["code"]) == (404, "context_not_found")


async def test_an_agent_opens_none_and_is_at_none_but_its_keys(site: Site) -> None:
    context = await opened(site)
    made = await site.ask("POST", "/api/v1/keys", {"name": "desk", "agent": True})
    agent = str(made.json["key"])

    asked = await site.ask("POST", "/api/v1/contexts", {"name": "clean"}, key=agent)
    entered = await site.ask("GET", "/api/v1/servers", headers=(at(context),), key=agent)

    assert (asked.status, asked.json["code"]) == (403, "not_permitted")
    assert (entered.status, entered.json["code"]) == (403, "not_permitted")
    assert (await site.ask("GET", "/api/v1/servers", key=agent)).status == 200
