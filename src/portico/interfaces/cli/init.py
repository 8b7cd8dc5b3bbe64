"""`portico init`: set up an installation, and import servers of clients."""

import getpass
import shlex
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from portico.gateway.core.config_documents import Described, Problem, ServerSpec
from portico.gateway.core.launch import shown
from portico.gateway.core.server_approval import Proposed
from portico.gateway.server_files import Listed, NotListed, SourcePosition, Starting
from portico.gateway.surface import ContextWeight
from portico.interfaces.cli.services import Importing, ImportRoom, Welcome
from portico.interfaces.cli.terminal import At, Terminal
from portico.interfaces.cli.terminal import shown as visible
from portico.kernel.errors import many
from portico.kernel.json import JsonObject

_WIDTH: Final = 40
_WINDOW: Final = 200_000
"""Tokens that many models can hold."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A server to be taken or not."""

    file: Described
    spec: ServerSpec

    @property
    def place(self) -> SourcePosition:
        return self.file.origin, self.spec.where


def offers(found: Sequence[Described]) -> Sequence[Offer]:
    """In the order in which they are numbered; what its file has switched off is none."""
    return [Offer(file, wish) for file in found for wish in file.wishes if wish.enabled]


def found_text(found: Sequence[Described], home: str) -> str:
    numbers = {offer.place: number for number, offer in enumerate(offers(found), 1)}
    lines: list[str] = []
    for file in found:
        place = file.origin.replace(home, "~", 1) if file.origin.startswith(home) else file.origin
        whose = ", in this folder" if file.for_a_project else ""
        lines += ["", f"{file.client}{whose}: {visible(place)}"]
        lines += [_offer(wish, numbers.get((file.origin, wish.where))) for wish in file.wishes]
        lines += [f"       ! {visible(problem_text(each))}" for each in file.problems]
    return "\n".join(lines[1:])


def problem_text(problem: Problem) -> str:
    line = "" if problem.line is None else f" (line {problem.line})"
    return f"{problem.server or 'the file'}: {problem.reason}{line}"


def found_json(found: Sequence[Described]) -> Sequence[JsonObject]:
    return [
        {
            "file": file.origin,
            "client": file.client,
            "for_a_project": file.for_a_project,
            "servers": [
                {"name": wish.name, "command": shown(wish.launch), "enabled": wish.enabled}
                for wish in file.wishes
            ],
            "problems": [problem_text(each) for each in file.problems],
        }
        for file in found
    ]


def picked(text: str, among: Sequence[Offer]) -> AbstractSet[SourcePosition] | None:
    """`all` of one's own files, `none`, or numbers such as `1,3-5`; None if it is none of them.

    Where there are none of one's own, who says `all` means the others, who says nothing does not.
    """
    text = text.strip().lower()
    own = {offer.place for offer in among if not offer.file.for_a_project}
    if text in {"", "a", "all"}:
        return own or {offer.place for offer in among if text}
    if text in {"n", "no", "none"}:
        return set()
    try:
        numbers = {number for part in text.replace(",", " ").split() for number in _range(part)}
    except ValueError:
        return None
    if not numbers <= set(range(1, len(among) + 1)):
        return None
    return {among[number - 1].place for number in numbers}


def take_question(among: Sequence[Offer]) -> str:
    if all(offer.file.for_a_project for offer in among):
        return "Take which? all, none, or numbers such as 1,3-5 [none]"
    return "Take which? all of your own files, none, or numbers such as 1,3-5 [all]"


def left_text(file: Described) -> str:
    """Of a file that `--yes` does not speak for."""
    return (
        f"{visible(file.origin)} is not taken unasked: it is not yours but this folder's. "
        f"To take it: portico init --yes --from {visible(shlex.quote(file.origin))}"
    )


def listed_text(each: Listed, width: int) -> str:
    kinds = [(each.reads, "read"), (each.writes, "write"), (each.others, "may destroy")]
    told = ", ".join(f"{count} {word}" for count, word in kinds if count)
    name, tools = each.server.ljust(width), many(each.tools, "tool").rjust(10)
    return f"✓ {name}  {tools}  {each.tokens:>7,} tokens  {told}".rstrip()


def not_listed_text(each: NotListed, width: int) -> str:
    found = _fix(each)
    fix = f"\n  {' ' * width}  fix {visible(found)}" if found else ""
    return f"✗ {each.server.ljust(width)}  {visible(each.reason)}{fix}"


def servers_json(outcomes: Collection[Listed | NotListed]) -> Sequence[JsonObject]:
    return [_server_json(each) for each in sorted(outcomes, key=lambda it: it.server)]


def weight_text(weight: ContextWeight) -> str:
    """Two bars, to scale."""
    whose = f"{many(weight.tools, 'tool')} of {many(weight.servers, 'server')}"
    head = f"{whose}, in tokens of {weight.tokenizer}:"
    window = f"of a window of {_WINDOW:,}"
    before = f"{weight.before:,} tokens, {weight.before / _WINDOW:.1%} {window}"
    after = f"{weight.after:,} tokens, {weight.after / _WINDOW:.1%}"
    whole = max(weight.before, weight.after)
    return (
        f"{head}\n"
        f"  before  {_bar(weight.before, whole)}  {before}\n"
        f"  after   {_bar(weight.after, whole)}  {after}"
    )


