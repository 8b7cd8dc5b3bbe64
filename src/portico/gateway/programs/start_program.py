"""Start a program: as whoever asks for it, once however often it is asked for."""

import hashlib
from dataclasses import dataclass

from portico.engine.core.errors import KeyReused, RunNotFound
from portico.engine.core.runs import Place, Run, Started
from portico.engine.runs import RunWish
from portico.gateway.catalogue import Catalogues
from portico.gateway.core.call import ResultId
from portico.gateway.core.plan.report import Mode
from portico.gateway.core.program.functions import functions_in, uses_call
from portico.gateway.core.program.left import Source
from portico.gateway.core.program.program import PROGRAM, ProgramMode, ProgramWish, check
from portico.gateway.shelf import Shelf
from portico.gateway.workflows.acting import asker_of
from portico.gateway.workflows.engines import Engines
from portico.gateway.workflows.errors import NotInline
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, Contexts, Together
from portico.guard.principals import permit
from portico.kernel.effect import Effect, worst
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, canonical
from portico.kernel.label import Label, join
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class StartProgram:
    engines: Engines
    catalogues: Catalogues
    contexts: Contexts
    audit: Audit
    together: Together

    async def __call__(self, caller: Principal, wish: ProgramWish) -> Started:
        """Raises `NotPermitted`, `BadProgram`, `NotCanonical`, `NotInline`, `VaultClosed`,
        `KeyReused`, `ContextNotFound`, and `TopicRefused` where the caller is not cleared for what
        it would give."""
        permit(caller, Scope.TOOLS_CALL)
        check(wish)
        shelf = await self.catalogues.offered(caller)
        source = _source(wish, shelf)
        side = self.engines.of(_mode(wish, source, shelf))
        handle = _handle(caller, wish)
        if (there := await self._there(caller, wish, handle)) is not None:
            return Started(there, replayed=True)
        label = await self._label(caller, wish, source, shelf)
        kept = await side.outputs().keep(caller, source.as_json(), handle)
        given: JsonObject = {
            "program": str(kept.result),
            "mode": str(side.mode),
            "label": str(label),
            "asker": asker_of(caller),
        }
        its = RunWish(kind=PROGRAM, input=given, key=wish.key, label=label, place=Place())
        async with self.together(caller):
            started = await side.start_run.started(caller, its)
            if not started.replayed:
                entry = _entry(started.run, wish, side.mode, source, shelf)
                await self.audit.note(caller, entry)
        return started

    async def _there(
        self, caller: Principal, wish: ProgramWish, handle: ResultId | None
    ) -> Run | None:
        """What was asked for before under the same key. Raises `KeyReused`."""
        if wish.key is None:
            return None
        try:
            claim = RunId.of_claim(caller.space, caller.id, PROGRAM, wish.key)
            found, _ = await self.engines.find(caller, claim)
        except RunNotFound:
            return None
        if found.input.get("program") != str(handle):
            raise KeyReused(wish.key)
        return found

    async def _label(
        self, caller: Principal, wish: ProgramWish, source: Source, shelf: Shelf
    ) -> Label:
        """The journal names what it calls: whoever sees that may know all of it."""
        task = await self.contexts.get(caller)
        servers = {shelf.server(ref.server).label for ref in source.functions.values()}
        named = [caller.clearance] if source.by_name else []
        wished = [] if wish.label is None else [wish.label]
        return join([task.label, *servers, *named, *wished])


def _source(wish: ProgramWish, shelf: Shelf) -> Source:
    return Source(
        code=wish.code,
        inputs=wish.inputs,
        functions=functions_in(wish.code, shelf.tools),
        by_name=uses_call(wish.code),
    )


def _mode(wish: ProgramWish, source: Source, shelf: Shelf) -> Mode:
    """Raises `NotInline`."""
    changes = [
        (name, ref)
        for name, ref in source.functions.items()
        if not shelf.find(ref).effect.reads_only
    ]
    match wish.mode:
        case ProgramMode.INLINE if changes:
            raise NotInline(changes[0][0], str(changes[0][1]))
        case ProgramMode.INLINE:
            return Mode.INLINE
        case ProgramMode.AUTO if not changes and not source.by_name:
            return Mode.INLINE
        case _:
            return Mode.DURABLE


def _handle(caller: Principal, wish: ProgramWish) -> ResultId | None:
    """The same for the same wish under the same key, so that asking twice keeps it once."""
    if wish.key is None:
        return None
    who = [str(caller.space), str(caller.id), wish.key]
    how = [str(wish.mode), None if wish.label is None else str(wish.label)]
    text = canonical([*who, wish.code, wish.inputs, *how])
    return ResultId.of_digest(b"program " + text)


def _entry(run: Run, wish: ProgramWish, mode: Mode, source: Source, shelf: Shelf) -> AuditEntry:
    effects = [shelf.find(ref).effect for ref in source.functions.values()]
    effect = worst([*effects, *([Effect.UNKNOWN] if source.by_name else [])])
    return AuditEntry(
        action="program.started",
        subject=str(run.id),
        facts={
            "mode": str(mode),
            "tools": sorted({str(ref) for ref in source.functions.values()})[:20],
            "by_name": source.by_name,
            "effect": str(effect),
            "hash": hashlib.sha256(wish.code.encode(errors="surrogatepass")).hexdigest(),
        },
    )
