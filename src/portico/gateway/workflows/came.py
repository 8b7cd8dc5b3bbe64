"""What one call of a run came to."""

from dataclasses import dataclass
from typing import Final

from portico.engine.core.runs import Failure
from portico.gateway.core.call import ResultId
from portico.gateway.core.errors import ToolSaidNo
from portico.kernel.errors import PorticoError

SAID_NO: Final = ToolSaidNo.code


@dataclass(frozen=True, slots=True)
class Gave:
    handle: ResultId
    size: int
    admitted: bool = False
    """Whether it is a plan to be carried out, and not what a tool gave."""


@dataclass(frozen=True, slots=True)
class WentWrong:
    failure: Failure


@dataclass(frozen=True, slots=True)
class LeftOut:
    """It was not done, and that is no failure: somebody said so, or all was stopped before."""

    why: str
    stopped: bool = False
    """Whether nobody has decided anything of it: it is done when the run is taken up again."""


Came = Gave | WentWrong | LeftOut


class Stopped(BaseException):
    """Nothing more is begun. It is no failure and is not noted, so that what was stopped is done
    when somebody takes the run up again."""

    def __init__(self, by: str) -> None:
        super().__init__(by)
        self.by = by


class Broken(BaseException):
    """What it needs cannot be had now, and that is nothing that the step did: nothing is noted and
    nothing decided, so that it is done when somebody takes the run up again."""

    def __init__(self, error: PorticoError) -> None:
        super().__init__(str(error))
        self.error = error


class Ungiven(BaseException):
    """What it is called with could not be put together: so it was not made, whatever it is."""

    def __init__(self, error: PorticoError) -> None:
        super().__init__(str(error))
        self.error = error
