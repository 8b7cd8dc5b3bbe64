"""An answer too long for a model stays here, and its beginning goes out."""

from dataclasses import dataclass
from datetime import timedelta

from portico.gateway.core.call import Answer, ResultId
from portico.gateway.core.result_pages import ResultPage, beginning, pages, text_of
from portico.gateway.ports import Results
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepResult:
    results: Results
    clock: Clock
    entropy: Entropy
    page_size: int
    """In characters."""
    keep: timedelta = timedelta(days=1)

    async def __call__(self, caller: Principal, answer: Answer) -> tuple[Answer, ResultId | None]:
        text = text_of(answer)
        if len(text) <= self.page_size:
            return answer, None
        now = self.clock.now()
        result = ResultId.mint(now, self.entropy)
        await self.results.keep(caller, result, text, now + self.keep)
        many = len(pages(text, self.page_size))
        note = (
            f"[page 1 of {many}; {len(text):,} characters in all. "
            f'The next: read_result(result="{result}", page=2)]'
        )
        return beginning(answer, self.page_size, note), result


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResult:
    results: Results
    clock: Clock
    page_size: int

    async def __call__(self, caller: Principal, result: ResultId, *, page: int = 1) -> ResultPage:
        """The last one, if there are not so many. Raises `ResultNotFound`."""
        kept = await self.results.get(caller, result, self.clock.now())
        found = pages(str(kept), self.page_size)
        number = min(max(page, 1), len(found))
        return ResultPage(found[number - 1], number, len(found))