def weight_json(weight: ContextWeight) -> JsonObject:
    return {
        "servers": weight.servers,
        "tools": weight.tools,
        "tokens_before": weight.before,
        "tokens_after": weight.after,
        "tokenizer": weight.tokenizer,
    }


def _offer(wish: ServerSpec, number: int | None) -> str:
    count = "  off" if number is None else f"{number:>5}"
    return f"{count}  {wish.name}: {shown(wish.launch)}"


def _range(part: str) -> Iterator[int]:
    """Raises `ValueError`."""
    first, dash, last = part.partition("-")
    numbers = range(int(first), int(last if dash else first) + 1)
    if not numbers:
        raise ValueError(part)
    yield from numbers


def _fix(each: NotListed) -> str | None:
    """While `init` runs there is nobody yet who could be asked for logs."""
    logs = "portico servers logs"
    return each.fix and each.fix.replace(logs, f"portico up, then {logs}")


def _server_json(each: Listed | NotListed) -> JsonObject:
    if isinstance(each, NotListed):
        return {"name": each.server, "listed": False, "reason": each.reason, "fix": _fix(each)}
    return {
        "name": each.server,
        "listed": True,
        "tools": each.tools,
        "tokens": each.tokens,
        "proposed": {"reads": each.reads, "writes": each.writes, "others": each.others},
    }


def _bar(value: float, whole: float) -> str:
    filled = round(_WIDTH * value / whole)
    return ("█" * filled or "▏").ljust(_WIDTH)


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
) -> AbstractSet[SourcePosition]:
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
    chosen: AbstractSet[SourcePosition],
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
    at: Terminal, room: ImportRoom, files: Sequence[Described], chosen: AbstractSet[SourcePosition]
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


def _asked(at: Terminal, among: Sequence[Offer]) -> AbstractSet[SourcePosition] | None:
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


async def init(  # noqa: PLR0913 # one for each option
    *,
    name: str | None = None,
    recover: bool = False,
    source: Annotated[list[Path] | None, Parameter(name="--from")] = None,
    yes: bool = False,
    no_import: bool = False,
    dry_run: bool = False,
    at: At,
) -> None:
    """Make the database, your space and your key, and take over the servers of tools that you have
    in other programs. Safe to repeat: what is there stays.

    Each server is shown with the command that starts it, and you say which are taken. Those are
    started once, to see what they offer. The files that describe them are read from then on, and
    never written.

    Parameters
    ----------
    name
        What you are called in Portico, the first time; your account's name if left away.
    recover
        Make a new key even if yours works, and a new pepper if that is lost: no old key works then.
    source
        Take servers from this file instead of looking for files; may be given several times.
    yes
        Take every server of your own files, unasked, and let in its tools: those that only read
        as reading, all others as destructive.
    no_import
        Do not look for servers.
    dry_run
        Show which servers there are, and change nothing.
    """
    from portico.interfaces.cli.clients import could_connect

    importing = at.services.importing()
    found = [] if no_import else importing.found(source or [])
    if dry_run:
        show_found(at, found)
        at.data({"dry_run": True, "found": found_json(found)}, "Nothing was changed.")
        return
    with at.working("setting up") as progress:
        welcome = await at.services.install(
            admin=name or getpass.getuser(), recover=recover, progress=progress
        )
    if name and not welcome.new and name != welcome.admin:
        at.say(f"--name {name} is ignored: this installation has its first admin already.")
    at.say(_greeting(welcome))
    show_found(at, found)
    chosen = choose(at, found, yes=yes, named=source is not None)
    with at.alone():
        taken = await take_over(at, importing, found, chosen, yes=yes)
    could = could_connect(at.services.connecting().found())
    if at.json:
        told = {**_facts(welcome, at.services.whereabouts().server_url), **taken}
        at.details({**told, "could_connect": could})
    first = [] if at.services.keeping().servers() else ["portico up"]
    if following := [*first, *could]:
        at.say("\nNext: " + "\n      ".join(following))


def _facts(welcome: Welcome, server: str) -> JsonObject:
    return {
        "new": welcome.new,
        "recovered": welcome.recovered,
        "space": welcome.space,
        "admin": welcome.admin,
        "key_file": str(welcome.key_file),
        "agent_key_file": str(welcome.agent_key_file),
        "migrations_applied": welcome.migrations,
        "server": server,
    }


def _greeting(welcome: Welcome) -> str:
    done = "Portico is set up." if welcome.new else "Portico was set up already; all is in place."
    if welcome.recovered:
        done = "A new key is in place."
    return (
        f"{done}\n\n"
        f"  space      {welcome.space}\n"
        f"  you are    {welcome.admin} (admin)\n"
        f"  your key   {welcome.key_file} (only you can read it)\n"
        f"  programs   {welcome.agent_key_file} (what they come in with: an agent, not you)"
    )
