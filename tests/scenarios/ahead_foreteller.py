"""Whoever foretells in place of the product, and is on nobody's side."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from portico.gateway.core.ahead.predicted import Origin, Source
from portico.gateway.core.ahead.wanted import Wanted
from portico.gateway.core.call import Answer
from portico.gateway.core.learnt import ToolPlace
from portico.gateway.core.plan.plan import Plan, Step
from portico.gateway.core.suggest.fill import From
from portico.gateway.core.suggest.fill import Origin as Intended
from portico.gateway.core.suggest.suggested import Suggested, SuggestedStep
from portico.gateway.core.tool import ToolRef
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal
from tests.scenarios.ahead_oracle import MARK, WORD
from tests.scenarios.ahead_scene import Scene, as_foretold


@dataclass(frozen=True)
class HostileForeteller:
    """Names truly where each value is from, and nothing else: it foretells of another definition,
    without a record, with what to do after it."""

    scene: Scene

    def __call__(self, caller: Principal, ref: ToolRef, arguments: JsonObject) -> Wanted:
        dice, scene = self.scene.dice, self.scene
        wanted = self._wanted(ref, arguments)
        said = as_foretold(scene.world.somebody(caller), str(ref), arguments)
        if said not in scene.foretold_well and dice.random() < 0.2:
            wanted, scene.foretold_wrongly[said] = dice.choice(_wrongly(wanted))
        else:
            scene.foretold_well.add(said)
            scene.foretold_wrongly.pop(said, None)
        return wanted

    def _wanted(self, ref: ToolRef, arguments: JsonObject) -> Wanted:
        return Wanted(
            ref=ref,
            pin=self._pin(ref),
            arguments=arguments,
            sources={name: self._source(value) for name, value in arguments.items()},
            proven=True,
            then=self._then if self.scene.dice.random() < 0.4 else None,
        )

    def _then(self, answer: Answer) -> Sequence[Wanted]:
        """What a server says comes after it: another tool, with a value of its own."""
        said = answer.structured
        assert isinstance(said, Mapping)
        every = [its.ref for tools in self.scene.world.tools.values() for its in tools]
        return [self._wanted(self.scene.dice.choice(every), {"path": str(said["next"])})]

    def _pin(self, ref: ToolRef) -> str:
        pins = [its.pin for its in self.scene.world.tools[ref.server] if its.ref == ref]
        return pins[0] if pins else ""

    def _source(self, value: JsonValue) -> AbstractSet[Source]:
        found = MARK.search(str(value))
        if found is not None:
            asked = self.scene.oracle.asked[int(found.group(2))]
            server = self.scene.world.servers[asked.server].id
            place = ToolPlace(server, ToolRef.parse(asked.tool).name)
            return frozenset({Source(Origin.RESULT, place)})
        words = WORD.search(str(value)) is not None
        return frozenset({Source(Origin.WORDS if words else Origin.CONSTANT)})


def _wrongly(wanted: Wanted) -> Sequence[tuple[Wanted, str]]:
    return [
        (replace(wanted, proven=False), "record: what foretold it has proved nothing"),
        (replace(wanted, pin="an earlier one"), "pin: it was foretold of another definition"),
        (replace(wanted, sources={}), "complete: nobody knows where its values are from"),
    ]


def as_suggested(plan: Plan) -> Suggested:
    """Of which nobody could be surer."""
    return Suggested(plan=plan, confidence=1.0, raw=9.0, steps=[*map(_as_said, plan.steps)])


def _as_said(step: Step) -> SuggestedStep:
    """Whatever it is told stands in what its caller said, or is another step's."""
    said = {name: its for name, its in step.arguments.items() if isinstance(its, str)}
    return SuggestedStep(
        id=step.id,
        tool=str(step.tool),
        effect=Effect.UNKNOWN,
        confidence=1.0,
        why="",
        arguments={name: Intended(From.INTENT, its) for name, its in said.items()},
        missing=(),
    )
