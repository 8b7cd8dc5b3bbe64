"""Say what a debate would cost, and ask nobody."""

from dataclasses import dataclass

from portico.debate.core.estimate import estimated
from portico.debate.core.wish import DebateWish, Estimate
from portico.debate.prepare_debate import PrepareDebate, within_windows
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.principal import Principal
from portico.kernel.tokens import Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateDebate:
    prepare: PrepareDebate
    tokenizer: Tokenizer

    async def __call__(self, caller: Principal, wish: DebateWish) -> Estimate:
        """Raises `NotPermitted`, and what is wrong with the wish."""
        permit(caller, Scope.DEBATES_RUN)
        count = self.tokenizer.count
        prepared = within_windows(await self.prepare(caller, wish), count)
        found = estimated(prepared.plan, count, [*map(str, prepared.left_out)])
        return found.within(prepared.cap)
