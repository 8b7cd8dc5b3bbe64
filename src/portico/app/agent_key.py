"""The key that programs come in with which act for this machine's user, and are not that user."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Final

from portico.app.ground import Ground
from portico.guard.core.errors import InvitationUsed, NotAuthenticated
from portico.guard.core.principals import Identity, Scope
from portico.guard.keys import IssuedKey, KeyWish, for_agents
from portico.interfaces.http.use_cases import UseCases
from portico.kernel.errors import PorticoError
from portico.kernel.principal import Principal, PrincipalKind

DESKTOP: Final = "desktop"
_PAGE: Final = 200
_log: Final = logging.getLogger("portico.serve")


async def leave_agent_key(ground: Ground, use: UseCases, admin: Principal) -> None:
    """If there is none that works. Whoever has shut the agent out is not overruled."""
    if await _opens(ground, use):
        return
    known = await _desktop(use, admin)
    if known is None:
        issued = await use.issue_agent_key(admin, KeyWish(name=DESKTOP))
    elif known.disabled_at is None:
        issued = await _another(use, admin, known)
    else:
        return
    ground.save_key(issued.key.reveal(), agent=True)


async def make_up_agent_key(ground: Ground, use: UseCases) -> None:
    """For an installation that was made before there were such keys, as the one whose key is in
    the drawer. A server serves without it, too."""
    settings, paths = ground.loaded.settings, ground.loaded.paths
    if ground.agent_key_file.exists() or settings.client.server is not None:
        return
    try:
        key = await asyncio.to_thread(paths.key_file.read_text)
        admin = (await use.authenticate(key.strip())).principal
        if admin.may(Scope.PRINCIPALS_WRITE) and admin.may(Scope.KEYS_WRITE):
            await leave_agent_key(ground, use, admin)
    except (OSError, PorticoError) as error:
        _log.info("no key for programs was made: %s", error)


async def _opens(ground: Ground, use: UseCases) -> bool:
    try:
        key = await asyncio.to_thread(ground.agent_key_file.read_text)
        await use.authenticate(key.strip())
    except (OSError, NotAuthenticated, InvitationUsed):
        return False
    return True


async def _another(use: UseCases, admin: Principal, agent: Identity) -> IssuedKey:
    wish = KeyWish(name=DESKTOP, principal=agent.id)
    return await use.issue_key(admin, for_agents(wish, agent.scopes))


async def _desktop(use: UseCases, admin: Principal) -> Identity | None:
    async for each in _principals(use, admin):
        if each.name == DESKTOP and each.kind is PrincipalKind.AGENT:
            return each
    return None


async def _principals(use: UseCases, admin: Principal) -> AsyncIterator[Identity]:
    after = None
    while page := await use.list_principals(admin, after=after, limit=_PAGE):
        for each in page:
            yield each
        after = page[-1].id
