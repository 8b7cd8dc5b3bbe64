"""What routes of every subject do alike: writes that are repeated, lists that are read page by
page, and requests that cannot be meant."""

import json
from typing import Any, Final

import pytest

from portico.interfaces.http.shapes import opaque
from tests.interfaces.http.asgi import Header
from tests.interfaces.http.conftest import Site
from tests.interfaces.http.test_agents import CLERK
from tests.interfaces.http.test_approvals import agent, asks
from tests.interfaces.http.test_permissions import code_of
from tests.interfaces.http.test_servers import LAUNCH
from tests.interfaces.http.test_workflows import PLAN, open_box

API: Final = "/api/v1"
KEY: Final[tuple[Header, ...]] = ((b"idempotency-key", b"k1"),)
NOBODY: Final = "0" * 26
RUN: Final = f"run_{NOBODY}"
TIME: Final = "2026-01-01T00:00:00"
RULE: Final = {"decision": "deny", "tools": ["*"]}
ROBOT: Final = {"kind": "agent", "name": "robot"}
AGENTS_KEY: Final = {"name": "x", "agent": True, "principal": f"prn_{NOBODY}"}
QUESTION: Final = {"question": "Is it so?"}
CHAT: Final = "/v1/chat/completions"
UNKNOWN: Final = f"sug_{NOBODY}"


NO_AGENTS: Final[list[object]] = [[], "clerk", 3, None]
DEEP: Final[object] = json.loads("[" * 400 + "]" * 400)


