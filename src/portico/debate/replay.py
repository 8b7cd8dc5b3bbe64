"""Replay a debate, and keep its log."""

import asyncio
import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from portico.debate.conduct import KNOWN_MOST
from portico.debate.core.debaters import BUILT_IN, Debater
from portico.debate.core.debates import (
    Debate,
    DebateId,
    KnownOutcome,
    NoteKind,
    Replayed,
    ReplaySpec,
    Usual,
    WholeDebate,
    thoroughness_of,
)
from portico.debate.core.errors import InvalidDebate, NothingToReplay
from portico.debate.core.panel import panel_of
from portico.debate.core.questions import Rules, rules_of
from portico.debate.core.replay import Rehearsal
from portico.debate.debates import DebateAccess
from portico.debate.ports import Blackboard, DebateContexts, Logs, Outcomes
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.kernel.budget import NOTHING, Tokenizer
from portico.kernel.clock import Clock
from portico.kernel.label import meet
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayDebate:
    blackboard: Blackboard
    outcomes: Outcomes
    tasks: DebateContexts
    tokenizer: Tokenizer

    async def __call__(self, caller: Principal, which: DebateId, wish: ReplaySpec) -> Replayed:
        """By what was known of the voices when it began. Raises `NotPermitted`, `DebateNotFound`,
        `InvalidDebate`, `NothingToReplay`."""
        require_scope(caller, Scope.DEBATES_READ)
        see = DebateAccess(blackboard=self.blackboard, tasks=self.tasks)
        caller, whole = await see(caller, which)
        _check(whole, wish)
        its = whole.debate
        voices = _without(its, wish)
        known = await self._known(caller, its, voices)
        # Beside whatever else is going on: to learn takes a while.
        panel = await asyncio.to_thread(panel_of, its.question, voices, known)
        again = Rehearsal(
            whole=whole,
            rules=_rules(its, wish),
            panel=panel,
            personas=BUILT_IN,
            count=self.tokenizer.count,
        )()
        made = sum((note.cost for note in whole.notes), start=NOTHING)
        return Replayed(
            was=its.decision,
            now=again.decision,
            calls=again.cost.calls,
            calls_made=made.calls,
            tokens=again.cost.tokens,
            tokens_spent=made.tokens,
            notes=again.missing,
        )

    async def _known(
        self, caller: Principal, debate: Debate, voices: Sequence[Debater]
    ) -> Sequence[KnownOutcome]:
        within = replace(caller, clearance=meet(caller.clearance, debate.learns_from))
        targets = [voice.target for voice in voices]
        return await self.outcomes.known(
            within, targets, limit=KNOWN_MOST, before=debate.started_at
        )


def _check(whole: WholeDebate, wish: ReplaySpec) -> None:
    """Raises `InvalidDebate`, `NothingToReplay`."""
    if not whole.debate.status.over:
        raise InvalidDebate(f"{whole.debate.id} is not over yet.", "Wait for its end, or stop it.")
    if whole.debate.analysis:
        raise InvalidDebate("An analysis is not decided by votes.", "Replay one of its parts.")
    if not any(note.kind is NoteKind.SAID for note in whole.notes):
        raise NothingToReplay(str(whole.debate.id))
    if wish.rounds not in (None, 1, 2):
        raise InvalidDebate("A debate has 1 or 2 rounds.", "Leave it out for what the preset has.")


def _without(debate: Debate, wish: ReplaySpec) -> tuple[Debater, ...]:
    """Raises `InvalidDebate`."""
    names = [voice.name for voice in debate.debaters]
    for name in wish.without:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            raise InvalidDebate(
                f"{name[:80]!r} took no part in it.",
                f"Leave out one of: {', '.join(near or names)}.",
            )
    left = tuple(voice for voice in debate.debaters if voice.name not in wish.without)
    if not left:
        raise InvalidDebate(
            "Without all of its voices nothing is left.", "Leave out fewer of them."
        )
    return left


def _rules(debate: Debate, wish: ReplaySpec) -> Rules:
    """Raises `InvalidDebate`."""
    was = debate.rules
    how = was.thoroughness if wish.thoroughness is None else wish.thoroughness
    rules = rules_of(wish.preset or was.preset, thoroughness_of(how, Usual()))
    return rules if wish.rounds is None else replace(rules, rounds=wish.rounds)


# Keep as many files of debates as is set: by count, by date, by size.


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepLogs:
    logs: Logs
    clock: Clock

    async def __call__(self) -> int:
        """How many were removed."""
        return await asyncio.to_thread(self.logs.purge, self.clock.now())
