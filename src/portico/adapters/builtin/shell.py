"""`shell`: a command in the box, in the caller's workspace, without any network."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from portico.adapters.builtin import given
from portico.adapters.builtin.answers import told
from portico.adapters.builtin.tool import Errand, Offered, hints, schema
from portico.adapters.builtin.workspace import Workspace, Workspaces
from portico.gateway.core.calls import Answer
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.sandbox.core.errors import BoxUnavailable
from portico.sandbox.core.profile import Limits, Order
from portico.sandbox.core.requests import End, Outcome
from portico.sandbox.requests import Box

SECONDS: Final = 10.0
OUTPUT: Final = 1_000_000
MEMORY: Final = 512_000_000
SCRATCH: Final = 64_000_000
LONGEST: Final = 30_000
"""Letters of a command: Linux takes 128 KiB in one argument, and a letter can be four bytes."""

AT_ONCE: Final = 8
"""Commands of all callers together; the others wait in line."""

OpenBox = Callable[[], Awaitable[Box]]
"""Tries what this machine can hold, the first time. Raises `BoxUnavailable`."""

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
        except BoxUnavailable as error:
            return f"There is no shell: {error} {error.fix or ''}".rstrip()
        return None

    async def __call__(self, arguments: JsonObject, errand: Errand) -> Answer:
        box, workspace = await self.open_box(), await self.workspaces.of(errand)
        seconds = min(SECONDS, errand.seconds)
        async with self.turns:
            outcome = await box.run(
                _order(given.text(arguments, "command"), workspace),
                await _limits(workspace, seconds),
                given=given.text(arguments, "input").encode(errors="replace"),
            )
        return _answer(outcome, seconds)


def _order(command: str, workspace: Workspace) -> Order:
    return Order(
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
        memory=MEMORY,
        file_size=max(1, await workspace.left()),
        output=OUTPUT,
        scratch=SCRATCH,
    )


def _answer(outcome: Outcome, seconds: float) -> Answer:
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
            size = f"{MEMORY // 1_000_000} MB"
            return f"It was ended when it had {size} of memory.", "Do it in smaller pieces."
        case End.KILLED | End.EXITED:
            return _killed(outcome.code)


def _killed(code: int | None) -> tuple[str, str]:
    number = abs(code or 0)
    if number == signal.SIGXFSZ:
        return "A file grew larger than it may.", "The workspace may be full: remove files."
    return f"It was ended by the signal {number}.", "See what it wrote before."
