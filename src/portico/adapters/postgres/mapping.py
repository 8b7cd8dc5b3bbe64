"""From rows to nouns that every table has, and texts and JSON on their way in and out."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg.types.json import set_json_loads
from pydantic_core import from_json

from portico.guard.core.keys import KeyHolder, OpenedWith, Purpose, StoredKey
from portico.guard.core.principals import Identity, Role, Scope
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.json import JsonValue
from portico.kernel.label import Label, Level
from portico.kernel.principal import PrincipalKind

# Columns of JSON, read by the quicker of two ways: a page may read thousands of them.


async def read_quickly(connection: AsyncConnection[DictRow]) -> None:
    set_json_loads(loads, connection)


def loads(text: str | bytes) -> JsonValue:
    """The quick way knows no lone surrogates and goes 200 deep; what it does not take goes the way
    of the standard library."""
    try:
        found: JsonValue = from_json(text)
    except ValueError:
        found = json.loads(text)
    return found


def strip_nul(text: str) -> str:
    """With what PostgreSQL cannot hold, NUL and halves of surrogate pairs, marked as unknown."""
    return text.encode(errors="replace").decode().replace("\0", "\ufffd")


def storable_or_none(text: str | None) -> str | None:
    return None if text is None else strip_nul(text)


Row = Mapping[str, Any]


def identity_from(row: Row) -> Identity:
    return Identity(
        id=PrincipalId(row["principal_id"]),
        space=SpaceId(row["space_id"]),
        kind=PrincipalKind(row["kind"]),
        name=row["name"],
        roles=frozenset(map(Role, row["roles"])),
        grants=frozenset(map(Scope, row["grants"])),
        clearance=as_label(row["level"], row["compartments"]),
        tools=as_list(row["tools"]),
        created_at=row["created_at"],
        disabled_at=row["disabled_at"],
    )


def identity_row(identity: Identity) -> dict[str, object]:
    return {
        "principal": identity.id.value,
        "space": identity.space.value,
        "kind": identity.kind,
        "name": identity.name,
        "roles": sorted(identity.roles),
        "grants": sorted(identity.grants),
        "level": int(identity.clearance.level),
        "compartments": sorted(identity.clearance.compartments),
        "tools": None if identity.tools is None else [*identity.tools],
        "created": identity.created_at,
        "disabled": identity.disabled_at,
    }


def key_from(row: Row) -> StoredKey:
    return StoredKey(
        id=row["key_id"],
        space=SpaceId(row["space_id"]),
        principal=PrincipalId(row["principal_id"]),
        purpose=Purpose(row["purpose"]),
        name=row["name"],
        scopes=None if row["scopes"] is None else frozenset(map(Scope, row["scopes"])),
        clearance=as_label(row["level"], row["compartments"]),
        tools=as_list(row["tools"]),
        opened_with=_opened_with(row),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        last_used_at=row["last_used_at"],
        revoked_at=row["revoked_at"],
    )


def _opened_with(row: Row) -> OpenedWith | None:
    opener = row["opened_with"]
    return None if opener is None else OpenedWith(opener, row["opened_with_until"])


def key_row(key: StoredKey, digest: bytes) -> dict[str, object]:
    return {
        "key": key.id,
        "space": key.space.value,
        "principal": key.principal.value,
        "purpose": key.purpose,
        "name": key.name,
        "digest": digest,
        "scopes": None if key.scopes is None else sorted(key.scopes),
        "level": int(key.clearance.level),
        "compartments": sorted(key.clearance.compartments),
        "tools": None if key.tools is None else [*key.tools],
        "opened_with": None if key.opened_with is None else key.opened_with.key,
        "opened_with_until": None if key.opened_with is None else key.opened_with.until,
        "created": key.created_at,
        "expires": key.expires_at,
        "last_used": key.last_used_at,
        "revoked": key.revoked_at,
    }


def holder_from(row: Row) -> KeyHolder:
    """A row of `find_api_key`: the key's columns, and its principal's beside them."""
    key = key_from(
        {
            **row,
            "name": row["key_name"],
            "level": row["key_level"],
            "compartments": row["key_compartments"],
            "tools": row["key_tools"],
        }
    )
    identity = identity_from({**row, "created_at": row["principal_created_at"]})
    return KeyHolder(key, bytes(row["digest"]), identity)


def as_label(level: int, compartments: list[str]) -> Label:
    return Label(Level(level), frozenset(compartments))


def as_list(values: list[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


def uuid_or_none(principal: PrincipalId | None) -> UUID | None:
    return None if principal is None else principal.value
