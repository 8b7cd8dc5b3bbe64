"""The demo as it is made: by requests that anybody can send, each part if it is missing."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from portico.interfaces.cli import demo_story as story
from portico.interfaces.cli.house import House
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.patience import patiently
from portico.interfaces.cli.server import Server
from portico.samples import serve as samples

_PATIENCE: Final = 60.0
_OVER: Final = frozenset({"done", "failed", "partial", "cancelled", "waiting"})

Json = Mapping[str, Any]


@dataclass(slots=True)
class Town:
    house: House
    """As whoever looks at the demo."""
    own: Server
    say: Callable[[str], None]
    made: dict[str, Any] = field(default_factory=dict)
    """What there is, for the end."""

    def furnish(self) -> Json:
        """Raises what the server refuses."""
        self._servers()
        agent = self._agent()
        self._workflow()
        self._runs(agent)
        self._bridge(agent)
        self._debate()
        self._clerk()
        return self.made

    def _servers(self) -> None:
        there = {each["name"]: each for each in self.own.get("/servers")}
        names = [f"demo-{name}" for name in samples.NAMES]
        for name in names:
            self.say(f"letting in {name}")
            self._let_in(name, there.get(name))
        tools = sum(len(list(self.own.pages("/tools", server=name))) for name in names)
        self.made |= {"servers": names, "tools": tools}

    def _let_in(self, name: str, known: Json | None) -> None:
        path, wanted = path_to("servers", name), _launch(name)
        if known is not None and _differs(known["launch"], wanted):
            self.own.delete(path)  # another Portico has made it, which may be gone
            known = None
        if known is not None and known["approved"]:
            return
        added = known or self.own.post("/servers", {"name": name, "launch": wanted})
        self.own.put(path_to("servers", name, "profile"), {"network": "none"})  # it needs nobody
        # Where this machine has no box, it starts without: it is a part of this very program.
        consent = {"launch_pin": added["launch_pin"], "unboxed": not self._has_box()}
        self.own.post(path_to("servers", name, "approve-launch"), consent)
        self.own.post(path_to("servers", name, "restart"))
        pin = self.own.get(path_to("servers", name, "review"))["pin"]
        self.own.post(path_to("servers", name, "accept"), {"pin": pin, "proposed": "all"})

    def _has_box(self) -> bool:
        found = patiently(
            lambda: self.own.get("/status"), _PATIENCE, enough=lambda it: it["boxes"] is not None
        )
        return any(box["offered"] for box in found["boxes"] or ())

    def _agent(self) -> Server:
        """Whose key is kept, so that a program can be connected with it."""
        file = self.house.whereabouts().agent_key_file
        if not file.exists():
            self.house.save_key(self._key(story.AGENT), agent=True)
        return Server(self.house, key=file.read_text().strip())

    def _key(self, name: str, **wish: object) -> str:
        who = self._principal(name)
        made = self.own.post("/keys", {"name": name, "principal": who, **wish})
        return str(made["key"])

    def _principal(self, name: str) -> str:
        for each in self.own.pages("/principals"):
            if each["name"] == name:
                return str(each["id"])
        return str(self.own.post("/principals", {"kind": "agent", "name": name})["id"])

    def _workflow(self) -> None:
        self.say("saving a workflow")
        saved = {each["name"] for each in self.own.get("/saved-workflows")["data"]}
        if story.WORKFLOW not in saved:
            self.own.put(path_to("saved-workflows", story.WORKFLOW), {"plan": story.TRIAGE})
        self.made["workflow"] = story.WORKFLOW

    def _runs(self, agent: Server) -> None:
        self.say("running workflows")
        ran = {each["name"]: each for each in self.own.pages("/workflows")}
        runs = {}
        for plan in (story.TRIAGE, story.FAILING):
            name = plan["name"]
            runs[name] = ran.get(name) or self._ran(self.own, plan)
        if story.TRIAGE["name"] not in ran:
            self._look_up(agent)
        waiting = self._waiting()
        if not waiting:
            self.say("asking for a yes")
            self._ran(agent, story.REFUND)
            waiting = self._waiting()
        self.made["runs"] = {name: run["run"] for name, run in runs.items()}
        self.made["waiting"] = [each["id"] for each in waiting]

    def _ran(self, who: Server, plan: Json) -> Json:
        run = who.post("/workflows", {"plan": plan, "intent": plan["description"]})["run"]
        return self._until(path_to("workflows", run), lambda it: it["status"] in _OVER)

    def _look_up(self, agent: Server) -> None:
        for ticket in story.LOOKED_UP:
            read = _called(agent, "demo-tickets.read_ticket", id=ticket)
            _called(agent, "demo-orders.read_order", id=read["order"])
            _called(agent, "demo-notes.search_notes", query=read["subject"])

    def _waiting(self) -> Sequence[Json]:
        found: Sequence[Json] = self.own.get("/approvals", status="waiting")["data"]
        return found

    def _bridge(self, agent: Server) -> None:
        self.say("filling the project")
        projects = {each["name"]: each for each in self.own.pages("/projects")}
        wish = {"name": story.PROJECT, "description": "Sample content, all of it made up."}
        project = projects.get(story.PROJECT) or self.own.post(
            "/projects", {**wish, "label": "team"}
        )
        there = {e["title"]: e for e in self.own.pages("/conversations", project=project["id"])}
        for title, talk in story.TALKS.items():
            if title not in there:
                self._talk(project["id"], title, talk, agent)
        kept = {
            each["key"] for each in self.own.pages(path_to("projects", project["id"], "memory"))
        }
        for key, value in story.MEMORY.items():
            if key not in kept:
                self.own.put(
                    path_to("projects", project["id"], "memory", "value"),
                    {"value": value, "label": "team"},
                    key=key,
                )
        listed = {
            each["title"] for each in self.own.pages(path_to("projects", project["id"], "work"))
        }
        for title in story.WORK:
            if title not in listed:
                self.own.post(
                    path_to("projects", project["id"], "work"), {"title": title, "label": "team"}
                )
        self.made["project"] = project["id"]
        self.made["conversations"] = list(story.TALKS)
        self.made["memories"] = list(story.MEMORY)

    def _talk(
        self, project: str, title: str, talk: Sequence[tuple[str, str]], agent: Server
    ) -> None:
        who = [self._principal(story.AGENT)]
        wish = {"project": project, "title": title, "label": "team", "participants": who}
        place = path_to("conversations", self.own.post("/conversations", wish)["id"], "messages")
        for by, text in talk:
            speaker = agent if by == "agent" else self.own
            speaker.post(place, {"body": text, "label": "team"})

    def _debate(self) -> None:
        self.say("holding a debate")
        held = next(self.own.pages("/debates"), None)
        if held is None:
            begun = self.own.post("/debates", story.DEBATE)
            for name, vote in story.VOTES.items():
                self._vote(str(begun["id"]), name, vote)
            path = path_to("debates", begun["id"])
            held = self._until(path, lambda it: it["debate"]["status"] != "running")["debate"]
        self.made["debate"] = held["id"]

    def _vote(self, debate: str, name: str, vote: Json) -> None:
        key = self._key(name, scopes=["debates:join"], days=1)
        guest = Server(self.house, key=key)
        patiently(
            lambda: guest.post(path_to("debates", debate, "join")),
            _PATIENCE,
            enough=lambda it: it["asked"] is not None,
        )
        guest.post(path_to("debates", debate, "answer"), vote)

    def _clerk(self) -> None:
        """It is made and not asked: whose model it is may have to pay for it."""
        self.say("looking for a model")
        known = [each["name"] for each in self.own.get("/agents")["data"]]
        models = [] if story.CLERK in known else self._models()
        if models:
            wish = {
                "name": story.CLERK,
                "description": "Demo: answers tickets of the sample shop.",
                "instructions": story.INSTRUCTIONS,
                "model": models[0],
                "tools": list(story.READS),
            }
            self.own.post("/agents", wish)
        self.made["agent"] = story.CLERK if models or story.CLERK in known else None

    def _models(self) -> Sequence[str]:
        """That can use tools; those of this machine first, which cost nothing."""
        able = [each for each in self.own.get("/models") if each["tools"] == "yes"]
        return [each["model"] for each in sorted(able, key=lambda each: not each["local"])]

    def _until(self, path: str, enough: Callable[[Any], bool]) -> Json:
        found: Json = patiently(lambda: self.own.get(path), _PATIENCE, enough=enough)
        return found


def _launch(name: str) -> Json:
    """Without site packages: it needs none, and starts at once."""
    script, sample = str(Path(samples.__file__).resolve()), name.removeprefix("demo-")
    return {
        "type": "stdio",
        "command": sys.executable,
        "arguments": ["-I", "-S", script, sample],
    }


def _differs(launch: Json, wanted: Json) -> bool:
    return any(launch.get(name) != value for name, value in wanted.items())


def _called(agent: Server, tool: str, **arguments: object) -> Json:
    found: Json = agent.post("/calls", {"tool": tool, "arguments": arguments})["structured"]
    return found
