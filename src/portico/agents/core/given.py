"""What a run of an agent is started with. No words of people are in it: those are in its trace,
since whoever may see that there is a run may not read what it is about."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Self

from portico.agents.core.agent import Agent, AgentId, Limits
from portico.agents.core.agent_text import limits_from, limits_json, spec_from, spec_json
from portico.agents.core.message_json import object_of
from portico.kernel.ids import ContextId, PrincipalId, RunId, SpaceId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label

KIND: Final = "agent"
"""Of the runs that are given this."""


def stop_topic(run: RunId) -> str:
    """Where a run is told that somebody wants it to stop: that it is so is in its trace."""
    return f"~stop:{run}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGiven:
    agent: Agent
    """As it was when the run was started, and as it stays for it."""
    context: ContextId
    """The task of this run alone."""
    asker: JsonObject = field(default_factory=dict)
    """The key and the task that its starter came with: what the gateway knows them again by; and
    the run that it was started in, if an agent has started it."""
    label: Label
    """How secret what it begins with is."""
    model: str
    limits: Limits
    continues: RunId | None = None
    wished: JsonObject = field(default_factory=dict)
    """What its starter wanted otherwise than the agent has it: the same, under the same key."""

    def as_json(self) -> JsonObject:
        return {
            "agent": agent_as_json(self.agent),
            "context": str(self.context),
            "asker": self.asker,
            "label": str(self.label),
            "model": self.model,
            "limits": limits_json(self.limits),
            "continues": None if self.continues is None else str(self.continues),
            "wished": self.wished,
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        continues = value.get("continues")
        return cls(
            agent=agent_of(value["agent"]),
            context=ContextId.parse(str(value["context"])),
            asker=object_of(value.get("asker", {})),
            label=Label.parse(str(value["label"])),
            model=str(value["model"]),
            limits=limits_from(object_of(value.get("limits", {}))),
            continues=RunId.parse(continues) if isinstance(continues, str) else None,
            wished=object_of(value.get("wished", {})),
        )


def shown(kind: str, given: JsonObject) -> JsonObject:
    """What a run of any kind was given, as it is told to whoever may see runs: of one of ours
    neither how the agent is instructed nor which key it was started with."""
    if kind != KIND:
        return given
    agent = object_of(given["agent"])
    known = {name: agent[name] for name in ("id", "version")}
    others = {name: given[name] for name in ("label", "model", "limits", "continues")}
    return {"agent": {**known, "name": object_of(agent["spec"])["name"]}, **others}


def agent_as_json(agent: Agent) -> JsonObject:
    return {
        "id": str(agent.id),
        "space": str(agent.space),
        "principal": str(agent.principal),
        "spec": spec_json(agent.spec),
        "version": agent.version,
        "made_by": str(agent.made_by),
        "made_by_name": agent.made_by_name,
        "made_at": agent.made_at.isoformat(),
        "changed_at": agent.changed_at.isoformat(),
    }


def agent_of(value: JsonValue) -> Agent:
    """Of what `agent_as_json` gave."""
    said = object_of(value)
    return Agent(
        id=AgentId.parse(str(said["id"])),
        space=SpaceId.parse(str(said["space"])),
        principal=PrincipalId.parse(str(said["principal"])),
        spec=spec_from(object_of(said["spec"])),
        version=int(str(said["version"])),
        made_by=PrincipalId.parse(str(said["made_by"])),
        made_by_name=str(said["made_by_name"]),
        made_at=datetime.fromisoformat(str(said["made_at"])),
        changed_at=datetime.fromisoformat(str(said["changed_at"])),
    )
