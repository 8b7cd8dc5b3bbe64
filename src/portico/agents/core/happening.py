"""What happens in a run, as whoever follows it is told: one stream, for every face."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from portico.agents.core.asking import Finish, Usage
from portico.agents.core.trace import AgentRunStatus
from portico.kernel.ids import ApprovalId, RunId
from portico.kernel.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnBegan:
    turn: int
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextAdded:
    turn: int
    attempt: int
    """Another one each time that a model was asked anew for this turn: what came before in it is
    void then."""
    offset: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThoughtAdded:
    turn: int
    attempt: int
    offset: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBegan:
    turn: int
    call: str
    tool: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolWaits:
    """Somebody has to approve it; the run goes on when they have."""

    turn: int
    call: str
    tool: str
    approval: ApprovalId
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnded:
    turn: int
    call: str
    tool: str
    text: str
    failed: bool
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    turn: int
    model: str
    usage: Usage
    money: Decimal
    finish: Finish = Finish.STOP
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What somebody said in mid-run was taken in."""

    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """Something that whoever watches should know: a fallback, a compaction, a retry."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    run: RunId
    status: AgentRunStatus
    answer: str
    error_code: str | None = None
    error: str | None = None
    fix: str | None = None
    usage: Usage
    money: Decimal


Happening = (
    TurnBegan
    | TextAdded
    | ThoughtAdded
    | ToolBegan
    | ToolWaits
    | ToolEnded
    | TurnEnded
    | Heard
    | Noted
    | RunEnded
)


@dataclass(frozen=True, slots=True)
class Told:
    happening: Happening
    cursor: str | None
    """Where to go on after this; none after what is only said live."""
