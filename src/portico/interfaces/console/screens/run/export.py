"""A run as a file: what whoever asks may see of it."""

from portico.agents.core.activation import shown
from portico.engine.core.runs import Run, Step
from portico.interfaces.console.desk import Desk
from portico.interfaces.console.screens.run.look import PLACE, look
from portico.interfaces.http.sse import event_json
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue

_EVENTS = 200
_MOST = 10_000


async def exported(desk: Desk, run: RunId) -> JsonObject:
    """Raises `NotPermitted`, `RunNotFound`."""
    looked = await look(desk, run)
    seen = looked.seen
    whole: dict[str, JsonValue] = {
        "run": {
            "id": seen.id,
            "kind": seen.kind,
            "name": seen.name,
            "status": seen.status,
            "principal": seen.principal,
            "label": seen.label,
            "created_at": seen.created_at.isoformat(),
            "started_at": None if seen.started_at is None else seen.started_at.isoformat(),
            "finished_at": None if seen.finished_at is None else seen.finished_at.isoformat(),
            "forked_from": seen.forked_from,
        },
        "output": seen.output,
        "journal": [_row(row) for row in looked.journal],
    }
    if looked.run is not None:
        whole["run"] = {**_object(whole["run"]), **_more(looked.run)}
        whole["events"] = await _events(desk, run)
    if seen.kind == "workflow":
        report = await desk.house.gateway.workflows.show_workflow(desk.at(PLACE), run)
        whole["workflow"] = report.as_json()
    return whole


async def _events(desk: Desk, run: RunId) -> list[JsonValue]:
    read, found = desk.house.use.read_run_events, list[JsonValue]()
    after: str | None = None
    while len(found) < _MOST:
        page = await read(desk.at(PLACE), run, after, _EVENTS)
        found += [event_json(entry) for entry in page.entries]
        if page.next is None or len(page.entries) < _EVENTS:
            break
        after = page.next
    return found


def _more(run: Run) -> JsonObject:
    failure = None if run.failure is None else run.failure.as_json()
    return {"input": shown(run.kind, run.input), "result": run.result, "error": failure}


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _row(row: Step) -> JsonObject:
    return {
        "name": row.name,
        "state": str(row.state),
        "started_at": row.started_at.isoformat(),
        "finished_at": None if row.finished_at is None else row.finished_at.isoformat(),
        "output": row.output,
        "error": None if row.failure is None else row.failure.as_json(),
    }
