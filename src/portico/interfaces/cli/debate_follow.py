"""A debate, followed to its end: a line for each thing that happens, where nothing can be drawn."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from queue import SimpleQueue
from typing import Any, Final

from portico.debate.core.conduct import percent, skip_words
from portico.interfaces.cli.agent_words import brief, plain
from portico.interfaces.cli.debate_picture import meter_words, seats
from portico.interfaces.cli.debate_view import ENDED, PART_BEGAN, DebateView, meter_of
from portico.interfaces.cli.following import Following, Told
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.run_names import SHORT
from portico.interfaces.cli.run_words import duration
from portico.interfaces.cli.server import Refused, Server
from portico.interfaces.cli.terminal import Terminal
from portico.kernel.errors import PorticoError

Facts = Mapping[str, Any]

_BROKE: Final = "error"
"""Said by the server where it cannot go on telling."""
_SHORT_LINE: Final = 200


class How(StrEnum):
    OVER = "over"
    LEFT = "left"
    STOPPED = "stopped"
    """By whoever looked on, who could not be asked what was meant."""


@dataclass(frozen=True, slots=True)
class Over:
    """Nothing more is told of it."""


@dataclass(frozen=True, slots=True)
class OfPart:
    """What is told of a part of an analysis."""

    part: str
    told: Told


def happenings(server: Server, debate: str, say: Callable[[str], None]) -> Iterator[Told]:
    """All that is told of it, to its end. Raises `Refused` where no more can be told of it."""
    for told in Following(server, say)(path_to("debates", debate, "events")):
        if told.type == _BROKE:
            raise Refused(503, told.data)
        yield told
        if told.type == ENDED:
            return


def listen(
    server: Server,
    debate: str,
    put: Callable[[Told | OfPart], None],
    say: Callable[[str], None],
) -> None:
    """The same, into `put`, and what is told of each part of an analysis from when it begins, by a
    thread of its own: a part that cannot be followed is only not told of."""
    for told in happenings(server, debate, say):
        put(told)
        if told.type == PART_BEGAN:
            which = (server, str(told.data["debate"]), put)
            threading.Thread(target=_listen_to_part, args=which, daemon=True).start()


def _listen_to_part(server: Server, part: str, put: Callable[[Told | OfPart], None]) -> None:
    with suppress(PorticoError):
        for told in happenings(server, part, lambda _: None):
            put(OfPart(part, told))


def heard(server: Server, view: DebateView, at: Terminal) -> How:
    """To its end. Who breaks it off stops the debate."""
    try:
        for news in _all(server, view, at) if view.debate["analysis"] else _one(server, view, at):
            told, part = (news.told, news.part) if isinstance(news, OfPart) else (news, None)
            view.take(told, part)
            if line := told_line(told) if part is None else part_line(part, told):
                at.say(plain(line))
    except KeyboardInterrupt:
        server.post(path_to("debates", view.id, "stop"))
        return How.STOPPED
    return How.OVER


def _one(server: Server, view: DebateView, at: Terminal) -> Iterator[Told]:
    return happenings(server, view.id, at.say)


def _all(server: Server, view: DebateView, at: Terminal) -> Iterator[Told | OfPart]:
    """Raises what the server refuses for good."""
    queue: SimpleQueue[Told | OfPart | Exception | None] = SimpleQueue()

    def work() -> None:
        try:
            listen(server, view.id, queue.put, at.say)
            queue.put(None)
        except Exception as error:  # noqa: BLE001 # raised where somebody waits for it
            queue.put(error)

    threading.Thread(target=work, daemon=True).start()
    while (news := queue.get()) is not None:
        if isinstance(news, Exception):
            raise news
        yield news


def part_line(part: str, told: Told) -> str | None:
    """Of a part: who answers, and what came of it."""
    short = f"│ …{part[-SHORT:]}"
    match told.type:
        case "voice.answered":
            answer = brief(told.data["answer"], _SHORT_LINE)
            return f"{short} ✓ {told.data['voice']}: {answer}"
        case "voice.failed":
            return f"{short} ✗ {told.data['voice']}: {brief(told.data['why'], _SHORT_LINE)}"
        case "debate.ended":
            decision = told.data["decision"]
            answer = decision and decision.get("answer")
            return f"{short} is over: {brief(answer, _SHORT_LINE) if answer else 'no decision'}"
        case _:
            return None


def told_line(told: Told) -> str | None:
    """None for what is too small for a line."""
    write = _LINES.get(told.type)
    return None if write is None else write(told.data)


def _round(facts: Facts) -> str:
    names = ", ".join(facts["voices"])
    if facts["round"] == 1:
        return f"Asked blindly: {names}"
    return f"Critique round: {names}"


def _answered(facts: Facts) -> str:
    sure = "" if facts["confidence"] is None else f", {percent(facts['confidence'])} sure"
    took = f"{facts['tokens']:,} tokens, {duration(facts['seconds'])}"
    return f"✓ {facts['voice']}: {brief(facts['answer'], _SHORT_LINE)} ({took}{sure})"


def _stands(facts: Facts) -> str:
    shares = [f"{brief(answer, 60)} {percent(share)}" for answer, share in facts["options"][:3]]
    return "  " + " · ".join([*shares, meter_words(meter_of(facts))])


_LINES: Final[Mapping[str, Callable[[Facts], str]]] = {
    "round.began": _round,
    "voice.asked": lambda facts: f"… {facts['voice']}: {brief(facts['why'], _SHORT_LINE)}",
    "voice.answered": _answered,
    "voice.failed": lambda facts: f"✗ {facts['voice']}: {brief(facts['why'], _SHORT_LINE)}",
    "standing": _stands,
    "skipped": lambda facts: skip_words(facts["what"], facts["why"], facts["saved_tokens"]),
    "guests.wanted": lambda facts: f"? {seats(facts['seats'])}",
    "part.began": lambda facts: f"├ …{facts['debate'][-SHORT:]} {facts['question']}",
}
