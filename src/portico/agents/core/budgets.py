"""Budgets: what a run has spent and may spend."""

from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Final, Self

from portico.agents.core.agents import Limits
from portico.agents.core.model_requests import Price, Usage
from portico.kernel.budget import Budget, Cost, OverBudget, Tokens

# What a run may still spend, held against servers that may not tell the truth.
#
# Before a model is asked, what it could cost at most is reserved: the prompt as we count it, with a
# margin, and as much of an answer as will be read. Afterwards what it came to is settled: what the
# server says or what we counted, whichever is more, and never more than was reserved, since no more
# than that was read.

FIRST_MARGIN: Final = {True: 125, False: 300}
"""Percent of our own count of a prompt that its server may count, before it has said so, by
whether the prompt is plain ASCII: other vocabularies cut texts into more pieces than ours."""
LEAST_RESERVED: Final = 150
"""Percent of it that are paid for beforehand at least."""
WIDEST_MARGIN: Final = 400
"""A server that says it read more than this much is not believed."""
SLACK: Final = 150
"""Percent of the tokens that an answer was asked to have, by our count, that are still read: its
own tokens may be more of ours. What is longer is cut."""
LEAST_ANSWER: Final = 64
"""Tokens; with less there is no use in asking."""
_HUNDRED: Final = 100
_MILLION: Final = 1_000_000
_UNSAID: Final = Usage(reported=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be asked, as far as it costs something."""

    prompt: int
    """Tokens of all that is sent, by our count."""
    max_output_tokens: int
    """Tokens that the answer should have at most."""
    price: Price | None
    margin: int = LEAST_RESERVED
    room: int | None = None
    """What the model's window has left for an answer, where that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """For one question to one model."""

    name: str
    counted: int
    """Tokens of the prompt, by our count."""
    prompt: int
    """Tokens, with the margin."""
    asked: int
    """Tokens that the answer may have by the server's own count."""
    answer: int
    """Tokens that are read of the answer at most, by ours."""
    price: Price | None
    time: timedelta

    @property
    def cost(self) -> Cost:
        return Cost(
            tokens=Tokens(self.prompt + self.answer),
            money=_money(self.price, self.prompt, self.answer),
            time=self.time,
        )


@dataclass(frozen=True, slots=True)
class Charge:
    """What one question came to."""

    input: int
    output: int
    money: Decimal
    time: timedelta

    @property
    def tokens(self) -> int:
        return self.input + self.output


@dataclass(frozen=True, slots=True)
class Short:
    """It cannot be asked: the limit would be passed in these dimensions."""

    dimensions: tuple[str, ...]
    told: str


@dataclass(frozen=True, slots=True)
class Spending:
    budget: Budget
    asked: int = 0
    """How many questions were reserved for."""

    @classmethod
    def within(cls, limits: Limits) -> Self:
        cap = Cost(
            tokens=Tokens(max(limits.tokens, 0)),
            money=max(limits.money, Decimal(0)),
            time=timedelta(seconds=max(limits.seconds, 0.0)),
            calls=max(limits.calls, 0),
        )
        return cls(Budget(cap))

    @property
    def time_left(self) -> timedelta:
        return self.budget.cap.time - self.budget.committed.time

    @property
    def calls_left(self) -> int:
        return self.budget.cap.calls - self.budget.committed.calls

    def for_question(self, question: Question) -> "tuple[Spending, Reserved] | Short":
        prompt = _up(question.prompt, max(question.margin, LEAST_RESERVED))
        answers = self._answers(prompt, question.price)
        least = min(LEAST_ANSWER, question.max_output_tokens)
        short = [name for name, answer in answers.items() if _down(answer) < least]
        if self.time_left <= timedelta(0):
            short.append("time")
        if short:
            return Short(tuple(short), self.told)
        asked = min([question.max_output_tokens, *(_down(answer) for answer in answers.values())])
        if question.room is not None:
            asked = min(asked, max(question.room, 1))
        reserved = Reserved(
            name=f"question {self.asked + 1}",
            counted=question.prompt,
            prompt=prompt,
            asked=asked,
            answer=min([_up(asked, SLACK), *answers.values()]),
            price=question.price,
            time=self.time_left,
        )
        budget = self.budget.reserve(reserved.name, reserved.cost)
        if isinstance(budget, OverBudget):
            return Short(budget.dimensions, self.told)
        return replace(self, budget=budget, asked=self.asked + 1), reserved

    def settle(
        self, reserved: Reserved, read: int, usage: Usage | None, took: timedelta
    ) -> "tuple[Spending, Charge]":
        """`read` is what was read of the answer, by our count. Where the server did not say what
        it used, our own count is all there is. A prompt that was longer than was reserved for it
        is charged as well, as far as that can be believed and anything is left."""
        said = usage if usage is not None and usage.reported else _UNSAID
        input_ = min(max(said.input, reserved.counted), reserved.prompt)
        output = min(max(said.output, read), reserved.answer)
        money = _money(reserved.price, input_, output)
        time = min(max(took, timedelta(0)), reserved.time)
        actual = Cost(tokens=Tokens(input_ + output), money=money, time=time)
        settled = replace(self, budget=self.budget.settle(reserved.name, actual))
        over = min(said.input, _up(reserved.counted, WIDEST_MARGIN)) - input_
        if over <= 0:
            return settled, Charge(input_, output, money, time)
        left = settled.budget.cap, settled.budget.committed
        over = min(over, left[0].tokens - left[1].tokens)
        more = min(_money(reserved.price, over, 0), left[0].money - left[1].money)
        charge = Charge(input_ + over, output, money + more, time)
        return settled.after(tokens=over, money=more), charge

    def unasked(self, reserved: Reserved, took: timedelta) -> "tuple[Spending, Charge]":
        """It was refused before anything was read: only time has passed."""
        time = min(max(took, timedelta(0)), reserved.time)
        budget = self.budget.settle(reserved.name, Cost(time=time))
        return replace(self, budget=budget), Charge(0, 0, Decimal(0), time)

    def after(
        self,
        *,
        tokens: int = 0,
        money: Decimal = Decimal(0),
        time: timedelta = timedelta(0),
        calls: int = 0,
    ) -> "Spending":
        """What was spent before somebody took the run up again, and by tools. What takes longer
        than there is time ends with all of it spent: a tool is not cut in the middle."""
        passed = min(max(time, timedelta(0)), max(self.time_left, timedelta(0)))
        spent = Cost(tokens=Tokens(tokens), money=money, time=passed, calls=calls)
        return replace(self, budget=replace(self.budget, spent=self.budget.spent + spent))

    @property
    def told(self) -> str:
        cap, spent = self.budget.cap, self.budget.committed
        return (
            f"{spent.tokens:,} of {cap.tokens:,} tokens, {spent.money:.4f} of {cap.money:.4f} "
            f"dollars and {spent.time.total_seconds():.0f} of {cap.time.total_seconds():.0f} "
            "seconds are spent."
        )

    def _answers(self, prompt: int, price: Price | None) -> dict[str, int]:
        """How many tokens of an answer each limit leaves room for, by our count."""
        cap, spent = self.budget.cap, self.budget.committed
        answers = {"tokens": cap.tokens - spent.tokens - prompt}
        if price is not None:
            rest = cap.money - spent.money - _money(price, prompt, 0)
            answers["money"] = _answer_for(rest, price)
        return answers


def learnt(margin: int, counted: int, usage: Usage) -> int:
    """The margin after a server said how long a prompt was that we counted: it only grows."""
    if not usage.reported or counted <= 0 or usage.input <= 0:
        return margin
    seen = -(-usage.input * _HUNDRED // counted)
    return min(max(margin, seen + 5), WIDEST_MARGIN)


def _money(price: Price | None, prompt: int, answer: int) -> Decimal:
    if price is None:
        return Decimal(0)
    return price.of(input_tokens=prompt, output_tokens=answer)


def _answer_for(money: Decimal, price: Price) -> int:
    """Tokens of an answer that this pays for."""
    if money < 0:
        return -1
    if price.output <= 0:
        return _MILLION * _MILLION
    return int(money * _MILLION / price.output)


def _up(tokens: int, percent: int) -> int:
    return -(-tokens * percent // _HUNDRED)


def _down(tokens: int) -> int:
    return tokens * _HUNDRED // SLACK
