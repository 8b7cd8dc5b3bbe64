"""Portico's own tools on doors in memory, and callers that use them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

from portico.adapters.builtin.files import (
    ListFiles,
    MakeFolder,
    MoveFile,
    ReadFile,
    RemoveFile,
    Workspaces,
    WriteFile,
)
from portico.adapters.builtin.programs import RunCode, Shell
from portico.adapters.builtin.server import LAUNCH, BuiltinTools
from portico.adapters.builtin.status import (
    CheckPermission,
    Measures,
    Metrics,
    ModelsInfo,
    Notify,
    WorkflowState,
)
from portico.adapters.builtin.tool import BuiltinTool
from portico.adapters.builtin.web import Fetch, SendRequest
from portico.adapters.json_schema import JsonSchemaCheck
from portico.agents.core.model_requests import ModelInfo
from portico.app.gateway import InternalParts
from portico.engine.core.errors import RunNotFound
from portico.gateway.core.calls import CallStats, OnBehalf, ToolResult, UpstreamTarget
from portico.gateway.core.pins import launch_pin
from portico.gateway.policy_targets import Weighed
from portico.guard.core.access_request import ActionTarget, Allowed
from portico.kernel.effect import Effect
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal
from portico.sandbox.core.errors import SandboxUnavailable
from portico.sandbox.requests import Files, Interpreter, Sandbox, Web
from portico.testing.guard import a_person
from portico.testing.sandbox import MemoryFiles, ScriptedInterpreter, ScriptedSandbox, ScriptedWeb
from portico.workflows.run_queries import OwnRun

ANA, BEN = a_person("ana"), a_person("ben")
SECONDS = timedelta(seconds=30)
NOTHING_CALLED = CallStats("read", 0, 0, timedelta(), timedelta(), timedelta(), None)


def target(caller: Principal = ANA, server: str = "builtin") -> UpstreamTarget:
    return UpstreamTarget(
        space=caller.space,
        server=server,
        launch=LAUNCH,
        launch_pin=launch_pin(LAUNCH),
        caller=caller.id,
        acting=OnBehalf(caller),
    )


def scripted_house() -> InternalParts:
    """There is nobody and nothing in it yet."""
    return InternalParts(
        models=no_models,
        runs=ScriptedRuns(),
        measures=Measures(metrics=no_figures),
        weigh=weigh_nothing,
        tell=told_to_all,
    )


async def no_models(_caller: Principal) -> Sequence[ModelInfo]:
    return []


async def no_figures(
    _caller: Principal, *, server: str | None = None, within: timedelta
) -> Sequence[CallStats]:
    assert within
    return [] if server is None else [NOTHING_CALLED]


async def weigh_nothing(
    _caller: Principal, tool: str, arguments: JsonObject | None = None
) -> Weighed:
    aim = ActionTarget(tool=tool, server="files", effect=Effect.PURE, pin="p")
    return Weighed(target=aim, decision=Allowed("default:reads", f"it only reads {arguments}"))


async def told_to_all(_caller: Principal, _title: str, _text: str) -> Label:
    return PUBLIC


@dataclass
class ScriptedRuns:
    runs: Sequence[OwnRun] = ()

    async def latest(self, caller: Principal, *, limit: int) -> Sequence[OwnRun]:
        return self.runs[:limit]

    async def one(self, caller: Principal, run: RunId) -> OwnRun:
        for each in self.runs:
            if each.id == run:
                return each
        raise RunNotFound(str(run))


def every_tool(
    box: Sandbox | None,
    web: Web,
    interpreter: Interpreter,
    workspaces: Workspaces,
    house: InternalParts | None = None,
) -> list[BuiltinTool]:
    about = house or scripted_house()

    async def open_box() -> Sandbox:
        if box is None:
            raise SandboxUnavailable("there are no user namespaces", fix="Install bubblewrap.")
        return box

    async def open_web() -> Web:
        return web

    async def open_interpreter() -> Interpreter:
        return interpreter

    return [
        Shell(open_box, workspaces),
        ReadFile(workspaces),
        WriteFile(workspaces),
        ListFiles(workspaces),
        MoveFile(workspaces),
        RemoveFile(workspaces),
        MakeFolder(workspaces),
        Fetch(open_web),
        SendRequest(open_web),
        RunCode(open_interpreter),
        ModelsInfo(lambda: about.models),
        WorkflowState(lambda: about.runs),
        Metrics(lambda: about.measures),
        CheckPermission(lambda: about.weigh),
        Notify(lambda: about.tell),
    ]


@dataclass
class Bench:
    root: Path
    box: ScriptedSandbox | None = field(default_factory=ScriptedSandbox)
    web: ScriptedWeb = field(default_factory=ScriptedWeb)
    interpreter: ScriptedInterpreter = field(default_factory=ScriptedInterpreter)
    largest: int = 1_000_000
    folders: dict[Path, MemoryFiles] = field(default_factory=dict)
    house: InternalParts = field(default_factory=scripted_house)

    def __post_init__(self) -> None:
        self.workspaces = Workspaces(self.root, self._open, largest=self.largest)
        tools = every_tool(self.box, self.web, self.interpreter, self.workspaces, self.house)
        self.tools = BuiltinTools(tools)
        self.schemas = {
            str(each["name"]): each for each in (tool.offered.definition for tool in tools)
        }

    def _open(self, folder: Path) -> Files:
        return self.folders.setdefault(folder, MemoryFiles())

    async def __call__(
        self, tool: str, by: Principal = ANA, /, **arguments: JsonValue
    ) -> ToolResult:
        """As the gateway does: what is given fits the schema; and what comes back fits too."""
        check = JsonSchemaCheck()
        said = self.schemas[tool]
        assert check.field_errors(cast("JsonObject", said["inputSchema"]), arguments) == []
        answer = await self.tools.call(target(by), tool, arguments, timeout=SECONDS)
        if not answer.failed:
            assert check.field_errors(cast("JsonObject", said["outputSchema"]), facts(answer)) == []
        return answer


def facts(answer: ToolResult) -> Mapping[str, Any]:
    assert isinstance(answer.structured, Mapping)
    return answer.structured


def words(answer: ToolResult) -> str:
    [block] = answer.content
    return str(block["text"])
