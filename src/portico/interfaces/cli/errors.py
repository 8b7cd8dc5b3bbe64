"""Errors of the command line, and exit codes."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

from portico.kernel.errors import Kind, PorticoError
from portico.kernel.redaction import blacked_out

_ENDED: Final = {
    "failed": "failed",
    "cancelled": "was cancelled",
    "stuck": "is stuck",
    "exhausted": "reached a limit",
}
_SAID_NO: Final = "approval_rejected"


class InvalidUsage(PorticoError):
    """Options that do not go together, or too few of them."""

    kind = Kind.INVALID
    code = "bad_usage"
    type_name = "BadUsage"
    title = "Not said right"


class FileInTheWay(PorticoError):
    kind = Kind.CONFLICT
    code = "file_exists"
    title = "There is such a file already"
    fix = "Name another file, or say that it may go: --replace"

    def __init__(self, file: Path, *, fix: str | None = None) -> None:
        super().__init__(f"{file} exists, and is left as it is.", fix=fix)


class ServerNotStarted(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "server_not_started"
    title = "The server did not start"
    fix = "See why: portico serve, or: portico doctor"

    def __init__(self, said: Sequence[str]) -> None:
        super().__init__(
            "It said: " + " ".join(map(str.strip, said)) if said else "It said nothing."
        )


class DemoElsewhere(PorticoError):
    kind = Kind.CONFLICT
    code = "demo_elsewhere"
    title = "The demo is for this machine's own server"
    fix = "Talk to this machine's server again: portico config unset client.server"

    def __init__(self, server: str) -> None:
        super().__init__(f"Commands here talk to {server}, which cannot start our sample servers.")


class ConfirmationRequired(PorticoError):
    kind = Kind.DENIED
    code = "needs_yes"
    type_name = "NeedsYes"
    title = "Nothing was changed"
    fix = "To do it without being asked: --yes"

    def __init__(self, question: str, *, so_far: str | None = None, fix: str | None = None) -> None:
        """`so_far` says what was changed before this was asked."""
        super().__init__(f"{question} Nobody said yes.{f' {so_far}' if so_far else ''}", fix=fix)
        if so_far:
            self.title = "Nothing more was changed"


class NeedsTerminal(PorticoError):
    kind = Kind.DENIED
    code = "needs_terminal"
    title = "A person has to do this"

    def __init__(self, act: str) -> None:
        super().__init__(
            f"To {act} a request takes a person at a terminal, and there is none here.",
            fix=f"In a terminal of your own: portico approvals {act} …",
        )


class ApprovalNeeded(PorticoError):
    """A call waits for somebody's yes, and whoever made it does not wait with it."""

    kind = Kind.CONFLICT
    code = "approval_needed"
    title = "Waiting for approval"

    def __init__(self, tool: str, approval: str) -> None:
        super().__init__(
            f"{tool} waits for somebody to approve it, as {approval}.",
            fix="Somebody else says yes to it (portico approvals watch), then make the same call "
            "again, or wait for it with --wait. Nobody answers their own; an admin can let it "
            f"through for good: portico policy allow {tool} --who NAME, with --tainted if the task "
            f"has read what strangers wrote (portico approvals show {approval[-6:]} says so).",
        )
        self.approval = approval


class RunNotDone(PorticoError):
    kind = Kind.CONFLICT
    code = "run_not_done"
    title = "The run was not done"

    def __init__(self, run: str, status: str, reason: str | None) -> None:
        told = f"It is {status}: {reason}" if reason else f"It is {status}."
        super().__init__(blacked_out(told), fix=f"See its steps: portico runs show {run[-6:]}")


_ENDED_ITSELF: Final = "program_failed"
"""What a program raised it would raise again."""


class WorkflowNotDone(PorticoError):
    kind = Kind.CONFLICT
    code = "workflow_not_done"
    title = "The workflow was not done"

    def __init__(self, run: str, status: str, error: Mapping[str, Any] | None) -> None:
        """`error` is what the server says of it: code, message, and of which step."""
        where = f" at {error['step']}" if error and error.get("step") else ""
        reason = f": {error['message']}" if error else "."
        fix = f"See its steps: portico workflows show {run[-6:]}"
        if not error or error.get("code") != _ENDED_ITSELF:
            fix += f"; to go on where it was: portico workflows resume {run[-6:]}"
        told = f"It {_ENDED.get(status, f'is {status}')}{where}{reason}"
        super().__init__(blacked_out(told), fix=fix)
        if error and error.get("code") == _SAID_NO:
            self.code, self.title = _SAID_NO, "Somebody said no to the workflow"


