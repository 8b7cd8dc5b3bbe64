"""Prepare what one model is asked in a turn: the tools that it is shown, and what of the talk fits
into its window."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from portico.agents.core.agent import ToolMode
from portico.agents.core.answer import Ledger
from portico.agents.core.asking import ToolShown
from portico.agents.core.calling import Offer
from portico.agents.core.compaction import (
    A_MESSAGE,
    Fitted,
    TooLong,
    as_it_is,
    fit,
    tokens_of_tool,
)
from portico.agents.core.conversation import for_model
from portico.agents.core.errors import ContextTooSmall, ModelNotCleared
from portico.agents.core.form import as_form, form_instructions, form_schema
from portico.agents.core.message import Message
from portico.agents.core.model import ModelInfo, ModelRef
from portico.agents.core.showing import mode_for, shelf_for
from portico.agents.core.spending import LEAST_ANSWER
from portico.agents.margins import Margins
from portico.agents.ports import ModelBook, Talk, Toolbox
from portico.agents.turn import Turn, note
from portico.engine.execution import patiently
from portico.kernel.json import JsonObject
from portico.kernel.tokens import Tokenizer

_NO_TOOLS: Final = (
    "None of the tools that it may use can be used now: `portico servers list` shows what waits to "
    "be approved."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """One model, and what it is to be asked."""

    info: ModelInfo
    offer: Offer
    by_form: bool
    instructions: str
    tools: Sequence[ToolShown]
    schema: JsonObject | None
    messages: Sequence[Message]
    most: int
    """Tokens of an answer."""
    prompt: int
    """Tokens of all of it, by our count."""

    @property
    def plain(self) -> bool:
        """Whether by far the most of it is ASCII."""
        texts = [self.instructions, *(message.text for message in self.messages)]
        other = sum(len(text) for text in texts if not text.isascii())
        return other * 10 <= sum(map(len, texts))


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareQuestion:
    book: ModelBook
    toolbox: Toolbox
    talk: Talk
    tokenizer: Tokenizer
    margins: Margins = field(default_factory=Margins)

    async def __call__(
        self, turn: Turn, ref: ModelRef, ledger: Ledger, said: Sequence[Message] = ()
    ) -> Prepared:
        """`said` comes after all of the run. Raises `ModelNotCleared`, `ContextTooSmall`."""
        info = await self.book.get(turn.leg.acts.caller, ref)
        if not info.clearance.covers(turn.label):
            raise ModelNotCleared(str(ref), str(turn.label), str(info.clearance))
        spec = turn.leg.given.agent.spec
        offer = await self._offered(turn, info)
        if spec.tools and not offer.shown and _NO_TOOLS not in ledger.notes:
            await note(self.talk, turn, ledger, "no_tools", _NO_TOOLS)
        by_form = bool(offer.shown) and mode_for(info, spec.tool_mode) is ToolMode.FORM
        messages = [*for_model(turn.lines, str(ref)), *said]
        prepared = Prepared(
            info=info,
            offer=offer,
            by_form=by_form,
            instructions=form_instructions(spec.instructions, offer.shown)
            if by_form
            else spec.instructions,
            tools=() if by_form else offer.shown,
            schema=form_schema(offer.shown) if by_form else None,
            messages=messages,
            most=_most(turn, info),
            prompt=0,
        )
        return await self._fitted(turn, prepared, ledger)

    async def offer(self, turn: Turn, model: ModelRef) -> Offer:
        """What this model is shown of the tools."""
        return await self._offered(turn, await self.book.get(turn.leg.acts.caller, model))

    async def _offered(self, turn: Turn, info: ModelInfo) -> Offer:
        if not turn.leg.given.agent.spec.tools:
            return Offer(names={})
        shelf = shelf_for(info)
        return await patiently(
            lambda: self.toolbox.offered(
                turn.leg.acts, words=turn.words, most=shelf.most, tokens=shelf.tokens
            )
        )

    async def _fitted(self, turn: Turn, prepared: Prepared, ledger: Ledger) -> Prepared:
        """Raises `ContextTooSmall`."""
        count = turn.leg.counting(self.tokenizer)
        fixed = count(prepared.instructions) + A_MESSAGE
        fixed += sum(tokens_of_tool(tool, count) for tool in prepared.tools)
        info = prepared.info
        room = 1 << 60
        if info.window is not None:
            answer = min(prepared.most, max(info.window // 4, LEAST_ANSWER))
            margin = self.margins.of(info.ref, plain=prepared.plain)
            room = (info.window - answer) * 100 // margin - fixed
        as_sent = as_form if prepared.by_form else as_it_is
        fitted = fit(prepared.messages, room, count, as_sent)
        match fitted:
            case TooLong(needed):
                raise ContextTooSmall(str(info.ref), needed + fixed, info.window or 0)
            case Fitted(messages, tokens, shortened):
                if shortened:
                    older = "older message was" if shortened == 1 else "older messages were"
                    what = f"{shortened} {older} shortened to fit into its window."
                    await note(self.talk, turn, ledger, "compacted", what)
                return replace(prepared, messages=[*map(as_sent, messages)], prompt=fixed + tokens)


def _most(turn: Turn, info: ModelInfo) -> int:
    most = turn.leg.given.agent.spec.most_output
    return most if info.most_output is None else min(most, info.most_output)
