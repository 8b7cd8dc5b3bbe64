"""A running Portico that has something to show: the catalogue's servers, played by a script, with
the tools that they really offer; an office whose weekly report waits for somebody's yes; a chat, a
conversation, a debate, and enough past for the graph of tools."""

import json
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jsonschema_rs

from tests.installation import installation
from tests.pictures.story import ANSWERS, ASKED, CHAT, QUESTION, REPORT, TALK, TOOLS, votes
from tests.real_servers.gateway import Gateway, script_command
from tests.real_servers.world import give_away
from tests.scenarios.console_town import Town
from tests.scenarios.scripted_model import MODEL, scripted_model
from tests.scenarios.voting_models import voting_models

_OURS: Final = Path(__file__).parents[1] / "fixtures" / "mcp-catalogue"
_TALKS: Final = 90
_LONGEST: Final = 9
_DEPTH: Final = 4
_WAITING: Final = {"Prefer": "wait=50"}


@dataclass(frozen=True)
class Gallery:
    town: Town
    key: str
    """Of the person who looks."""
    report: str
    chat: str
    project: str
    conversation: str
    debate: str


@contextmanager
def gallery() -> Iterator[Gallery]:
    with voting_models() as voters, scripted_model() as model, installation() as house:
        voters.says, model.plays[ASKED] = votes, CHAT
        provider = 'kind = "compatible"\nwindow = 100000\nstructured = true\ntools = true\n'
        prices = "price_in = 2.5\nprice_out = 10\n"
        with (house.home / "config" / "portico.toml").open("a", encoding="utf-8") as settings:
            settings.write(
                "\n[models]\ndiscover = false\n"
                f'\n[models.providers.office]\nurl = "{model.url}"\n{provider}{prices}'
                f'\n[models.providers.voters]\nurl = "{voters.url}"\n{provider}{prices}'
            )
        with house.serving():
            yield _filled(Town(house, Gateway(house)))


def catalogue() -> Mapping[str, Sequence[dict[str, Any]]]:
    """Of all 54 servers where the evaluation data is at hand, else of those that we may keep."""
    given = os.environ.get("PORTICO_BENCH_DATA")
    folder = Path(given) / "mcp-catalogue" if given else _OURS
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))["tools"]
        for path in sorted(folder.glob("*.json"))
    }


def _filled(town: Town) -> Gallery:
    tools = {**catalogue(), **TOOLS}
    _furnish(town, tools)
    _learn(town, tools)
    ana = town.person("ana", "restricted", "admin")
    town.plan([*REPORT["steps"][:5]], wait=30, intent="Read the files of week 46")
    agent = (town.house.home / "config" / "agent.key").read_text().strip()
    project = town.ask("POST", "/projects", {"name": "Harbour", "label": "team"})["id"]
    talk = {"project": project, "title": "Which store do we take?", "label": "team"}
    conversation = town.ask("POST", "/conversations", talk)["id"]
    _talk(town, conversation, {"agent": agent, "person": ana})
    with town.house.client(ana) as client:
        held = client.post("/debates", json={**QUESTION, "project": project}, headers=_WAITING)
        asked = client.post("/agents/office/runs", json={"message": ASKED})
    debate, chat = held.json()["id"], asked.json()["run"]
    town.until(f"/traces/{chat}", lambda found: found["run"]["status"] == "completed")
    wish = {"plan": REPORT, "intent": "Write the weekly report"}
    with town.house.client(agent) as client:
        started = client.post("/workflows", json=wish, headers={"Prefer": "wait=0"})
    assert started.is_success, started.text
    report = started.json()["run"]
    town.until(f"/workflows/{report}", lambda found: found["status"] == "waiting")
    return Gallery(town, ana, report, chat, project, conversation, debate)


def _furnish(town: Town, tools: Mapping[str, Sequence[dict[str, Any]]]) -> None:
    folder = town.house.home.parent / "servers"
    folder.mkdir()
    for name, offered in tools.items():
        answers = ANSWERS.get(name, {})
        plan = {"name": name, "tools": offered, "answers": answers, "quiet": True}
        (folder / f"{name}.json").write_text(json.dumps(plan), encoding="utf-8")
    give_away(folder)
    for name in tools:
        town.gateway.add(name, script_command(folder / f"{name}.json"))
    town.gateway.approve(*tools)
    for name in ("github.create_*", "slack.slack_post_*"):
        town.ask("PUT", "/effects", {"tools": name, "effect": "external_write"})
    for server in ("files", "ledger", "charts", "writer", "notes", "fetch"):
        town.ask("PUT", "/effects", {"tools": f"{server}.*", "effect": "local_read"})
    rule = {
        "name": "ask-to-publish",
        "decision": "ask",
        "tools": ["github.create_issue", "slack.slack_post_message"],
    }
    town.ask("POST", "/policy/rules", rule)
    spec = {
        "name": "office",
        "model": f"office:{MODEL}",
        "tools": ["ledger.*", "files.*", "notes.search", "charts.render"],
        "instructions": "You look after the numbers of a small shop. Say what you looked at.",
    }
    town.ask("POST", "/agents", spec)


def _talk(town: Town, conversation: str, keys: Mapping[str, str]) -> None:
    for by, text in TALK:
        with town.house.client(keys[by]) as client:
            said = client.post(f"/conversations/{conversation}/messages", json={"body": text})
        assert said.is_success, said.text


def _learn(town: Town, tools: Mapping[str, Sequence[dict[str, Any]]]) -> None:
    """Plans of a seed: some tools of a server and one or two of a related one, again and again."""
    seed = random.Random(46)
    names = sorted(tools)
    for _ in range(_TALKS):
        first = seed.choice(names)
        other = names[(names.index(first) + seed.choice((1, 1, 2))) % len(names)]
        some = [f"{first}.{each['name']}" for each in tools[first] if _callable(each)]
        more = [f"{other}.{each['name']}" for each in tools[other] if _callable(each)]
        chosen = seed.sample(some, min(len(some), _LONGEST)) + seed.sample(more, min(len(more), 2))
        schemas = {f"{at}.{each['name']}": each for at in (first, other) for each in tools[at]}
        steps = [
            {
                "id": f"s{place}",
                "tool": tool,
                "arguments": made_up(schemas[tool].get("inputSchema", {})),
                **({"after": [f"s{place - 1}"]} if place else {}),
            }
            for place, tool in enumerate(chosen)
        ]
        town.ask("POST", "/workflows", {"plan": {"steps": steps}}, Prefer="wait=60")


def _callable(tool: Mapping[str, Any]) -> bool:
    """Whether what is made up for it is let through: nothing that wants a pattern, or has names
    that mean something in a plan."""
    schema = tool.get("inputSchema", {})
    given = made_up(schema)
    return "$" not in json.dumps(given) and bool(jsonschema_rs.is_valid(schema, given))


def made_up(schema: Mapping[str, Any], depth: int = 0) -> Any:
    """Something that the schema lets through, as little as can be."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for several in ("anyOf", "oneOf"):
        if schema.get(several):
            return made_up(schema[several][0], depth)
    kind = schema.get("type", "object" if "properties" in schema or depth == 0 else "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        known = schema.get("properties", {})
        wanted = schema.get("required", []) if depth < _DEPTH else []
        return {name: made_up(known.get(name, {}), depth + 1) for name in wanted}
    if kind == "array":
        return [made_up(schema.get("items", {}), depth + 1)] * max(schema.get("minItems", 1), 1)
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    plain = {"boolean": True, "null": None}
    return plain[kind] if kind in plain else "week-46".ljust(schema.get("minLength", 0), "6")