class WorkflowWaits(PorticoError):
    """It needs somebody, and whoever started it does not wait with it."""

    kind = Kind.CONFLICT
    code = "workflow_waits"
    title = "The workflow waits for somebody"

    def __init__(self, run: str, requests: Sequence[str], unsure: Sequence[str]) -> None:
        asked = [f"approval of {each}" for each in requests]
        asked += [f"what became of {each}" for each in unsure]
        fixes = ["somebody else says yes: portico approvals watch"] if requests else []
        fixes += [f"portico workflows resolve {run[-6:]} {each}" for each in unsure[:1]]
        super().__init__(
            f"It waits for {', '.join(asked[:4]) or 'an answer'}, and goes on by itself then.",
            fix="; ".join([*fixes, f"to wait with it: portico run --attach {run[-6:]} --wait"]),
        )


class AgentNotDone(PorticoError):
    kind = Kind.CONFLICT
    code = "agent_not_done"
    title = "The agent was not done"

    def __init__(self, run: str, ended: Mapping[str, Any] | None) -> None:
        """`ended` is what the server says of its end."""
        see = f"See what it did: portico agents trace {run[-6:]}"
        if ended is None:
            super().__init__("Nobody knows how it ended.", fix=see)
            return
        reason = f": {ended['error']}" if ended.get("error") else "."
        fix, status = ended.get("fix") or see, str(ended["status"])
        super().__init__(
            blacked_out(f"The run {_ENDED.get(status, status)}{reason}"), fix=blacked_out(fix)
        )
        if status == "exhausted":
            self.kind = Kind.EXHAUSTED
        if ended.get("error_code"):
            self.code = str(ended["error_code"])


class ModelDoesNotAnswer(PorticoError):
    """It was tried, and what it did was told already."""

    kind = Kind.UNAVAILABLE
    code = "model_does_not_answer"
    title = "The model does not answer"

    def __init__(self, model: str, problem: str | None, fix: str | None) -> None:
        super().__init__(blacked_out(problem or f"{model} says nothing."), fix=fix)


class AgentWaits(PorticoError):
    """It needs somebody, and whoever asked it does not wait with it."""

    kind = Kind.CONFLICT
    code = "agent_waits"
    title = "The agent waits for somebody"

    def __init__(self, run: str, tool: str, approval: str) -> None:
        short = approval[-6:]
        super().__init__(
            f"{tool} has to be approved, and the run goes on by itself then.",
            fix=f"At a terminal: portico approvals approve {short}, or portico approvals watch; "
            f"what comes of it: portico agents trace {run[-6:]}. To wait for it: --wait",
        )
        self.run, self.tool, self.approval = run, tool, approval


class SystemRefused(PorticoError):
    """The operating system did not let us: no such file, not permitted, no space left."""

    kind = Kind.UNAVAILABLE
    code = "system_refused"
    title = "The system said no"
    fix = "See that the path is right, that you may use it, and that there is space left."

    def __init__(self, error: OSError) -> None:
        reason = error.strerror or str(error) or type(error).__name__
        where = f"{error.filename}: " if error.filename else ""
        super().__init__(blacked_out(f"{where}{reason}."))


class InternalFailure(PorticoError):
    """A mistake in Portico itself."""

    kind = Kind.UNAVAILABLE
    code = "internal_error"
    type_name = "Broken"
    title = "Something broke"
    fix = "Run again with --debug, and please report it."

    def __init__(self, error: Exception) -> None:
        told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        super().__init__(blacked_out(told))


class Exit(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    CONFIG = 3
    NOT_RUNNING = 4
    DENIED = 5
    APPROVAL = 6
    BUDGET = 7
    PARTIAL = 8
    UNDECIDED = 9
    SKIPPED = 77
    INTERRUPTED = 130


_BY_KIND: Final[Mapping[Kind, Exit]] = {
    Kind.INVALID: Exit.USAGE,
    Kind.DENIED: Exit.DENIED,
    Kind.NOT_FOUND: Exit.FAILED,
    Kind.CONFLICT: Exit.FAILED,
    Kind.EXHAUSTED: Exit.BUDGET,
    Kind.UNAVAILABLE: Exit.NOT_RUNNING,
}
_BY_CODE: Final[Mapping[str, Exit]] = {
    "invalid_settings": Exit.CONFIG,
    "unreadable_settings": Exit.CONFIG,
    "store_refused": Exit.CONFIG,
    "otlp_exporter_missing": Exit.CONFIG,
    "backup_failed": Exit.FAILED,
    "upgrade_failed": Exit.FAILED,
    "system_refused": Exit.FAILED,
    "internal_error": Exit.FAILED,
    "needs_yes": Exit.APPROVAL,
    "needs_terminal": Exit.APPROVAL,
    "approval_needed": Exit.APPROVAL,
    "approval_pending": Exit.APPROVAL,
    "approval_rejected": Exit.APPROVAL,
    "workflow_waits": Exit.APPROVAL,
    "agent_waits": Exit.APPROVAL,
}


def exit_for(error: PorticoError) -> Exit:
    return _BY_CODE.get(error.code, _BY_KIND[error.kind])


def nobody_reads() -> Exit:
    """What is still to be written goes nowhere, else Python complains of it at its end."""
    with suppress(OSError):  # it may be no file at all
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Exit.OK
