"""Policy over REST: rules, explanations, and keys that are good for some tools alone."""

from typing import Any

from tests.interfaces.http.conftest import Site
from tests.interfaces.http.test_servers import approved

RULES = "/api/v1/policy/rules"
EXPLAIN = "/api/v1/policy/explain"
CALL = {"tool": "files.read_file", "arguments": {"path": "a"}}


async def member_key(site: Site, **wish: Any) -> str:
    added = await site.ask("POST", "/api/v1/principals", {"kind": "worker", "name": "scout"})
    wish = {"name": "k", "principal": added.json["id"], **wish}
    made = await site.ask("POST", "/api/v1/keys", wish)
    key: str = made.json["key"]
    return key


async def test_a_rule_is_made_listed_and_removed(site: Site) -> None:
    body = {
        "name": "no-files",
        "decision": "deny",
        "tools": ["files.*"],
        "except": ["files.list_*"],
        "who": ["role:member"],
        "effects": ["external_write"],
        "days": 7,
    }

    made = await site.ask("POST", RULES, body)
    listed = await site.ask("GET", RULES)
    removed = await site.ask("DELETE", f"{RULES}/no-files")
    again = await site.ask("DELETE", f"{RULES}/no-files")

    assert made.status == 201
    assert {name: made.json[name] for name in body if name != "days"} == {
        name: value for name, value in body.items() if name != "days"
    }
    assert made.json["made_by"] == "ana"
    assert made.json["expires_at"] is not None
    assert [rule["name"] for rule in listed.json["data"]] == ["anything", "no-files"]
    assert removed.status == 204
    assert (again.status, again.json["code"]) == (404, "rule_not_found")


async def test_a_rule_for_tainted_tasks_says_how_far_it_goes(site: Site) -> None:
    body = {"decision": "allow", "tools": ["files.*"], "tainted": True}

    plain = await site.ask("POST", RULES, body)
    team = await site.ask("POST", RULES, {**body, "upto": "team"})

    assert (plain.json["upto"], team.json["upto"]) == ("public", "team")


async def test_what_stands_in_the_file_is_changed_there(site: Site) -> None:
    refused = await site.ask("DELETE", f"{RULES}/anything")
    taken = await site.ask("POST", RULES, {"name": "anything", "decision": "deny", "tools": ["*"]})

    assert (refused.status, refused.json["code"]) == (409, "rule_of_the_file")
    assert (taken.status, taken.json["code"]) == (409, "rule_taken")


async def test_a_rule_decides_the_next_call(site: Site) -> None:
    await approved(site)

    await site.ask("POST", RULES, {"name": "no", "decision": "deny", "tools": ["files.*"]})
    refused = await site.ask("POST", "/api/v1/calls", CALL)
    await site.ask("DELETE", f"{RULES}/no")
    after = await site.ask("POST", "/api/v1/calls", CALL)

    assert after.status == 200
    assert (refused.status, refused.json["code"]) == (403, "refused")
    assert "(rule no)" in refused.json["detail"]


async def test_a_decision_is_explained(site: Site) -> None:
    await approved(site)
    await site.ask("POST", RULES, {"name": "no", "decision": "deny", "tools": ["files.*"]})

    found = (await site.ask("GET", EXPLAIN, query="principal=ana&tool=files.read_file")).json
    beside = await site.ask("GET", EXPLAIN, query="principal=ana&tool=files.~resource")

    assert (found["decision"], found["rule"]) == ("denied", "no")
    assert found["reason"] == "a rule that ana made denies it"
    assert [rule["name"] for rule in found["matched"]] == ["anything", "no"]
    assert [each["when"] for each in found["otherwise"]] == ["without the rule no"]
    assert found["context"]["untrusted"] is False
    assert found["key"] == site.key.split("_")[1][:12]
    assert (beside.json["effect"], beside.json["decision"]) == ("external_read", "denied")


async def test_a_key_is_good_for_the_tools_on_its_list_alone(site: Site) -> None:
    await approved(site)
    listed = await member_key(site, tools=["files.list_*"])

    refused = await site.ask("POST", "/api/v1/calls", CALL, key=listed)
    me = await site.ask("GET", "/api/v1/me", key=listed)
    wider = await site.ask("POST", "/api/v1/keys", {"name": "w", "tools": ["*"]}, key=listed)
    same = await site.ask("POST", "/api/v1/keys", {"name": "s"}, key=listed)

    assert (refused.status, refused.json["code"]) == (403, "refused")
    assert "default:list" in refused.json["detail"]
    assert me.json["tools"] == [["files.list_*"]]
    assert (wider.status, wider.json["code"]) == (403, "overreach")
    assert same.json["tools"] == ["files.list_*"]


async def test_a_principal_is_given_a_list_and_freed_of_it(site: Site) -> None:
    await approved(site)
    key = await member_key(site)
    who = (await site.ask("GET", "/api/v1/me", key=key)).json["id"]

    listed = await site.ask("PATCH", f"/api/v1/principals/{who}", {"tools": ["mail.*"]})
    refused = await site.ask("POST", "/api/v1/calls", CALL, key=key)
    await site.ask("PATCH", f"/api/v1/principals/{who}", {"tools": ["*"]})
    passed = await site.ask("POST", "/api/v1/calls", CALL, key=key)

    assert listed.json["tools"] == ["mail.*"]
    assert (refused.status, passed.status) == (403, 200)


async def test_a_receipt_is_not_given_to_a_key_for_fewer_tools(site: Site) -> None:
    """The same request under the same name, from a narrower key of the same principal."""
    header = ((b"idempotency-key", b"k1"),)
    wide = await member_key(site)
    made = await site.ask("POST", "/api/v1/keys", {"name": "n", "tools": ["a.*"]}, key=wide)
    body = {"name": "x", "tools": ["a.b"]}

    first = await site.ask("POST", "/api/v1/keys", body, key=wide, headers=header)
    second = await site.ask("POST", "/api/v1/keys", body, key=made.json["key"], headers=header)

    assert (first.status, second.status) == (201, 422)
    assert second.json["code"] == "idempotency_key_reused"
