"""`workflow_state`: how the caller's own runs and workflows stand."""

from collections.abc import Sequence
from typing import ClassVar, Final, Protocol

from portico.adapters.builtin import given
from portico.adapters.builtin.answers import told
from portico.adapters.builtin.tool import AboutTheHouse, Errand, Offered, hints, schema
from portico.gateway.core.calls import Answer
from portico.kernel.effect import Effect
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from portico.workflows.run_queries import OwnRun, OwnStep

_MOST: Final = 100
_USUAL: Final = 10
_STEPS: Final = 200
"""Of one run that are told: the last ones."""
_TEXT: Final = {"type": ["string", "null"]}


class OwnRuns(Protocol):
    async def latest(self, caller: Principal, *, limit: int) -> Sequence[OwnRun]: ...

    async def one(self, caller: Principal, run: RunId) -> OwnRun: ...


WORKFLOW_STATE: Final = Offered(
    {
        "name": "workflow_state",
        "title": "See how a workflow stands",
        "description": (
            "How a run or workflow that you started stands: its status, each step's state and how "
            "long it took, and which approval it waits for. Without `run`: your latest runs. What "
            "steps gave is not in it."
        ),
        "inputSchema": schema(
            {
                "run": {"type": "string", "maxLength": 40, "description": "Its id: run_…"},
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": _MOST,
                    "default": _USUAL,
                    "description": "Of runs, where none is named.",
                },
            }
        ),
        "outputSchema": schema(
            {
                "runs": {
                    "type": "array",
                    "items": schema(
                        {
                            "run": {"type": "string"},
                            "kind": {"type": "string"},
                            "name": _TEXT,
                            "status": {"type": "string"},
                            "created_at": {"type": "string", "format": "date-time"},
                            "finished_at": _TEXT,
                            "error": {**_TEXT, "description": "The code of what went wrong."},
                            "output": {**_TEXT, "description": "Where what it gave is kept."},
                            "steps": {
                                "type": "array",
                                "items": schema(
                                    {
                                        "name": {"type": "string"},
                                        "tool": _TEXT,
                                        "state": {"type": "string"},
                                        "seconds": {"type": ["number", "null"]},
                                        "approval": _TEXT,
                                        "error": _TEXT,
                                    },
                                    required=["name", "state"],
                                ),
                            },
                        },
                        required=["run", "kind", "status", "created_at", "steps"],
                    ),
                },
            },
            required=["runs"],
        ),
        "annotations": hints(reads=True, again=True),
    },
    Effect.LOCAL_READ,
)


class WorkflowState(AboutTheHouse[OwnRuns]):
    offered: ClassVar[Offered] = WORKFLOW_STATE

    async def __call__(self, arguments: JsonObject, errand: Errand) -> Answer:
        named = given.text(arguments, "run")
        if named:
            runs = [await self.door.one(errand.asker, RunId.parse(named))]
        else:
            limit = given.number(arguments, "limit", _USUAL)
            runs = [*await self.door.latest(errand.asker, limit=limit)]
        words = "\n".join(_lines(run) for run in runs) or "You have started no run yet."
        return told(words, {"runs": [*map(_facts, runs)]})


def _lines(run: OwnRun) -> str:
    head = f"{run.id}  {run.kind}  {run.status}" + (f"  ({run.error})" if run.error else "")
    return "\n".join([head, *(f"  {_step_line(step)}" for step in run.steps[-_STEPS:])])


def _step_line(step: OwnStep) -> str:
    tool = "" if step.tool is None else f"  {step.tool}"
    seconds = "" if step.seconds is None else f"  {step.seconds:.1f} s"
    waits = "" if step.approval is None else f"  approval {step.approval}"
    return f"{step.name}{tool}  {step.state}{seconds}{waits}"


def _facts(run: OwnRun) -> JsonObject:
    return {
        "run": str(run.id),
        "kind": run.kind,
        "name": run.name,
        "status": run.status,
        "created_at": run.created_at.isoformat(),
        "finished_at": None if run.finished_at is None else run.finished_at.isoformat(),
        "error": run.error,
        "output": run.output,
        "steps": [
            {
                "name": step.name,
                "tool": step.tool,
                "state": step.state,
                "seconds": step.seconds,
                "approval": step.approval,
                "error": step.error,
            }
            for step in run.steps[-_STEPS:]
        ],
    }
