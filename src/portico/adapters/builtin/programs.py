"""Built-in tools that run something: `shell` in the sandbox, `run_code` in an interpreter."""

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from portico.adapters.builtin import tool
from portico.adapters.builtin.files import Workspace, Workspaces
from portico.adapters.builtin.tool import Everywhere, Offered, ToolInvocation, hints, schema, told
from portico.gateway.core.calls import ToolResult
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject, JsonValue
from portico.sandbox.core.errors import SandboxUnavailable
from portico.sandbox.core.profile import Limits, SandboxCommand
from portico.sandbox.core.requests import CodeLimits, CodeOutcome, End, Outcome
from portico.sandbox.requests import Interpreter, Sandbox

OpenInterpreter = Callable[[], Awaitable[Interpreter]]

SECONDS: Final = 10.0
MEMORY: Final = 64_000_000

RUN_CODE: Final = Offered(
    {
        "name": "run_code",
        "title": "Run a small Python program",
        "description": (
            "Run a small program in a subset of Python and get the value of its last expression "
            "and what it printed: for arithmetic, texts, dates, sorting, JSON. There are no files, "
            "no network, no classes, no packages; each call begins anew. It may compute for "
            f"{SECONDS:g} seconds and use {MEMORY // 1_000_000} MB."
        ),
        "inputSchema": schema(
            {
                "program": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 100_000,
                    "description": "Its last expression is the result.",
                },
                "inputs": {
                    "type": "object",
                    "maxProperties": 100,
                    "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
                    "description": "Values that the program finds in variables of these names.",
                },
            },
            required=["program"],
        ),
        "outputSchema": schema(
            {
                "result": {"description": "Of the last expression; null if there is none."},
                "printed": {"type": "string"},
            },
            required=["result", "printed"],
        ),
        "annotations": hints(reads=True, again=True),
    },
    Effect.PURE,
)


@dataclass(frozen=True, slots=True)
class RunCode(Everywhere):
    open_interpreter: OpenInterpreter
    offered: ClassVar[Offered] = RUN_CODE

    async def __call__(self, arguments: JsonObject, errand: ToolInvocation) -> ToolResult:
        seconds = min(SECONDS, errand.seconds)
        limits = CodeLimits(seconds=seconds, whole_seconds=errand.seconds, memory=MEMORY)
        interpreter = await self.open_interpreter()
        outcome = await interpreter.run(
            tool.text(arguments, "program"), limits, inputs=_inputs(arguments)
        )
        return _answer(outcome)


def _inputs(arguments: JsonObject) -> Mapping[str, JsonValue]:
    inputs = arguments.get("inputs")
    return inputs if isinstance(inputs, Mapping) else {}


def _answer(outcome: CodeOutcome) -> ToolResult:
    printed = f"printed:\n{outcome.printed}" if outcome.printed else ""
    if outcome.error is None:
        result = json.dumps(outcome.result, ensure_ascii=False)
        words = [f"result: {result}", printed]
        facts: JsonObject = {"result": outcome.result, "printed": outcome.printed}
        return told("\n".join(filter(None, words)), facts)
    fix = "Mend the program; or do less, if it met a limit."
    failure = {
        "code": "program_failed",
        "message": outcome.error,
        "fix": fix,
        "ended_by": str(outcome.end),
        "printed": outcome.printed,
    }
    return told("\n".join(filter(None, [outcome.error, printed])), failure, failed=True)


OUTPUT: Final = 1_000_000
SHELL_MEMORY: Final = 512_000_000
SCRATCH: Final = 64_000_000
LONGEST: Final = 30_000
"""Letters of a command: Linux takes 128 KiB in one argument, and a letter can be four bytes."""

AT_ONCE: Final = 8
"""Commands of all callers together; the others wait in line."""

OpenBox = Callable[[], Awaitable[Sandbox]]
"""Tries what this machine can hold, the first time. Raises `SandboxUnavailable`."""

