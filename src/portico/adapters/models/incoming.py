"""An answer while it comes in: words at once, and a call as soon as its arguments have closed."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from portico.agents.core.model_calls import Scan
from portico.agents.core.model_requests import CallPiece, Message, ModelSaid, ToolCall
from portico.agents.core.tool_calls import read_arguments
from portico.kernel.entropy import Entropy


@dataclass(slots=True)
class IncomingCall:
    """One call of a tool, of which pieces come in."""

    id: str
    name: str = ""
    told: str | None = None
    """Its arguments, as somebody was told them already."""
    _scan: Scan = field(default_factory=Scan)
    _pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    def add(self, *, name: str = "", text: str = "") -> CallPiece | None:
        """The call, at the character that its arguments close with. Bare `{}` does not count: some
        servers begin with it and then say more."""
        self.name += name
        self._pieces.append(text)
        self._scan = self._scan.after(text)
        if self.told is not None or not self._scan.closed or not self.name:
            return None
        arguments = read_arguments(self.text)
        if not arguments:
            return None
        self.told = self.text
        return CallPiece(ToolCall(self.id, self.name, arguments))

    @property
    def changed(self) -> bool:
        """Whether something else came in after somebody was told."""
        return self.told is not None and self.told.strip() != self.text.strip()


@dataclass(slots=True)
class CallIds:
    """Ids of calls that no two of a run share: some servers number them anew in each answer, and
    some give none."""

    taken: set[str]
    entropy: Entropy

    @classmethod
    def after(cls, messages: Iterable[Message], entropy: Entropy) -> Self:
        said = [each for each in messages if isinstance(each, ModelSaid)]
        return cls({call.id for each in said for call in each.calls}, entropy)

    def given(self, wanted: str) -> str:
        free = wanted and wanted not in self.taken
        made = wanted if free else f"call_{self.entropy(9).hex()}"
        self.taken.add(made)
        return made
