"""A space's rows on their way out of memory, by the database's names for them."""

import json
from collections.abc import Iterator
from datetime import datetime

from portico.guard.core.keys import StoredKey
from portico.guard.core.principals import Identity
from portico.guard.core.spaces import ExportedRow
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from portico.testing.gateway_export import gateway_rows
from portico.testing.world import MemoryWorld


def exported(world: MemoryWorld, caller: Principal) -> Iterator[ExportedRow]:
    """By table, as the database gives them; of what is somebody's alone only the caller's own."""
    yield from sorted(_exported(world, caller), key=lambda row: row.table)


def _exported(world: MemoryWorld, caller: Principal) -> Iterator[ExportedRow]:
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


def _audit(world: MemoryWorld, caller: Principal) -> Iterator[ExportedRow]:
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


def _rules(world: MemoryWorld, caller: Principal) -> Iterator[JsonObject]:
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
                "upto_level": int(rule.upto.level),
                "upto_compartments": sorted(rule.upto.compartments),
                "context_id": None if rule.context is None else str(rule.context.value),
                "expires_at": _text(rule.expires_at),
                "made_by": rule.made_by,
                "made_at": _text(rule.made_at),
                "approval_id": None if rule.approval is None else str(rule.approval.value),
            }


def _receipts(world: MemoryWorld, caller: Principal) -> Iterator[JsonObject]:
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


def _events(world: MemoryWorld, caller: Principal) -> Iterator[JsonObject]:
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
                "facts": entry.facts,
            }


def _streams(world: MemoryWorld, caller: Principal) -> Iterator[JsonObject]:
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


def _settings(world: MemoryWorld, caller: Principal) -> Iterator[JsonObject]:
    for (space, name), text in world.settings.items():
        if space == caller.space:
            yield {"space_id": str(space.value), "name": name, "value": json.loads(text)}


def _text(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
