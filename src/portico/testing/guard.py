"""The guard's ports in memory, with the same access checks as the real ones."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from portico.guard.core.access_request import AccessRequest, TaintContext
from portico.guard.core.audit import BEGINNING as AUDIT_BEGINNING
from portico.guard.core.audit import AuditEntry, Head, Link, act_text, entry_text, linked
from portico.guard.core.authentication import as_principal
from portico.guard.core.contexts import OpenedContext, context_of, risen
from portico.guard.core.errors import (
    ContextNotFound,
    KeyEnded,
    KeyNotFound,
    LimitReached,
    NameTaken,
    PrincipalNotFound,
    RuleTaken,
    SpaceNotFound,
)
from portico.guard.core.keys import KeyHolder, OpenedWith, Purpose, StoredKey, earlier
from portico.guard.core.principals import Identity, Role, Scope
from portico.guard.core.rate_limits import CallRates, Limit, RateWindow, Slots
from portico.guard.core.rules import Rule
from portico.guard.core.spaces import HOME, ExportedRow, Space
from portico.guard.policy import Decide
from portico.guard.policy_gate import Gate
from portico.guard.ports import Audit, CallLimits, Contexts, Rules
from portico.kernel.clock import Clock
from portico.kernel.ids import ContextId, PrincipalId, SpaceId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label, Level, join
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.export import exported
from portico.testing.memory_store import (
    BEGINNING,
    HeldKey,
    InMemoryStore,
    KnownContext,
    RowRefused,
    SeededEntropy,
    TickingClock,
    all_or_nothing,
    within,
)

# Whose word a key's program may pass on, in memory.


class MemoryTrustedClients:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world
        self._people: dict[str, PrincipalId] = {}

    async def person(self, caller: Principal, key_id: str) -> PrincipalId | None:
        return self._people.get(key_id) if self._mine(caller, key_id) else None

    async def trust(self, caller: Principal, key_id: str, person: PrincipalId | None) -> None:
        if not self._mine(caller, key_id):
            return
        if person is None:
            self._people.pop(key_id, None)
            return
        if (caller.space, person) not in self._world.identities:
            raise RowRefused(f"There is no principal {person} to trust.")
        self._people[key_id] = person

    def _mine(self, caller: Principal, key_id: str) -> bool:
        held = self._world.keys.get(key_id)
        return held is not None and held.key.space == caller.space


class MemoryTaskContexts:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def get(self, caller: Principal) -> TaintContext:
        known = self._own(caller, context_of(caller))
        if known is None and caller.context is None:
            return TaintContext(id=context_of(caller))
        if known is None or known.closed_at is not None:
            raise ContextNotFound(str(caller.context))
        return TaintContext(id=context_of(caller), label=known.label, untrusted=known.untrusted)

    async def raise_taint(self, caller: Principal, label: Label, *, untrusted: bool) -> None:
        """Past what could take it back: an answer that was given stays given."""
        self._exists(caller)
        place = (caller.space, context_of(caller))
        known = self._own(caller, place[1])
        if known is None and caller.context is not None:
            raise ContextNotFound(str(caller.context))
        known = known or KnownContext(caller.id, None, BEGINNING)
        self._world.contexts.data[place] = replace(
            known, label=join([known.label, label]), untrusted=known.untrusted or untrusted
        )

    async def open(self, caller: Principal, context: OpenedContext) -> None:
        self._exists(caller)
        known = KnownContext(
            caller.id, context.name, context.opened_at, context.label, context.untrusted
        )
        self._world.contexts.insert((caller.space, context.id), known)

    async def find(self, caller: Principal, context: ContextId) -> OpenedContext | None:
        known = self._own(caller, context)
        return None if known is None or known.name is None else _opened(context, known)

    async def all(self, caller: Principal) -> Sequence[OpenedContext]:
        mine = [
            _opened(context, known)
            for (space, context), known in self._world.contexts.items()
            if (space, known.principal) == (caller.space, caller.id)
            and known.name is not None
            and known.closed_at is None
        ]
        return sorted(mine, key=lambda its: (its.opened_at, its.id.value))

    async def close(self, caller: Principal, context: ContextId, at: datetime) -> bool:
        known = self._own(caller, context)
        if known is None or known.name is None or known.closed_at is not None:
            return False
        self._world.contexts[caller.space, context] = replace(known, closed_at=at)
        return True

    def _own(self, caller: Principal, context: ContextId) -> KnownContext | None:
        known = self._world.contexts.get((caller.space, context))
        return known if known is not None and known.principal == caller.id else None

    def _exists(self, caller: Principal) -> None:
        if (caller.space, caller.id) not in self._world.identities:
            raise RowRefused(f"There is no principal {caller.id} that could be at a task.")


def _opened(context: ContextId, known: KnownContext) -> OpenedContext:
    return OpenedContext(
        id=context,
        principal=known.principal,
        name=known.name or "",
        opened_at=known.opened_at,
        label=known.label,
        untrusted=known.untrusted,
        closed_at=known.closed_at,
    )


_AT_ONCE: Final = 500


class MemoryAudit:
    """Both doors, `Audit` and `AuditLog`; without a world it takes anybody's entries. `acts` and
    `actions` are for tests to look at."""

    def __init__(self, world: InMemoryStore | None = None, clock: Clock | None = None) -> None:
        self._world = InMemoryStore() if world is None else world
        self._anywhere = world is None
        self._clock = clock or TickingClock()

    @property
    def acts(self) -> list[JsonObject]:
        """Of every space, as they came."""
        return [json.loads(link.text)["act"] for link in self._world.audit.values()]

    @property
    def actions(self) -> list[JsonValue]:
        return [act["action"] for act in self.acts]

    async def note(self, caller: Principal, *entries: AuditEntry) -> None:
        for entry in entries:
            self._append(caller, entry)

    async def note_ahead(self, caller: Principal, entry: AuditEntry) -> None:
        self._append(caller, entry)

    def note_behind(self, caller: Principal, entry: AuditEntry) -> None:
        self._append(caller, entry)

    async def head(self, caller: Principal) -> Head:
        return self._world.audit_heads.get(caller.space, AUDIT_BEGINNING)

    async def page(self, caller: Principal, *, before: int | None, limit: int) -> Sequence[Link]:
        links = self._links(caller.space)
        older = links if before is None else [link for link in links if link.number < before]
        return [*reversed(older)][:limit]

    async def stream(
        self, caller: Principal, *, last_number: int
    ) -> AsyncGenerator[Sequence[Link], None]:
        links = [link for link in self._links(caller.space) if link.number <= last_number]
        for start in range(0, len(links), _AT_ONCE):
            yield links[start : start + _AT_ONCE]

    def _append(self, caller: Principal, entry: AuditEntry) -> None:
        space = caller.space
        if not self._anywhere and space not in self._world.spaces:
            raise RowRefused(f"There is no space {space}.")
        before = self._world.audit_heads.get(space, AUDIT_BEGINNING)
        act, now = act_text(caller, entry), self._clock.now()
        link = linked(before, entry_text(act, now, caller.id, before.number + 1, space))
        self._world.audit.insert((space, link.number), link)
        self._world.audit_heads[space] = Head(link.number, link.hash)

    def _links(self, space: SpaceId) -> list[Link]:
        mine = [link for (whose, _), link in self._world.audit.items() if whose == space]
        return sorted(mine, key=lambda link: link.number)


class MemoryAuditHeads:
    def __init__(self) -> None:
        self.stored: list[tuple[SpaceId, Head]] = []

    async def keep(self, space: SpaceId, head: Head) -> None:
        self.stored.append((space, head))

    async def of(self, space: SpaceId) -> Sequence[Head]:
        return [head for whose, head in self.stored if whose == space]


TEAM: Final = Label(Level.TEAM)


class MemoryKeyRing:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def find(self, key_id: str) -> KeyHolder | None:
        held = self._world.keys.get(key_id)
        if held is None:
            return None
        identity = self._world.identities[held.key.space, held.key.principal]
        return KeyHolder(held.key, held.digest, identity)

    async def find_all(self, key_ids: Collection[str]) -> Sequence[KeyHolder]:
        found = [await self.find(key_id) for key_id in sorted(set(key_ids))]
        return [holder for holder in found if holder is not None]

    async def used(self, caller: Principal, key_id: str, at: datetime) -> None:
        held = _mine(self._world, caller, key_id)
        if held is not None:
            self._world.keys[key_id] = replace(held, key=replace(held.key, last_used_at=at))


class MemoryKeys:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def add(self, caller: Principal, key: StoredKey, digest: bytes) -> None:
        within(caller, key.space)
        _insert_key(self._world, key, digest)

    async def get(self, caller: Principal, key_id: str) -> StoredKey:
        held = _mine(self._world, caller, key_id)
        if held is None:
            raise KeyNotFound(key_id)
        return held.key

    async def page(
        self, caller: Principal, *, of: PrincipalId | None, after: str | None, limit: int
    ) -> Sequence[StoredKey]:
        start = None if after is None else _mine(self._world, caller, after)
        if after is not None and start is None:
            return []
        found = [
            held.key
            for held in self._world.keys.values()
            if held.key.space == caller.space
            and held.key.purpose is Purpose.ACCESS
            and of in (None, held.key.principal)
            and (start is None or _age(held.key) > _age(start.key))
        ]
        return sorted(found, key=_age)[:limit]

    async def expire(self, caller: Principal, key: StoredKey, at: datetime) -> bool:
        held = _mine(self._world, caller, key.id)
        if held is None or held.key.revoked_at or held.key.expires_at != key.expires_at:
            return False
        self._world.keys[key.id] = replace(held, key=replace(held.key, expires_at=at))
        for its in _opened_with(self._world, held.key):
            ends = replace(its.key, opened_with=OpenedWith(key.id, at))
            ends = replace(ends, expires_at=earlier(ends.expires_at, at))
            self._world.keys[ends.id] = replace(its, key=ends)
        return True

    async def end_invitations(
        self, caller: Principal, principal: PrincipalId, at: datetime
    ) -> None:
        for held in [*self._world.keys.values()]:
            key = held.key
            theirs = key.space == caller.space and key.principal == principal
            if theirs and key.purpose is Purpose.INVITATION and key.revoked_at is None:
                self._world.keys[key.id] = replace(held, key=replace(key, revoked_at=at))

    async def revoke(self, caller: Principal, key_id: str, at: datetime) -> bool:
        held = _mine(self._world, caller, key_id)
        if held is None or held.key.revoked_at is not None:
            return False
        for its in (held, *_opened_with(self._world, held.key)):
            self._world.keys[its.key.id] = replace(its, key=replace(its.key, revoked_at=at))
        return True


class MemorySessions:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def open(self, caller: Principal, session: StoredKey, digest: bytes) -> None:
        within(caller, session.space)
        opener = session.opened_with
        held = None if opener is None else _mine(self._world, caller, opener.key)
        if held is None or held.key.purpose is not Purpose.ACCESS or held.key.revoked_at:
            raise KeyEnded(str(opener and opener.key))
        if opener != OpenedWith(held.key.id, held.key.expires_at):
            raise KeyEnded(held.key.id)
        _insert_key(self._world, session, digest)

    async def still_open(
        self, caller: Principal, *, of: PrincipalId | None, at: datetime, limit: int
    ) -> Sequence[StoredKey]:
        found = [
            held.key
            for held in self._world.keys.values()
            if held.key.space == caller.space
            and held.key.purpose is Purpose.SESSION
            and of in (None, held.key.principal)
            and not held.key.ended(at)
        ]
        found.sort(key=lambda key: key.id)
        found.sort(key=lambda key: key.last_used_at or key.created_at, reverse=True)
        return found[:limit]


class MemoryPrincipals:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def add(self, caller: Principal, identity: Identity) -> None:
        within(caller, identity.space)
        _insert_identity(self._world, identity)

    async def get(self, caller: Principal, principal: PrincipalId) -> Identity:
        found = self._world.identities.get((caller.space, principal))
        if found is None:
            raise PrincipalNotFound(str(principal))
        return found

    async def hold(self, caller: Principal, principal: PrincipalId) -> Identity:
        """Nothing to hold: between this and a write nobody else has a turn."""
        return await self.get(caller, principal)

    async def page(
        self, caller: Principal, *, after: PrincipalId | None, limit: int
    ) -> Sequence[Identity]:
        found = [
            identity
            for identity in self._world.identities.values()
            if identity.space == caller.space and (after is None or identity.id.value > after.value)
        ]
        return sorted(found, key=lambda identity: identity.id.value)[:limit]

    async def save(self, caller: Principal, identity: Identity) -> None:
        """Only what can change: roles, clearance, tools, and whether it is disabled."""
        place = (identity.space, identity.id)
        if identity.space != caller.space or place not in self._world.identities:
            raise PrincipalNotFound(str(identity.id))
        self._world.identities[place] = replace(
            self._world.identities[place],
            roles=identity.roles,
            clearance=identity.clearance,
            tools=identity.tools,
            disabled_at=identity.disabled_at,
        )

    async def rename(self, caller: Principal, principal: PrincipalId, name: str) -> None:
        found = await self.get(caller, principal)
        others = (its for its in self._world.identities.values() if its.space == caller.space)
        if any(its.name == name and its.id != principal for its in others):
            raise NameTaken(name)
        self._world.identities[caller.space, principal] = replace(found, name=name)


class MemorySpaces:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def found(self, space: Space, first: Identity, key: StoredKey, digest: bytes) -> None:
        founder = as_principal(first)
        within(founder, space.id)
        within(founder, key.space)
        with all_or_nothing():
            self._world.spaces.insert(space.id, space)
            _insert_identity(self._world, first)
            _insert_key(self._world, key, digest)

    async def get(self, caller: Principal) -> Space:
        found = self._world.spaces.get(caller.space)
        if found is None:
            raise SpaceNotFound(str(caller.space))
        return found

    async def rename(self, caller: Principal, name: str) -> None:
        found = self._world.spaces.get(caller.space)
        if found is not None:
            self._world.spaces[caller.space] = replace(found, name=name)

    async def delete(self, caller: Principal) -> None:
        self._world.forget(caller.space)

    async def export(self, caller: Principal) -> AsyncGenerator[ExportedRow, None]:
        for row in [*exported(self._world, caller)]:
            yield row


class MemoryLeavings:
    def __init__(self) -> None:
        self.cleared: list[SpaceId] = []

    async def clear(self, space: SpaceId) -> None:
        self.cleared.append(space)


class MemorySpaceSettings:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world
        self._held: defaultdict[tuple[SpaceId, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def get(self, caller: Principal, name: str) -> JsonValue:
        found: JsonValue = json.loads(self._world.settings.get((caller.space, name), "null"))
        return found

    async def put(self, caller: Principal, name: str, value: JsonValue) -> None:
        if caller.space not in self._world.spaces:
            raise RowRefused(f"There is no space {caller.space}.")
        self._world.settings[caller.space, name] = json.dumps(value)

    @asynccontextmanager
    async def changing(self, caller: Principal, name: str) -> AsyncIterator[JsonValue]:
        if caller.space not in self._world.spaces:
            raise RowRefused(f"There is no space {caller.space}.")
        async with self._held[caller.space, name]:
            before = self._world.settings.get((caller.space, name), "null")
            try:
                yield await self.get(caller, name)
            except BaseException:
                self._world.settings[caller.space, name] = before
                raise


def a_space(name: str = HOME) -> Space:
    """The same name, the same id."""
    return Space(SpaceId.mint(BEGINNING, SeededEntropy(f"space {name}")), name, BEGINNING)


def an_identity(
    name: str = "ana",
    *,
    space: Space | None = None,
    kind: PrincipalKind = PrincipalKind.PERSON,
    roles: Collection[Role] = (Role.MEMBER,),
    grants: Collection[Scope] = (),
    clearance: Label = TEAM,
) -> Identity:
    """The same name in the same space (`home` unless it is given), the same id."""
    home = space or a_space()
    return Identity(
        id=PrincipalId.mint(BEGINNING, SeededEntropy(f"principal {name} of {home.id}")),
        space=home.id,
        kind=kind,
        name=name,
        roles=frozenset(roles),
        grants=frozenset(grants),
        clearance=clearance,
        created_at=BEGINNING,
    )


def a_person(
    name: str = "ana",
    *,
    space: Space | None = None,
    roles: Collection[Role] = (Role.MEMBER,),
    grants: Collection[Scope] = (),
    clearance: Label = TEAM,
) -> Principal:
    """Whoever `an_identity` would make, as they ask: with all that they may."""
    identity = an_identity(name, space=space, roles=roles, grants=grants, clearance=clearance)
    return as_principal(identity)


def _mine(world: InMemoryStore, caller: Principal, key_id: str) -> HeldKey | None:
    held = world.keys.get(key_id)
    return held if held is not None and held.key.space == caller.space else None


def _opened_with(world: InMemoryStore, opener: StoredKey) -> Sequence[HeldKey]:
    return [
        held
        for held in world.keys.values()
        if held.key.space == opener.space
        and held.key.opened_with is not None
        and held.key.opened_with.key == opener.id
        and held.key.revoked_at is None
    ]


def _age(key: StoredKey) -> tuple[datetime, str]:
    return key.created_at, key.id


def _insert_identity(world: InMemoryStore, identity: Identity) -> None:
    if identity.space not in world.spaces:
        raise RowRefused(f"There is no space {identity.space}.")
    neighbours = (other for other in world.identities.values() if other.space == identity.space)
    if any(identity.name == other.name or identity.id == other.id for other in neighbours):
        raise NameTaken(identity.name)
    world.identities.insert((identity.space, identity.id), identity)


def _insert_key(world: InMemoryStore, key: StoredKey, digest: bytes) -> None:
    if (key.space, key.principal) not in world.identities:
        raise RowRefused(f"There is no principal {key.principal} to hold a key.")
    if (key.purpose is Purpose.SESSION) != (key.opened_with is not None):
        raise RowRefused("A session is opened with a key, and nothing else is.")
    if key.opened_with is not None:
        opener = world.keys.get(key.opened_with.key)
        whose = None if opener is None else (opener.key.space, opener.key.principal)
        if whose != (key.space, key.principal) or key.expires_at is None:
            raise RowRefused(f"There is no key {key.opened_with.key} of theirs to open it with.")
    world.keys.insert(key.id, HeldKey(key, digest))


class MemoryRules:
    """`of_the_file` are in force in every space. Without a world it takes anybody's rules."""

    def __init__(
        self, of_the_file: Iterable[Rule] = (), world: InMemoryStore | None = None
    ) -> None:
        self._world = InMemoryStore() if world is None else world
        self._anywhere = world is None
        self._file = tuple(of_the_file)

    async def all(self, caller: Principal) -> Sequence[Rule]:
        own = [rule for (space, _), rule in self._world.rules.items() if space == caller.space]
        return [*self._file, *own]

    async def add(self, caller: Principal, rule: Rule) -> None:
        if not self._anywhere and caller.space not in self._world.spaces:
            raise RowRefused(f"There is no space {caller.space}.")
        if (caller.space, rule.name) in self._world.rules:
            raise RuleTaken(rule.name)
        self._world.rules[caller.space, rule.name] = rule

    async def remove(self, caller: Principal, name: str) -> bool:
        return self._world.rules.pop((caller.space, name), None) is not None


