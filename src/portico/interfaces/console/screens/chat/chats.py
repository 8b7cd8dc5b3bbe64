"""The chats of one person, as a list: each talk once, by its last run."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from portico.agents.core.traces import RunTrace, TracePlace
from portico.interfaces.console.screens.chat.thread import STATUSES

DEBATES: Final = (
    "You are asked for your own answer to a question. Others are asked as well",
    "You bring the answers of several into one. Text between << and >> marks",
    "You compare answers. You do not know whose they are. Text between << and >>",
    "You plan how a task is looked into. Text between << and >> marks",
    "You bring the answers to several questions into one. Text between << and",
)
"""How what an agent is asked in a debate begins. A trace does not say what its run was for; a test
holds these against what debates really say."""
_ASKED: Final = 80
_ANSWER: Final = 120
_SIGNS: Final = re.compile(r"[*`#|>~]+|-{3,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    run: str
    title: str
    agent: str
    answer: str
    state: str
    tone: str
    label: str
    at: datetime
    tokens: int
    money: Decimal


@dataclass(frozen=True, slots=True)
class Chats:
    found: tuple[Chat, ...]
    hidden: tuple[str, ...]
    """Runs that go on in one that is shown: they may come in the next page."""
    before: str | None
    """Where the next page begins."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    title: str
    text: str


def chats_of(runs: Sequence[RunTrace], hidden: Collection[str], limit: int) -> Chats:
    """Of runs, newest first. One that was continued is shown as the one that continues it."""
    gone, seen = set(hidden), set()
    found: list[Chat] = []
    for run in runs:
        seen.add(str(run.run))
        if run.continues is not None:
            gone.add(str(run.continues))
        if str(run.run) not in gone and not of_debate(run.asked):
            found.append(_chat(run))
    last = str(TracePlace.of(runs[-1])) if len(runs) >= limit else None
    return Chats(tuple(found), tuple(sorted(gone - seen)), last)


def of_debate(asked: str) -> bool:
    return asked.startswith(tuple(each[:_ASKED] for each in DEBATES))


def suggestions(tools: Sequence[str]) -> Sequence[Suggestion]:
    """What to begin with, by what the agent can use."""
    first = Suggestion("What can you do?", "What can you help me with, and what can you not?")
    found = [
        Suggestion(_spoken(each), f"Use {each} for me. Ask me first for what you need to know.")
        for each in tools[:3]
    ]
    none = Suggestion("Explain something", "Explain to me in three sentences: ")
    return [first, *(found or [none])]


def _spoken(tool: str) -> str:
    words = tool.partition(".")[2].replace("_", " ").replace("-", " ").strip()
    return (words[:1].upper() + words[1:])[:60] or tool[:60]


def _plain(text: str) -> str:
    """How it begins, without the signs of markdown."""
    return " ".join(_SIGNS.sub(" ", text[: 4 * _ANSWER]).split())[:_ANSWER]


def _chat(run: RunTrace) -> Chat:
    state, tone = STATUSES[run.status]
    return Chat(
        run=str(run.run),
        title=run.asked or "(nothing was said)",
        agent=run.agent_name,
        answer=_plain(run.answer or run.error or ""),
        state=state,
        tone=tone,
        label=str(run.label),
        at=run.ended_at or run.started_at,
        tokens=run.usage.input + run.usage.output,
        money=run.money,
    )