SHELL: Final = Offered(
    {
        "name": "shell",
        "title": "Run a command",
        "description": (
            "Run a command line with /bin/sh and get its exit code and what it wrote. It runs in a "
            "sandbox: it begins in your workspace, whose files it can read and change, and has the "
            "programs of the system; there is no network, and nothing of any other program or "
            "user. Each call is a new shell: only files in the workspace stay. It is ended after "
            f"{SECONDS:g} seconds, and when it has written {OUTPUT // 1_000_000} MB. An exit code "
            "other than 0 is an answer, not an error."
        ),
        "inputSchema": schema(
            {
                "command": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": LONGEST,
                    "pattern": r"^[^\x00]*$",
                    "description": "As it would be typed, such as `sort names.txt | uniq -c`.",
                },
                "input": {
                    "type": "string",
                    "maxLength": 1_000_000,
                    "description": "What the command finds on its standard input.",
                },
            },
            required=["command"],
        ),
        "outputSchema": schema(
            {
                "exit_code": {
                    "type": ["integer", "null"],
                    "description": "Negative: the number of the signal that ended it.",
                },
                "stdout": {"type": "string"},
                "stderr": {"type": "string"},
                "ended_by": {
                    "enum": [*map(str, End)],
                    "description": "`exited`: by itself. Otherwise what or which limit ended it.",
                },
                "seconds": {"type": "number"},
            },
            required=["exit_code", "stdout", "stderr", "ended_by", "seconds"],
        ),
        "annotations": hints(destroys=True),
    },
    # It cannot leave the box, and the box has no network: all that it can change, and remove, is
    # the workspace of whoever calls it, as the other tools of the workspace can.
    Effect.LOCAL_WRITE,
)


@dataclass(frozen=True, slots=True)
class Shell:
    open_box: OpenBox
    workspaces: Workspaces
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    offered: ClassVar[Offered] = SHELL

    async def lacking(self) -> str | None:
        try:
            await self.open_box()
        except SandboxUnavailable as error:
            return f"There is no shell: {error} {error.fix or ''}".rstrip()
        return None

    async def __call__(self, arguments: JsonObject, errand: ToolInvocation) -> ToolResult:
        box, workspace = await self.open_box(), await self.workspaces.of(errand)
        seconds = min(SECONDS, errand.seconds)
        async with self.turns:
            outcome = await box.run(
                _order(tool.text(arguments, "command"), workspace),
                await _limits(workspace, seconds),
                given=tool.text(arguments, "input").encode(errors="replace"),
            )
        return _shell_answer(outcome, seconds)


def _order(command: str, workspace: Workspace) -> SandboxCommand:
    return SandboxCommand(
        program="/bin/sh",
        arguments=("-c", command),
        environment={
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
        },
        home=str(workspace.folder),
    )


async def _limits(workspace: Workspace, seconds: float) -> Limits:
    """Of a full workspace things can be removed, and nothing be put there."""
    return Limits(
        seconds=seconds,
        memory=SHELL_MEMORY,
        file_size=max(1, await workspace.left()),
        output=OUTPUT,
        scratch=SCRATCH,
    )


def _shell_answer(outcome: Outcome, seconds: float) -> ToolResult:
    facts: JsonObject = {
        "exit_code": outcome.code,
        "stdout": outcome.output.decode(errors="replace"),
        "stderr": outcome.errors.decode(errors="replace"),
        "ended_by": str(outcome.end),
        "seconds": round(outcome.seconds, 3),
    }
    if outcome.end is End.EXITED:
        return told("\n".join([f"exit code {outcome.code}", *_streams(facts)]), facts)
    why, fix = _reason(outcome, seconds)
    failure = {"code": _CODES[outcome.end], "message": why, "fix": fix}
    words = "\n".join([f"{why} {fix}", *_streams(facts)])
    return told(words, {**failure, **facts}, failed=True)


def _streams(facts: JsonObject) -> list[str]:
    return [f"{name}:\n{facts[name]}" for name in ("stdout", "stderr") if facts[name]]


_CODES: Final[Mapping[End, str]] = {
    End.KILLED: "command_killed",
    End.TOO_LONG: "command_too_long",
    End.TOO_LOUD: "command_too_loud",
    End.TOO_LARGE: "command_too_large",
}


def _reason(outcome: Outcome, seconds: float) -> tuple[str, str]:
    match outcome.end:
        case End.TOO_LONG:
            return f"It was ended after {seconds:g} seconds.", "Do less at a time."
        case End.TOO_LOUD:
            size = f"{OUTPUT // 1_000_000} MB"
            return f"It was ended when it had written {size}.", "Write into a file, or less."
        case End.TOO_LARGE:
            size = f"{SHELL_MEMORY // 1_000_000} MB"
            return f"It was ended when it had {size} of memory.", "Do it in smaller pieces."
        case End.KILLED | End.EXITED:
            return _killed(outcome.code)


def _killed(code: int | None) -> tuple[str, str]:
    number = abs(code or 0)
    if number == signal.SIGXFSZ:
        return "A file grew larger than it may.", "The workspace may be full: remove files."
    return f"It was ended by the signal {number}.", "See what it wrote before."
