"""What effect to propose for a tool, and why; an operator decides. In doubt, the greater one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from portico.gateway.core.effect_signs import description_signs, parameter_signs, says_final
from portico.gateway.core.effect_words import Doing, Sign, name_signs, onward_signs, words
from portico.gateway.core.package import Package
from portico.gateway.core.pin import definition_pin
from portico.gateway.core.shipped_effects import ShippedEffects
from portico.gateway.core.tool import Definition
from portico.kernel.effect import Effect

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
    if sign is not None and sign.doing is Doing.DESTROYS:
        return Proposal(Effect.IRREVERSIBLE, f"{sign.word!r} destroys{despite}")
    if definition.annotations.get("destructiveHint") is True:
        return Proposal(Effect.IRREVERSIBLE, f"it says that it is destructive{despite}")
    if sign is not None and sign.doing is Doing.RUNS:
        return Proposal(Effect.UNKNOWN, f"{sign.word!r}: it runs what it is given{despite}")
    if sign is not None and sign.doing is Doing.WRITES:
        if final := says_final(definition):
            return Proposal(Effect.IRREVERSIBLE, f"{sign.word!r} writes, and it says {final!r}")
        return Proposal(_write(outside=outside), f"{sign.word!r} writes{despite}")
    return _without_contradiction(definition, sign, outside=outside)


def _without_contradiction(
    definition: Definition, reads: Sign | None, *, outside: bool
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


def _signs(definition: Definition, *, trusting: bool) -> Iterator[Sign]:
    """What only a description says can make it worse, never better: a name is what a tool is
    called by, a description is what its author hopes."""
    named = onward_signs(definition.name) if trusting else name_signs(definition.name)
    yield from named
    worse = [*description_signs(definition), *parameter_signs(definition.input_schema)]
    yield from (sign for sign in worse if sign.doing is not Doing.READS)


def _doing(sign: Sign) -> Doing:
    return sign.doing


def _reaches_out(definition: Definition) -> bool:
    """Unless it says otherwise, a tool may go anywhere."""
    closed = definition.annotations.get("openWorldHint") is False
    return not closed or not _OUTSIDE.isdisjoint(words(definition.name))
