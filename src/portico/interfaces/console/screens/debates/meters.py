"""How near to a decision a debate is, and how near to the end of its budget."""

from dataclasses import dataclass
from decimal import Decimal

from portico.debate.core.conduct import percent
from portico.debate.core.debaters import VoiceKind
from portico.debate.core.debates import WholeDebate
from portico.interfaces.console.screens.debates.grid import counts_of, said_in
from portico.interfaces.console.wording import NOTHING as DASH
from portico.kernel.budget import NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Consensus:
    value: float | None
    words: str
    target: float
    """From which on nobody else is asked."""
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    tokens: int
    cap: int | None
    share: float | None
    money: Decimal
    money_cap: Decimal | None
    calls: int
    saved: int
    unpriced: int
    """Voices of which nobody knows a price, or which cost nothing."""


def consensus_of(whole: WholeDebate) -> Consensus:
    """The probability of the answer once it is weighed; before, how many of those who were heard
    give the one that most give."""
    its, counts = whole.debate, counts_of(said_in(whole))
    target, closed = its.rules.stop_at, its.question.kind.closed
    value: float | None = None
    if its.analysis:
        value = None if its.decision is None else its.decision.probability
        note = "of its sub-questions, on the average"
    elif its.decision is not None and its.decision.options:
        value, note = its.decision.probability, f"{percent(target)} is enough at once"
    elif closed and counts:
        most, heard = counts[max(counts)]
        value, note = most / heard, f"by count so far; once weighed, {percent(target)} is enough"
    else:
        note = "no answer yet" if closed else "open answers are compared in the end"
    if closed and counts and not its.analysis:
        told = [f"{most} of {heard} in round {each}" for each, (most, heard) in counts.items()]
        note += f" · {', '.join(told)}"
    words = DASH if value is None else percent(value)
    return Consensus(value=value, words=words, target=target, note=note)


def spending_of(whole: WholeDebate) -> Spending:
    its = whole.debate
    noted = sum((note.cost for note in whole.notes), start=NOTHING)
    spent = its.spent if its.status.over else noted
    tokens, cap = int(spent.tokens), its.cap.tokens
    shares = [tokens / cap] if cap else []
    if its.cap.money:
        shares.append(float(spent.money / its.cap.money))
    return Spending(
        tokens=tokens,
        cap=cap,
        share=max(shares, default=None),
        money=spent.money,
        money_cap=its.cap.money,
        calls=spent.calls,
        saved=0 if its.decision is None else its.decision.saved_tokens,
        unpriced=sum(v.tariff is None and v.kind is not VoiceKind.GUEST for v in its.voices),
    )
