"""Programs: functions, turns, reports."""

import re
import unicodedata
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from portico.engine.core.runs import Step
from portico.gateway.core.calls import ResultId
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import InvalidToolRef
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.json import JsonObject, JsonValue, canonical
from portico.kernel.label import Label
from portico.sandbox.core.requests import CodeEnd, CodeLimits, Pending, Raised
from portico.workflows.core.plan_report import (
    OutlinedStep,
    StepStatus,
    WorkflowReport,
    WorkflowStatus,
)
from portico.workflows.core.plan_values import document_value
from portico.workflows.core.texts import standing


class InvalidProgram(PorticoError):
    kind = Kind.INVALID
    code = "bad_program"
    type_name = "BadProgram"
    title = "Not a program that can be run"
    fix = "Send a small Python program; inputs are named like its variables."

    def __init__(self, reason: str) -> None:
        super().__init__(f"The program cannot be begun: {reason}.")
        self.reason = reason


class ProgramFailed(PorticoError):
    """Only the kind of its end: what it said is its caller's alone, and kept with its output."""

    kind = Kind.INVALID
    code = "program_failed"
    title = "The program failed"
    fix = "Its report says what it raised, or which limit it met."

    def __init__(self, end: str) -> None:
        super().__init__(f"The program ended before it was done: {end}.")
        self.end = end


CALL: Final = "call"
"""The function that takes a tool's own name, and what it is given."""
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_]")
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """A call of a tool that a program waits for."""

    number: int
    """As the interpreter counts them."""
    ref: ToolRef
    arguments: JsonObject


def function_name(ref: ToolRef) -> str:
    """`server__tool`, with _ for whatever no name in Python can have."""
    return _UNFIT.sub("_", f"{ref.server}__{ref.name}")


def functions_in(code: str, refs: Iterable[ToolRef]) -> Mapping[str, ToolRef]:
    """Those that the code names; the rest is not there for it. What is alike in two tools is
    neither's: `call` tells them apart."""
    words = _words(code)
    named = [(function_name(ref), ref) for ref in sorted(refs)]
    times = Counter(name for name, _ in named)
    return {name: ref for name, ref in named if name in words and times[name] == 1}


def uses_call(code: str) -> bool:
    return CALL in _words(code)


def wanted(pending: Pending, functions: Mapping[str, ToolRef]) -> RequestedCall | Raised:
    if pending.function == CALL:
        return _by_name(pending)
    arguments: JsonValue
    match pending.arguments:
        case []:
            arguments = pending.named
        case [Mapping() as only] if not pending.named:
            arguments = only
        case _:
            words = f"{pending.function} takes its arguments by their names"
            return Raised(words, "TypeError")
    return RequestedCall(pending.number, functions[pending.function], arguments)


def _by_name(pending: Pending) -> RequestedCall | Raised:
    given = dict(zip(("tool", "arguments"), pending.arguments, strict=False))
    if len(pending.arguments) > 2 or given.keys() & pending.named.keys():
        return Raised("call takes a tool and its arguments", "TypeError")
    match {"arguments": {}, **given, **pending.named}:
        case {"tool": str(tool), "arguments": Mapping() as arguments, **rest} if not rest:
            return _parsed(pending.number, tool, arguments)
        case _:
            words = 'call takes the name of a tool and an object: call("server.tool", {…})'
            return Raised(words, "TypeError")


def _parsed(number: int, tool: str, arguments: JsonObject) -> RequestedCall | Raised:
    try:
        return RequestedCall(number, ToolRef.parse(tool), arguments)
    except InvalidToolRef as error:
        return Raised(str(error), "ValueError")