def asked(model: str, *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    said = list(messages) or [{"role": "user", "content": "Is it so?"}]
    return {"model": model, "messages": said, **more}


REFUSED: Final[list[tuple[str, object, str]]] = [
    ("GET /nowhere", None, "404 route_not_found"),
    (f"GET {API}/keys/", None, "404 route_not_found"),
    (f"PUT {API}/keys", None, "405 method_not_allowed"),
    (f"POST {API}/keys", None, "422 invalid_request"),
    (f"GET {API}/keys/000000000000", None, "404 key_not_found"),
    (f"GET {API}/keys/not-a-key-id", None, "422 invalid_request"),
    (f"POST {API}/keys", {"name": "typo", "scope": ["status:read"]}, "422 invalid_request scope"),
    (f"POST {API}/keys", {"name": "typo", "expires_days": 30}, "422 invalid_request expires_days"),
    (f"POST {API}/keys", AGENTS_KEY, "422 invalid_request"),
    (f"GET {API}/principals/prn_{NOBODY}", None, "404 principal_not_found"),
    (f"POST {API}/principals", ROBOT | {"role": ["viewer"]}, "422 invalid_request role"),
    (f"POST {API}/principals", ROBOT | {"kind": "person"}, "422 invalid_request kind"),
    (f"POST {API}/invitations", {"name": "b", "role": "viewer"}, "422 invalid_request role"),
    (f"GET {API}/principals?after=!", None, "422 bad_cursor"),
    (f"GET {API}/principals?after=zzz", None, "422 bad_cursor"),
    (f"GET {API}/principals?after=YQ", None, "422 bad_id"),
    (f"GET {API}/principals?after=%F0%9F%98%80", None, "422 bad_cursor"),
    (f"GET {API}/principals?after={'a' * 200}", None, "422 bad_cursor"),
    (f"GET {API}/audit?after=MA", None, "422 bad_cursor"),
    (f"GET {API}/audit?after=LTE", None, "422 bad_cursor"),
    (f"GET {API}/audit?after=eA", None, "422 bad_cursor"),
    (f"GET {API}/audit?since={TIME}", None, "422 invalid_request since"),
    (f"GET {API}/audit?since=0.5", None, "422 invalid_request since"),
    (f"GET {API}/audit?since=1767225600", None, "422 invalid_request since"),
    (f"GET {API}/audit?since=2026-01-01", None, "422 invalid_request since"),
    (f"GET {API}/approvals?after=bm9wZQ", None, "422 bad_cursor"),
    (f"GET {API}/calls?after=bm9wZQ", None, "422 bad_cursor"),
    (f"GET {API}/calls?after=MjAyNi0wMS0wMQ", None, "422 bad_cursor"),
    (f"POST {API}/calls", {"tool": "files.nothing"}, "404 tool_not_found"),
    (f"POST {API}/calls", {"tool": "odd"}, "422 bad_tool_ref"),
    (f"GET {API}/servers/nowhere", None, "404 server_not_found"),
    (f"POST {API}/servers", {"name": "files", "launch": {}}, "422 bad_launch"),
    (f"PUT {API}/ahead", {"mode": "on"}, "422 invalid_request mode"),
    (f"PUT {API}/ahead", {"modes": "off"}, "422 invalid_request modes"),
    (f"PUT {API}/ahead", {"learning": "no"}, "422 invalid_request learning"),
    (f"PUT {API}/ahead", {"servers": {"f": {"external": 1}}}, "422 invalid_request servers"),
    (f"PUT {API}/ahead", {"servers": {"f": {"mood": "off"}}}, "422 invalid_request servers"),
    (f"GET {API}/graph/path?from=a.b&to=x", None, "422 bad_tool_ref"),
    (f"GET {API}/graph/path?from=a.b&to=a.c", None, "404 tool_not_found"),
    (f"GET {API}/graph/neighbours/a.b", None, "404 tool_not_found"),
    (f"GET {API}/graph/path?from=a.b", None, "422 invalid_request to"),
    (f"POST {API}/policy/rules", RULE | {"tools": []}, "422 bad_rule tools"),
    (f"POST {API}/policy/rules", RULE | {"tools": ["a b"]}, "422 invalid_request tools"),
    (f"POST {API}/policy/rules", RULE | {"who": ["role:boss"]}, "422 bad_rule who"),
    (f"POST {API}/policy/rules", RULE | {"decision": "perhaps"}, "422 invalid_request decision"),
    (f"POST {API}/policy/rules", RULE | {"effects": ["odd"]}, "422 invalid_request effects"),
    (f"POST {API}/policy/rules", RULE | {"reads": True}, "422 bad_rule reads"),
    (f"POST {API}/policy/rules", RULE | {"upto": "team"}, "422 bad_rule upto"),
    (f"POST {API}/policy/rules", RULE | {"upto": "secret"}, "422 invalid_request upto"),
    (
        f"POST {API}/policy/rules",
        {"decision": "allow", "tools": ["*"], "tainted": True, "upto": "team+nobody"},
        "422 bad_rule upto",
    ),
    (f"POST {API}/policy/rules", RULE | {"name": "a b"}, "422 invalid_request name"),
    (f"POST {API}/policy/rules", RULE | {"but": ["x"]}, "422 invalid_request but"),
    (f"GET {API}/policy/explain?principal=nobody&tool=a.b", None, "404 principal_not_found"),
    (f"GET {API}/policy/explain?principal=ana&tool=a.b", None, "404 tool_not_found"),
    (f"GET {API}/policy/explain?principal=ana&tool=odd", None, "422 bad_tool_ref"),
    (f"GET {API}/policy/explain?principal=ana", None, "422 invalid_request tool"),
    (f"POST {API}/suggestions", {"intent": ""}, "422 invalid_request intent"),
    (f"POST {API}/suggestions", {"intent": " "}, "422 bad_intent"),
    (f"POST {API}/suggestions", {"intent": "x" * 2_001}, "422 invalid_request intent"),
    (f"POST {API}/feedback", {"run": "x", "outcome": "accepted"}, "422 invalid_request run"),
    (f"POST {API}/feedback", {"run": UNKNOWN, "outcome": "lost"}, "422 invalid_request outcome"),
    (f"POST {API}/feedback", {"run": UNKNOWN, "outcome": "accepted"}, "404 suggestion_not_found"),
    (f"POST {API}/feedback", {"run": RUN, "outcome": "accepted"}, "404 nothing_suggested"),
    (f"POST {API}/workflows", {"suggestion": UNKNOWN}, "404 suggestion_not_found"),
    (f"POST {API}/workflows", {"suggestion": "sug_1"}, "422 invalid_request suggestion"),
    (f"POST {API}/workflows", {"intent": "look"}, "422 one_of_plan_and_name"),
    (f"POST {API}/workflows", {}, "422 one_of_plan_and_name"),
    (f"POST {API}/runs", {"kind": "nothing"}, "422 kind_not_found"),
    (f"POST {API}/runs", {"kind": "drill", "input": {"steps": 0}}, "422 bad_input"),
    (f"POST {API}/runs", {"kind": "drill", "input": {"stteps": 1}}, "422 bad_input"),
    (f"POST {API}/runs", {"kind": "drill", "input": []}, "422 invalid_request input"),
    (f"POST {API}/runs", {"kind": "drill", "inputs": {}}, "422 invalid_request inputs"),
    (f"POST {API}/runs", {"kind": "drill", "label": "secret"}, "422 invalid_request label"),
    (f"POST {API}/runs", {"kind": "drill\n"}, "422 invalid_request kind"),
    (f"POST {API}/runs", {}, "422 invalid_request kind"),
    (f"POST {API}/runs", {"kind": "drill", "input": {"steps": DEEP}}, "422 invalid_request"),
    (f"GET {API}/runs?status=gone", None, "422 invalid_request status"),
    (f"GET {API}/runs?kind=%00", None, "422 invalid_request kind"),
    (f"GET {API}/runs?limit=0", None, "422 invalid_request limit"),
    (f"GET {API}/runs?after=%C3%A9", None, "422 bad_cursor"),
    *(
        (f"GET {API}/runs?after={opaque(place)}", None, "422 bad_cursor")
        for place in (
            "",
            RUN,
            f"yesterday {RUN}",
            f"{TIME}+00:00",
            f"{TIME}+00:00 run_1",
            f"{TIME} {RUN}",
            f"2026-01-01T02:00:00+02:00 {RUN}",
            f"0001-01-01T00:00:00+14:00 {RUN}",
            f"{TIME}+00:00 {RUN} and more",
        )
    ),
    *(
        (f"GET {API}/events?{query}", None, "422 invalid_request topics")
        for query in (
            "",
            "topics=",
            "topics=a,,b",
            "topics=a,",
            f"topics={'x' * 201}",
            f"topics={','.join(map(str, range(201)))}",
            "topics=a%00",
            "topics=a%20b",
        )
    ),
    (f"GET {API}/events?topics=runs&after=nonsense", None, "422 bad_cursor"),
    (f"GET {API}/events?topics=runs&after={'x' * 4001}", None, "422 invalid_request after"),
    (f"GET {API}/runs/{RUN}/events", None, "404 run_not_found"),
    (f"GET {API}/agents/runs/{RUN}/events", None, "404 agent_run_not_found"),
    (f"GET {API}/debates/dbt_{NOBODY}/events", None, "404 debate_not_found"),
    (f"GET {API}/traces?status=odd", None, "422 invalid_request status"),
    (f"GET {API}/traces?since=yesterday", None, "422 invalid_request since"),
    (f"GET {API}/traces?since={TIME}", None, "422 invalid_request since"),
    (f"GET {API}/traces?after=!!", None, "422 bad_cursor"),
    (f"GET {API}/traces?text=", None, "422 invalid_request text"),
    *((f"POST {API}/agents", body, "422 invalid_request body") for body in NO_AGENTS),
    (f"POST {API}/agents/import", {"toml": "a = "}, "422 bad_agent_file"),
    (f"POST {API}/agents/import", {"toml": 'name = "x"\ncolour = 1'}, "422 bad_agent"),
    *(
        (f"POST {API}/agents/clerk/runs", body, "422 invalid_request")
        for body in (
            {},
            {"message": ""},
            {"message": "a\x00b"},
            {"message": "a", "continues": "run_1"},
            {"message": "a", "limits": {"turns": 0}},
            {"message": "a", "limits": {"money": 1}},
            {"message": "a", "limits": {"token": 1}},
            {"message": "a", "label": "secret"},
            {"message": "a", "history": []},
        )
    ),
    (f"GET {API}/models/router:acme/none", None, "404 no_such_model"),
    (f"GET {API}/models/llama", None, "422 bad_model"),
    (f"POST {API}/debates", QUESTION | {"question": ""}, "422 invalid_request question"),
    (f"POST {API}/debates", QUESTION | {"question": "a\0b"}, "422 invalid_request question"),
    (f"POST {API}/debates", QUESTION | {"thoroughness": 2}, "422 invalid_request thoroughness"),
    (f"POST {API}/debates", QUESTION | {"thoroughness": "1"}, "422 invalid_request thoroughness"),
    (f"POST {API}/debates", QUESTION | {"deadline_seconds": 0}, "422 invalid_request deadline_s"),
    (f"POST {API}/debates", QUESTION | {"guests": True}, "422 invalid_request guests"),
    (f"POST {API}/debates", QUESTION | {"shared": 1}, "422 invalid_request shared"),
    (f"POST {API}/debates", QUESTION | {"cap": {"tokens": -1}}, "422 invalid_request cap.tokens"),
    (f"POST {API}/debates", QUESTION | {"cap": {"money": 1.5}}, "422 invalid_request cap.money"),
    (f"POST {API}/debates", QUESTION | {"budget": 5}, "422 invalid_request budget"),
    (f"POST {API}/debates", QUESTION | {"preset": "loudest"}, "422 invalid_request preset"),
    (f"POST {API}/debates", QUESTION | {"choices": ["a", "A "]}, "422 bad_debate"),
    (f"POST {API}/debates", QUESTION | {"label": "restricted+unknown"}, "422 bad_debate"),
    (f"POST {API}/debates", QUESTION | {"voices": ["openai:gpd"]}, "404 voice_not_found"),
    (f"POST {API}/debates", QUESTION | {"roles": ["jester"]}, "404 persona_not_found"),
    (f"POST {API}/debates", QUESTION | {"project": "nowhere"}, "404 project_not_found"),
    (f"POST {API}/debates", QUESTION | {"cap": {"tokens": 10}}, "429 budget_too_small"),
    *(
        (f"GET /v1/models/{name}", None, "404 model_not_found")
        for name in ("agent/nobody", "gpt-5", "agent/", "debate/", "debate/brawl")
    ),
    *(
        (f"POST {CHAT}", asked(name), "404 model_not_found")
        for name in ("clerk", "agent/", "gpt-5", "agent/nobody", "debate/brawl")
    ),
    (f"POST {CHAT}", asked("debate/vote", tools=[{"type": "function"}]), "400 not_supported"),
    (f"POST {CHAT}", asked("debate/vote", {"role": "user", "content": ""}), "400 no_question"),
    (
        f"POST {CHAT}",
        asked("debate/vote", {"role": "assistant", "content": "hello"}),
        "400 no_question",
    ),
]


@pytest.mark.requirement("http:problems:rfc9457")
async def test_what_cannot_be_meant_is_refused_with_its_code_and_makes_nothing(site: Site) -> None:
    """And with the field that is wrong, where it is one."""
    wrong = []
    for route, body, expected in REFUSED:
        method, _, address = route.partition(" ")
        path, _, query = address.partition("?")
        answer = await site.ask(method, path, body, query=query)
        status, code, *fields = expected.split()
        told = " ".join(each["field"] for each in answer.json.get("errors", ()))
        right = (answer.status, code_of(answer)) == (int(status), code)
        if not right or any(field not in told for field in fields):
            wrong.append((route, body, f"{answer.status} {code_of(answer)} {told}"))
        kind = "application/json" if path.startswith("/v1/") else "application/problem+json"
        assert answer.headers["content-type"] == kind

    assert wrong == []
    for what in ("runs", "debates", "agents", "workflows", "servers", "projects"):
        made = (await site.ask("GET", f"{API}/{what}")).json
        assert json.dumps(made) in {"[]", '{"data": [], "next": null}'}, what


@pytest.mark.requirement("http:writes:idempotent")
@pytest.mark.requirement("runs:start:once")
async def test_a_write_repeated_under_its_key_is_done_once_and_answered_alike(site: Site) -> None:
    await open_box(site)
    project = (await site.ask("POST", f"{API}/projects", {"name": "heron"})).json["id"]
    talk = {"project": project, "title": "Nests"}
    conversation = (await site.ask("POST", f"{API}/conversations", talk)).json["id"]
    writes: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "principals": (ROBOT, {"name": "other"}),
        "policy/rules": ({**RULE, "tools": ["mail.*"]}, {"decision": "ask"}),
        "servers": ({"name": "files", "launch": LAUNCH}, {"name": "other"}),
        "agents": (CLERK, {"name": "scribe"}),
        "runs": ({"kind": "drill"}, {"input": {"steps": 9}}),
        "workflows": ({"plan": PLAN}, {"plan": {**PLAN, "output": 1}}),
        "debates": (QUESTION, {"question": "Is it not?"}),
        "projects": ({"name": "crane"}, {"name": "egret"}),
        "conversations": (talk, {"title": "Eggs"}),
        f"conversations/{conversation}/messages": ({"body": "once"}, {"body": "twice"}),
        f"projects/{project}/leases": ({"resource": "a"}, {"resource": "b"}),
        f"projects/{project}/work": ({"title": "Count"}, {"title": "Draw"}),
    }

    for path, (wish, change) in writes.items():
        whole = f"{API}/{path}"
        first = await site.ask("POST", whole, wish, headers=KEY)
        again = await site.ask("POST", whole, wish, headers=KEY)
        other = await site.ask("POST", whole, {**wish, **change}, headers=KEY)

        assert (first.status, again.json) == (again.status, first.json), path
        assert first.status in {201, 202}, first.json
        assert "idempotency-replayed" not in first.headers, path
        if not path.endswith(("leases", "work")):  # which are the same for ever, and say no more
            assert again.headers["idempotency-replayed"] == "true", path
        assert (other.status, other.json["code"]) == (422, "idempotency_key_reused"), path


