"""What keeps running ahead safe, taken out one by one, to see that it is noticed."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import pytest

from portico.gateway.core.catalog_snapshot import Tool, ToolStatus
from portico.gateway.core.servers import Server
from portico.guard.core.access_request import AccessRequest, ActionTarget
from portico.guard.core.contexts import context_of
from portico.guard.policy_gate import Gate
from portico.kernel.ids import ContextId, PrincipalId
from portico.kernel.json import JsonObject, canonical
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal
from portico.learning.core.observation import LabelModel
from portico.learning.core.observed_calls import Origin, Source
from portico.learning.core.prefetch_cache import Buffer, BufferedCall, ContextKey, key_of
from portico.learning.core.prefetch_gates import (
    ARRIVAL,
    GATES,
    Attempt,
    PrefetchMode,
    Switches,
    stays_here,
)
from portico.learning.core.suggestions import FirstReads, KnownRead, Mode
from portico.learning.observation import LabelModels
from portico.learning.prefetch_cache import PrefetchExecutor
from portico.learning.prefetch_gates import StillSo
from portico.workflows.core.plan import Step

Patch = Callable[[pytest.MonkeyPatch], None]
_SAID: Final = {Source(Origin.WORDS)}


def _nothing(_patch: pytest.MonkeyPatch) -> None: ...


@dataclass(frozen=True)
class Without:
    """What is taken out, and what the oracle has to say then."""

    found: str
    gates: tuple[str, ...] = ()
    patch: Patch = _nothing
    house: Mapping[str, Any] = field(default_factory=dict)
    since: int = 0
    """The world from which on it is looked for: in those before, it is known to make no odds."""

    def how(self) -> Mapping[str, Any]:
        """An `AheadHouse` without these gates."""
        return {
            "gates": [gate for gate in GATES if gate.name not in self.gates],
            "arrival": [gate for gate in ARRIVAL if gate.name not in self.gates],
            **self.house,
        }


def _all_the_same(attempt: Attempt) -> Attempt:
    return attempt


def _looser(seen: Callable[[Attempt], Attempt] = _all_the_same) -> Mapping[str, Any]:
    """`stays_here`, shown something that looks more harmless than it is."""

    def stays(attempt: Attempt) -> bool:
        return stays_here(seen(attempt))

    looser = {"stays_here": stays}
    return {"gates": [gate._replace(is_open=looser.get(gate.name, gate.is_open)) for gate in GATES]}


def _opened(attempt: Attempt) -> Attempt:
    return replace(attempt, external=True)


def _unlabelled(attempt: Attempt) -> Attempt:
    return replace(attempt, task=replace(attempt.task, label=PUBLIC))


def _nobody_strange(attempt: Attempt) -> Attempt:
    said = replace(attempt.wanted, sources={})
    return replace(attempt, wanted=said)


def _switched(
    patch: pytest.MonkeyPatch, on: Callable[[Switches, Server, AccessRequest], bool]
) -> None:
    for module in ("prefetch_cache", "prefetch_gates"):
        patch.setattr(f"portico.learning.{module}.switched_on", on)


def _all_their_own(attempt: Attempt) -> Attempt:
    """What somebody says, they have not read anywhere."""
    sources = {name: its - _SAID for name, its in attempt.wanted.sources.items()}
    return replace(attempt, wanted=replace(attempt.wanted, sources=sources))


def _always_switched_on(patch: pytest.MonkeyPatch) -> None:
    _switched(patch, lambda *_: True)


def _no_opt_in(patch: pytest.MonkeyPatch) -> None:
    def on(switches: Switches, server: Server, _act: AccessRequest) -> bool:
        return switches.mode_of(server) is PrefetchMode.LIVE

    _switched(patch, on)


def _no_standing(patch: pytest.MonkeyPatch) -> None:
    """What nobody has approved is on the shelf, and nobody looks whether it is another by now."""

    def standing(_server: Server, tool: Tool) -> ToolStatus:
        return ToolStatus.GONE if tool.gone else ToolStatus.LIVE

    patch.setattr("portico.gateway.catalog_snapshot.standing", standing)


def _no_second_look(patch: pytest.MonkeyPatch) -> None:
    async def aim(_self: StillSo, act: AccessRequest) -> ActionTarget:
        return act.target

    patch.setattr(StillSo, "aim", aim)


def _no_last_look(patch: pytest.MonkeyPatch) -> None:
    """What waits is handed out as it is."""

    async def serves(
        _self: PrefetchExecutor, _act: AccessRequest, held: BufferedCall, _again: object
    ) -> bool:
        return held.answer is not None

    patch.setattr(PrefetchExecutor, "_serves", serves)


def _hash_without(what: str) -> Patch:
    def hash_of(act: AccessRequest) -> str:
        whole: JsonObject = {
            "tool": act.target.tool,
            "arguments": act.arguments,
            "principal": str(act.caller.id),
            "pin": [act.target.pin, act.target.launch],
        }
        return hashlib.sha256(canonical({**whole, what: None})).hexdigest()

    return lambda patch: patch.setattr(AccessRequest, "hash", property(hash_of))


def _any_arguments(patch: pytest.MonkeyPatch) -> None:
    _hash_without("arguments")(patch)
    patch.setattr("portico.learning.core.prefetch_cache._exactly", lambda *_: True)


def _place(*, principal: bool = True, context: bool = True) -> Patch:
    def place(caller: Principal) -> ContextKey:
        return ContextKey(
            caller.space,
            caller.id if principal else PrincipalId(UUID(int=1)),
            context_of(caller) if context else ContextId(UUID(int=1)),
        )

    def put(patch: pytest.MonkeyPatch) -> None:
        patch.setattr("portico.learning.core.prefetch_cache.place_of", place)
        if not principal:
            _hash_without("principal")(patch)
            patch.setattr(Buffer, "has_any", lambda *_: True)

    return put


def _no_changes(patch: pytest.MonkeyPatch) -> None:
    def changing(_self: PrefetchExecutor, _act: AccessRequest) -> AbstractContextManager[None]:
        return nullcontext()

    patch.setattr(PrefetchExecutor, "changing", changing)


def _again_and_again(patch: pytest.MonkeyPatch) -> None:
    def take(self: Buffer, act: AccessRequest, _now: float) -> BufferedCall | None:
        return self._held.get(key_of(act))

    patch.setattr(Buffer, "take", take)


def _never_taken_in(patch: pytest.MonkeyPatch) -> None:
    async def take_in(_self: Gate, _caller: Principal, _aim: ActionTarget) -> None: ...

    patch.setattr(Gate, "taint_context", take_in)


def _behind_changes(patch: pytest.MonkeyPatch) -> None:
    """Also what a plan reads after it has changed something."""
    reads = FirstReads._in_question

    def every(self: FirstReads) -> Iterator[tuple[Step, KnownRead]]:
        for step in self.plan.steps:
            yield from reads(replace(self, plan=replace(self.plan, steps=[step])))

    patch.setattr(FirstReads, "_in_question", every)


def _always_sure(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("portico.learning.suggestions.mode_of", lambda *_: Mode.RAN_AHEAD)


def _not_taken_in(patch: pytest.MonkeyPatch) -> None:
    """Whoever is shown a plan stays as they are, however secret it is."""
    patch.setattr("portico.learning.suggestions.join", lambda labels: labels[0])


def _both(*patches: Patch) -> Patch:
    def put(patch: pytest.MonkeyPatch) -> None:
        for each in patches:
            each(patch)

    return put


def _no_records(patch: pytest.MonkeyPatch) -> None:
    """Whatever is foretold is made."""
    patch.setattr("portico.learning.core.prefetch_predictor.SURE", 0.0)
    patch.setattr("portico.learning.core.prefetch_predictor.SURE_WISHED", 0.0)
    patch.setattr("portico.learning.core.prefetch_predictor.LEAST_TRIED", 0)
    patch.setattr("portico.learning.core.prefetch_predictor.GATE", 0.0)


def _all_layers(patch: pytest.MonkeyPatch) -> None:
    """Also what was learnt by whoever had read more."""
    covered = LabelModels.covered

    async def every(self: LabelModels, caller: Principal, label: Label) -> Sequence[LabelModel]:
        mine = await covered(self, caller, label)
        return [*mine, *(it.layer for it in self._kept.values() if it.layer not in mine)]

    patch.setattr(LabelModels, "covered", every)


def _no_sources(patch: pytest.MonkeyPatch) -> None:
    """As if every value were nobody's."""
    nobodys = frozenset({Source(Origin.CONSTANT)})
    patch.setattr("portico.learning.core.prefetch_predictor.sources_of", lambda *_: nobodys)


