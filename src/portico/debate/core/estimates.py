"""Estimates of what a debate costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.debate.core.analysis import plan_sheet
from portico.debate.core.conduct import MOST_JUDGED, answers_wanted
from portico.debate.core.debaters import Debater, Persona, narrowest
from portico.debate.core.debates import Count, DebaterEstimate, Estimate, RemainingBudget
from portico.debate.core.prompts import JUDGE_OUTPUT, PromptInputs
from portico.debate.core.questions import Cap, Question, QuestionKind, Rules
from portico.kernel.budget import NOTHING, Cost, Tokens

# What a debate costs at most, and what it usually comes to, before anything is spent.
#
# Whoever is asked again reads what was answered before: a critique has the others' answers in its
# prompt, each as long as it may be.

_MARGIN: Final = 1.5
_LIKELY_OUTPUT: Final = 0.4
"""Of the longest answer that is allowed, how long one usually is."""
_ACROSS: Final = 4
"""Longest answers that are kept free for the text out of all parts."""
_LIKELY_WIDER: Final = 0.6
"""Voices beyond the first pair that are usually asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be estimated."""

    question: Question
    rules: Rules
    debaters: Sequence[Debater]
    """Without guests, who cost nothing."""
    personas: Mapping[str, Persona]
    cap: Cap
    seconds: int
    parts: int = 0
    """Of an analysis, at most."""

    def first(self, voice: Debater, count: Count) -> Cost:
        return self.desk(count).first(voice).reserve(voice, count).cost

    def desk(self, count: Count) -> PromptInputs:
        return PromptInputs(
            question=self.question,
            rules=self.rules,
            personas=self.personas,
            seed=0,
            count=count,
            narrowest=narrowest(self.debaters),
        )


def estimated(plan: Plan, count: Count, notes: Sequence[str] = ()) -> Estimate:
    """Its rows add up to its total."""
    costs = [_of_voice(plan, voice, count) for voice in plan.debaters]
    asked = _asked(plan)
    dearest = sorted(range(len(costs)), key=lambda place: -costs[place].tokens)[:asked]
    whole = [cost if place in dearest else NOTHING for place, cost in enumerate(costs)]
    if plan.debaters:
        judge = max(range(len(costs)), key=lambda place: costs[place].tokens)
        whole[judge] += _of_judge(plan, plan.debaters[judge], count)
    if plan.parts:
        whole = [_times(cost, plan.parts) for cost in whole]
    rows = tuple(
        DebaterEstimate(
            voice=voice.name,
            calls=cost.calls,
            tokens=cost.tokens,
            money=cost.money,
            bounded=voice.bounded,
        )
        for voice, cost in zip(plan.debaters, whole, strict=True)
    )
    total = sum(whole, start=NOTHING)
    needed, fits = least(plan, count)
    return Estimate(
        debaters=rows,
        most_tokens=total.tokens,
        most_money=total.money,
        most_calls=total.calls,
        likely_tokens=min(_likely_tokens(plan, count), total.tokens),
        likely_calls=min(_likely_calls(plan), total.calls),
        seconds=plan.seconds,
        preset=plan.rules.preset,
        kind=plan.question.kind,
        notes=(*notes, *_said(plan, total, needed, fits=fits)),
        fits=fits,
    )


def first_pair(plan: Plan, count: Count) -> tuple[Cost, bool]:
    """What the cheapest pair costs at most, and whether there is room for it."""
    cheapest = sorted((plan.first(voice, count) for voice in plan.debaters), key=_tokens)
    needed = sum(cheapest[: plan.rules.first], start=NOTHING)
    return needed, RemainingBudget(plan.cap.tokens, plan.cap.money).fits(needed)


def least(plan: Plan, count: Count) -> tuple[Cost, bool]:
    """What it cannot begin without, and whether there is room for it: the first pair; of an
    analysis the plan before it, whoever makes it, and the text after it."""
    needed, _ = first_pair(plan, count)
    if plan.parts and plan.debaters:
        desk, most = plan.desk(count), plan.parts
        plans = [plan_sheet(desk, each, most).reserve(each, count).cost for each in plan.debaters]
        needed += max(plans, key=_tokens) + text_cost(plan.debaters)
    return needed, RemainingBudget(plan.cap.tokens, plan.cap.money).fits(needed)


def least_named(plan: Plan) -> str:
    return "The plan, a pair and the text" if plan.parts else "The first pair"


def text_cost(voices: Sequence[Debater]) -> Cost:
    """What is kept free for the text out of all parts of an analysis."""
    longest = max(voices, key=lambda voice: voice.max_output_tokens)
    return longest.cost(prompt=_ACROSS * longest.max_output_tokens)


def _tokens(cost: Cost) -> int:
    return cost.tokens


def _asked(plan: Plan) -> int:
    most = plan.rules.voices_most if plan.question.kind.closed else answers_wanted(plan.rules)
    return min(most, len(plan.debaters))


def _of_voice(plan: Plan, voice: Debater, count: Count) -> Cost:
    first = plan.first(voice, count)
    if plan.rules.rounds < 2 or not plan.question.kind.closed:
        return first
    others = sum(each.max_output_tokens for each in plan.debaters) - voice.max_output_tokens
    again = _with_more(voice, first, others)
    return first + again


def _of_judge(plan: Plan, judge: Debater, count: Count) -> Cost:
    """Comparisons, whether answers mean the same, and the text out of them all."""
    base = plan.first(judge, count)
    if plan.question.kind is QuestionKind.TEXT:
        return _times(_with_more(judge, base, JUDGE_OUTPUT), MOST_JUDGED)
    if plan.question.kind.closed or len(plan.debaters) < 2:
        return NOTHING
    longest = sorted((voice.max_output_tokens for voice in plan.debaters), reverse=True)
    pairs = min(plan.rules.judge_pairs, _asked(plan) * (_asked(plan) - 1) // 2)
    judging = _times(_with_more(judge, base, sum(longest[:2])), 2 * pairs)
    return judging + _with_more(judge, base, sum(longest[: _asked(plan)]))


def _with_more(voice: Debater, base: Cost, read: int) -> Cost:
    """The same question, and so many tokens that others wrote."""
    more = int(read * _MARGIN)
    prompt = base.tokens - voice.max_output_tokens + more
    return voice.cost(prompt=max(prompt, 0))


def _times(cost: Cost, times: int) -> Cost:
    return Cost(
        tokens=Tokens(cost.tokens * times), money=cost.money * times, calls=cost.calls * times
    )


def _likely_calls(plan: Plan) -> int:
    if not plan.question.kind.closed:
        return (_asked(plan) + 2 * plan.rules.judge_pairs + 1) * max(plan.parts, 1)
    return min(round(plan.rules.first + _LIKELY_WIDER), len(plan.debaters))


def _likely_tokens(plan: Plan, count: Count) -> int:
    if not plan.debaters:
        return 0
    each = [
        (plan.first(voice, count).tokens - voice.max_output_tokens) / _MARGIN
        + voice.max_output_tokens * _LIKELY_OUTPUT
        for voice in plan.debaters
    ]
    return round(_likely_calls(plan) * sum(each) / len(each))


def _said(plan: Plan, total: Cost, needed: Cost, *, fits: bool) -> Sequence[str]:
    cap = plan.cap
    said = []
    if not fits:
        said.append(
            f"{least_named(plan)} takes {needed.tokens:,} tokens at most, and the budget has fewer."
        )
    elif cap.tokens is not None and total.tokens > cap.tokens:
        said.append(f"Its budget of {cap.tokens:,} tokens holds it to less than it could use.")
    said += [
        f"Nothing can hold {voice.name} to a maximum: what it spends beyond is shown, not stopped."
        for voice in plan.debaters
        if not voice.bounded
    ]
    unknown = [voice.name for voice in plan.debaters if voice.tariff is None]
    if unknown and cap.money is not None:
        said.append(f"Nobody knows what {', '.join(unknown)} costs: it is counted as nothing.")
    return said
