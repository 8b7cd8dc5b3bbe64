"""Start a run, once however often it is asked for."""

import hashlib
from dataclasses import dataclass, field, replace

from portico.engine.core.errors import KeyReused
from portico.engine.core.run import Place, Run, RunStatus, Started
from portico.engine.kinds import Kinds
from portico.engine.ports import Line, Runs
from portico.engine.task_marks import check_write
from portico.guard.core.roles import Scope
from portico.guard.permit import permit
from portico.guard.ports import Contexts
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, canonical
from portico.kernel.label import Label, Level, join, meet
from portico.kernel.principal import Principal

_USUAL = Label(Level.TEAM)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWish:
    kind: str
    input: JsonObject = field(default_factory=dict)
    key: str | None = None
    """The same key, the same run; without one each wish is another."""
    label: Label | None = None
    """How secret it is and what it gives; `team`, or less if whoever asks is cleared for less."""
    place: Place | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRun:
    """For the rooms, which know their kinds; what is behind the faces is `StartForPeople`."""

    runs: Runs
    line: Line
    kinds: Kinds
    clock: Clock
    entropy: Entropy

    async def __call__(self, caller: Principal, wish: RunWish) -> Run:
        """Raises `KindNotFound`, `KeyReused`, `TopicRefused`, and what the kind's check raises."""
        return (await self.started(caller, wish)).run

    async def started(self, caller: Principal, wish: RunWish) -> Started:
        """With whether it was there already. Raises what is raised above."""
        kind = self.kinds[wish.kind]
        kind.check(wish.input)
        now = self.clock.now()
        run = Run(
            id=self._id(caller, wish),
            space=caller.space,
            principal=caller.id,
            kind=wish.kind,
            label=meet(caller.clearance, _USUAL) if wish.label is None else wish.label,
            clearance=caller.clearance,
            scopes=frozenset(caller.scopes),
            place=wish.place or kind.place,
            status=RunStatus.QUEUED,
            input=wish.input,
            created_at=now,
        )
        try:
            added, turn = await self.runs.add(caller, run, _fingerprint(run))
        except KeyReused as error:
            raise KeyReused(wish.key or str(run.id)) from error
        if turn is not None:
            await self.line.join(turn)
        return Started(added, replayed=turn is None)

    def _id(self, caller: Principal, wish: RunWish) -> RunId:
        if wish.key is None:
            return RunId.mint(self.clock.now(), self.entropy)
        return RunId.of_claim(caller.space, caller.id, wish.kind, wish.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartForPeople:
    start_run: StartRun
    contexts: Contexts

    async def __call__(self, caller: Principal, wish: RunWish) -> Started:
        """Without a label it is no less secret than what was read in the caller's task.

        Raises `NotPermitted`, `RunWriteDown`, and what starting one raises.
        """
        permit(caller, Scope.RUNS_WRITE)
        self.start_run.kinds.for_people(wish.kind)
        label = wish.label
        if label is None:
            read = (await self.contexts.get(caller)).label
            label = join([meet(caller.clearance, _USUAL), read])
        await check_write(self.contexts, caller, label)
        return await self.start_run.started(caller, replace(wish, label=label))


def _fingerprint(run: Run) -> str:
    asked: JsonObject = {"input": run.input, "label": str(run.label)}
    return hashlib.sha256(canonical(asked)).hexdigest()
