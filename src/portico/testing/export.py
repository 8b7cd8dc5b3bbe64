"""Rows of a space on their way out of memory, by the database's names for them."""

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime

from portico.gateway.core.catalog_snapshot import Tool
from portico.gateway.core.confinement import profile_json, unboxed_json
from portico.gateway.core.inferred_schema import shape_json
from portico.gateway.core.launch import to_json
from portico.gateway.core.servers import Server, ServerId
from portico.guard.core.keys import StoredKey
from portico.guard.core.principals import Identity
from portico.guard.core.spaces import ExportedRow
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, may_read
from portico.kernel.principal import Principal
from portico.testing.memory_store import Acquaintance, InMemoryStore, MadeCall, StoredText


def past_plan_rows(world: InMemoryStore, caller: Principal) -> Iterator[JsonObject]:
    """The caller's own: the words of others are not theirs to take along."""
    for (space, id_), plan in world.past_plans.items():
        mine = (space, plan.principal) == (caller.space, caller.id)
        if mine and may_read(caller.clearance, plan.label):
            yield {
                "plan_id": str(id_.value),
                "principal_id": str(plan.principal.value),
                **_labelled(plan.label),
                "intent": plan.intent,
                "vector": f"\\x{plan.vector.hex()}",
                "steps": plan.steps,
                "runs": plan.runs,
                "accepted": plan.accepted,
                "rejected": plan.rejected,
                "modified": plan.modified,
                "last_at": plan.last_at.isoformat(),
            }


def suggestion_rows(world: InMemoryStore, caller: Principal) -> Iterator[JsonObject]:
    for (space, id_), kept in world.suggestions.items():
        mine = (space, kept.principal) == (caller.space, caller.id)
        if mine and may_read(caller.clearance, kept.label):
            yield {
                "suggestion_id": str(id_.value),
                "principal_id": str(kept.principal.value),
                **_labelled(kept.label),
                "mode": kept.mode.value,
                "raw": kept.raw,
                "backing": kept.backing,
                "confidence": kept.confidence,
                "past": [str(plan.value) for plan in kept.past],
                "result_id": str(kept.plan.value),
                "made_at": kept.made_at.isoformat(),
                "expires_at": kept.expires_at.isoformat(),
                "run_id": None if kept.run is None else str(kept.run.value),
                "outcome": None if kept.outcome is None else kept.outcome.value,
            }


def _labelled(label: Label) -> JsonObject:
    return {"level": int(label.level), "compartments": sorted(label.compartments)}


def gateway_rows(world: InMemoryStore, caller: Principal) -> Iterator[ExportedRow]:
    every = [
        *(ExportedRow("server", values) for values in _servers(world, caller)),
        *(ExportedRow("tool", values) for values in _tools(world, caller)),
        *(ExportedRow("embedding", values) for values in _embeddings(world, caller)),
        *(ExportedRow("tool_call", values) for values in _calls(world, caller)),
        *(ExportedRow("tool_result", values) for values in _results(world, caller)),
        *(ExportedRow("tool_usage", values) for values in _acquaintances(world, caller)),
        *(ExportedRow("inferred_schema", values) for values in _shapes(world, caller)),
        *(ExportedRow("tool_flow", values) for values in _flows(world, caller)),
        *(ExportedRow("tool_edge", values) for values in _edges(world, caller)),
        *(ExportedRow("prediction_count", values) for values in _counts(world, caller)),
        *(ExportedRow("taint_context", values) for values in _contexts(world, caller)),
        *(ExportedRow("saved_workflow", values) for values in _saved(world, caller)),
        *(ExportedRow("past_plan", values) for values in past_plan_rows(world, caller)),
        *(ExportedRow("suggestion", values) for values in suggestion_rows(world, caller)),
    ]
    for row in every:
        yield ExportedRow(row.table, {"space_id": str(caller.space.value), **row.values})


def _servers(world: InMemoryStore, caller: Principal) -> Iterator[JsonObject]:
    for (space, id_), server in world.servers.items():
        if space == caller.space and may_read(caller.clearance, server.label):
            yield _server(id_, server)


def _tools(world: InMemoryStore, caller: Principal) -> Iterator[JsonObject]:
    for (space, id_), tools in world.tools.items():
        if space == caller.space and may_read(caller.clearance, world.servers[space, id_].label):
            yield from (_tool(id_, position, tool) for position, tool in enumerate(tools))


