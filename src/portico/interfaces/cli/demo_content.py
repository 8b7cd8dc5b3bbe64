"""The content of the demo, and how it gets into the server."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from portico.interfaces.cli.server import Server, api_path, retry_until
from portico.interfaces.cli.services import CliServices
from portico.samples import serve as samples

SPACE: Final = "demo"
AGENT: Final = "demo-agent"
"""Who works there: a program with a key of its own, whose calls have to be allowed."""
WORKFLOW: Final = "demo-triage"
PROJECT: Final = "Demo shop"
CLERK: Final = "demo-clerk"
"""An agent with a model; only where there is one."""

Json = Mapping[str, Any]


def _from(path: str) -> Json:
    return {"$from": path}


TRIAGE: Final[Json] = {
    "name": WORKFLOW,
    "description": "Demo: read every open ticket of the sample shop with its order, and write a "
    "note of what is open.",
    "output": {"$text": "${open.json.tickets | length(@)} open, see the note ${note.json.id}"},
    "steps": [
        {"id": "open", "tool": "demo-tickets.list_tickets", "arguments": {"status": "open"}},
        {
            "id": "ticket",
            "tool": "demo-tickets.read_ticket",
            "for_each": {"in": _from("open.json.tickets[].id")},
            "arguments": {"id": _from("item")},
        },
        {
            "id": "order",
            "tool": "demo-orders.read_order",
            "for_each": {"in": _from("ticket.items[].json.order")},
            "arguments": {"id": _from("item")},
        },
        {"id": "rules", "tool": "demo-notes.read_note", "arguments": {"id": "refunds"}},
        {
            "id": "note",
            "tool": "demo-notes.write_note",
            "arguments": {
                "title": "Open today",
                "text": {
                    "$text": "Subjects: ${ticket.items[].json.subject}. Bought: "
                    "${order.items[].json.item}. ${rules.json.title}: ${rules.json.text}"
                },
            },
        },
    ],
}
FAILING: Final[Json] = {
    "name": "demo-fails",
    "description": "Demo: a step asks for an order that is not there.",
    "steps": [
        {"id": "ticket", "tool": "demo-tickets.read_ticket", "arguments": {"id": "T-1104"}},
        {"id": "order", "tool": "demo-orders.read_order", "arguments": {"id": "O-9999"}},
        {
            "id": "answer",
            "tool": "demo-tickets.answer_ticket",
            "arguments": {"id": "T-1104", "text": {"$text": "You bought ${order.json.item}."}},
        },
    ],
}
REFUND: Final[Json] = {
    "name": "demo-refund",
    "description": "Demo: pay back an order whose parcel is lost; that has to be allowed.",
    "steps": [
        {"id": "ticket", "tool": "demo-tickets.read_ticket", "arguments": {"id": "T-1102"}},
        {
            "id": "order",
            "tool": "demo-orders.read_order",
            "arguments": {"id": _from("ticket.json.order")},
        },
        {"id": "rules", "tool": "demo-notes.read_note", "arguments": {"id": "deliveries"}},
        {
            "id": "refund",
            "tool": "demo-orders.refund_order",
            "arguments": {
                "id": _from("order.json.id"),
                "amount": _from("order.json.price"),
                "reason": "The parcel has not moved for nine days.",
            },
            "after": ["rules"],
        },
        {
            "id": "answer",
            "tool": "demo-tickets.answer_ticket",
            "arguments": {
                "id": "T-1102",
                "text": {"$text": "We have paid back ${refund.json.refunded}."},
            },
        },
    ],
}
LOOKED_UP: Final = ("T-1101", "T-1102", "T-1103", "T-1104")
"""Tickets that the agent looked into one by one, so that there is something to learn from."""

_LOST: Final = (
    "After 7 days it counts as lost. Tomas wants his money back rather than another parcel: "
    "124.50. I have asked to be allowed to pay it back."
)
TALKS: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "Demo: the lost parcel": [
        ("agent", "Ticket T-1102: the parcel of **O-2502** has not moved for nine days."),
        ("person", "What does the handbook say?"),
        ("agent", _LOST),
        ("person", "I will look at it in the approvals."),
    ],
    "Demo: hot lamps": [
        (
            "agent",
            "T-1103: an Ember lamp, number 3127, gets hot. The recall is for all below 4000.",
        ),
        ("person", "Then Ruth gets a new one, whatever its age."),
    ],
}
MEMORY: Final[Mapping[str, Any]] = {
    "demo/refund-limit": {"amount": 200, "above": "ask the owner"},
    "demo/carrier": "Parcels that do not move for 7 days count as lost.",
    "demo/tone": "Short answers, first names, no excuses.",
}
WORK: Final = ("Demo: send Ruth a new lamp", "Demo: ask the carrier about O-2502")

DEBATE: Final[Json] = {
    "question": "Demo: a squealing brake after two weeks: what do we offer first?",
    "choices": ["Adjust it in the workshop", "Send new brake pads", "Refund the bicycle"],
    "voices": ["none"],
    "guests": 3,
    "preset": "vote",
    "deadline_seconds": 120,
    "label": "team",
}
VOTES: Final[Mapping[str, Json]] = {
    "demo-heron": {
        "answer": "Adjust it in the workshop",
        "confidence": 0.8,
        "rationale": "Wet pads squeal; it takes ten minutes and costs nothing.",
    },
    "demo-egret": {
        "answer": "Send new brake pads",
        "confidence": 0.6,
        "rationale": "She need not come by, and pads are cheap.",
    },
    "demo-ibis": {
        "answer": "Adjust it in the workshop",
        "confidence": 0.7,
        "rationale": "Pads are wear, and two weeks old ones are hardly worn.",
    },
}
"""Three small programs that have made up their minds; there is no model behind them."""
INSTRUCTIONS: Final = (
    "You work in the office of a made-up bicycle shop. Read the ticket, its order and the "
    "handbook before you answer, and say in few words what you would do."
)
READS: Final = (
    "demo-tickets.list_tickets",
    "demo-tickets.read_ticket",
    "demo-orders.read_order",
    "demo-notes.search_notes",
    "demo-notes.read_note",
)

# The demo is made by ordinary requests, and only what is missing.

_PATIENCE: Final = 60.0
_OVER: Final = frozenset({"done", "failed", "partial", "cancelled", "waiting"})


@dataclass(slots=True)
class Town:
    services: CliServices
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
        path, wanted = api_path("servers", name), _launch(name)
        if known is not None and _differs(known["launch"], wanted):
            self.own.delete(path)  # another Portico has made it, which may be gone
            known = None
        if known is not None and known["approved"]:
            return
        added = known or self.own.post("/servers", {"name": name, "launch": wanted})
        self.own.put(api_path("servers", name, "profile"), {"network": "none"})  # it needs nobody
        # Where this machine has no box, it starts without: it is a part of this very program.
        consent = {"launch_pin": added["launch_pin"], "unboxed": not self._has_box()}
        self.own.post(api_path("servers", name, "approve-launch"), consent)
        self.own.post(api_path("servers", name, "restart"))
        pin = self.own.get(api_path("servers", name, "review"))["pin"]
        self.own.post(api_path("servers", name, "accept"), {"pin": pin, "proposed": "all"})

    def _has_box(self) -> bool:
        found = retry_until(
            lambda: self.own.get("/status"), _PATIENCE, enough=lambda it: it["boxes"] is not None
        )
        return any(box["offered"] for box in found["boxes"] or ())

    def _agent(self) -> Server:
        """Whose key is kept, so that a program can be connected with it."""
        file = self.services.whereabouts().agent_key_file
        if not file.exists():
            self.services.save_key(self._key(AGENT), agent=True)
        return Server(self.services, key=file.read_text().strip())

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
        if WORKFLOW not in saved:
            self.own.put(api_path("saved-workflows", WORKFLOW), {"plan": TRIAGE})
        self.made["workflow"] = WORKFLOW

    def _runs(self, agent: Server) -> None:
        self.say("running workflows")
        ran = {each["name"]: each for each in self.own.pages("/workflows")}
        runs = {}
        for plan in (TRIAGE, FAILING):
            name = plan["name"]
            runs[name] = ran.get(name) or self._ran(self.own, plan)
        if TRIAGE["name"] not in ran:
            self._look_up(agent)
        waiting = self._waiting()
        if not waiting:
            self.say("asking for a yes")
            self._ran(agent, REFUND)
            waiting = self._waiting()
        self.made["runs"] = {name: run["run"] for name, run in runs.items()}
        self.made["waiting"] = [each["id"] for each in waiting]

    def _ran(self, who: Server, plan: Json) -> Json:
        run = who.post("/workflows", {"plan": plan, "intent": plan["description"]})["run"]
        return self._until(api_path("workflows", run), lambda it: it["status"] in _OVER)

    def _look_up(self, agent: Server) -> None:
        for ticket in LOOKED_UP:
            read = _called(agent, "demo-tickets.read_ticket", id=ticket)
            _called(agent, "demo-orders.read_order", id=read["order"])
            _called(agent, "demo-notes.search_notes", query=read["subject"])

    def _waiting(self) -> Sequence[Json]:
        found: Sequence[Json] = self.own.get("/approvals", status="waiting")["data"]
        return found

    def _bridge(self, agent: Server) -> None:
        self.say("filling the project")
        projects = {each["name"]: each for each in self.own.pages("/projects")}
        wish = {"name": PROJECT, "description": "Sample content, all of it made up."}
        project = projects.get(PROJECT) or self.own.post("/projects", {**wish, "label": "team"})
        there = {e["title"]: e for e in self.own.pages("/conversations", project=project["id"])}
        for title, talk in TALKS.items():
            if title not in there:
                self._talk(project["id"], title, talk, agent)
        kept = {
            each["key"] for each in self.own.pages(api_path("projects", project["id"], "memory"))
        }
        for key, value in MEMORY.items():
            if key not in kept:
                self.own.put(
                    api_path("projects", project["id"], "memory", "value"),
                    {"value": value, "label": "team"},
                    key=key,
                )
        listed = {
            each["title"] for each in self.own.pages(api_path("projects", project["id"], "work"))
        }
        for title in WORK:
            if title not in listed:
                self.own.post(
                    api_path("projects", project["id"], "work"), {"title": title, "label": "team"}
                )
        self.made["project"] = project["id"]
        self.made["conversations"] = list(TALKS)
        self.made["memories"] = list(MEMORY)

    def _talk(
        self, project: str, title: str, talk: Sequence[tuple[str, str]], agent: Server
    ) -> None:
        who = [self._principal(AGENT)]
        wish = {"project": project, "title": title, "label": "team", "participants": who}
        place = api_path("conversations", self.own.post("/conversations", wish)["id"], "messages")
        for by, text in talk:
            speaker = agent if by == "agent" else self.own
            speaker.post(place, {"body": text, "label": "team"})

    def _debate(self) -> None:
        self.say("holding a debate")
        held = next(self.own.pages("/debates"), None)
        if held is None:
            begun = self.own.post("/debates", DEBATE)
            for name, vote in VOTES.items():
                self._vote(str(begun["id"]), name, vote)
            path = api_path("debates", begun["id"])
            held = self._until(path, lambda it: it["debate"]["status"] != "running")["debate"]
        self.made["debate"] = held["id"]

    def _vote(self, debate: str, name: str, vote: Json) -> None:
        key = self._key(name, scopes=["debates:join"], days=1)
        guest = Server(self.services, key=key)
        retry_until(
            lambda: guest.post(api_path("debates", debate, "join")),
            _PATIENCE,
            enough=lambda it: it["asked"] is not None,
        )
        guest.post(api_path("debates", debate, "answer"), vote)

    def _clerk(self) -> None:
        """It is made and not asked: whose model it is may have to pay for it."""
        self.say("looking for a model")
        known = [each["name"] for each in self.own.get("/agents")["data"]]
        models = [] if CLERK in known else self._models()
        if models:
            wish = {
                "name": CLERK,
                "description": "Demo: answers tickets of the sample shop.",
                "instructions": INSTRUCTIONS,
                "model": models[0],
                "tools": list(READS),
            }
            self.own.post("/agents", wish)
        self.made["agent"] = CLERK if models or CLERK in known else None

    def _models(self) -> Sequence[str]:
        """That can use tools; those of this machine first, which cost nothing."""
        able = [each for each in self.own.get("/models") if each["tools"] == "yes"]
        return [each["model"] for each in sorted(able, key=lambda each: not each["local"])]

    def _until(self, path: str, enough: Callable[[Any], bool]) -> Json:
        found: Json = retry_until(lambda: self.own.get(path), _PATIENCE, enough=enough)
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
