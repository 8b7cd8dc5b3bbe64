"""Over all that a server says to others lies what it was given itself: nobody needs to see that.

An agent that gets a tool to print its environment would else leave with the server's credentials.
Only those very values are hidden, and only in what this server says: whatever merely looks like a
secret may be what somebody asked for.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final, cast

from portico.adapters.mcp.wire import Message, Refusal
from portico.kernel.json import JsonValue
from portico.kernel.redaction import Redaction

_PASSING: Final = 4
"""Of tokens that follow each other, the latest."""


class Veil:
    def __init__(self, values: Iterable[str] = ()) -> None:
        self._lasting = frozenset(values)
        self._passing: deque[str] = deque(maxlen=_PASSING)
        self._redaction = Redaction(self._lasting)

    def learn(self, values: Iterable[str]) -> None:
        self._lasting |= frozenset(values)
        self._redaction = Redaction({*self._lasting, *self._passing})

    def learn_passing(self, value: str) -> None:
        if value not in self._passing:
            self._passing.append(value)
            self._redaction = Redaction({*self._lasting, *self._passing})

    def __call__(self, message: Message, *, but: str = "") -> Message:
        """`but` names what goes back to the server and to nobody else."""
        hidden = cast("Message", self._redaction.hide_json(message))
        return hidden if but not in message else {**hidden, but: message[but]}

    def text(self, text: str) -> str:
        return self._redaction.hide(text)

    def refusal(self, refusal: Refusal) -> Refusal:
        data = self._redaction.hide_json(cast("JsonValue", refusal.data))
        return Refusal(refusal.code, self.text(refusal.message), data)