def _embeddings(world: InMemoryStore, caller: Principal) -> Iterator[JsonObject]:
    for (space, model, key), vector in world.embeddings.items():
        if space == caller.space:
            yield {"model": model, "content_key": key, "vector": f"\\x{vector.hex()}"}


def _calls(world: InMemoryStore, caller: Principal) -> Iterator[JsonObject]:
    for (space, _), made in world.calls.items():
        if space == caller.space and may_read(caller.clearance, made.call.label):
            yield _call(made)


def _results(world: InMemoryStore, caller: Principal) -> Iterator[JsonObject]:
    for (space, result), kept in world.results.items():
        mine = (space, kept.principal) == (caller.space, caller.id)
        if mine and may_read(caller.clearance, kept.label):
            yield {"result_id": str(result.value), **_result(kept)}


def _acquaintances(world: InMemoryStore, caller: Principal) -> Iterator[JsonObject]:
    for (space, principal, ref), known in world.acquaintances.items():
        if (space, principal) == (caller.space, caller.id):
            whose = {"principal_id": str(principal.value)}
            yield {**whose, "server": ref.server, "tool": ref.name, **_known(known)}


def _shapes(world: InMemoryStore, caller: Principal) -> Iterator[JsonObject]:
    for (space, place), seen in world.shapes.items():
        if space == caller.space and _cleared(world, caller, place.server):
            yield {
                "server_id": str(place.server.value),
                "tool": place.tool,
                "pin": seen.pin,
                "seen": seen.times,
                "shape": shape_json(seen.shape),
            }


def _flows(world: InMemoryStore, caller: Principal) -> Iterator[JsonObject]:
    for (space, passed), times in world.flows.items():
        ends = (passed.producer.server, passed.consumer.server)
        if space == caller.space and all(_cleared(world, caller, end) for end in ends):
            yield {
                "producer_id": str(passed.producer.server.value),
                "producer_tool": passed.producer.tool,
                "path": passed.path,
                "consumer_id": str(passed.consumer.server.value),
                "consumer_tool": passed.consumer.tool,
                "parameter": passed.parameter,
                "times": times,
            }


def _edges(world: InMemoryStore, caller: Principal) -> Iterator[JsonObject]:
    for (space, label, edge), seen in world.edges.items():
        ends = (edge.earlier.server, edge.later.server)
        known = space == caller.space and may_read(caller.clearance, label)
        if known and all(_cleared(world, caller, end) for end in ends):
            yield {
                "level": int(label.level),
                "compartments": sorted(label.compartments),
                "earlier_id": str(edge.earlier.server.value),
                "earlier_tool": edge.earlier.tool,
                "later_id": str(edge.later.server.value),
                "later_tool": edge.later.tool,
                "kind": edge.kind.value,
                "times": seen.times,
                "tasks": seen.tasks,
                "last_seen_at": seen.last_seen.isoformat(),
            }


def _counts(world: InMemoryStore, caller: Principal) -> Iterator[JsonObject]:
    for (space, label, key), count in world.counts.items():
        known = space == caller.space and may_read(caller.clearance, label)
        if known and all(_cleared(world, caller, server) for server in key.servers):
            yield {
                "level": int(label.level),
                "compartments": sorted(label.compartments),
                "kind": key.kind,
                "key_hash": f"\\x{hashlib.sha256(key.key.encode()).hexdigest()}",
                "key": key.key,
                "servers": sorted(str(server.value) for server in key.servers),
                "tried": count.tried,
                "hit": count.hit,
                "last_seen_at": count.last_seen.isoformat(),
            }


def _cleared(world: InMemoryStore, caller: Principal, server: ServerId) -> bool:
    return may_read(caller.clearance, world.servers[caller.space, server].label)


def _contexts(world: InMemoryStore, caller: Principal) -> Iterator[JsonObject]:
    for (space, context), known in world.contexts.items():
        if space == caller.space:
            yield {
                "context_id": str(context.value),
                "principal_id": str(known.principal.value),
                "name": known.name,
                "level": int(known.label.level),
                "compartments": sorted(known.label.compartments),
                "untrusted": known.untrusted,
                "opened_at": known.opened_at.isoformat(),
                "closed_at": _text(known.closed_at),
            }


def _saved(world: InMemoryStore, caller: Principal) -> Iterator[JsonObject]:
    for (space, name), saved in world.saved_workflows.items():
        if space == caller.space:
            yield {
                "name": name,
                "plan": saved.plan,
                "description": saved.description,
                "effect": saved.effect.value,
                "saved_by": str(saved.saved_by.value),
                "saved_by_name": saved.saved_by_name,
                "saved_at": saved.saved_at.isoformat(),
                "changed_at": saved.changed_at.isoformat(),
            }


