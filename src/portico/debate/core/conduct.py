"""How a debate proceeds: session, moves, conclusion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations, takewhile
from typing import Final

from portico.debate.core import panel
from portico.debate.core.debaters import Debater, DebaterKind, Persona, narrowest
from portico.debate.core.debates import (
    ANALYSIS,
    Count,
    Debate,
    DebaterAnswer,
    DebateStatus,
    Decision,
    Note,
    NoteKind,
    Outcome,
    RemainingBudget,
    Reserve,
    Verdict,
    Why,
)
from portico.debate.core.prompts import PromptInputs, Sheet
from portico.debate.core.questions import Preset, QuestionKind, Rules
from portico.debate.core.vote_weights import matched, pair_name
from portico.debate.core.votes import Panel, decide, decide_open, pairs_to_judge
from portico.kernel.budget import NOTHING, Cost

BUDGET = "budget"
"""Why something was skipped that would have passed a cap."""


def said_name(round_: int, voice: str) -> str:
    """Of the note of an answer, its step and its reservation."""
    return f"said:{round_}:{voice}"


def skipped_name(what: str) -> str:
    return f"skipped:{what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    debate: Debate
    notes: tuple[Note, ...]
    panel: Panel
    personas: Mapping[str, Persona]
    left: RemainingBudget
    count: Count
    now: datetime
    posted: frozenset[str] = frozenset()
    """Names of what guests were asked, as far as whoever carries it on knows."""

    @property
    def prompt_inputs(self) -> PromptInputs:
        its = self.debate
        return PromptInputs(
            question=its.question,
            rules=its.rules,
            personas=self.personas,
            seed=its.seed,
            count=self.count,
            narrowest=narrowest(self.own_debaters),
        )

    @property
    def names(self) -> frozenset[str]:
        return frozenset(note.name for note in self.notes)

    @property
    def ended_by(self) -> Why | None:
        """Whether somebody or the clock has ended it."""
        kinds = {note.kind for note in self.notes}
        if NoteKind.STOPPED in kinds:
            return Why.STOPPED
        return Why.DEADLINE if NoteKind.OVERDUE in kinds else None

    def said(self, *rounds: int) -> tuple[DebaterAnswer, ...]:
        """Of these rounds, by round and in the order of the voices, whoever was quicker; answers
        that mean the same have one key."""
        order = {voice.name: place for place, voice in enumerate(self.debate.debaters)}
        notes = [note for note in self.notes if note.kind is NoteKind.SAID]
        every = [DebaterAnswer.from_json(note.body) for note in notes if note.round in rounds]
        every.sort(key=lambda each: (each.round, order.get(each.voice, len(order))))
        return matched(self.debate, every, self.notes)

    @property
    def own_debaters(self) -> tuple[Debater, ...]:
        """Whom we ask, and pay for."""
        return tuple(each for each in self.debate.debaters if each.kind is not DebaterKind.GUEST)

    @property
    def guests(self) -> tuple[Debater, ...]:
        return tuple(each for each in self.debate.debaters if each.kind is DebaterKind.GUEST)

    def done(self, name: str) -> bool:
        """Whether it was done, or given up."""
        return name in self.names or skipped_name(name) in self.names

    def hears(self, voice: Debater) -> bool:
        """Whether it may be told what is in it."""
        return voice.clearance.covers(self.debate.label)

    def unasked(self) -> tuple[Debater, ...]:
        """In the first round. Who may not be told this is not asked."""
        return tuple(
            voice
            for voice in self.own_debaters
            if not self.done(said_name(1, voice.name)) and self.hears(voice)
        )

    def answered(self) -> int:
        """How many that we pay for have."""
        house = {voice.name for voice in self.own_debaters}
        return sum(each.voice in house for each in self.said(1))

    @property
    def short_of_budget(self) -> bool:
        return any(
            note.kind is NoteKind.SKIPPED and note.body.get("why") == BUDGET for note in self.notes
        )

    def reserve(self, voice: Debater, sheet: Sheet) -> Reserve:
        return sheet.reserve(voice, self.count)

    def cost(self, voice: Debater, sheet: Sheet) -> Cost:
        return self.reserve(voice, sheet).cost

    def affords(self, voice: Debater, sheet: Sheet) -> bool:
        return self.left.fits(self.cost(voice, sheet))


@dataclass(frozen=True, slots=True, kw_only=True)
class AskDebaters:
    """All of them at once."""

    debaters: tuple[Debater, ...]
    round: int
    why: str
    short: bool = False
    """With only the beginning of the material: the budget has no room for all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskGuests:
    """Who is seated and was not asked yet."""

    debaters: tuple[Debater, ...]
    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitGuests:
    """Who was asked and has not answered; and seats that are free."""

    round: int
    free: int
    until: datetime


