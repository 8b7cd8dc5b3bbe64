"""Help and words of workflows."""

import json
from collections.abc import Iterator
from typing import Final

from portico.gateway.core.calls import ToolResult
from portico.gateway.core.surface import READ_RESULT, RUN_PROGRAM, RUN_WORKFLOW, WORKFLOW_STATUS
from portico.kernel.ids import InvalidId, RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.workflows.core.plan_report import (
    StepReport,
    StepStatus,
    WorkflowReport,
    WorkflowStatus,
)

HOW_TO_PLAN: Final = (
    "Without a plan: `intent` alone says what you want, with every value that it needs; a plan is "
    "suggested for it, with what is missing as `inputs`, and run by its `suggestion`. If it was of "
    "no use, say so by feedback. `plan.steps` are calls of tools (`server.tool`, as search_tools "
    "names them). A step begins as soon as what it refers to is there, so independent ones run at "
    "once. Inside `arguments`, "
    '{"$from": "STEP.PATH"} is what an earlier step gave: PATH is JMESPath into {content, '
    'structuredContent, text, json}, `json` being its result as data; {"$text": "… ${STEP.PATH} '
    '…"} puts it into a text; "default" is for a path to nothing, which otherwise is a fault. '
    "`inputs.NAME` is an input of the plan. `for_each` runs a step once an item, which is `item` "
    "there. Every step is guarded as a call by itself: one that somebody has to approve waits, and "
    "you are told. A plan that lacks a required argument is not run: you are told which step could "
    'give it, and say which you mean by "accept". `mode` "inline" is faster, and for plans that '
    "only read."
)
HOW_TO_PROGRAM: Final = (
    "A small Python program whose only powers are tools: `await server__tool(name=value)`, with "
    '`_` for every letter of a name that Python has no place for, or `await call("server.tool", '
    "{...})`. A call gives its result as data if it has any, else as text; asyncio.gather runs "
    "several at once. One that fails raises: PermissionError, TimeoutError, ValueError, "
    "LookupError or RuntimeError. `inputs` are variables. What you see is what it prints, and what "
    "its last line is worth. There are few modules (asyncio, json, re, math, datetime, csv), no "
    "generators, no files and no network. Every call is guarded as a call by itself: one "
    "that somebody has to approve waits, and you are told."
)
EXAMPLE: Final[JsonObject] = {
    "plan": {
        "inputs": {"city": {"type": "string"}},
        "required": ["city"],
        "steps": [
            {
                "id": "find",
                "tool": "web.search",
                "arguments": {"query": {"$text": "weather in ${inputs.city}"}},
            },
            {
                "id": "read",
                "tool": "web.fetch",
                "for_each": {"in": {"$from": "find.json.results[].url"}, "most": 5},
                "arguments": {"url": {"$from": "item"}},
                "on_error": "skip",
            },
            {
                "id": "note",
                "tool": "notes.write",
                "when": "length(read.items) > `0`",
                "arguments": {
                    "title": {"$from": "inputs.city"},
                    "body": {"$from": "read.items[0].text", "default": "nothing found"},
                },
            },
        ],
        "output": {"$from": "note.json"},
    },
    "inputs": {"city": "Lund"},
}


def own_tools(plan_schema: JsonObject) -> dict[str, JsonObject]:
    """What is told of the door's own tools whose arguments have no room where tools are listed."""
    return {
        RUN_WORKFLOW: {
            "tool": RUN_WORKFLOW,
            "description": HOW_TO_PLAN,
            "planSchema": plan_schema,
            "example": EXAMPLE,
        },
        RUN_PROGRAM: {"tool": RUN_PROGRAM, "description": HOW_TO_PROGRAM},
    }


WORKFLOW_META: Final = "portico/workflow"
"""Where a program finds what a model reads in the text."""
_MOST_TOLD: Final = 20
"""Steps that are told one by one."""
_WAYS: Final = {StepStatus.WAITING, StepStatus.UNCERTAIN}
_ENDS: Final = {str(each) for each in WorkflowStatus if each.over}
_AMISS: Final = {StepStatus.FAILED, StepStatus.SKIPPED}


def gave(report: WorkflowReport) -> bool:
    """Whether it came to its end, with a result."""
    return report.status in {WorkflowStatus.DONE, WorkflowStatus.PARTIAL}


