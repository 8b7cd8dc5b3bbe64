"""Approving a server: its proposal, what has changed since, acceptance."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import StrEnum
from hashlib import sha256
from itertools import islice, takewhile
from typing import Final

from portico.gateway.core.catalog_snapshot import Definition, Tool
from portico.gateway.core.effects import (
    EffectKeyword,
    EffectVerb,
    ShippedEffects,
    description_signs,
    name_signs,
    onward_signs,
    parameter_signs,
    says_final,
    words,
)
from portico.gateway.core.errors import ToolNotFound, ToolRefused
from portico.gateway.core.pins import Package, definition_pin
from portico.gateway.core.servers import Server
from portico.gateway.core.untrusted_text import visible
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject, JsonValue, canonical


class Proposed(StrEnum):
    """Every tool is let in as it is seen now; these effects are lowered to what is proposed."""

    READS = "reads"
    """Only of those that are proposed to be reads. The others stay unknown."""
    ALL = "all"


Effects = Mapping[str, Effect] | Proposed
"""Or tool by tool: then those that are not named stay as they are."""


def look_pin(server: Server) -> str:
    """Of all that somebody looks at before letting a server's tools in."""
    seen = [server.set_pin, server.instructions, server.offers]
    return sha256(canonical(seen)).hexdigest()


def accept(
    tools: Sequence[Tool], effects: Effects, proposed: Callable[[Definition], Effect]
) -> list[Tool]:
    """Raises `ToolNotFound`, `ToolRefused`."""
    if isinstance(effects, Proposed):
        return [_proposed(tool, effects, proposed) for tool in tools if not tool.gone]
    named = {tool.ref.name: tool for tool in tools if not tool.gone}
    for name in effects:
        if name not in named:
            raise ToolNotFound(name)
        if (reason := named[name].refused) is not None:
            raise ToolRefused(str(named[name].ref), reason)
    return [
        _accepted(tool, effects[tool.ref.name]) if tool.ref.name in effects else tool
        for tool in tools
    ]


def _proposed(tool: Tool, which: Proposed, proposed: Callable[[Definition], Effect]) -> Tool:
    """What somebody has decided of exactly this definition stays decided."""
    if tool.refused is not None or (tool.agreed and tool.effect is not Effect.UNKNOWN):
        return tool
    effect = proposed(tool.definition)
    lowered = which is Proposed.ALL or effect.is_read_only
    return _accepted(tool, effect if lowered else Effect.UNKNOWN)


def _accepted(tool: Tool, effect: Effect) -> Tool:
    return replace(tool, effect=effect, accepted=tool.definition, accepted_pin=tool.pin)


def accepted_server(server: Server) -> Server:
    """With all that it said beside its tools."""
    return replace(
        server,
        tools_accepted=True,
        accepted_set_pin=server.set_pin,
        accepted_instructions=server.instructions,
        accepted_offers=server.offers,
    )


# What effect to propose for a tool, and why; an operator decides. In doubt, the greater one.

_OUTSIDE: Final = frozenset({"browser", "cloud", "http", "internet", "remote", "url", "web"})


@dataclass(frozen=True, slots=True)
class Proposal:
    effect: Effect
    why: str


def propose(
    definition: Definition,
    *,
    shipped: ShippedEffects | None = None,
    package: Package | None = None,
    remote: bool = False,
) -> Proposal:
    """Our own list first. Else what the tool's words say, which a server's claims about itself
    can make worse, and better only where the words do not speak against it. `remote`: its
    server is somebody else's, so whatever it touches is outside."""
    if shipped is not None and package is not None:
        known = shipped.of(package, definition_pin(definition.raw))
        if known is not None:
            return Proposal(known, f"listed for {package}")
    return _from_words(definition, outside=remote or _reaches_out(definition))


def _from_words(definition: Definition, *, outside: bool) -> Proposal:
    claims_read = definition.annotations.get("readOnlyHint") is True
    sign = max(_signs(definition, trusting=claims_read), key=_doing, default=None)
    despite = ", although it claims to read only" if claims_read else ""
    if sign is not None and sign.doing is EffectVerb.DESTROYS:
        return Proposal(Effect.IRREVERSIBLE, f"{sign.word!r} destroys{despite}")
    if definition.annotations.get("destructiveHint") is True:
        return Proposal(Effect.IRREVERSIBLE, f"it says that it is destructive{despite}")
    if sign is not None and sign.doing is EffectVerb.RUNS:
        return Proposal(Effect.UNKNOWN, f"{sign.word!r}: it runs what it is given{despite}")
    if sign is not None and sign.doing is EffectVerb.WRITES:
        if final := says_final(definition):
            return Proposal(Effect.IRREVERSIBLE, f"{sign.word!r} writes, and it says {final!r}")
        return Proposal(_write(outside=outside), f"{sign.word!r} writes{despite}")
    return _without_contradiction(definition, sign, outside=outside)


def _without_contradiction(
    definition: Definition, reads: EffectKeyword | None, *, outside: bool
) -> Proposal:
    claims_read = definition.annotations.get("readOnlyHint")
    read = Effect.EXTERNAL_READ if outside else Effect.LOCAL_READ
    if claims_read is True:
        return Proposal(read, "it says that it only reads, and no word speaks against it")
    careful = definition.annotations.get("destructiveHint") is False
    if careful or (claims_read is False and reads is not None):
        why = "it says that it changes something, and not that it destroys"
        return Proposal(_write(outside=outside), why)
    if reads is not None:
        return Proposal(read, f"{reads.word!r} reads, and no word speaks against it")
    return Proposal(Effect.UNKNOWN, "nothing tells what it does")


def _write(*, outside: bool) -> Effect:
    return Effect.EXTERNAL_WRITE if outside else Effect.LOCAL_WRITE


