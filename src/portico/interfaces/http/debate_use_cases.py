"""What the routes of debates can call."""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated, Final

from fastapi import Depends, Request

from portico.debate.answer_as_guest import AnswerAsGuest
from portico.debate.ask_in_chat import AskInChat
from portico.debate.core.rules import Cap
from portico.debate.estimate_debate import EstimateDebate
from portico.debate.follow_debate import FollowDebate
from portico.debate.join_debate import JoinDebate
from portico.debate.list_voices import ListVoices
from portico.debate.look_at_debates import LookAtDebates
from portico.debate.manage_personas import ManagePersonas
from portico.debate.mark_outcome import MarkOutcome
from portico.debate.project_budget import ProjectBudget
from portico.debate.promote_debate import PromoteDebate
from portico.debate.remove_debate import RemoveDebate
from portico.debate.replay_debate import ReplayDebate
from portico.debate.share_debate import ShareDebate
from portico.debate.shorten_answer import ShortenAnswer
from portico.debate.start_debate import StartDebate
from portico.debate.stop_debate import StopDebate
from portico.debate.wait_at_seat import WaitAtSeat
from portico.debate.wait_for_debate import WaitForDebate

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