def _server(id_: ServerId, server: Server) -> JsonObject:
    return {
        "server_id": str(id_.value),
        "name": server.name,
        "origin": server.origin,
        "entry": server.entry,
        "launch": to_json(server.launch),
        "launch_pin": server.launch_pin,
        "enabled": server.enabled,
        "approved_launch_pin": server.approved_launch_pin,
        "approved_launch": None
        if server.approved_launch is None
        else to_json(server.approved_launch),
        "tools_accepted": server.tools_accepted,
        "instructions": server.instructions,
        "offers": server.offers,
        "label_level": int(server.label.level),
        "label_compartments": sorted(server.label.compartments),
        "clearance_level": int(server.clearance.level),
        "clearance_compartments": sorted(server.clearance.compartments),
        "trusted": server.trusted,
        "profile": None if server.profile is None else profile_json(server.profile),
        "unboxed": None if server.unsandboxed is None else unboxed_json(server.unsandboxed),
        "created_at": server.created_at.isoformat(),
    }


def _tool(server: ServerId, position: int, tool: Tool) -> JsonObject:
    return {
        "server_id": str(server.value),
        "name": tool.ref.name,
        "position": position,
        "definition": {"raw": tool.definition.raw},
        "pin": tool.pin,
        "tokens": tool.tokens,
        "effect": tool.effect.value,
        "accepted_pin": tool.accepted_pin,
        "refused": tool.refused,
        "gone": tool.gone,
    }


def _call(made: MadeCall) -> JsonObject:
    call = made.call
    return {
        "call_id": str(call.id.value),
        "started_at": call.started_at.isoformat(),
        "principal_id": str(call.principal.value),
        "server": call.ref.server,
        "tool": call.ref.name,
        "effect": call.effect.value,
        "pin": call.pin,
        "arguments": json.loads(made.arguments),
        "incarnation": made.by,
        "outcome": None if call.outcome is None else call.outcome.value,
        "error": call.error,
        "bytes_out": call.bytes_out,
        "context_id": None if call.context is None else str(call.context.value),
        "level": int(call.label.level),
        "compartments": sorted(call.label.compartments),
    }


def _result(kept: StoredText) -> JsonObject:
    return {
        "principal_id": str(kept.principal.value),
        "sealed": f"\\x{kept.sealed.hex()}",
        "expires_at": kept.until.isoformat(),
        "level": int(kept.label.level),
        "compartments": sorted(kept.label.compartments),
        "untrusted": kept.untrusted,
    }


def _known(known: Acquaintance) -> JsonObject:
    return {
        "found_for": known.found_for,
        "found_at": _text(known.found_at),
        "calls": known.calls,
        "called_at": _text(known.called_at),
    }


