"""Keep results that are too long to be given at once."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from portico.gateway.core.calls import ResultId, StoredResult, ToolResult
from portico.gateway.core.results import ResultPage, beginning, pages, text_of
from portico.gateway.ports import Results
from portico.guard.core.principals import Scope
from portico.guard.core.vault import VaultClosed
from portico.guard.ports import Contexts
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_NOT_KEPT: Final = (
    "The rest is not kept: this machine has no key to seal it with. Ask for less of it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreResult:
    results: Results
    clock: Clock
    entropy: Entropy
    page_size: int
    """In characters."""
    keep: timedelta = timedelta(days=1)

    async def __call__(
        self, caller: Principal, answer: ToolResult, *, label: Label, untrusted: bool
    ) -> tuple[ToolResult, ResultId | None]:
        """Its beginning all the same where nothing can be sealed; then there is no more of it."""
        text = text_of(answer)
        if len(text) <= self.page_size:
            return answer, None
        kept = StoredResult(content=text, label=label, untrusted=untrusted)
        result = await self._kept(caller, kept)
        next_one = f'The next: read_result(result="{result}", page=2)' if result else _NOT_KEPT
        many = len(pages(text, self.page_size))
        note = f"[page 1 of {many}; {len(text):,} characters in all. {next_one}]"
        return beginning(answer, self.page_size, note), result

    async def _kept(self, caller: Principal, kept: StoredResult) -> ResultId | None:
        now = self.clock.now()
        result = ResultId.mint(now, self.entropy)
        try:
            await self.results.keep(caller, result, kept, now + self.keep)
        except VaultClosed:
            return None
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResult:
    results: Results
    contexts: Contexts
    clock: Clock
    page_size: int

    async def __call__(self, caller: Principal, result: ResultId, *, page: int = 1) -> ResultPage:
        """The last one, if there are not so many. Whichever task it is read in takes it in.
        Raises `NotPermitted`, `ResultNotFound`."""
        found = pages(await self.whole(caller, result), self.page_size)
        number = min(max(page, 1), len(found))
        return ResultPage(found[number - 1], number, len(found))

    async def whole(self, caller: Principal, result: ResultId) -> str:
        """All of it at once, for whoever shows it in parts of their own. Raises as above."""
        require_scope(caller, Scope.TOOLS_CALL)
        kept = await self.results.get(caller, result, self.clock.now())
        await self.contexts.raise_taint(caller, kept.label, untrusted=kept.untrusted)
        return str(kept.content)
