"""What is told of keys, principals, spaces and rules in the audit: nothing that opens anything."""

from portico.guard.core.api_key import StoredKey
from portico.guard.core.audit_entry import AuditEntry
from portico.guard.core.identity import Identity
from portico.guard.core.rules import Rule
from portico.guard.core.space import Space
from portico.kernel.json import JsonObject, JsonValue


def about_key(action: str, key: StoredKey, **more: JsonValue) -> AuditEntry:
    facts: JsonObject = {
        "principal": str(key.principal),
        "name": key.name,
        "scopes": None if key.scopes is None else sorted(key.scopes),
        "clearance": str(key.clearance),
        "tools": key.tools,
        "until": None if key.expires_at is None else key.expires_at.isoformat(),
        **more,
    }
    return AuditEntry(action=action, subject=key.id, facts=facts)


def about_principal(action: str, identity: Identity, **more: JsonValue) -> AuditEntry:
    facts: JsonObject = {**identity_facts(identity), **more}
    return AuditEntry(action=action, subject=str(identity.id), facts=facts)


def about_space(action: str, space: Space, **more: JsonValue) -> AuditEntry:
    return AuditEntry(action=action, subject=str(space.id), facts={"name": space.name, **more})


def about_rule(action: str, rule: Rule) -> AuditEntry:
    facts: JsonObject = {
        "decision": str(rule.ruling),
        "tools": rule.tools,
        "except": rule.but,
        "who": rule.who,
        "effects": sorted(rule.effects),
        "reads": rule.reads,
        "tainted": rule.tainted,
        "upto": str(rule.upto),
        "context": None if rule.context is None else str(rule.context),
        "expires_at": None if rule.expires_at is None else rule.expires_at.isoformat(),
    }
    return AuditEntry(action=action, subject=rule.name, facts=facts)


def identity_facts(identity: Identity) -> JsonObject:
    return {
        "name": identity.name,
        "kind": str(identity.kind),
        "roles": sorted(identity.roles),
        "clearance": str(identity.clearance),
        "tools": identity.tools,
        "disabled": identity.disabled_at is not None,
    }