def _signs(definition: Definition, *, trusting: bool) -> Iterator[EffectKeyword]:
    """What only a description says can make it worse, never better: a name is what a tool is
    called by, a description is what its author hopes."""
    named = onward_signs(definition.name) if trusting else name_signs(definition.name)
    yield from named
    worse = [*description_signs(definition), *parameter_signs(definition.input_schema)]
    yield from (sign for sign in worse if sign.doing is not EffectVerb.READS)


def _doing(sign: EffectKeyword) -> EffectVerb:
    return sign.doing


def _reaches_out(definition: Definition) -> bool:
    """Unless it says otherwise, a tool may go anywhere."""
    closed = definition.annotations.get("openWorldHint") is False
    return not closed or not _OUTSIDE.isdisjoint(words(definition.name))


MOST_CHANGES: Final = 100
_LONGEST: Final = 400
_BEFORE_IT: Final = 60
"""Letters of a long text that are shown before the place where it begins to differ."""
_ALIKE: Final = 0.6
_COMPARED: Final = 500


@dataclass(frozen=True, slots=True)
class Change:
    path: str
    """`inputSchema.properties.owner.type`; empty for a line about the rest."""
    before: str | None
    """None where nothing was."""
    after: str | None


@dataclass(frozen=True, slots=True)
class SetDiff:
    added: Sequence[str]
    removed: Sequence[str]
    changed: Mapping[str, Sequence[Change]]
    renamed: Mapping[str, str]
    """Old name to new, where it looks like that; both are also among removed and added."""


def diff_definitions(old: Definition, new: Definition) -> Sequence[Change]:
    return diff_values(old.raw, new.raw)


def diff_values(old: JsonValue, new: JsonValue) -> Sequence[Change]:
    """At most `MOST_CHANGES`, and then one more that says how many there are."""
    found = _changes(old, new, ())
    shown = list(islice(found, MOST_CHANGES))
    rest = sum(1 for _ in found)
    return [*shown, Change("", None, f"and {rest} more changes")] if rest else shown


def diff_sets(old: Iterable[Definition], new: Iterable[Definition]) -> SetDiff:
    before = {each.name: each for each in old}
    after = {each.name: each for each in new}
    added = [name for name in after if name not in before]
    removed = [name for name in before if name not in after]
    changed = {
        name: diff_definitions(before[name], after[name])
        for name in after
        if name in before and definition_pin(before[name].raw) != definition_pin(after[name].raw)
    }
    renamed = _renamed([before[name] for name in removed], [after[name] for name in added])
    return SetDiff(added, removed, changed, renamed)


def _changes(old: JsonValue, new: JsonValue, path: tuple[str, ...]) -> Iterator[Change]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        yield from _of_members(old, new, path)
    elif isinstance(old, list | tuple) and isinstance(new, list | tuple):
        yield from _of_items(old, new, path)
    elif (told := _told(old)) != _told(new):
        before, after = _around(told, _told(new))
        yield Change(".".join(path), before, after)


def _of_members(old: JsonObject, new: JsonObject, path: tuple[str, ...]) -> Iterator[Change]:
    for key in [*old, *(key for key in new if key not in old)]:
        here = (*path, visible(key))
        if key not in new:
            yield Change(".".join(here), _cut(_told(old[key])), None)
        elif key not in old:
            yield Change(".".join(here), None, _cut(_told(new[key])))
        else:
            yield from _changes(old[key], new[key], here)


def _of_items(
    old: Sequence[JsonValue], new: Sequence[JsonValue], path: tuple[str, ...]
) -> Iterator[Change]:
    """One that was put in front does not make all the others look changed."""
    matched = SequenceMatcher(None, [_told(each) for each in old], [_told(each) for each in new])
    for kind, first, last, start, end in matched.get_opcodes():
        if kind == "equal":
            continue
        both = min(last - first, end - start)
        for step in range(both):
            here = (*path, str(start + step))
            yield from _changes(old[first + step], new[start + step], here)
        for place in range(first + both, last):
            yield Change(".".join((*path, str(place))), _cut(_told(old[place])), None)
        for place in range(start + both, end):
            yield Change(".".join((*path, str(place))), None, _cut(_told(new[place])))


def _renamed(gone: Sequence[Definition], come: Sequence[Definition]) -> Mapping[str, str]:
    """The same schema under another name, and about the same words."""
    free = {each.name: each for each in come}
    found: dict[str, str] = {}
    for old in gone:
        alike = (new for new in free.values() if _like(old, new))
        if (new := next(alike, None)) is not None:
            found[old.name] = new.name
            del free[new.name]
    return found


def _like(one: Definition, other: Definition) -> bool:
    if canonical(one.input_schema) != canonical(other.input_schema):
        return False
    texts = one.description[:_COMPARED], other.description[:_COMPARED]
    return SequenceMatcher(None, *texts, autojunk=False).ratio() >= _ALIKE


def _around(before: str, after: str) -> tuple[str, str]:
    """Long texts from shortly before the place where they part."""
    if max(len(before), len(after)) <= _LONGEST:
        return before, after
    pairs = zip(before, after, strict=False)
    parting = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    start = max(0, parting - _BEFORE_IT)
    return _cut(before, start), _cut(after, start)


def _cut(text: str, start: int = 0) -> str:
    head = "…" if start else ""
    tail = "…" if len(text) > start + _LONGEST else ""
    return f"{head}{text[start : start + _LONGEST]}{tail}"


def _told(value: JsonValue) -> str:
    """As JSON, so that 1, 1.0, true and "1" are told apart."""
    text = json.dumps(value, ensure_ascii=False)
    return visible(text, longest=len(text))
