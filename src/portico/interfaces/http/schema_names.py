"""Explicit names for the schemas of the OpenAPI document.

Clients are generated from them, so that renaming a class must not change them. A model is named by
its `title`; enumerations of the domains are named here.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from portico.agents.core.agents import ToolMode
from portico.agents.core.model_requests import Finish, ModelInfoSource, Support
from portico.agents.core.traces import AgentRunStatus
from portico.bridge.core.declassification import FindingKind
from portico.bridge.core.presence import PresenceStatus
from portico.bridge.core.work_items import WorkItemStatus
from portico.debate.core.debaters import DebaterKind
from portico.debate.core.debates import DebateStatus, NoteKind, Source, Verdict, Why
from portico.debate.core.questions import Preset, QuestionKind
from portico.engine.core.runs import RunStatus, StepState
from portico.gateway.core.calls import CallOutcome, Phase, Verb
from portico.gateway.core.catalog_snapshot import ToolStatus
from portico.gateway.core.server_approval import Proposed
from portico.gateway.core.servers import ConfinementMode, ProtocolRevision
from portico.guard.core.approvals import AnswerKind, Outcome, Resolution, Status, Via
from portico.guard.core.policy import Danger
from portico.guard.core.principals import Role, Scope
from portico.guard.core.rules import RuleSource, Ruling
from portico.kernel.effect import Effect
from portico.kernel.principal import PrincipalKind
from portico.learning.core.intents import Outcome as SuggestOutcome
from portico.learning.core.prefetch_gates import PrefetchMode
from portico.learning.core.suggestions import Mode as SuggestMode
from portico.sandbox.core.probes import Backend
from portico.sandbox.core.profile import Network
from portico.workflows.core.plan_report import Mode, StepStatus, WorkflowStatus
from portico.workflows.core.programs import ProgramMode

_EXPLICIT: Final = "x-portico-name"
_REF: Final = "#/components/schemas/"

ENUMERATIONS: Final[Mapping[type[Enum], str]] = {
    AgentRunStatus: "AgentRunStatus",
    PrefetchMode: "AheadMode",
    AnswerKind: "AnswerKind",
    Backend: "Backend",
    CallOutcome: "CallOutcome",
    Danger: "Danger",
    DebateStatus: "DebateStatus",
    PresenceStatus: "Doing",
    Effect: "Effect",
    ProtocolRevision: "Era",
    FindingKind: "FindingKind",
    Finish: "Finish",
    ConfinementMode: "Hold",
    Mode: "portico__gateway__core__plan__report__Mode",
    SuggestMode: "portico__gateway__core__suggest__mode__Mode",
    Network: "Network",
    NoteKind: "NoteKind",
    Outcome: "portico__guard__core__approval__Outcome",
    SuggestOutcome: "portico__gateway__core__suggest__threshold__Outcome",
    Phase: "Phase",
    Preset: "Preset",
    PrincipalKind: "PrincipalKind",
    ProgramMode: "ProgramMode",
    Proposed: "Proposed",
    QuestionKind: "QuestionKind",
    Resolution: "Resolution",
    Role: "Role",
    RuleSource: "RuleSource",
    Ruling: "Ruling",
    RunStatus: "RunStatus",
    Scope: "Scope",
    Source: "Source",
    ToolStatus: "Standing",
    Status: "Status",
    StepStatus: "StepStanding",
    StepState: "StepState",
    Support: "Support",
    ModelInfoSource: "ToldBy",
    ToolMode: "ToolMode",
    Verb: "Verb",
    Verdict: "Verdict",
    Via: "Via",
    DebaterKind: "VoiceKind",
    Why: "Why",
    WorkItemStatus: "WorkState",
    WorkflowStatus: "WorkflowStatus",
}


def alias(name: str) -> dict[str, Any]:
    """The name of a model whose title another one has too, as its `json_schema_extra`."""
    return {_EXPLICIT: name}


class Alias:
    """Another name for an enumeration where one field uses it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        found = handler(schema)
        handler.resolve_ref_schema(found)[_EXPLICIT] = self._name
        return found


def apply_schema_names(document: dict[str, Any]) -> None:
    """Raises `ValueError` if two schemas that differ have the same name."""
    schemas: dict[str, Any] = document["components"]["schemas"]
    names = {derived: _name_of(schema, derived) for derived, schema in schemas.items()}
    _replace_refs(document, {_REF + derived: _REF + name for derived, name in names.items()})
    given: dict[str, Any] = {}
    for derived, name in names.items():
        if given.setdefault(name, schemas[derived]) != schemas[derived]:
            raise ValueError(f"two schemas are called {name}: give one of them a `alias`")
    document["components"]["schemas"] = dict(sorted(given.items()))


def _name_of(schema: dict[str, Any], derived: str) -> str:
    """Also makes the title of an enumeration that of its name."""
    title, name = schema.get("title"), schema.pop(_EXPLICIT, None)
    if "enum" in schema:
        name = name or _BY_VALUES.get((title, *schema["enum"]), derived)
        schema["title"] = name.rpartition("__")[2].partition("-")[0]
    return name or (derived if title is None else title.replace("[", "_").replace("]", "_"))


def _replace_refs(part: object, refs: Mapping[str, str]) -> None:
    if isinstance(part, dict):
        if part.get("$ref") in refs:
            part["$ref"] = refs[part["$ref"]]
        part = list(part.values())
    for each in part if isinstance(part, list) else ():
        _replace_refs(each, refs)


_BY_VALUES: Final = {
    (kind.__name__, *(each.value for each in kind)): name for kind, name in ENUMERATIONS.items()
}