def _text(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def exported(world: InMemoryStore, caller: Principal) -> Iterator[ExportedRow]:
    """By table, as the database gives them; of what is somebody's alone only the caller's own."""
    yield from sorted(_exported(world, caller), key=lambda row: row.table)


def _exported(world: InMemoryStore, caller: Principal) -> Iterator[ExportedRow]:
    keys = [held.key for held in world.keys.values() if held.key.space == caller.space]
    identities = [each for each in world.identities.values() if each.space == caller.space]
    yield from (ExportedRow("api_key", _key(key)) for key in keys)
    yield from _audit(world, caller)
    yield from (ExportedRow("event", values) for values in _events(world, caller))
    yield from (ExportedRow("policy_rule", values) for values in _rules(world, caller))
    yield from (ExportedRow("principal", _identity(identity)) for identity in identities)
    yield from (ExportedRow("idempotency_record", values) for values in _receipts(world, caller))
    yield from (ExportedRow("setting", values) for values in _settings(world, caller))
    if caller.space in world.spaces:
        space = world.spaces[caller.space]
        values = {"name": space.name, "created_at": space.created_at.isoformat()}
        yield ExportedRow("space", {"space_id": str(space.id.value), **values})
    yield from (ExportedRow("stream", values) for values in _streams(world, caller))
    yield from gateway_rows(world, caller)


def _audit(world: InMemoryStore, caller: Principal) -> Iterator[ExportedRow]:
    whose: JsonObject = {"space_id": str(caller.space.value)}
    for (space, number), link in world.audit.items():
        if space == caller.space:
            text, hash_ = link.text.decode(), f"\\x{link.hash.hex()}"
            at = json.loads(text)["at"]
            told: JsonObject = {"number": number, "at": at, "entry": text, "hash": hash_}
            yield ExportedRow("audit_entry", {**whose, **told})
    if (head := world.audit_heads.get(caller.space)) is not None:
        at_end: JsonObject = {"number": head.number, "hash": f"\\x{head.hash.hex()}"}
        yield ExportedRow("audit_head", {**whose, **at_end})


def _key(key: StoredKey) -> JsonObject:
    return {
        "key_id": key.id,
        "space_id": str(key.space.value),
        "principal_id": str(key.principal.value),
        "purpose": key.purpose.value,
        "name": key.name,
        "scopes": None if key.scopes is None else sorted(key.scopes),
        "level": int(key.clearance.level),
        "compartments": sorted(key.clearance.compartments),
        "tools": None if key.tools is None else [*key.tools],
        "opened_with": None if key.opened_with is None else key.opened_with.key,
        "opened_with_until": None if key.opened_with is None else _text(key.opened_with.until),
        "created_at": key.created_at.isoformat(),
        "expires_at": _text(key.expires_at),
        "last_used_at": _text(key.last_used_at),
        "revoked_at": _text(key.revoked_at),
    }


def _identity(identity: Identity) -> JsonObject:
    return {
        "space_id": str(identity.space.value),
        "principal_id": str(identity.id.value),
        "kind": identity.kind.value,
        "name": identity.name,
        "roles": sorted(identity.roles),
        "grants": sorted(identity.grants),
        "level": int(identity.clearance.level),
        "compartments": sorted(identity.clearance.compartments),
        "tools": None if identity.tools is None else [*identity.tools],
        "created_at": identity.created_at.isoformat(),
        "disabled_at": _text(identity.disabled_at),
    }


def _rules(world: InMemoryStore, caller: Principal) -> Iterator[JsonObject]:
    for (space, _), rule in world.rules.items():
        if space == caller.space:
            yield {
                "space_id": str(space.value),
                "name": rule.name,
                "ruling": rule.ruling.value,
                "tools": [*rule.tools],
                "but": [*rule.but],
                "who": [*rule.who],
                "effects": sorted(rule.effects),
                "reads": rule.reads,
                "tainted": rule.tainted,
                "upto_level": int(rule.max_label.level),
                "upto_compartments": sorted(rule.max_label.compartments),
                "context_id": None if rule.context is None else str(rule.context.value),
                "expires_at": _text(rule.expires_at),
                "made_by": rule.made_by,
                "made_at": _text(rule.made_at),
                "approval_id": None if rule.approval is None else str(rule.approval.value),
            }


def _receipts(world: InMemoryStore, caller: Principal) -> Iterator[JsonObject]:
    for (space, principal, operation, key), answer in world.receipts.items():
        if (space, principal) == (caller.space, caller.id):
            yield {
                "space_id": str(space.value),
                "principal_id": str(principal.value),
                "operation": operation,
                "key": key,
                "fingerprint": answer.fingerprint,
                "body": json.loads(answer.text),
            }


def _events(world: InMemoryStore, caller: Principal) -> Iterator[JsonObject]:
    for (space, _, _), entry in world.events.items():
        if space == caller.space and caller.clearance.covers(entry.label):
            yield {
                "space_id": str(space.value),
                "topic": entry.topic,
                "number": entry.number,
                "at": entry.at.isoformat(),
                "event_id": str(entry.id.value),
                "type": entry.type,
                "principal_id": None if entry.by is None else str(entry.by.value),
                "level": int(entry.label.level),
                "compartments": sorted(entry.label.compartments),
                "facts": entry.details,
            }


def _streams(world: InMemoryStore, caller: Principal) -> Iterator[JsonObject]:
    for (space, topic), stream in world.streams.items():
        if space == caller.space and caller.clearance.covers(stream.label):
            yield {
                "space_id": str(space.value),
                "topic": topic,
                "level": int(stream.label.level),
                "compartments": sorted(stream.label.compartments),
                "first": stream.first,
                "last": stream.last,
            }


def _settings(world: InMemoryStore, caller: Principal) -> Iterator[JsonObject]:
    for (space, name), text in world.settings.items():
        if space == caller.space:
            yield {"space_id": str(space.value), "name": name, "value": json.loads(text)}