def _values_are_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("portico.learning.core.argument_derivations.nobodys", lambda *_: True)


OUT: Final[Mapping[str, Without]] = {
    "effect": Without("effect:", ("only_reads",)),
    "approved": Without(
        "pin: nobody", ("still_approved",), patch=_both(_no_standing, _no_second_look)
    ),
    "pin, as foretold": Without("pin: it was foretold", ("pinned_as_foretold",)),
    "pin, before it is asked": Without("pin: nobody", patch=_no_second_look),
    "pin, in the key": Without(
        "pin: another", ("same_aim",), patch=_both(_hash_without("pin"), _no_last_look), since=970
    ),
    "switch": Without("switch:", ("switched_on", "still_on"), patch=_always_switched_on),
    "external, opt-in": Without("outside:", patch=_no_opt_in, house=_looser(_opened)),
    "external, labelled": Without("labelled:", house=_looser(_unlabelled)),
    "external, untrusted source": Without("stranger:", house=_looser(_nobody_strange)),
    "external, a stranger's words": Without("stranger:", house=_looser(_all_their_own)),
    "record": Without("record:", ("proven",)),
    "complete": Without("complete:", ("complete",)),
    "schema": Without("schema:", ("fits_its_schema",)),
    "no approval": Without("approval:", ("allowed",)),
    "guard": Without("guard:", ("allowed",)),
    "good standing": Without("standing:", ("in_good_standing",)),
    "gain": Without("gain:", ("worth_it",)),
    "awake": Without("awake:", ("awake",)),
    "not in the way": Without("busy:", ("not_in_the_way",)),
    "no workflow": Without("workflow:", ("no_workflow", "orders_nothing")),
    "settled": Without("settled:", ("settled",)),
    "few at once": Without("budget:", ("few_at_once",)),
    "few of one": Without("own budget:", ("few_of_one",)),
    "few a minute": Without("minute:", ("few_a_minute",)),
    "affordable": Without("money:", ("affordable",)),
    "exact arguments": Without("exact:", patch=_any_arguments),
    "principal in the key": Without("principal:", patch=_place(principal=False), since=1_030),
    "context in the key": Without("context:", patch=_place(context=False)),
    "drop on write": Without("drop:", ("not_overtaken",), patch=_no_changes),
    "drop on change": Without("drop:", ("same_aim",), patch=_no_last_look),
    "life": Without("life:", house={"keep": timedelta(hours=1)}),
    "once": Without("once:", patch=_again_and_again),
    "failed": Without("failed:", ("succeeded",)),
    "nobody is asked": Without("asked:", ("asked_nothing",)),
    "nothing behind a change": Without("staged:", patch=_behind_changes),
    "context raise": Without("", patch=_never_taken_in),
}
"""By what it is that is taken out."""


LEARNT_OUT: Final[Mapping[str, Without]] = {
    "record": Without("record:", patch=_no_records),
    "labels of what is learnt": Without("record:", patch=_all_layers),
    "sources": Without("stranger:", patch=_no_sources),
    "nobody's values": Without("values:", patch=_values_are_kept),
}
"""The same of what the product learns and foretells by itself."""


INTENTS_OUT: Final[Mapping[str, Without]] = {
    "sure enough": Without("unsure:", patch=_always_sure),
    "a stranger's words": Without("stranger:", house=_looser(_all_their_own)),
    "labels of past plans": Without("shown:", patch=_not_taken_in),
    "labels of past plans, outside": Without("labelled:", patch=_not_taken_in),
}
"""And of what somebody says that they want."""
