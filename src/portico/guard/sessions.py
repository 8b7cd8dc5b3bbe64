"""Sign in to the console, and end sessions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from portico.guard.authentication import Authenticate
from portico.guard.core.audit import about_key
from portico.guard.core.authentication import principal_of
from portico.guard.core.errors import KeyEnded, KeyNotFound, NotAPerson, NotAuthenticated
from portico.guard.core.keys import ApiKey, OpenedWith, Purpose, StoredKey, earlier
from portico.guard.core.principals import Scope
from portico.guard.keys import IssuedKey, check_ends
from portico.guard.ports import Audit, Keys, Principals, Sessions, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.principal import Principal, PrincipalKind

SESSION_LIFETIME: Final = timedelta(days=14)
HANDED_ON: Final = timedelta(minutes=2)
"""How long a session lives that is only carried to a browser."""
_LONGEST_NAME: Final = 100
_NAMELESS: Final = "a browser"
_MOST: Final = 500
"""So many are told of; whoever wants to be rid of more revokes the key that opens them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSession:
    authenticate: Authenticate
    sessions: Sessions
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock
    entropy: Entropy
    pepper: bytes

    async def __call__(
        self, shown: str, name: str, lifetime: timedelta = SESSION_LIFETIME
    ) -> IssuedKey:
        """With an access key of our own making; `name` is what the browser says that it is.

        Raises `NotAuthenticated`, in the same words whatever was wrong, and `NotAPerson`.
        """
        holder = await self.authenticate.access(shown)
        if holder.identity.kind is not PrincipalKind.PERSON:
            raise NotAPerson(holder.identity.name)
        caller, key = principal_of(holder), ApiKey.mint(self.entropy)
        session = _session(key, holder.key, name, self.clock.now(), lifetime)
        try:
            async with self.unit_of_work(caller):
                await self.sessions.open(caller, session, key.digest(self.pepper))
                entry = about_key("session.opened", session, opened_with=holder.key.id)
                await self.audit.note(caller, entry)
        except KeyEnded as error:
            raise NotAuthenticated from error
        return IssuedKey(key, session)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeSession:
    """A session that was opened elsewhere, for a browser: it is good for one exchange."""

    authenticate: Authenticate
    sessions: Sessions
    keys: Keys
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock
    entropy: Entropy
    pepper: bytes

    async def __call__(self, shown: str, name: str) -> IssuedKey:
        """Another in its place. What was on its way, in an address and in a browser's memory of
        where it was, opens nothing any more. Raises `NotAuthenticated`."""
        holder, now = await self.authenticate.handed(shown), self.clock.now()
        caller, key, old = principal_of(holder), ApiKey.mint(self.entropy), holder.key
        session = replace(
            old,
            id=key.id,
            name=_plain(name),
            created_at=now,
            expires_at=earlier(
                now + SESSION_LIFETIME, None if old.opened_with is None else old.opened_with.until
            ),
            last_used_at=None,
        )
        try:
            async with self.unit_of_work(caller):
                if not await self.keys.revoke(caller, old.id, now):
                    raise NotAuthenticated
                await self.sessions.open(caller, session, key.digest(self.pepper))
                await self.audit.note(caller, about_key("session.taken", session, before=old.id))
        except KeyEnded as error:
            raise NotAuthenticated from error
        return IssuedKey(key, session)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSessions:
    sessions: Sessions
    clock: Clock

    async def __call__(self, caller: Principal) -> Sequence[StoredKey]:
        """Those that have not ended, the last used first: all of the space to whoever may see its
        keys, and one's own to everybody else."""
        of = None if caller.may(Scope.KEYS_READ) else caller.id
        return await self.sessions.still_open(caller, of=of, at=self.clock.now(), limit=_MOST)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveSession:
    keys: Keys
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock

    async def __call__(self, caller: Principal, session_id: str) -> None:
        """One's own: it opens nothing any more, and what was begun in it goes on. Raises
        `KeyNotFound`."""
        session = await self.keys.get(caller, session_id)
        if session.purpose is not Purpose.SESSION or session.principal != caller.id:
            raise KeyNotFound(session_id)
        now = self.clock.now()
        if session.ended(now):
            return
        async with self.unit_of_work(caller):
            if await self.keys.expire(caller, session, now):
                await self.audit.note(caller, about_key("session.left", session))


@dataclass(frozen=True, slots=True, kw_only=True)
class EndSession:
    """Taken from whoever has it, with what was begun in it: for a browser that is lost."""

    keys: Keys
    principals: Principals
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock

    async def __call__(self, caller: Principal, session_id: str) -> None:
        """One's own always, whatever one may. Ending twice is no error.

        Raises `KeyNotFound`, `NotPermitted`, and `Overreach` for whoever would shut out somebody
        above them.
        """
        session = await self._reachable(caller, session_id)
        async with self.unit_of_work(caller):
            if await self.keys.revoke(caller, session_id, self.clock.now()):
                await self.audit.note(caller, about_key("session.ended", session))

    async def _reachable(self, caller: Principal, session_id: str) -> StoredKey:
        session = await self.keys.get(caller, session_id)
        if session.purpose is not Purpose.SESSION:
            raise KeyNotFound(session_id)
        if session.principal == caller.id:
            return session
        if not caller.may(Scope.KEYS_READ):
            raise KeyNotFound(session_id)
        require_scope(caller, Scope.KEYS_WRITE)
        await check_ends(self.principals, caller, session)
        return session


def _session(
    key: ApiKey, opener: StoredKey, name: str, now: datetime, lifetime: timedelta
) -> StoredKey:
    """As wide as the key that it is opened with, and never there for longer."""
    return StoredKey(
        id=key.id,
        space=opener.space,
        principal=opener.principal,
        purpose=Purpose.SESSION,
        name=_plain(name),
        scopes=opener.scopes,
        clearance=opener.clearance,
        tools=opener.tools,
        opened_with=OpenedWith(opener.id, opener.expires_at),
        created_at=now,
        expires_at=earlier(now + lifetime, opener.expires_at),
    )


def _plain(name: str) -> str:
    """What a browser says of itself is anybody's text."""
    words = " ".join(name.split())
    seen = "".join(letter for letter in words if letter.isprintable())
    return seen.strip()[:_LONGEST_NAME].strip() or _NAMELESS