@dataclass(frozen=True, slots=True)
class Compare:
    """How near these answers are to each other, without asking anybody."""

    pairs: tuple[tuple[DebaterAnswer, DebaterAnswer], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskSame:
    """Whether two answers mean the same."""

    one: DebaterAnswer
    other: DebaterAnswer
    judge: Debater


@dataclass(frozen=True, slots=True, kw_only=True)
class AskBetter:
    """Which of two open answers is better, in this order."""

    one: DebaterAnswer
    other: DebaterAnswer
    judge: Debater


@dataclass(frozen=True, slots=True, kw_only=True)
class AskSynthesis:
    debater: Debater
    said: tuple[DebaterAnswer, ...]
    """The best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """What is not done, and is written down so that nobody comes back to it."""

    what: str
    why: str
    saved: int = 0


@dataclass(frozen=True, slots=True)
class Conclude:
    why: Why


Move = (
    AskDebaters
    | AskGuests
    | AwaitGuests
    | Compare
    | AskSame
    | AskBetter
    | AskSynthesis
    | Skip
    | Conclude
)

LATE: Final = "late"
"""Why guests were not waited for any longer."""
_PATIENCE: Final = {1: 0.6, 2: 0.9}
"""The share of a debate's time for which guests are waited for, by round: what is left is for
whoever is asked after them."""


def blind_move(table: Table) -> Move | None:
    """The first ones, at once: none of them knows of another."""
    missing = table.debate.rules.first - table.answered()
    left = affordable(table)
    if missing <= 0 or not left:
        return None
    chosen = _best(table, left) if missing == 1 else _pair(table, left)
    if not chosen and table.debate.guests:
        chosen = _best(table, left)  # there are others to speak with it
    if not chosen:
        return None
    why = "the blind pair" if len(chosen) > 1 else "one is missing of the blind pair"
    return AskDebaters(debaters=chosen, round=1, why=why)


def _pair(table: Table, left: Sequence[tuple[Debater, int]]) -> tuple[Debater, ...]:
    """The best one, and with what it leaves the best other one. One that is so dear that nobody
    else could be asked beside it is left out: a single voice is no debate."""
    able = list(left)
    while first := _best(table, able):
        able = [each for each in able if each[0] is not first[0]]
        paid = table.cost(first[0], table.prompt_inputs.first(first[0]))
        beside = [
            each
            for each in able
            if table.left.fits(paid + table.cost(each[0], table.prompt_inputs.first(each[0])))
        ]
        if beside:
            return first + _best(table, beside)
    return ()


def _best(table: Table, left: Sequence[tuple[Debater, int]]) -> tuple[Debater, ...]:
    found = panel.next_voice(table.panel, (), left, table.debate.rules)
    return () if found is None else (found.debater,)


def affordable(table: Table) -> list[tuple[Debater, int]]:
    """Who was not asked yet, with what they cost at most."""
    costs = [
        (voice, table.cost(voice, table.prompt_inputs.first(voice))) for voice in table.unasked()
    ]
    return [(voice, cost.tokens) for voice, cost in costs if table.left.fits(cost)]


def alone_left(table: Table) -> bool:
    """Nobody has answered, and one voice is left to ask: it would be the only one."""
    return not table.said(1) and len(table.unasked()) == 1 and not table.short_of_budget


def cut_short(table: Table) -> AskDebaters | None:
    """The cheapest of those that can be asked only with less of the material."""
    if not table.debate.question.material or (affordable(table) and table.said(1)):
        return None
    costs = [
        (table.cost(voice, table.prompt_inputs.first(voice, short=True)), voice)
        for voice in table.unasked()
    ]
    cheapest = sorted(costs, key=lambda each: each[0].tokens)
    fitting = [voice for cost, voice in cheapest if table.left.fits(cost)]
    pair = sum((cost for cost, _ in cheapest[:2]), start=NOTHING)
    alone = len(cheapest) < 2 or not table.left.fits(pair)
    if not fitting or (alone and not table.said(1) and not table.debate.guests):
        return None
    voice = fitting[0]
    why = "with the beginning of the material: the budget has room for no more"
    return AskDebaters(debaters=(voice,), round=1, why=why, short=True)


def best_judge(table: Table, sheet: Sheet, *, whose: Sequence[str] = ()) -> Debater | None:
    """Whoever has the best record of those that the budget has room for: a model rather than an
    agent or a program, and one whose own answer it is not."""
    able = [each for each in table.own_debaters if table.hears(each) and table.affords(each, sheet)]
    for better in (_is_bounded, _is_model, lambda voice: voice.name not in whose):
        able = [voice for voice in able if better(voice)] or able
    found = panel.next_voice(table.panel, (), [(voice, 1) for voice in able], table.debate.rules)
    return None if found is None else found.debater


def _is_bounded(voice: Debater) -> bool:
    return voice.bounded


def _is_model(voice: Debater) -> bool:
    return voice.kind is DebaterKind.MODEL


def unposted(table: Table, round_: int) -> AskGuests | None:
    """Guests that are to be asked in this round; in the second only who answered in the first."""
    spoke = {each.voice for each in table.said(1)}
    waiting = tuple(
        voice
        for voice in table.guests
        if said_name(round_, voice.name) not in table.posted
        and not table.done(said_name(round_, voice.name))
        and (round_ == 1 or voice.name in spoke)
    )
    return AskGuests(debaters=waiting, round=round_) if waiting else None


def guests_move(table: Table, round_: int) -> Move | None:
    """They cost nothing: they are heard before more is spent, but not waited for to the end."""
    spoke = {each.voice for each in table.said(1)}
    silent = [
        voice
        for voice in table.guests
        if (round_ == 1 or voice.name in spoke) and not table.done(said_name(round_, voice.name))
    ]
    free = table.debate.guests - len(table.guests) if round_ == 1 else 0
    what = f"guests:{round_}"
    if table.done(what) or (not silent and free <= 0):
        return None
    until = guests_until(table.debate, round_)
    if table.now >= until:
        return Skip(what=what, why=LATE)
    return AwaitGuests(round=round_, free=max(free, 0), until=until)


def guests_until(debate: Debate, round_: int) -> datetime:
    return debate.started_at + (debate.deadline - debate.started_at) * _PATIENCE[round_]


# What was not done in a debate, in words: every face says it alike.

VOICE: Final = "voice"
"""Somebody who takes no part: `voice:openai:gpt-5`. Why is a sentence then."""
MATERIAL: Final = "material"
"""Somebody whose window has no room for all of the material: `material:openai:gpt-5`."""
_WHAT: Final[Mapping[str, str]] = {
    "critique": "the critique round",
    "judging": "comparing the answers",
    "synthesis": "one text out of the answers",
    "guests:1": "waiting longer for guests",
    "guests:2": "waiting longer for guests to answer again",
}
_WHY: Final[Mapping[str, str]] = {
    "budget": "the budget has no room for it",
    "late": "there is no time for it",
    "certain": "nobody who is left could change the answer",
    "likely": "the answer is likely enough",
    "too_small_gain": "it would not be worth its tokens",
    "all_asked": "enough were asked",
    "alone": "one voice alone is never a decision",
    "deadline": "the deadline came",
    "stopped": "it was stopped",
}


def skip_words(what: str, why: str, saved: int = 0) -> str:
    """`Not done: the critique round, as the budget has no room for it (…)`; what is not known
    stays as it is."""
    kind, _, who = what.partition(":")
    if kind == VOICE:
        return f"{who} is left out: {why}"
    if kind == MATERIAL:
        return f"{who} reads only the beginning of the material: {why}"
    worth = f" (up to {saved:,} tokens less)" if saved else ""
    return f"Not done: {_named(what)}, as {_WHY.get(why, why).rstrip('.')}{worth}."


def skipped_words(note: Note) -> str:
    """Of a note on something that was not done."""
    body, saved = note.body, note.body.get("saved")
    return skip_words(str(body["what"]), str(body["why"]), saved if isinstance(saved, int) else 0)


def _named(what: str) -> str:
    kind, _, rest = what.partition(":")
    match kind:
        case "said":
            return f"asking {rest.partition(':')[2]}"
        case "judged" | "same":
            return "asking a judge"
        case _:
            return _WHAT.get(what, what)


# Whether short free answers mean the same: by how near they are, and where that does not tell and
# it would change what is decided, by a judge.

MOST_JUDGED: Final = 3
"""Pairs of answers that a judge is asked about, in one debate."""


def near_name(debate: Debate, one: DebaterAnswer, other: DebaterAnswer) -> str:
    return f"near:{pair_name(one.key, other.key, debate.seed)}"


def same_name(debate: Debate, one: DebaterAnswer, other: DebaterAnswer) -> str:
    return f"same:{pair_name(one.key, other.key, debate.seed)}"


def compare_move(table: Table) -> Compare | None:
    """Of free answers alone: choices, numbers and yes or no are the same or are not."""
    if table.debate.question.kind is not QuestionKind.TEXT:
        return None
    pairs = tuple(
        (one, other)
        for one, other in _pairs(table)
        if near_name(table.debate, one, other) not in table.names
    )
    return Compare(pairs) if pairs else None


def judge_move(table: Table) -> AskSame | None:
    """Last, and only where the answer to it could change the outcome."""
    if table.debate.question.kind is not QuestionKind.TEXT:
        return None
    asked = [name for name in table.names if name.startswith("same:")]
    if len(asked) >= MOST_JUDGED:
        return None
    for one, other in _pairs(table):
        if table.done(same_name(table.debate, one, other)) or _told_apart(table, one, other):
            continue
        if not _matters(table, one, other):
            continue
        judge = best_judge(
            table, table.prompt_inputs.same(one.shown, other.shown), whose=(one.voice, other.voice)
        )
        return None if judge is None else AskSame(one=one, other=other, judge=judge)
    return None


def _pairs(table: Table) -> Sequence[tuple[DebaterAnswer, DebaterAnswer]]:
    """Of the answers that differ, each once."""
    by_key: dict[str, DebaterAnswer] = {}
    for each in table.said(1, 2):
        by_key.setdefault(each.key, each)
    return list(combinations(by_key.values(), 2))


def _told_apart(table: Table, one: DebaterAnswer, other: DebaterAnswer) -> bool:
    name = near_name(table.debate, one, other)
    return any(note.name == name and note.body.get("same") is False for note in table.notes)


def _matters(table: Table, one: DebaterAnswer, other: DebaterAnswer) -> bool:
    if_same = Note(
        name="if",
        kind=NoteKind.SAME,
        body={"one": one.key, "other": other.key, "same": True},
        at=table.now,
    )
    then = replace(table, notes=(*table.notes, if_same))
    return _outcome(table) != _outcome(then)


def _outcome(table: Table) -> tuple[object, ...]:
    decision = decide(table.panel, table.said(1, 2), table.debate.rules, Why.ALL_ASKED)
    return decision.verdict, decision.answer


# What comes next where the question is open: a few answers, compared two by two in both orders, and
# one text out of them.

JUDGING: Final = "judging"
SYNTHESIS: Final = "synthesis"


def judged_name(one: str, other: str) -> str:
    return f"judged:{one}:{other}"


def answers_wanted(rules: Rules) -> int:
    """More answers to choose from help less than better ones: two to four."""
    return min(2 + round(2 * rules.thoroughness), rules.voices_most)


def open_move(table: Table) -> Move:
    said, rules = table.said(1), table.debate.rules
    more = table.answered() < answers_wanted(rules)
    if more:
        found = panel.next_voice(table.panel, (), affordable(table), rules) if said else None
        if found is not None:
            return AskDebaters(debaters=(found.debater,), round=1, why=found.why)
        short = cut_short(table)
        if short is not None:
            return short
    differ = len({each.key for each in said}) > 1
    judging = _judging(table, said) if differ else None
    synthesis = _synthesis(table, said) if differ else None
    return judging or synthesis or Conclude(_why(table, more=more))


def judgements(table: Table) -> Sequence[tuple[str, str, str | None]]:
    """`(one, other, better)`, as they were shown. Of a pair that was seen in one order alone
    nothing is known: whoever stood first may have won by that."""
    found = {
        (str(note.body["one"]), str(note.body["other"])): note.body.get("better")
        for note in table.notes
        if note.kind is NoteKind.JUDGED
    }
    return [
        (one, other, None if better is None else str(better))
        for (one, other), better in found.items()
        if (other, one) in found
    ]


def ranked(table: Table) -> tuple[DebaterAnswer, ...]:
    """Each answer once, the best first."""
    first = {each.key: each for each in reversed(table.said(1))}
    decision = decide_open(
        table.panel, table.said(1), judgements(table), table.debate.rules, Why.ALL_ASKED
    )
    return tuple(first[option.key] for option in decision.options)


def _judging(table: Table, said: Sequence[DebaterAnswer]) -> Move | None:
    if table.done(JUDGING):
        return None
    by_voice = {each.voice: each for each in said}
    for pair in pairs_to_judge(table.panel, said, table.debate.rules):
        for one, other in (pair, pair[::-1]):
            if table.done(judged_name(one, other)):
                continue
            sheet = table.prompt_inputs.better(by_voice[one], by_voice[other])
            judge = best_judge(table, sheet, whose=pair)
            if judge is None:
                return Skip(what=JUDGING, why=BUDGET)
            return AskBetter(one=by_voice[one], other=by_voice[other], judge=judge)
    return None


def _synthesis(table: Table, said: Sequence[DebaterAnswer]) -> Move | None:
    if table.done(SYNTHESIS):
        return None
    best = ranked(table)
    voices = [voice for voice in table.own_debaters if voice.name in {each.voice for each in said}]
    longest = max(
        voices or table.own_debaters, key=lambda voice: voice.max_output_tokens, default=None
    )
    if longest is None:
        return Skip(what=SYNTHESIS, why="nobody is here to write it")
    voice = best_judge(table, table.prompt_inputs.synthesis(longest, best))
    if voice is None:
        return Skip(what=SYNTHESIS, why=BUDGET)
    return AskSynthesis(debater=voice, said=best)


def _why(table: Table, *, more: bool) -> Why:
    if not more or not (table.unasked() or table.short_of_budget):
        return Why.ALL_ASKED
    return Why.ALONE if alone_left(table) else Why.BUDGET


# What comes next in a debate: a pure question, asked again after each answer.
#
# A blind pair of different families at once; then one voice at a time, whoever adds most for its
# tokens, until nobody left could change the answer or is worth asking; then, where that is the
# preset's way and it is split, one critique round. Where the budget is short, it gives up in this
# order: the critique round, the dearer voices, all but the beginning of the material. It never
# falls back on a single voice: it decides with the votes in hand.

CRITIQUE: Final = "critique"
_SETTLED: Final = frozenset({Why.CERTAIN, Why.LIKELY})


def next_move(table: Table) -> Move:
    if table.ended_by is not None:
        return Conclude(table.ended_by)
    first = unposted(table, 1) or blind_move(table) or guests_move(table, 1)
    if first is not None:
        return first
    if not table.debate.question.kind.closed:
        return open_move(table)
    return compare_move(table) or _widened(table)


def _widened(table: Table) -> Move:
    said, rules = table.said(1), table.debate.rules
    room = table.answered() < rules.voices_most
    why = _settled(table, said, table.unasked() if room else ())
    if why is None and room and not table.said(2):
        found = panel.next_voice(table.panel, said, affordable(table), rules) if said else None
        if found is not None:
            return AskDebaters(debaters=(found.debater,), round=1, why=found.why)
        short = cut_short(table)
        if short is not None:
            return short
    why = why or _given_up(table, room=room)
    judging = judge_move(table) if why not in _SETTLED else None
    return judging or _critique(table, said, why)


def _settled(table: Table, said: Sequence[DebaterAnswer], left: Sequence[Debater]) -> Why | None:
    """Where nobody is left, it is at most likely: that none of nobody could change it says
    nothing."""
    rules = table.debate.rules
    if len(said) < rules.first:
        return None
    why = panel.settled(table.panel, said, left, rules)
    if left or why is not Why.CERTAIN:
        return why
    likely = panel.standing(table.panel, said)[0][1] >= rules.stop_at
    return Why.LIKELY if likely and rules.preset is not Preset.QUORUM else None


def _given_up(table: Table, *, room: bool) -> Why:
    unasked = table.unasked()
    if not room or not (unasked or table.short_of_budget):
        return Why.ALL_ASKED
    if alone_left(table):
        return Why.ALONE
    return Why.TOO_SMALL_GAIN if affordable(table) and table.said(1) else Why.BUDGET


def _critique(table: Table, said: Sequence[DebaterAnswer], why: Why) -> Move:
    """At most once, and of all who have answered or of nobody."""
    if why in _SETTLED or table.debate.rules.rounds < 2 or len(said) < 2 or table.done(CRITIQUE):
        return Conclude(why)
    names = {each.voice for each in said}
    voices = [voice for voice in table.own_debaters if voice.name in names and table.hears(voice)]
    silent = tuple(voice for voice in voices if not table.done(said_name(2, voice.name)))
    if len(silent) == len(voices) and not table.said(2):
        costs = [table.cost(voice, table.prompt_inputs.critique(voice, said)) for voice in silent]
        total = sum(costs, start=NOTHING)
        if not panel.critique_worth(table.panel, said, total.tokens, table.debate.rules):
            return Conclude(why)
        if not table.left.fits(total):
            return Skip(what=CRITIQUE, why=BUDGET, saved=total.tokens)
    posted = unposted(table, 2)
    if posted is not None:
        return posted
    if silent:
        return AskDebaters(debaters=silent, round=2, why="the answers differ")
    pooled = _settled(table, table.said(1, 2), ())
    return guests_move(table, 2) or Conclude(pooled or why)


_CUT_OFF: Final = frozenset({Why.BUDGET, Why.DEADLINE, Why.STOPPED})
"""Where it might have been decided, had it gone on."""
_UNSURE: Final = frozenset({Why.TOO_UNSURE, Why.TIE})


def conclusion(table: Table, why: Why) -> Decision:
    said, its = table.said(1, 2), table.debate
    if not said:
        return _nothing(table, why)
    if its.question.kind.closed:
        decision = decide(table.panel, said, its.rules, why)
    else:
        decision = decide_open(table.panel, table.said(1), judgements(table), its.rules, why)
        decision = _with_synthesis(table, decision)
    alone = len({each.voice for each in said}) < 2
    if alone and (decision.verdict is Verdict.DECIDED or decision.why in _UNSURE):
        # One voice is no debate: its answer is shown, and not given out as a decision.
        decision = replace(decision, verdict=Verdict.NO_DECISION, why=Why.ALONE, answer=None)
    unsure = {Why.TOO_UNSURE, Why.ALONE} | ({Why.TIE} if why is Why.STOPPED else set())
    if decision.why in unsure and why in _CUT_OFF:
        decision = replace(decision, why=why)
    return replace(decision, asked=_asked(table), saved_tokens=saved_tokens(table))


def noted(notes: Sequence[Note]) -> Decision | None:
    """What is written down that it came to: it may not have been ended yet."""
    found = [note.body for note in notes if note.kind is NoteKind.DECISION]
    return Decision.from_json(found[0]) if found else None


def status_of(decision: Decision, notes: Sequence[Note]) -> DebateStatus:
    """One that was stopped is that, also where the votes in hand were enough; but not one that was
    decided by then."""
    before = takewhile(lambda note: note.kind is not NoteKind.DECISION, notes)
    if any(note.kind is NoteKind.STOPPED for note in before):
        return DebateStatus.STOPPED
    return DebateStatus(decision.verdict.value)


def saved_tokens(table: Table) -> int:
    """By not asking whoever was left, at most."""
    return sum(
        table.cost(voice, table.prompt_inputs.first(voice)).tokens for voice in table.unasked()
    )


def _asked(table: Table) -> int:
    """Answers that were paid for or given, in either round; also those that could not be used."""
    kinds = (NoteKind.SAID, NoteKind.FAILED)
    return sum(note.kind in kinds and note.name.startswith("said:") for note in table.notes)


def _nothing(table: Table, why: Why) -> Decision:
    return Decision(
        verdict=Verdict.NO_DECISION,
        why=why if why in _CUT_OFF or why is Why.ALONE else Why.NO_ANSWERS,
        answer=None,
        probability=0.0,
        options=(),
        n_eff=0.0,
        rule="none",
        asked=_asked(table),
        saved_tokens=saved_tokens(table),
    )


def _with_synthesis(table: Table, decision: Decision) -> Decision:
    """One text is the decision: that out of all, where there is one and something is decided. Where
    nothing is, it is shown all the same, and decides nothing."""
    notes = [note for note in table.notes if note.name == SYNTHESIS]
    texts = [str(note.body["text"]) for note in notes if note.kind is NoteKind.SYNTHESIS]
    if not texts:
        return decision
    decided = decision.verdict is Verdict.DECIDED
    return replace(decision, synthesis=texts[0], answer=texts[0] if decided else None)


# What came of a debate, in a sentence: what happened, and what to do next. Every face says it in
# these words.

LONGEST: Final = 120
"""Letters of an answer within a sentence; the whole of it stands beside."""

_BECAUSE: Final[Mapping[Why, str]] = {
    Why.CERTAIN: "whoever was left could not have changed it",
    Why.LIKELY: "it is likely enough",
    Why.ALL_ASKED: "all have been asked",
    Why.TOO_SMALL_GAIN: "another answer was not worth its tokens",
    Why.BUDGET: "the budget had no room for another answer",
    Why.DEADLINE: "the deadline came",
    Why.STOPPED: "it was stopped",
}
_AGAIN: Final = "Ask more voices, or other ones."
_FURTHER: Final = "Ask more voices, or raise the thoroughness."
"""Where somebody was not asked who would be then."""
_NEVER: Final = "one voice alone is never a decision"
_LEFT: Final = f"of the voices only one was left to ask, and {_NEVER}"
_TOGETHER: Final = "What they say is put together in one text: read it, or ask other voices."
_NO_PART: Final = ("none of its parts was decided", "Look at what each of them came to.")
_OTHERS: Final = "See in its log why the others gave none, and ask more voices."
_UNDECIDED: Final[Mapping[Why, tuple[str, str]]] = {
    Why.NO_ANSWERS: (
        "nobody gave an answer that could be counted",
        "See in its log what each of them said, and ask others.",
    ),
    Why.BUDGET: (
        "the budget was spent before it was clear",
        "Give it a larger budget, or cheaper voices.",
    ),
    Why.DEADLINE: (
        "the deadline came before it was clear",
        "Give it more time, or fewer and quicker voices.",
    ),
    Why.STOPPED: (
        "it was stopped before it was clear",
        "Start it again, or replay what was said at a lower thoroughness.",
    ),
    Why.NO_QUORUM: (
        "two thirds of the weight, from two families of models, did not come together",
        "Ask more voices of other families, or have a person decide.",
    ),
}


def verdict_words(
    decision: Decision | None, status: DebateStatus, outcome: Outcome | None = None
) -> str:
    """One sentence on what happened, and where there is something to do, one on that. `outcome`:
    how it was marked since, which is how a person decides."""
    if decision is None:
        return _WITHOUT[status]
    match decision.verdict:
        case Verdict.DECIDED:
            return (
                f"Decided: {brief(decision.answer or '')} ({percent(decision.probability)}), since "
                f"{_BECAUSE.get(decision.why, 'all have been asked')}."
            )
        case Verdict.ESCALATED:
            return _escalated(decision, outcome)
        case _:
            reason, fix = _undecided(decision)
            return f"No decision: {reason}. {fix}"


def _escalated(decision: Decision, outcome: Outcome | None) -> str:
    against = f": {brief(decision.veto).rstrip('.')}" if decision.veto else ""
    if outcome is not None and outcome.shown is not None:
        said = brief(outcome.shown)
        return f"Decided by a person: {said}. A specialist had objected, with evidence{against}."
    return (
        f"Not decided: a specialist objects, with evidence{against}. "
        "A person decides now, by marking its outcome."
    )


def percent(probability: float) -> str:
    """Never 0 % or 100 %, which nobody can know."""
    return f"{min(max(round(probability * 100), 1), 99)} %"


def brief(text: str) -> str:
    """On one line, and not too long for a sentence."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _undecided(decision: Decision) -> tuple[str, str]:
    if decision.rule == ANALYSIS and decision.options and decision.why is Why.NO_ANSWERS:
        return _NO_PART
    if decision.why in _UNDECIDED:
        return _UNDECIDED[decision.why]
    if not decision.options:
        left = decision.why is Why.ALONE
        return (_LEFT, _OTHERS) if left else _UNDECIDED[Why.NO_ANSWERS]
    first, *others = decision.options
    again = _FURTHER if decision.saved_tokens else _AGAIN
    if decision.synthesis:
        again = _TOGETHER
    if decision.why is Why.ALONE:
        alone = f"only one voice gave an answer that could be counted, {brief(first.shown)}"
        return f"{alone}, and {_NEVER}", _OTHERS
    if decision.why is Why.TIE and others:
        second = others[0]
        stand = f"{percent(first.probability)} to {percent(second.probability)}"
        alike = f"{brief(first.shown)} and {brief(second.shown)} stand at {stand}"
        return f"the voices are split, and {alike}", again
    likeliest = f"the likeliest answer, {brief(first.shown)}, has only"
    return f"{likeliest} {percent(first.probability)}", again


_WITHOUT: Final[Mapping[DebateStatus, str]] = {
    DebateStatus.RUNNING: "Nothing is decided yet.",
    DebateStatus.STOPPED: "It was stopped before anything was decided. Start it again if you like.",
    DebateStatus.FAILED: "It failed before anything was decided. Its log says why.",
    DebateStatus.DECIDED: "It is over.",
    DebateStatus.NO_DECISION: f"No decision. {_AGAIN}",
    DebateStatus.ESCALATED: "Not decided. A person decides now, by marking its outcome.",
}
