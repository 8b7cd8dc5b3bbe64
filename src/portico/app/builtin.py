"""Portico's own tools on their real doors, each of which is opened when it is first used."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from portico.adapters.builtin.files import (
    ListFiles,
    MakeFolder,
    MoveFile,
    Owner,
    ReadFile,
    RemoveFile,
    Workspaces,
    WriteFile,
)
from portico.adapters.builtin.programs import OpenBox, RunCode, Shell
from portico.adapters.builtin.server import BuiltinTools
from portico.adapters.builtin.status import (
    CheckPermission,
    Measures,
    Metrics,
    Models,
    ModelsInfo,
    Notify,
    OwnRuns,
    Tell,
    Weigh,
    WorkflowState,
)
from portico.adapters.builtin.web import Fetch, SendRequest
from portico.app.ground import Ground
from portico.sandbox.core.errors import BoxUnavailable
from portico.sandbox.requests import Files, Interpreter, Web

if TYPE_CHECKING:
    import httpx2

    from portico.adapters.monty.interpreter import MontyInterpreter


@dataclass(slots=True, kw_only=True)
class HouseDoors:
    """Other parts of Portico, each brought as soon as it is put together."""

    models: Models | None = None
    runs: OwnRuns | None = None
    measures: Measures | None = None
    weigh: Weigh | None = None
    tell: Tell | None = None


@dataclass(slots=True)
class BuiltinDoors:
    ground: Ground
    house: HouseDoors = field(default_factory=HouseDoors)
    _client: "httpx2.AsyncClient | None" = None
    _interpreter: "MontyInterpreter | None" = None
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """What was opened meanwhile is closed at the end."""
        try:
            yield
        finally:
            if self._client is not None:
                await self._client.aclose()
            if self._interpreter is not None:
                await self._interpreter.close()

    async def open_web(self) -> Web:
        from portico.adapters.egress.client import GuardedWeb, guarded_client

        async with self._opening:
            if self._client is None:  # in a thread: it reads all certificates that we trust
                allow = self.ground.loaded.settings.web.places
                self._client = await asyncio.to_thread(guarded_client, allow=allow)
        return GuardedWeb(self._client)

    async def open_interpreter(self) -> Interpreter:
        async with self._opening:
            if self._interpreter is None:
                self._interpreter = await asyncio.to_thread(_new_interpreter)
        return self._interpreter


def open_builtin(ground: Ground, doors: BuiltinDoors, open_box: OpenBox) -> BuiltinTools:
    workspaces = Workspaces(ground.loaded.paths.workspaces, _files, owner=_owner(ground))
    house = doors.house
    return BuiltinTools(
        [
            Shell(open_box, workspaces),
            ReadFile(workspaces),
            WriteFile(workspaces),
            ListFiles(workspaces),
            MoveFile(workspaces),
            RemoveFile(workspaces),
            MakeFolder(workspaces),
            Fetch(doors.open_web),
            SendRequest(doors.open_web),
            RunCode(doors.open_interpreter),
            ModelsInfo(lambda: house.models),
            WorkflowState(lambda: house.runs),
            Metrics(lambda: house.measures),
            CheckPermission(lambda: house.weigh),
            Notify(lambda: house.tell),
        ]
    )


def _files(folder: Path) -> Files:
    from portico.adapters.confined_files import FolderFiles

    return FolderFiles(folder)


def _new_interpreter() -> "MontyInterpreter":
    from portico.adapters.monty.interpreter import MontyInterpreter

    return MontyInterpreter()


def _owner(ground: Ground) -> Owner | None:
    """Whoever things in the box run as, if that is not us."""
    from portico.adapters.sandbox.runner import account_for

    try:
        account = account_for(ground.loaded.settings.box.run_as)
    except BoxUnavailable:
        return None
    return Owner(account.uid, account.gid) if account.switch else None
