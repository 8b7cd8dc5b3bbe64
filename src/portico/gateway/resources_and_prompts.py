"""Pass resources and prompts through."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from portico.gateway.calls import RecordCall
from portico.gateway.catalog import Catalogs
from portico.gateway.core.calls import CallOutcome, UpstreamTarget, aim_beside
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import OfferNotFound, ToolQuarantined
from portico.gateway.core.resources_and_prompts import (
    Offers,
    offers_of,
    together,
    whose_prompt,
    whose_uri,
)
from portico.gateway.core.servers import Server
from portico.gateway.ports import ClientChannel, Upstreams
from portico.guard.core.access_request import AccessRequest, Action, NeedsApproval
from portico.guard.core.errors import Refused
from portico.guard.core.principals import Scope
from portico.guard.policy_gate import Gate
from portico.guard.principals import require_scope
from portico.kernel.json import JsonObject, canonical
from portico.kernel.principal import Principal

NAMES = {
    Action.READ_RESOURCE: "~resource",
    Action.GET_PROMPT: "~prompt",
    Action.COMPLETE: "~completion",
}
"""What rules and lists of tools call them, behind the name of their server: with a mark that no
name of a tool can have, so that no rule about the one is about the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRequest:
    action: Action
    arguments: JsonObject
    make: Callable[[UpstreamTarget], Awaitable[JsonObject]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideTools:
    catalogues: Catalogs
    gate: Gate
    record: RecordCall
    timeout: timedelta

    async def server(self, caller: Principal, name: str, action: Action) -> Server:
        """Raises `NotPermitted`, `ServerNotFound`, `ServerDisabled`, `ServerNotApproved`."""
        with self.gate.in_front(caller, action, str(ToolRef(name, NAMES[action]))):
            require_scope(caller, Scope.TOOLS_CALL)
            return (await self.catalogues.current(caller)).server(name)

    async def __call__(
        self, caller: Principal, server: Server, asked: ResourceRequest
    ) -> JsonObject:
        """Nobody is asked to approve one of these: what would need it is refused. Raises
        `Refused`, `LimitReached`, and as a call does."""
        aim = aim_beside(server, NAMES[asked.action])
        act = AccessRequest(
            caller=caller, action=asked.action, target=aim, arguments=asked.arguments
        )
        decision = await self.gate(act)
        if isinstance(decision, NeedsApproval):
            raise Refused(aim.tool, decision.rule, decision.reason, who=caller.name, key=caller.key)
        await self.gate.taint_context(caller, aim)
        call = await self.record.record_start(act, self.timeout)
        return await self.record.end(act, call, self._made(act, asked), _told)

    async def _made(self, act: AccessRequest, asked: ResourceRequest) -> JsonObject:
        """Of the server as it was decided about, and as it is now."""
        now = await self.server(act.caller, act.target.server, asked.action)
        if aim_beside(now, NAMES[asked.action]) != act.target:
            raise ToolQuarantined(act.target.tool, now.name)
        links = act.caller.may(Scope.TOOLS_WRITE)
        return await asked.make(
            UpstreamTarget.of(act.caller.space, now, act.caller.id, links=links)
        )


def _told(answer: JsonObject) -> tuple[CallOutcome, int]:
    return CallOutcome.DONE, len(canonical(answer))


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffers:
    catalogues: Catalogs

    async def __call__(self, caller: Principal, server: str | None = None) -> Offers:
        """Of every server, told apart; of one, under its own names. Asks none of them.

        Raises `ServerNotFound`, `ServerDisabled`, `ServerNotApproved`."""
        require_scope(caller, Scope.TOOLS_READ)
        shelf = await self.catalogues.current(caller)
        if server is not None:
            return offers_of(shelf.server(server))
        usable = sorted((its.name, its) for its in shelf.servers.values() if its.approved)
        return together({name: offers_of(its) for name, its in usable})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResource:
    beside: BesideTools
    upstreams: Upstreams

    async def __call__(
        self,
        caller: Principal,
        uri: str,
        *,
        server: str | None = None,
        line: ClientChannel | None = None,
    ) -> JsonObject:
        """Also one that is not listed: a template, or what a tool's answer pointed to. With a
        server, `uri` is that server's own. Raises `OfferNotFound`, and as a call does."""
        name, inner = whose_uri(uri) if server is None else (server, uri)
        found = await self.beside.server(caller, name, Action.READ_RESOURCE)
        make = partial(self._make, uri=inner, line=line)
        asked = ResourceRequest(action=Action.READ_RESOURCE, arguments={"uri": inner}, make=make)
        return await self.beside(caller, found, asked)

    async def _make(
        self, target: UpstreamTarget, *, uri: str, line: ClientChannel | None
    ) -> JsonObject:
        timeout = self.beside.timeout
        return await self.upstreams.read_resource(target, uri, timeout=timeout, line=line)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetPrompt:
    beside: BesideTools
    upstreams: Upstreams

    async def __call__(
        self,
        caller: Principal,
        name: str,
        arguments: Mapping[str, str],
        *,
        server: str | None = None,
        line: ClientChannel | None = None,
    ) -> JsonObject:
        """Raises `OfferNotFound`, and as a call does."""
        whose, inner = whose_prompt(name) if server is None else (server, name)
        found = await self.beside.server(caller, whose, Action.GET_PROMPT)
        if all(prompt.get("name") != inner for prompt in offers_of(found).prompts):
            raise OfferNotFound("prompt", name)
        make = partial(self._make, name=inner, arguments=arguments, line=line)
        given: JsonObject = {"name": inner, "arguments": dict(arguments)}
        asked = ResourceRequest(action=Action.GET_PROMPT, arguments=given, make=make)
        return await self.beside(caller, found, asked)

    async def _make(
        self,
        target: UpstreamTarget,
        *,
        name: str,
        arguments: Mapping[str, str],
        line: ClientChannel | None,
    ) -> JsonObject:
        return await self.upstreams.get_prompt(
            target, name, arguments, timeout=self.beside.timeout, line=line
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Complete:
    beside: BesideTools
    upstreams: Upstreams

    async def __call__(
        self, caller: Principal, params: JsonObject, *, server: str | None = None
    ) -> JsonObject:
        """`params` in the protocol's own form; without a server its reference is under our
        names. Raises `OfferNotFound`, and as a call does."""
        whose, inner = _reference(params) if server is None else (server, params)
        found = await self.beside.server(caller, whose, Action.COMPLETE)
        make = partial(self._make, params=inner)
        asked = ResourceRequest(action=Action.COMPLETE, arguments=inner, make=make)
        return await self.beside(caller, found, asked)

    async def _make(self, target: UpstreamTarget, *, params: JsonObject) -> JsonObject:
        return await self.upstreams.complete(target, params, timeout=self.beside.timeout)


def _reference(params: JsonObject) -> tuple[str, JsonObject]:
    ref = params.get("ref")
    if not isinstance(ref, Mapping):
        raise OfferNotFound("prompt", "")
    if isinstance(uri := ref.get("uri"), str):
        server, inner = whose_uri(uri)
        return server, {**params, "ref": {**ref, "uri": inner}}
    server, inner = whose_prompt(str(ref.get("name")))
    return server, {**params, "ref": {**ref, "name": inner}}
