"""The audit log: entries, the hash chain, its heads."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from portico.guard.core.keys import StoredKey
from portico.guard.core.principals import Identity
from portico.guard.core.rules import Rule
from portico.guard.core.spaces import Space
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.json import JsonObject, JsonValue, canonical
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    action: str
    """Dotted, as `call.allowed`, `approval.answered`, `key.issued`."""
    subject: str
    """What it was done to: a tool, a server, a key, a principal."""
    rule: str | None = None
    reason: str | None = None
    details: JsonObject = field(default_factory=dict)
    """No value of an argument and no secret: names, ids and hashes."""


# The chain that the audit is: each entry carries the hash of all before it, so that none can be
# changed, left out, put in or moved without its successor telling.
#
# What it cannot tell by itself is that its end was cut off, or that all of it was made anew: that
# takes a head, the number and hash of some last entry, kept where whoever does it cannot reach.

GENESIS: Final = bytes(32)
"""What the first entry follows."""
LONGEST: Final = 16_384
"""Bytes of one act; of facts that are longer only the hash is kept."""
_TOLD: Final = 20
"""Findings that are kept one by one; the others are counted."""


@dataclass(frozen=True, slots=True)
class Link:
    number: int
    text: bytes
    """Exactly as it was hashed."""
    hash: bytes


@dataclass(frozen=True, slots=True)
class Head:
    """How far a chain went at some moment."""

    number: int
    hash: bytes


BEGINNING: Final = Head(0, GENESIS)


class Fault(StrEnum):
    CHANGED = "changed"
    """The entry, its hash, or what it follows is not what was written."""
    MISSING = "missing"
    MISPLACED = "misplaced"
    """It stands where another belongs: moved, repeated, put in, or of another space."""
    REWRITTEN = "rewritten"
    """It contradicts a head that was exported."""
    TRUNCATED = "truncated"
    """The chain ends before a head that was exported."""


@dataclass(frozen=True, slots=True)
class ChainViolation:
    fault: Fault
    number: int
    """Where: of the first entry that it is seen at."""
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    checked: int
    last: Head
    found: int
    """How many findings there are; `findings` are the first of them."""
    findings: tuple[ChainViolation, ...]
    heads: int
    """Exported heads that the chain agrees with; with none of them nobody can tell whether its
    end was cut off."""
    compared: int = 0
    """Exported heads that there were to compare it with."""

    @property
    def sound(self) -> bool:
        return self.found == 0


def act_text(caller: Principal, entry: AuditEntry) -> str:
    """Raises `NotCanonical`."""
    text = canonical(_act(caller, entry, entry.details))
    if len(text) > LONGEST:
        facts = canonical(entry.details)
        cut: JsonObject = {"bytes": len(facts), "sha256": hashlib.sha256(facts).hexdigest()}
        text = canonical(_act(caller, entry, {"too_long": cut}))
    return text.decode()


def _act(caller: Principal, entry: AuditEntry, facts: JsonObject) -> JsonObject:
    told: dict[str, JsonValue] = {
        "action": entry.action,
        "subject": entry.subject,
        "name": caller.name,
        "kind": str(caller.kind),
        "key": caller.key,
        "task": None if caller.context is None else str(caller.context),
        "rule": entry.rule,
        "reason": entry.reason,
        "facts": facts or None,
    }
    return {name: value for name, value in told.items() if value is not None}


def entry_text(act: str, at: datetime, by: PrincipalId, number: int, space: SpaceId) -> bytes:
    """As the database writes it down, which adds what a caller must not choose."""
    moment = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    told = f'{{"act":{act},"at":"{moment}","by":"{by.value}"'.encode()
    return told + _ending(number, space.value)


def link_hash(before: bytes, text: bytes) -> bytes:
    return hashlib.sha256(before + text).digest()


def linked(before: Head, text: bytes) -> Link:
    return Link(before.number + 1, text, link_hash(before.hash, text))


def space_of(text: bytes) -> SpaceId | None:
    """Whose chain an entry says that it belongs to; None if it cannot be read."""
    try:
        return SpaceId(UUID(json.loads(text)["space"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def verify(
    links: Iterable[Link], space: SpaceId, *, start: Head = BEGINNING, heads: Iterable[Head] = ()
) -> Verdict:
    """`links` follow `start`, in the order in which they are kept."""
    checking = Checking(space, start=start, heads=heads)
    for link in links:
        checking.add(link)
    return checking.verdict()


class Checking:
    """Link by link, however long the chain is: only the last one is remembered."""

    def __init__(
        self, space: SpaceId, *, start: Head = BEGINNING, heads: Iterable[Head] = ()
    ) -> None:
        self.checked = self._agreed = self._found = 0
        self._space, self._last = space.value, start
        self._heads: dict[int, set[bytes]] = {}
        self._findings: list[ChainViolation] = []
        for head in heads:
            if head.number >= max(start.number, 1):
                self._heads.setdefault(head.number, set()).add(head.hash)

    @property
    def expected(self) -> int:
        """The number of the entry that comes next."""
        return self._last.number + 1

    def add(self, link: Link) -> None:
        self.checked += 1
        last, expected = self._last, self.expected
        if link.number > expected:
            self._find(Fault.MISSING, expected, _gap(expected, link.number - 1))
        elif link.number < expected:
            self._find(Fault.MISPLACED, link.number, f"It comes after {last.number}.")
        if not link.text.endswith(_ending(link.number, self._space)):
            self._find(
                Fault.MISPLACED, link.number, "What is written there names another place or space."
            )
        if link_hash(last.hash, link.text) != link.hash:
            self._find(
                Fault.CHANGED, link.number, "Its hash is not that of itself and what is before it."
            )
        self._compare(link)
        # A number that leaps or falls back is not followed: one moved entry is not a hundred.
        self._last = Head(max(link.number, last.number), link.hash)

    def _compare(self, link: Link) -> None:
        exported = self._heads.get(link.number)
        if exported is None:
            return
        if exported == {link.hash}:
            self._agreed += 1
        else:
            self._find(Fault.REWRITTEN, link.number, "It is not what was exported as the head.")

    def verdict(self) -> Verdict:
        end = self._last.number
        cut = sorted(number for number in self._heads if number > end)
        if cut:
            told = f"{end} is the last, and {cut[-1]} was exported as the head."
            self._find(Fault.TRUNCATED, end + 1, told)
        return Verdict(
            checked=self.checked,
            last=self._last,
            found=self._found,
            findings=tuple(self._findings),
            heads=self._agreed,
            compared=len(self._heads),
        )

    def _find(self, fault: Fault, number: int, told: str) -> None:
        self._found += 1
        if len(self._findings) < _TOLD:
            self._findings.append(ChainViolation(fault, number, told))


def _gap(first: int, last: int) -> str:
    return f"{first} is not there." if first == last else f"{first} to {last} are not there."


def _ending(number: int, space: UUID) -> bytes:
    return f',"number":{number},"space":"{space}"}}'.encode()


# What is told of keys, principals, spaces and rules in the audit: nothing that opens anything.


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
    return AuditEntry(action=action, subject=key.id, details=facts)


def about_principal(action: str, identity: Identity, **more: JsonValue) -> AuditEntry:
    facts: JsonObject = {**identity_facts(identity), **more}
    return AuditEntry(action=action, subject=str(identity.id), details=facts)


def about_space(action: str, space: Space, **more: JsonValue) -> AuditEntry:
    return AuditEntry(action=action, subject=str(space.id), details={"name": space.name, **more})


def about_rule(action: str, rule: Rule) -> AuditEntry:
    facts: JsonObject = {
        "decision": str(rule.ruling),
        "tools": rule.tools,
        "except": rule.but,
        "who": rule.who,
        "effects": sorted(rule.effects),
        "reads": rule.reads,
        "tainted": rule.tainted,
        "upto": str(rule.max_label),
        "context": None if rule.context is None else str(rule.context),
        "expires_at": None if rule.expires_at is None else rule.expires_at.isoformat(),
    }
    return AuditEntry(action=action, subject=rule.name, details=facts)


def identity_facts(identity: Identity) -> JsonObject:
    return {
        "name": identity.name,
        "kind": str(identity.kind),
        "roles": sorted(identity.roles),
        "clearance": str(identity.clearance),
        "tools": identity.tools,
        "disabled": identity.disabled_at is not None,
    }


def head_line(space: SpaceId, head: Head, at: datetime) -> str:
    told = {
        "at": at.astimezone(UTC).isoformat(),
        "space": str(space),
        "number": head.number,
        "hash": head.hash.hex(),
    }
    return json.dumps(told) + "\n"


def head_from(line: str) -> tuple[SpaceId, Head] | None:
    """None if it is not one."""
    try:
        told = json.loads(line)
        space, number = SpaceId.parse(told["space"]), told["number"]
        return space, Head(_number(number), bytes.fromhex(told["hash"]))
    except (ValueError, KeyError, TypeError, AttributeError, PorticoError):
        return None


def link_line(link: Link) -> str:
    told = {"number": link.number, "hash": link.hash.hex(), "entry": link.text.decode()}
    return json.dumps(told, ensure_ascii=False) + "\n"


def link_from(line: bytes) -> Link | None:
    """None if it is not one."""
    try:
        told = json.loads(line)
        return Link(_number(told["number"]), told["entry"].encode(), bytes.fromhex(told["hash"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def verdict_json(verdict: Verdict) -> JsonObject:
    return {
        "sound": verdict.sound,
        "checked": verdict.checked,
        "last": verdict.last.number,
        "hash": verdict.last.hash.hex(),
        "heads": verdict.heads,
        "compared": verdict.compared,
        "found": verdict.found,
        "findings": [
            {"fault": str(it.fault), "number": it.number, "told": it.told}
            for it in verdict.findings
        ],
    }


def _number(told: object) -> int:
    if type(told) is not int:
        raise TypeError(f"{told!r} is not a number")
    return told
