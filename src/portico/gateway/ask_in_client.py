"""Ask whoever sits at the program that wants something, if an operator has said who that is.

One way of several: whoever answers first counts, wherever they do.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from portico.gateway.core.elicited import answer_of, question_of
from portico.gateway.core.errors import InputRefused, InputUnsupported
from portico.gateway.core.upstream import Wanted
from portico.gateway.ports import Line
from portico.guard.approvals import AnswerApproval, Reply, TrustedClients
from portico.guard.core.approvals import Approval, Status, Via
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import PrincipalNotFound
from portico.guard.ports import Principals
from portico.kernel.errors import PorticoError
from portico.kernel.principal import Principal

_log: Final = logging.getLogger("portico.approvals")

StillAsking = Callable[[], bool]
InClient = Callable[[Principal, Approval, Line | None], AbstractAsyncContextManager[StillAsking]]


@asynccontextmanager
async def nobody_is_asked(
    _caller: Principal, _approval: Approval, _line: Line | None
) -> AsyncIterator[StillAsking]:
    yield lambda: False


@dataclass(frozen=True, slots=True, kw_only=True)
class AskInClient:
    trusted: TrustedClients
    principals: Principals
    answer: AnswerApproval

    @asynccontextmanager
    async def __call__(
        self, caller: Principal, approval: Approval, line: Line | None
    ) -> AsyncIterator[StillAsking]:
        """Gives whether somebody is being asked; at the end nobody is any more."""
        person = await self._person(caller, approval, line)
        if person is None or line is None:
            yield lambda: False
            return
        asking = asyncio.create_task(self._asked(caller, person, approval, line))
        try:
            yield lambda: not asking.done()
        finally:
            asking.cancel()
            await asyncio.wait([asking])

    async def _person(
        self, caller: Principal, approval: Approval, line: Line | None
    ) -> Principal | None:
        able = line is not None and Wanted.ELICITATION in line.able
        if not able or caller.key is None or approval.status is not Status.WAITING:
            return None
        named = await self.trusted.person(caller, caller.key)
        if named is None:
            return None
        try:
            identity = await self.principals.get(caller, named)
        except PrincipalNotFound:
            return None
        return None if identity.disabled_at is not None else as_principal(identity)

    async def _asked(
        self, caller: Principal, person: Principal, approval: Approval, line: Line
    ) -> None:
        """What is no answer leaves the request as it was, open to everybody else; so does that of
        somebody whose word has stopped to count while they were asked."""
        try:
            kind = answer_of(await line.ask(question_of(approval)))
            if kind is None:
                return
            now = await self._person(caller, approval, line)
            if now is not None and now.id == person.id:
                await self.answer(now, approval.id, Reply(kind=kind, via=Via.ELICITATION))
            else:
                _log.info("an answer to %s did not count: nobody answers there now", approval.id)
        except (InputUnsupported, InputRefused):
            return
        except PorticoError as error:
            _log.info("an answer to %s did not count: %s", approval.id, error)