class MemoryContexts:
    """A task a key; of whoever comes without one, a task of its own. `looked` counts the looks."""

    def __init__(self) -> None:
        self.tasks: dict[ContextId, TaintContext] = {}
        self.looked = 0

    async def get(self, caller: Principal) -> TaintContext:
        self.looked += 1
        return self._of(caller)

    async def raise_taint(self, caller: Principal, label: Label, *, untrusted: bool) -> None:
        now = self._of(caller)
        self.tasks[now.id] = risen(now, label, untrusted=untrusted)

    def _of(self, caller: Principal) -> TaintContext:
        task = context_of(caller)
        return self.tasks.get(task, TaintContext(id=task))


class NoLimits:
    async def take_own(self, act: AccessRequest) -> None:
        """As often as anybody likes."""

    async def take_shared(self, act: AccessRequest) -> None:
        """The same."""

    async def take_ahead(self, act: AccessRequest, share: float) -> None:
        """The same."""


def a_gate(
    *,
    rules: Rules | None = None,
    contexts: Contexts | None = None,
    limits: CallLimits | None = None,
    journal: Audit | None = None,
) -> Gate:
    tasks = contexts or MemoryContexts()
    return Gate(
        decide=Decide(rules=rules or MemoryRules(), contexts=tasks, clock=TickingClock()),
        limits=limits or NoLimits(),
        contexts=tasks,
        journal=journal or MemoryAudit(),
    )


class MemoryCallLimits:
    def __init__(self, rates: CallRates, slots: Slots | None = None) -> None:
        self._rates = rates
        self._slots = slots or Slots()
        self._windows: dict[tuple[SpaceId, str], RateWindow] = {}
        self.now = 0.0
        """Seconds, since whenever."""

    async def take_own(self, act: AccessRequest) -> None:
        self._take(act, self._rates.own(act))

    async def take_shared(self, act: AccessRequest) -> None:
        self._take(act, self._rates.shared(act))

    async def take_ahead(self, act: AccessRequest, share: float) -> None:
        self._take(act, [limit.shared(share) for limit in self._rates.shared(act)])

    def _take(self, act: AccessRequest, limits: Sequence[Limit]) -> None:
        for limit in limits:
            key = act.caller.space, limit.subject
            window = self._windows.setdefault(key, RateWindow(self._slots))
            if wait := window.take(limit.per_minute, self.now):
                raise LimitReached(limit.what, limit.per_minute, timedelta(seconds=wait))