async def test_lists_are_read_page_by_page(site: Site) -> None:
    await open_box(site)
    _, bot = await agent(site)
    project = (await site.ask("POST", f"{API}/projects", {"name": "heron"})).json["id"]
    for number in range(3):
        await asks(site, bot, f"n{number}")
        name = f"n{number}"
        for path, wish in {
            "principals": {**ROBOT, "name": name},
            "keys": {"name": name},
            "runs": {"kind": "drill"},
            "agents": {**CLERK, "name": f"clerk-{number}"},
            "workflows": {"plan": PLAN},
            "calls": {"tool": "box.look"},
            "debates": QUESTION,
            "projects": {"name": name},
            "conversations": {"project": project, "title": name},
            f"projects/{project}/work": {"title": name},
        }.items():
            made = await site.ask("POST", f"{API}/{path}", wish)
            assert made.status in {200, 201, 202}, (path, made.json)

    for path in (
        *("principals", "keys", "runs", "agents", "workflows", "calls", "debates", "projects"),
        *("conversations", f"projects/{project}/work", "approvals", "audit"),
    ):
        whole = (await site.ask("GET", f"{API}/{path}")).json
        found: list[Any] = []
        after: str | None = ""
        while after is not None:
            query = f"limit=2&after={after}" if after else "limit=2"
            page = (await site.ask("GET", f"{API}/{path}", query=query)).json
            found += page["data"]
            after = page["next"]

        assert found == whole["data"], path
        assert len(found) >= 3, path
        assert whole["next"] is None, path
