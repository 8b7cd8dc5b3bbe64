"""The whole of what a launcher is told."""

import marshal
import platform
from dataclasses import dataclass
from typing import Final

from portico.adapters.sandbox.account import Account
from portico.adapters.sandbox.landlock_rules import Rules
from portico.adapters.sandbox.network import Opening
from portico.adapters.sandbox.seccomp import Filter
from portico.sandbox.core.errors import BoxUnavailable
from portico.sandbox.core.profile import Limits, Order

_FORMAT: Final = 2
"""One that each Python reads, whichever it is that runs the launcher."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    order: Order
    environment: dict[str, str]
    folder: str
    limits: Limits
    others: int
    """Processes that the account has besides; they count against its limit."""
    account: Account
    rules: Rules
    filter: Filter
    openings: tuple[Opening, ...] = ()

    def told(self) -> bytes:
        """Raises `BoxUnavailable`."""
        words = {
            "guarded": not self.filter.namespaces,
            "listeners": [[each.host, each.port] for each in self.openings],
            "limits": self._limits,
            "account": [self.account.uid, self.account.gid] if self.account.switch else None,
            "landlock": self.rules.told(),
            "seccomp": self._program(),
            "folder": self.folder,
            "program": self.order.program,
            "command": [self.order.program, *self.order.arguments],
            "environment": self.environment,
        }
        return marshal.dumps(words, _FORMAT)

    @property
    def _limits(self) -> dict[str, int]:
        """Of memory the data alone: some programs reserve terabytes that they never touch."""
        return {
            "RLIMIT_DATA": self.limits.memory,
            "RLIMIT_NPROC": self.others + self.limits.processes,
            "RLIMIT_FSIZE": self.limits.file_size,
            "RLIMIT_NOFILE": self.limits.open_files,
            "RLIMIT_CORE": 1,  # at 0 a program outside, run as root, may still be given it
            "RLIMIT_MSGQUEUE": 0,
        }

    def _program(self) -> bytes:
        machine = platform.machine()
        try:
            return self.filter.program(machine)
        except KeyError:
            reason = f"we do not know the system calls of a {machine}"
            raise BoxUnavailable(reason, fix="Use x86_64 or aarch64.") from None