def _words(code: str) -> set[str]:
    """As Python reads names: two spellings of a letter are one."""
    return set(_WORD.findall(unicodedata.normalize("NFKC", code)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A program as it was begun; its functions are what they were then."""

    code: str
    inputs: JsonObject
    functions: Mapping[str, ToolRef]
    by_name: bool = False
    """Whether it has `call` too."""

    def as_json(self) -> JsonObject:
        return {
            "code": self.code,
            "inputs": self.inputs,
            "functions": {name: str(ref) for name, ref in self.functions.items()},
            "by_name": self.by_name,
        }


def source_from(kept: JsonValue) -> Source:
    """As `as_json` wrote it."""
    match kept:
        case {
            "code": str(code),
            "inputs": Mapping() as inputs,
            "functions": Mapping() as functions,
            "by_name": bool(by_name),
        }:
            named = {name: ToolRef.parse(str(ref)) for name, ref in functions.items()}
            return Source(code=code, inputs=inputs, functions=named, by_name=by_name)
        case _:
            raise AssertionError("That is no program.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnState:
    snapshot: bytes | None = None
    """Where it goes on from, while it waits."""
    wanted: Sequence[RequestedCall] = ()
    """The calls that it waits for and no turn before did."""
    printed: str = ""
    """In this turn; of the last one, in all."""
    result: JsonValue = None
    error: str | None = None

    def as_json(self) -> JsonObject:
        snapshot = None if self.snapshot is None else b64encode(self.snapshot).decode()
        return {
            "snapshot": snapshot,
            "wanted": [[each.number, str(each.ref), each.arguments] for each in self.wanted],
            "printed": self.printed,
            "result": self.result,
            "error": self.error,
        }


def left_from(kept: JsonValue) -> TurnState:
    """As `as_json` wrote it."""
    match kept:
        case {
            "snapshot": str() | None as snapshot,
            "wanted": [*wanted],
            "printed": str(printed),
            "result": result,
            "error": str() | None as error,
        }:
            return TurnState(
                snapshot=None if snapshot is None else b64decode(snapshot),
                wanted=[_wanted(each) for each in wanted],  # ty: ignore[invalid-argument-type] # JSON
                printed=printed,
                result=result,  # ty: ignore[invalid-argument-type] # JSON
                error=error,
            )
        case _:
            raise AssertionError("That is nothing that a turn left.")


def _wanted(kept: JsonValue) -> RequestedCall:
    match kept:
        case [int(number), str(ref), Mapping() as arguments]:
            return RequestedCall(number, ToolRef.parse(ref), arguments)
        case _:
            raise AssertionError("That is no call.")


PROGRAM: Final = "program"
"""The kind of its run."""
LONGEST_CODE: Final = 100_000
"""Characters."""
_LARGEST_INPUTS: Final = 1_000_000
"""Bytes."""


class ProgramMode(StrEnum):
    AUTO = "auto"
    """Inline if all that it names only reads, else durable."""
    INLINE = "inline"
    """In this process, in memory: for reads, and gone with the process."""
    DURABLE = "durable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSpec:
    code: str
    inputs: JsonObject = field(default_factory=dict)
    """Values that it finds in variables of these names."""
    mode: ProgramMode = ProgramMode.AUTO
    key: str | None = None
    """The same key, the same run."""
    label: Label | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramLimits:
    seconds: float = 10.0
    """Of its own work, all turns together."""
    whole_seconds: float = 300.0
    """With what it waits for its calls, and without what those wait for people."""
    memory: int = 64_000_000
    depth: int = 200
    calls: int = 1_000
    output: int = 1_000_000
    """Bytes that it may print, and bytes of its result."""
    at_once: int = 32
    """Calls."""
    stored: int = 200_000_000
    """Bytes of what is written down of it while it waits, all turns together."""

    def for_turn(self, whole_left: float) -> CodeLimits:
        return CodeLimits(
            seconds=self.seconds,
            whole_seconds=max(whole_left, 0.001),
            memory=self.memory,
            depth=self.depth,
            calls=self.calls,
            output=self.output,
        )


def check(wish: ProgramSpec) -> ProgramSpec:
    """The same, if it can be begun. Raises `InvalidProgram`, and `NotCanonical` for inputs that are
    no JSON."""
    if not wish.code.strip():
        raise InvalidProgram("it is empty")
    if len(wish.code) > LONGEST_CODE:
        raise InvalidProgram(f"it is longer than {LONGEST_CODE:,} characters")
    if bad := [name for name in wish.inputs if not _variable(name)]:
        raise InvalidProgram(f"no variable can be called {bad[0][:80]!r}")
    if len(canonical(wish.inputs)) > _LARGEST_INPUTS:
        raise InvalidProgram(f"its inputs are larger than {_LARGEST_INPUTS:,} bytes")
    return wish


def _variable(name: str) -> bool:
    return name.isascii() and name.isidentifier() and "__" not in name and name != "call"


_KINDS: Final[Mapping[str, str]] = {
    "bad_arguments": "ValueError",
    "bad_tool_ref": "ValueError",
    "not_canonical": "ValueError",
    "tool_not_found": "LookupError",
    "server_not_found": "LookupError",
    "upstream_timed_out": "TimeoutError",
    "refused": "PermissionError",
    "not_permitted": "PermissionError",
    "key_ended": "PermissionError",
    "not_inline": "PermissionError",
    "approval_pending": "PermissionError",
    "approval_rejected": "PermissionError",
    "approval_over": "PermissionError",
    "tool_quarantined": "PermissionError",
    "server_disabled": "PermissionError",
    "server_gone": "PermissionError",
    "server_not_approved": "PermissionError",
}
_LONGEST: Final = 2_000


def value_of(document: JsonObject) -> JsonValue:
    """`json` if it has any, else its text."""
    return document_value(document)


def failed(message: str, code: str | None, document: JsonObject | None) -> Raised:
    """In the tool's own words, if it has said any."""
    own = None if document is None else document.get("text")
    words = own if isinstance(own, str) and own else message
    return Raised(words[:_LONGEST], _KINDS.get(code or "", "RuntimeError"))


def left_out(why: str) -> Raised:
    return Raised(f"not called: {why}"[:_LONGEST])


# A turn: the interpreter went on from what its calls gave, to its end or to where it waits.
#
# What the journal has of it is how it ended, how much it used, and which calls of which tools it
# waits for; the program itself and whatever it said are kept sealed, by the handle.

_PREFIX: Final = "turn-"
_CALL: Final = "call-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    number: int
    end: CodeEnd
    stored: str = ""
    """The handle of what it left."""
    given: Sequence[int] = ()
    """Which calls' results it was given."""
    calls: Mapping[int, str] = field(default_factory=dict)
    """The calls that it waits for and no turn before did, with the names of their tools."""
    printed: int = 0
    """Characters."""
    whole: float = 0.0
    """Seconds that are counted so far, all turns together."""
    size: int = 0
    """Bytes that were kept so far."""

    @property
    def handle(self) -> ResultId:
        return ResultId.parse(self.stored)

    @property
    def over(self) -> bool:
        return self.end is not CodeEnd.WAITING

    def as_json(self) -> JsonObject:
        return {
            "number": self.number,
            "end": str(self.end),
            "kept": self.stored,
            "given": list(self.given),
            "calls": [[number, tool] for number, tool in self.calls.items()],
            "printed": self.printed,
            "whole": round(self.whole, 3),
            "size": self.size,
        }


def turn_name(number: int) -> str:
    return f"{_PREFIX}{number}"


def call_name(number: int) -> str:
    """Of the step; from one, where the interpreter counts from nought."""
    return f"{_CALL}{number + 1}"


def is_turn(step: str) -> bool:
    return step.startswith(_PREFIX)


def turn_from(noted: JsonValue) -> Turn:
    """As `as_json` wrote it."""
    match noted:
        case {
            "number": int(number),
            "end": str(end),
            "kept": str(kept),
            "given": [*given],
            "calls": [*calls],
            "printed": int(printed),
            "whole": int() | float() as whole,
            "size": int(size),
        }:
            return Turn(
                number=number,
                end=CodeEnd(end),
                stored=kept,
                given=[int(str(each)) for each in given],
                calls=dict(map(_call, calls)),  # ty: ignore[invalid-argument-type] # JSON
                printed=printed,
                whole=whole,
                size=size,
            )
        case _:
            raise AssertionError(noted)


def _call(noted: JsonValue) -> tuple[int, str]:
    match noted:
        case [int(number), str(tool)]:
            return number, tool
        case _:
            raise AssertionError(noted)


ProgramStatus = WorkflowStatus
"""In the same words; a program is never done in part."""
_NOTHING: Final = "(it printed nothing, and gave nothing)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramReport:
    whole: WorkflowReport
    """Its calls are the steps, what it gave the output."""
    end: CodeEnd | None = None
    """Of the program itself; calls that it does not wait for may be under way still."""
    printed: str | None = None
    """So far; None for everybody but its caller."""
    shown: str = ""
    """What a model is shown of what it printed and gave."""
    turns: int = 0
    counted: float = 0.0
    """Seconds, without what was waited for people."""

    @property
    def run(self) -> str:
        return self.whole.run

    @property
    def status(self) -> ProgramStatus:
        return self.whole.status

    @property
    def over(self) -> bool:
        return self.whole.over

    def as_json(self) -> JsonObject:
        return {
            **self.whole.as_json(),
            "kind": "program",
            "printed": self.printed,
            "end": None if self.end is None else str(self.end),
            "turns": self.turns,
            "counted_seconds": round(self.counted, 3),
        }

    def text(self) -> str:
        """What the model sees."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if self.shown:
            yield self.shown
        if self.whole.error is not None:
            yield f"[{self.status}] {self.whole.error.message}"
        elif self.over and not self.shown:
            yield _NOTHING
        yield from map(_waits, self._waiting())
        if not self.over:
            yield standing(self.whole)

    def _waiting(self) -> Sequence[tuple[str, str, str]]:
        states = {StepStatus.WAITING, StepStatus.UNCERTAIN}
        return [
            (step.id, step.tool, f"waits for approval ({step.approval})")
            if step.state is StepStatus.WAITING
            else (step.id, step.tool, f"is uncertain: {step.why}; a person has to say")
            for step in self.whole.steps
            if step.state in states
        ]


def turns_in(journal: Sequence[Step]) -> Sequence[Turn]:
    """Those that were taken, in order."""
    noted = [turn_from(step.output) for step in journal if is_turn(step.name) and step.output]
    return sorted(noted, key=lambda turn: turn.number)


def begun_in(journal: Sequence[Step]) -> Mapping[str, datetime]:
    """By call, when the turn had ended that wanted it: then it is begun."""
    return {
        call_name(number): step.finished_at
        for step in journal
        if is_turn(step.name) and step.output and step.finished_at is not None
        for number in turn_from(step.output).calls
    }


def calls_in(turns: Sequence[Turn]) -> Sequence[OutlinedStep]:
    """What it has called so far, as a plan has steps."""
    return [
        OutlinedStep(call_name(number), tool)
        for turn in turns
        for number, tool in turn.calls.items()
    ]


def taken_in(journal: Sequence[Step]) -> frozenset[str]:
    """The calls of a program of which it knows already how they ended: made again, nobody would be
    told."""
    return frozenset(call_name(number) for turn in turns_in(journal) for number in turn.given)


def _waits(which: tuple[str, str, str]) -> str:
    step, tool, how = which
    return f"[{step} {tool} {how}]"
