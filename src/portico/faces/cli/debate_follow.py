"""A debate, followed to its end: a line for each thing that happens, where nothing can be drawn."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from portico.debate.core.skip_words import skip_words
from portico.debate.core.verdict_words import percent
from portico.faces.cli.agent_words import brief, plain
from portico.faces.cli.debate_picture import meter_words, seats
from portico.faces.cli.debate_view import ENDED, DebateView, meter_of
from portico.faces.cli.following import Following, Told
from portico.faces.cli.paths import path_to
from portico.faces.cli.run_names import SHORT
from portico.faces.cli.run_words import duration
from portico.faces.cli.server import Refused, Server
from portico.faces.cli.terminal import Terminal

Facts = Mapping[str, Any]

_BROKE: Final = "error"
"""Said by the server where it cannot go on telling."""
_SHORT_LINE: Final = 200


@dataclass(frozen=True, slots=True)
class Over:
    """Nothing more is told of it."""


def happenings(server: Server, debate: str, say: Callable[[str], None]) -> Iterator[Told]:
    """All that is told of it, to its end. Raises `Refused` where no more can be told of it."""
    for told in Following(server, say)(path_to("debates", debate, "events")):
        if told.type == _BROKE:
            raise Refused(503, told.data)
        yield told
        if told.type == ENDED:
            return


def heard(server: Server, view: DebateView, at: Terminal) -> None:
    """To its end. Who breaks it off stops the debate."""
    try:
        for told in happenings(server, view.id, at.say):
            view.take(told)
            if line := told_line(told):
                at.say(plain(line))
    except KeyboardInterrupt:
        server.post(path_to("debates", view.id, "stop"))
        at.say(f"It stops. What came of it: portico debate show {view.id[-SHORT:]}")
        raise


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
