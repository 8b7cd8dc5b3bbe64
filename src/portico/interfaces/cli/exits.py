"""From a kind of failure to an exit code. The only place that knows them."""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from enum import IntEnum
from typing import Final

from portico.kernel.errors import Kind, PorticoError


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
