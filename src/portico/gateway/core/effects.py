"""Effects of tools: signs, words and the shipped list."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise
from typing import Final

from portico.gateway.core.catalog_snapshot import Definition
from portico.gateway.core.pins import Package
from portico.gateway.core.untrusted_text import first_sentence
from portico.kernel.effect import Effect, worst
from portico.kernel.json import JsonObject, JsonValue

_READS: Final = """
    analyse analyze browse check compare count describe diff explain fetch find get inspect list
    lookup peek read retrieve search show summarise summarize view
"""
_WRITES: Final = """
    accept ack acknowledge activate add adjust allow append apply approve assign attach authorize
    bump checkin checkout click clone close compile compose configure confirm connect cordon
    create customize deactivate decline decrement define deny deploy detach disable disconnect
    download drag duplicate edit emulate enable enqueue expire fill finish fork generate give
    grant hide highlight hover increment init initialize insert install invite leave login logout
    make manage mkdir modify move mute mutate navigate notify optimize patch pause persist
    populate prepend press promote protect provision psubscribe put react rebase rebuild reconnect
    redo refresh register reindex reject rename render repair replace reserve resize restart
    restore resume rotate save scale send submit subscribe swap switch sync toggle touch transform
    unassign unblock undo unfollow unlock unmute unpin unprotect unregister unsubscribe unwatch
    upgrade upload upsert uncordon write
"""
_WRITES_OR_NAMES: Final = """
    answer archive block book build buffer cache capture change comment commit complete copy
    cut email export follow forward import index join label link lock mark merge message
    order pin post publish pull push queue record release reply request resolve schedule
    seed select set setup share sign sort split stage star start stash stop store tag transition
    translate update vote watch
"""
_RUNS: Final = """
    eval evaluate exec execute invoke launch run spawn trigger
"""
_DESTROYS: Final = """
    abort ban buy cancel charge clean cleanup decommission del delete demolish destroy discard
    drain drop erase evict expunge flush kick kill nuke overwrite pay prune purchase purge reboot
    refund remove revoke rm rollback shred shutdown terminate truncate uninstall unlink unset wipe
    withdraw
"""
_DESTROYS_OR_NAMES: Final = """
    clear dump empty force pop reset revert sell trade transfer trash void
