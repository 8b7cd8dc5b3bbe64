"""Check an agent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from portico.agents.core.agent_checks import ValidationContext, flaws, warnings
from portico.agents.core.agents import AgentSpec, ToolMode, read_spec
from portico.agents.core.errors import (
    InvalidAgent,
    InvalidModelRef,
    ModelKeyMissing,
    ModelNotFound,
    ModelUnavailable,
    ProviderNotFound,
)
from portico.agents.core.model_requests import ModelInfo, ModelRef, Support
from portico.agents.ports import ModelRegistry, ToolNames
from portico.guard.core.principals import Scope
from portico.guard.ports import Contexts
from portico.guard.principals import require_scope
from portico.kernel.errors import FieldError
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckAgent:
    book: ModelRegistry
    tools: ToolNames
    contexts: Contexts

    async def __call__(self, caller: Principal, spec: AgentSpec) -> Sequence[FieldError]:
        """None, if the caller could make it. Raises `NotPermitted`."""
        _permit(caller)
        known = ValidationContext(
            amiss=await self._amiss(caller, spec),
            tools=await self.tools.names(caller),
            servers=await self.tools.servers(caller),
            clearance=caller.clearance,
            task=(await self.contexts.get(caller)).label,
            lists=caller.tools,
        )
        return flaws(spec, known)

    async def written(self, caller: Principal, given: JsonObject) -> Sequence[FieldError]:
        """Also of what cannot be understood; that is not told of twice. Raises `NotPermitted`."""
        spec, unread = read_spec(given)
        fields = {flaw.field for flaw in unread}
        found = await self(caller, spec)
        return [*unread, *(flaw for flaw in found if flaw.field not in fields)]

    async def read(self, caller: Principal, given: JsonObject) -> AgentSpec:
        """Raises `NotPermitted`, and `InvalidAgent` with all that is wrong if any of it cannot be
        understood; what can be is looked at where it is made."""
        spec, unread = read_spec(given)
        if unread:
            raise InvalidAgent(spec.name, await self.written(caller, given))
        return spec

    async def warnings(self, caller: Principal, spec: AgentSpec) -> Sequence[FieldError]:
        """What does not keep it from being made. Raises `NotPermitted`."""
        _permit(caller)
        return warnings(spec, await self.tools.names(caller))

    async def _amiss(self, caller: Principal, spec: AgentSpec) -> Mapping[str, str]:
        asked = {model: await self._why(caller, model, spec) for model in _models(spec)}
        return {model: why for model, why in asked.items() if why is not None}

    async def _why(self, caller: Principal, model: str, spec: AgentSpec) -> str | None:
        """A server that does not answer now may do so when it is needed."""
        try:
            found = await self.book.get(caller, ModelRef.parse(model))
        except (ProviderNotFound, ModelNotFound) as error:
            return f"is not there: {error}"
        except (InvalidModelRef, ModelUnavailable, ModelKeyMissing):
            return None
        return _unable(found, spec)


def _permit(caller: Principal) -> None:
    """Raises `NotPermitted`."""
    if not caller.may(Scope.AGENTS_WRITE):
        require_scope(caller, Scope.AGENTS_READ)


def _models(spec: AgentSpec) -> Sequence[str]:
    return list(dict.fromkeys([spec.model, *spec.fallbacks]))


def _unable(model: ModelInfo, spec: AgentSpec) -> str | None:
    if not spec.tools or model.tools is not Support.NO:
        return None
    if spec.tool_mode is ToolMode.NATIVE:
        return "cannot call tools by itself: set tool_mode to auto or form, or choose another"
    if model.structured is Support.NO:
        return "can neither call tools nor be held to a form: choose another, or no tools"
    return None
