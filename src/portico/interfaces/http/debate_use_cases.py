"""What the routes of debates can call."""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated, Final

from fastapi import Depends, Request

from portico.debate.core.questions import Cap
from portico.debate.debaters import ListVoices, ManagePersonas, ShortenAnswer
from portico.debate.debates import (
    AskInChat,
    LookAtDebates,
    RemoveDebate,
    ShareDebate,
    StartDebate,
    StopDebate,
    WaitForDebate,
)
from portico.debate.estimates import EstimateDebate, ProjectBudget
from portico.debate.events import FollowDebate
from portico.debate.guests import AnswerAsGuest, JoinDebate, WaitAtSeat
from portico.debate.outcomes import MarkOutcome, PromoteDebate
from portico.debate.replay import ReplayDebate

_LEAST: Final = Decimal("0.000000001")
"""Dollars: less than any call costs. A cap of nothing at all is refused as a slip where somebody
gives it, and is a setting all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateUseCases:
    start_debate: StartDebate
    ask_in_chat: AskInChat
    shorten_answer: ShortenAnswer
    estimate_debate: EstimateDebate
    look: LookAtDebates
    follow_debate: FollowDebate
    wait_for_debate: WaitForDebate
    stop_debate: StopDebate
    join_debate: JoinDebate
    wait_at_seat: WaitAtSeat
    answer_as_guest: AnswerAsGuest
    mark_outcome: MarkOutcome
    replay_debate: ReplayDebate
    share_debate: ShareDebate
    promote_debate: PromoteDebate
    remove_debate: RemoveDebate
    list_voices: ListVoices
    personas: ManagePersonas
    budget: ProjectBudget

    @property
    def usual_cap(self) -> Cap:
        """Of the settings: it holds for whatever a caller says nothing about."""
        cap = self.start_debate.prepare.usual.cap
        return cap if cap.money is None else replace(cap, money=max(cap.money, _LEAST))


def _use(request: Request) -> DebateUseCases:
    found: DebateUseCases = request.app.state.debates
    return found


Debates = Annotated[DebateUseCases, Depends(_use)]
