"""A talk with an agent as a chat program keeps it: all that was said so far, sent with each
question, and nothing else. What such a program must not lose stands in the text itself."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from portico.agents.core.happening import ToolWaits
from portico.agents.core.message import Message, ModelSaid, UserSaid
from portico.agents.core.message_json import message_as_json
from portico.kernel.ids import ApprovalId, RunId

GO_ON: Final = "go on"
"""What somebody says who only wants to hear how it went."""
_ID: Final = "[0-7][0-9a-hjkmnp-tv-z]{25}"
_WAITS: Final = re.compile(rf"^> (run_{_ID}) waits for approval of .*\b(apr_{_ID})\b")
_GOES_ON: Final = re.compile(rf"^> (run_{_ID}) goes on ")


@dataclass(frozen=True, slots=True)
class LeftOff:
    """The run that the last answer was about, and where in it that ended."""

    run: RunId
    approval: ApprovalId | None = None
    """What it waited for then; None if it was told to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    agent: str
    message: str
    history: tuple[Message, ...] = ()
    left_off: LeftOff | None = None
    key: str
    """The same for the same question after the same talk."""
    keyed: bool = False
    """The key is the asker's own: whatever came of the question under it is the answer."""
    again: bool = False
    """Whoever asks says that they ask it once more, since they have heard no answer."""
    most_output: int | None = None

    @property
    def only_goes_on(self) -> bool:
        return self.message.strip(" \t\r\n.!\"'").lower() == GO_ON


def waiting_note(run: RunId, waits: ToolWaits, base_url: str) -> str:
    """One line that says what waits and where to answer, and is known again by `left_off`."""
    until = "" if waits.expires_at is None else f" until {waits.expires_at:%Y-%m-%d %H:%M} UTC"
    return (
        f"> {run} waits for approval of {waits.tool}{until}: "
        f"`portico approvals approve {waits.approval}` (or `reject`), "
        f"or POST {base_url}/api/v1/approvals/{waits.approval}/answer. "
        "It goes on by itself then."
    )


def going_on_note(run: RunId) -> str:
    return f'> {run} goes on once that is answered. Say "{GO_ON}" here to hear how it went.'


def left_off(text: str) -> LeftOff | None:
    """Where an answer of ours ended, if its last line says that something waits."""
    lines = [line for line in text.split("\n") if line.strip()]
    last = lines[-1] if lines else ""
    found = _WAITS.match(last) or _GOES_ON.match(last)
    if found is None:
        return None
    run = found[1]
    waited = [match[2] for line in lines if (match := _WAITS.match(line)) and match[1] == run]
    return LeftOff(RunId.parse(run), ApprovalId.parse(waited[-1]) if waited else None)


def without_notes(text: str) -> str:
    """What the agent said, without what was said of it."""
    lines = [line for line in text.split("\n") if not (_WAITS.match(line) or _GOES_ON.match(line))]
    return text if len(lines) == text.count("\n") + 1 else "\n".join(lines).strip()


def told_before(said: Sequence[Message]) -> tuple[Message, ...]:
    """An earlier talk as a model is given it."""
    cleared = [
        ModelSaid(without_notes(each.text)) if isinstance(each, ModelSaid) else each
        for each in said
    ]
    return tuple(each for each in cleared if each.text)


def with_wishes(wishes: Sequence[str], said: Sequence[Message]) -> tuple[Message, ...]:
    """What a program says for its user goes before their first words, as theirs: the agent has
    instructions of its own, which nobody who merely asks it something can change."""
    if not wishes:
        return tuple(said)
    place = next(number for number, each in enumerate(said) if isinstance(each, UserSaid))
    first = UserSaid("\n\n".join([*wishes, said[place].text]))
    return (*said[:place], first, *said[place + 1 :])


def question_key(agent: str, said: Sequence[Message]) -> str:
    text = json.dumps([agent, [message_as_json(each) for each in said]], default=dict)
    return f"chat-{hashlib.sha256(text.encode()).hexdigest()}"
