"""Fixed values that the golden rows are computed from. What can be is read from `documents.json`;
nothing comes from the product's fakes, which may be reshaped."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from uuid import UUID

from portico.adapters.postgres.debate.mapping import voice_from
from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.declassification import Declassification, DeclassificationId
from portico.bridge.core.messages import MessageId
from portico.debate.core.debates import Debate, DebateId
from portico.debate.core.questions import Cap, Preset, Question, QuestionKind, rules_of
from portico.engine.core.runs import QueuePlacement, Run, RunStatus
from portico.gateway.core.catalog_snapshot import Definition, Tool, ToolRef
from portico.gateway.core.launch import from_json
from portico.gateway.core.servers import Server, ServerId
from portico.kernel.budget import Tokens
from portico.kernel.ids import ApprovalId, ContextId, PrincipalId, RunId, SpaceId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal, PrincipalKind

DOCUMENTS: Final[Mapping[str, Any]] = json.loads(
    (Path(__file__).parent / "documents.json").read_text(encoding="utf-8")
)
AT: Final = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)
SPACE: Final = SpaceId(UUID(int=1))
ANA: Final = PrincipalId(UUID(int=2))
CONTEXT: Final = ContextId(UUID(int=3))
RUN: Final = RunId(UUID(int=4))
APPROVAL: Final = ApprovalId(UUID(int=6))
CONVERSATION: Final = ConversationId(UUID(int=40))
MESSAGE: Final = MessageId(UUID(int=41))
FINANCE: Final = Label(Level.TEAM, frozenset({"finance", "board"}))
PEPPER: Final = b"pepper" * 6
CALLER: Final = Principal(
    id=ANA, space=SPACE, kind=PrincipalKind.PERSON, name="ana", clearance=FINANCE, key="k1"
)
DEBATE: Final = Debate(
    id=DebateId(UUID(int=10)),
    question=Question(
        text="Is it?", kind=QuestionKind.CHOICE, choices=("yes", "no"), material="notes"
    ),
    rules=rules_of(Preset.DEBATE, 0.5),
    debaters=(voice_from(DOCUMENTS["debater"]),),
    cap=Cap(tokens=1_000, money=Decimal("0.10")),
    deadline=AT + timedelta(minutes=5),
    label=FINANCE,
    start_label=PUBLIC,
    seed=7,
    started_by=ANA,
    run=RUN,
    started_at=AT,
)
DECLASSIFICATION: Final = Declassification(
    id=DeclassificationId(UUID(int=42)),
    source=MESSAGE,
    copy=MessageId(UUID(int=43)),
    before=FINANCE,
    after=PUBLIC,
    rules=("email",),
    asked_by=ANA,
    approved_by=PrincipalId(UUID(int=44)),
    approval=APPROVAL,
    at=AT,
    digest="ab" * 32,
)
SERVER: Final = Server(
    id=ServerId(UUID(int=30)),
    name="files",
    origin="added",
    launch=from_json(DOCUMENTS["launch by stdio"]),
    launch_pin="l1",
    created_at=AT,
    set_pin="s1",
    instructions="Read first.",
    offers={"prompts": [{"name": "p"}]},
)
TOOL: Final = Tool(
    ref=ToolRef("files", "read"),
    definition=Definition("read", "", "Reads.", {"type": "object"}, None, {}, {"name": "read"}),
    pin="3",
    tokens=Tokens(12),
)
A_RUN: Final = Run(
    id=RUN,
    space=SPACE,
    principal=ANA,
    kind="workflow",
    label=FINANCE,
    clearance=FINANCE,
    placement=QueuePlacement(),
    status=RunStatus.FAILED,
    input={"plan": "res_1", "outline": []},
    created_at=AT,
)


def anything(**fields: object) -> Any:
    """Stands for an object of which only these fields are read."""
    return SimpleNamespace(**fields)


def uuid(number: int) -> UUID:
    return UUID(int=number)
