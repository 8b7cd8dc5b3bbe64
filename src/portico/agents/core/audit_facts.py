"""What is told of agents in the audit: what they may, and of their words a hash."""

import hashlib

from portico.agents.core.agent import Agent
from portico.agents.core.versions import changes
from portico.guard.core.audit import AuditEntry
from portico.kernel.json import JsonObject, JsonValue


def about_agent(action: str, agent: Agent, **more: JsonValue) -> AuditEntry:
    return AuditEntry(action=action, subject=agent.name, facts={**agent_facts(agent), **more})


def agent_facts(agent: Agent) -> JsonObject:
    spec = agent.spec
    return {
        "agent": str(agent.id),
        "principal": str(agent.principal),
        "version": agent.version,
        "label": str(spec.label),
        "model": spec.model,
        "tools": list(spec.tools),
        "exposed": spec.exposed,
        "instructions": hashlib.sha256(spec.instructions.encode(errors="replace")).hexdigest(),
    }


def about_change(before: Agent, after: Agent) -> AuditEntry:
    fields: list[JsonValue] = [change.field for change in changes(before.spec, after.spec)]
    return about_agent("agent.changed", after, changed=fields, was=agent_facts(before))