def words(report: WorkflowReport) -> str:
    """What it gave comes first, exactly as it is: the rest is about it."""
    return "\n".join([*_output(report), *about(report)])


def about(report: WorkflowReport) -> Iterator[str]:
    """One line on where it stands, unless everything was done; then what is amiss, step by step."""
    if report.status is not WorkflowStatus.DONE:
        yield standing(report)
        amiss = [step for step in report.steps if step.state in _WAYS | _AMISS]
        for step in amiss[:_MOST_TOLD]:
            yield f"- {_step(report, step)}"
        if len(amiss) > _MOST_TOLD:
            yield f"- and {len(amiss) - _MOST_TOLD} more"


def facts(report: WorkflowReport) -> JsonObject:
    """The same for a program, without the values."""
    return {
        "run": report.run,
        "status": report.status,
        "output_handle": report.output_handle,
        "approvals": [step.approval for step in report.steps if step.state in _WAYS],
        "steps": {step.id: step.state for step in report.steps},
    }


def as_answer(report: WorkflowReport) -> ToolResult:
    """Of a workflow that is a tool: what it gave is what the tool gave."""
    meta: JsonObject = {WORKFLOW_META: facts(report)}
    if not gave(report):
        failed = report.status in {WorkflowStatus.FAILED, WorkflowStatus.CANCELLED}
        return ToolResult([_text(words(report))], failed=failed, meta=meta)
    notes = [_text(line) for line in ["\n".join(about(report))] if line]
    content = [*map(_text, _output(report)), *notes]
    return ToolResult(content, _structured(report.output), meta=meta)


def unfinished(answer: ToolResult) -> RunId | None:
    """The run that was not over yet when this was its answer; None of any other answer."""
    told = None if answer.meta is None else answer.meta.get(WORKFLOW_META)
    match told:
        case {"run": str(run), "status": str(status)} if status not in _ENDS:
            return _run(run)
        case _:
            return None


def _run(text: str) -> RunId | None:
    try:
        return RunId.parse(text)
    except InvalidId:
        return None


def _structured(output: JsonValue) -> JsonValue:
    return None if isinstance(output, str) else output


def _output(report: WorkflowReport) -> Iterator[str]:
    if report.output is not None:
        yield _shown(report.output)
    elif report.output_handle is not None:
        size = "" if report.output_size is None else f" of {report.output_size:,} characters"
        yield (
            f"[its output{size} is kept here: "
            f'{READ_RESULT}(result="{report.output_handle}") reads it page by page]'
        )
    elif gave(report):
        yield "null"


def _shown(output: JsonValue) -> str:
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


def standing(report: WorkflowReport) -> str:
    """One line, for whoever asked for it."""
    again = f'{WORKFLOW_STATUS}(run="{report.run}", wait=30)'
    if report.status is WorkflowStatus.WAITING:
        asked = any(step.approval for step in report.steps if step.state in _WAYS)
        return (
            f"[{report.run} waits for a person{', who has been asked' if asked else ''}. Go on "
            f"with something else if you can; {again} tells how it went on. Do not try to do it "
            "in another way.]"
        )
    if not report.over:
        over = sum(step.finished_at is not None for step in report.steps)
        return f"[{report.run}: {over} of {len(report.steps)} steps are over; {again}]"
    if report.status is WorkflowStatus.CANCELLED:
        return f"[{report.run} was cancelled]"
    if report.status is WorkflowStatus.FAILED:
        why = "" if report.error is None else f": {report.error.message}"
        return f"[{report.run} failed{why}]"
    return f"[{report.run}: not everything was done]"


def _step(report: WorkflowReport, step: StepReport) -> str:
    what = f"{step.id} ({step.tool})"
    match step.state:
        case StepStatus.WAITING:
            return f"{what} has not been called yet: somebody has to approve it ({step.approval})"
        case StepStatus.UNCERTAIN:
            return (
                f"{what}: {step.why or 'nobody knows whether it was done'}; a person has to look "
                f"and say so: portico workflows resolve {report.run} {step.id}"
            )
        case StepStatus.FAILED:
            return f"{what} failed: {_why(step)}"
        case _:
            return f"{what} was left out: {_why(step)}"


def _why(step: StepReport) -> str:
    if step.why:
        return step.why
    return "no reason is known" if step.error is None else step.error.message


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}
