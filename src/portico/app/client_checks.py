"""Whether the programs that were given Portico can still start it."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from portico.app.client_files import client_files
from portico.app.ground import Ground
from portico.engine.core.store import Finding, State


@dataclass(frozen=True, slots=True)
class CheckClients:
    ground: Ground

    async def __call__(self, *, mend: bool) -> Sequence[Finding]:  # noqa: ARG002 # the files are theirs
        entries = client_files(self.ground).ours(Path.cwd())
        lost = [(client, file, command) for client, file, command in entries if _is_lost(command)]
        if not lost:
            detail = f"{len(entries)} know of Portico"
            return [Finding(check="clients", state=State.GOOD, detail=detail)]
        here = shutil.which("portico") or "the path of portico"
        return [
            Finding(
                check="clients",
                state=State.BROKEN,
                detail=f"{client} starts {command}, which is not there",
                fix=f"In {file} write as its command: {here}",
            )
            for client, file, command in lost
        ]


def _is_lost(command: str) -> bool:
    return shutil.which(command) is None