"""


class EffectVerb(IntEnum):
    """In the order in which one outdoes the other."""

    READS = 1
    WRITES = 2
    RUNS = 3
    DESTROYS = 4


@dataclass(frozen=True, slots=True)
class EffectKeyword:
    """A word, and what it says."""

    doing: EffectVerb
    word: str


_MEANING: Final[Mapping[str, EffectVerb]] = {
    **dict.fromkeys(_READS.split(), EffectVerb.READS),
    **dict.fromkeys((_WRITES + _WRITES_OR_NAMES).split(), EffectVerb.WRITES),
    **dict.fromkeys(_RUNS.split(), EffectVerb.RUNS),
    **dict.fromkeys((_DESTROYS + _DESTROYS_OR_NAMES).split(), EffectVerb.DESTROYS),
}
_ALSO_NAMES: Final = frozenset((_WRITES_OR_NAMES + _DESTROYS_OR_NAMES).split())
"""`get_pull_request` pulls nothing: after another verb these are the names of things."""
_ONWARDS: Final = frozenset({"and", "or", "then"})
_NO_READS: Final = frozenset({("git", "fetch"), ("check", "in"), ("check", "out")})

_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_VERB_PLACES: Final = re.compile(
    r"(?:^|[,:;(/]|\s-|\b(?:and|or|then|also|will|can|may|to))\s*(\w+)", re.IGNORECASE
)


def words(name: str) -> Sequence[str]:
    """`getHTTPPage`, `get-http_page`: get, http, page."""
    return [part.lower() for part in _PARTS.findall(name)]


def meaning(word: str) -> EffectVerb | None:
    """Also of `deletes` and `copies`."""
    low = word.lower()
    forms = (low, low.removesuffix("s"), low.removesuffix("es"), re.sub(r"ies$", "y", low))
    return next((_MEANING[form] for form in forms if form in _MEANING), None)


def name_signs(name: str) -> Sequence[EffectKeyword]:
    """The first verb, and what comes after it and is no mere name of a thing."""
    parts = words(name)
    signs: list[EffectKeyword] = []
    for place, word in enumerate(parts):
        before = parts[place - 1] if place else ""
        doing = EffectVerb.WRITES if (before, word) in _NO_READS else _MEANING.get(word)
        if doing and (not signs or word not in _ALSO_NAMES or before in _ONWARDS):
            signs.append(EffectKeyword(doing, word))
    return signs


def onward_signs(name: str) -> Sequence[EffectKeyword]:
    """Only the first verb, and what `and` or `or` adds to it: `get_or_create`."""
    parts = words(name)
    onwards = {after for word, after in pairwise(parts) if word in _ONWARDS}
    signs = name_signs(name)
    return [*signs[:1], *(sign for sign in signs[1:] if sign.word in onwards)]


def sentence_signs(sentence: str) -> Iterator[EffectKeyword]:
    """Verbs at the places where a sentence has them: first, and after `and`, `or`, a comma."""
    for place, word in enumerate(_VERB_PLACES.findall(sentence)):
        doing = meaning(word)
        if doing and (place == 0 or not _names_a_thing(word)):
            yield EffectKeyword(doing, word.lower())


def _names_a_thing(word: str) -> bool:
    return word.lower().removesuffix("s") in _ALSO_NAMES


_ANYTHING: Final = re.compile(
    r"\b(?:any|arbitrary|raw)\b.{0,30}\b(?:command|code|script|sql|query|statement|javascript)",
    re.IGNORECASE,
)
_FINAL: Final = re.compile(
    r"\b(?:overwrit\w+|permanently|irreversibl\w+|can(?:no|')t be undone|is lost)", re.IGNORECASE
)
_KEPT: Final = re.compile(r"\b(?:save[sd]?|saving|overwrit\w+|written)\b", re.IGNORECASE)
_RUN: Final = frozenset({"command", "commands", "cmd", "pipeline", "script", "shell", "sql"})
_BRAKES: Final = frozenset({"confirm", "confirmed", "dry", "overwrite"})
_CHOICES: Final = frozenset({"action", "operation", "op", "command", "method", "subcommand"})


def description_signs(definition: Definition) -> Iterator[EffectKeyword]:
    """Of the first sentence, and of warnings anywhere."""
    yield from sentence_signs(first_sentence(definition.description)[:400])
    if found := _ANYTHING.search(definition.description):
        yield EffectKeyword(EffectVerb.RUNS, found[0].lower())


def says_final(definition: Definition) -> str | None:
    found = _FINAL.search(definition.description)
    return found[0].lower() if found else None


def parameter_signs(schema: JsonObject) -> Iterator[EffectKeyword]:
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        parts = set(words(name))
        about = inner if isinstance(inner, Mapping) else {}
        if parts & _RUN and "enum" not in about:
            yield EffectKeyword(EffectVerb.RUNS, name)
        if parts & _BRAKES or _KEPT.search(str(about.get("description", ""))):
            yield EffectKeyword(EffectVerb.WRITES, name)
        if parts & _CHOICES:
            yield from _chosen(about)


def _chosen(schema: JsonObject) -> Iterator[EffectKeyword]:
    """`operation: list | get | set` can set."""
    for option in _list(schema.get("enum")):
        if isinstance(option, str) and (doing := meaning(option)):
            yield EffectKeyword(doing, option)


def _list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


@dataclass(frozen=True, slots=True)
class ShippedEffects:
    listed: Mapping[str, Mapping[str, Mapping[str, Effect]]] = field(default_factory=dict)
    """Package, version, pin of the definition."""

    def of(self, package: Package, pin: str) -> Effect | None:
        """Where a launch leaves the version open, the definition alone has to be one we know;
        were it known with several effects, it would have the worst of them."""
        versions = self.listed.get(package.key, {})
        if package.version is not None:
            return versions.get(package.version, {}).get(pin)
        known = [pins[pin] for pins in versions.values() if pin in pins]
        return worst(known) if known else None


def parse_shipped(text: str) -> ShippedEffects:
    """From `{package: {version: {effect: [pin, …]}}}`."""
    return ShippedEffects(
        {
            package: {
                version: {pin: Effect(effect) for effect, pins in effects.items() for pin in pins}
                for version, effects in versions.items()
            }
            for package, versions in json.loads(text).items()
        }
    )
