"""The line of a call that nobody is waiting for: whoever asks is turned away, and remembered."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from portico.gateway.core.calls import Question, Wanted
from portico.gateway.core.errors import InputUnsupported
from portico.kernel.json import JsonObject


@dataclass(slots=True)
class DeafLine:
    """It says that its caller can be asked anything: a server that would ask does so, and then it
    is known that its answer would have been another one."""

    subject: str
    asked: bool = False

    @property
    def able(self) -> AbstractSet[Wanted]:
        return frozenset(Wanted)

    @property
    def log_level(self) -> str | None:
        return None

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Nobody is there to be told."""

    async def log(self, params: JsonObject) -> None:
        """Nor to read along."""

    async def ask(self, question: Question) -> JsonObject:
        self.asked = True
        raise InputUnsupported(self.subject, str(question.wanted))
