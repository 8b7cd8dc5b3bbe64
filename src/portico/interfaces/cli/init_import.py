"""The part of `init` that takes over servers: show them, ask, start them, let them in."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import aclosing
from pathlib import Path
from typing import Final

from portico.gateway.core.config_documents import Described
from portico.gateway.core.server_approval import Proposed
from portico.gateway.server_files import Listed, NotListed, Place, Starting
from portico.interfaces.cli.house import Importing, ImportRoom
from portico.interfaces.cli.init_words import (
    Offer,
    found_json,
    found_text,
    left_text,
    listed_text,
    not_listed_text,
    offers,
    picked,
    servers_json,
    take_question,
    weight_json,
    weight_text,
)
from portico.interfaces.cli.terminal import Terminal
from portico.kernel.json import JsonObject

_LET_IN: Final = (
    "Let them be used? a: with the effects as proposed, r: only reads as reads, all else as "
    "destructive, n: not yet [a]"
)
_ANSWERS: Final = {"": Proposed.ALL, "a": Proposed.ALL, "r": Proposed.READS, "n": None}


def show_found(at: Terminal, found: Sequence[Described]) -> None:
    if found:
        at.say(f"\nServers of tools that other programs here have:\n\n{_shown(found)}\n")


def choose(
    at: Terminal, found: Sequence[Described], *, yes: bool, named: bool
) -> AbstractSet[Place]:
    """What a file in this folder brings is taken if it is picked, or if the file was named."""
    among = offers(found)
    if yes:
        if not named:
            _say_what_is_left(at, found)
        return {each.place for each in among if named or not each.file.for_a_project}
    if not among:
        return set()
    if at.json or (chosen := _asked(at, among)) is None:
        at.say("None of them is taken: nobody could be asked. To take them: portico init --yes")
        return set()
    return chosen


async def take_over(
    at: Terminal,
    importing: Importing,
    found: Sequence[Described],
    chosen: AbstractSet[Place],
    *,
    yes: bool,
) -> JsonObject:
    origins = [file.origin for file in found if any(place[0] == file.origin for place in chosen)]
    if not origins:
        return {"found": found_json(found)}
    change = importing.use(origins)
    if change.overruled_by:
        at.say(f"gateway.imports is written to {change.file}, but {change.overruled_by} wins")
    taken = [file for file in found if file.origin in origins]
    async with importing.opened() as room:
        outcomes = await _start(at, room, taken, chosen)
        await _let_in(at, room, [each for each in outcomes if isinstance(each, Listed)], yes=yes)
        weight = await room.weigh(room.caller)
    at.say(f"\n{weight_text(weight)}")
    return {
        "found": found_json(found),
        "imported": origins,
        "servers": servers_json(outcomes),
        "context": weight_json(weight),
    }


async def _start(
    at: Terminal, room: ImportRoom, files: Sequence[Described], chosen: AbstractSet[Place]
) -> Sequence[Listed | NotListed]:
    outcomes: list[Listed | NotListed] = []
    under_way: dict[str, None] = {}
    width = max(len(wish.name) for file in files for wish in file.wishes)
    progress = room.import_servers(room.caller, files, chosen)
    with at.working("starting servers") as say_now:
        async with aclosing(progress):
            async for each in progress:
                if isinstance(each, Starting):
                    under_way[each.server] = None
                else:
                    under_way.pop(each.server, None)
                    outcomes.append(each)
                    at.say(_outcome(each, width))
                say_now(f"starting {', '.join(under_way)}" if under_way else "ending them")
    return outcomes


async def _let_in(at: Terminal, room: ImportRoom, listed: Sequence[Listed], *, yes: bool) -> None:
    which = Proposed.READS if yes else _let_in_how(at, listed)
    if which is None:
        at.say("They wait until somebody lets them in: portico servers approve NAME")
        return
    for moved in await room.accept(room.caller, listed, which):
        at.say(not_listed_text(moved, len(moved.server)))


def _let_in_how(at: Terminal, listed: Sequence[Listed]) -> Proposed | None:
    if not listed:
        return Proposed.READS
    reads, writes = sum(each.reads for each in listed), sum(each.writes for each in listed)
    others = sum(each.others for each in listed)
    at.say(f"\nTools proposed as reading: {reads}, writing: {writes}, destructive: {others}")
    while (answer := at.ask(_LET_IN)) is not None:
        if answer.lower()[:1] in _ANSWERS:
            return _ANSWERS[answer.lower()[:1]]
        at.say("Say a, r or n.")
    return None


def _say_what_is_left(at: Terminal, found: Sequence[Described]) -> None:
    for file in found:
        if file.for_a_project and offers([file]):
            at.say(left_text(file))


def _asked(at: Terminal, among: Sequence[Offer]) -> AbstractSet[Place] | None:
    while (answer := at.ask(take_question(among))) is not None:
        chosen = picked(answer, among)
        if chosen is not None:
            return chosen
        at.say(f"There are 1 to {len(among)}.")
    return None


def _outcome(each: Listed | NotListed, width: int) -> str:
    return listed_text(each, width) if isinstance(each, Listed) else not_listed_text(each, width)


def _shown(found: Sequence[Described]) -> str:
    return found_text(found, str(Path.home()))
