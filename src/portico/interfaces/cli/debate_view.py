"""A debate as it is drawn, kept up with its events."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from queue import SimpleQueue
from typing import Any, Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from portico.debate.core.conduct import VOICE, percent, skip_words
from portico.interfaces.cli.agent_text import brief, money, plain
from portico.interfaces.cli.run_text import SHORT, duration
from portico.interfaces.cli.server import Following, ReceivedEvent, Refused, Server, api_path
from portico.interfaces.cli.terminal import Terminal
from portico.kernel.errors import PorticoError

Facts = Mapping[str, Any]

ENDED: Final = "debate.ended"
PART_BEGAN: Final = "part.began"
_ERRAND: Final = 0
"""As the round of what is no answer."""


class DebaterState(StrEnum):
    LEFT = "left"
    """Not asked, or not yet."""
    ASKED = "asked"
    ANSWERED = "answered"
    FAILED = "failed"


@dataclass(kw_only=True)
class DebaterView:
    name: str
    state: DebaterState = DebaterState.LEFT
    round: int = 1
    answer: str = ""
    confidence: float | None = None
    why: str = ""
    """Why it was asked, or what went wrong."""
    characters: int = 0
    """Of what it says now."""
    tokens: int = 0
    """Of all its answers so far."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """What was spent, and what is set aside for whoever is being asked."""

    spent: int
    reserved: int
    cap: int | None
    money: Decimal
    cap_money: Decimal | None


@dataclass(kw_only=True)
class PartView:
    """A part of an analysis: a debate of its own, of which a line is drawn."""

    id: str
    question: str
    asked: str = ""
    """Whom it asks now."""
    answers: int = 0
    options: Sequence[tuple[str, float]] = ()
    spent: int = 0
    reserved: int = 0
    money: Decimal = Decimal(0)
    ended: Facts | None = None

    def take(self, told: ReceivedEvent) -> None:
        facts = told.data
        match told.type:
            case "voice.asked":
                self.asked = str(facts["voice"])
            case "voice.answered":
                self.answers += 1
            case "standing":
                meter = meter_of(facts)
                self.options = _options_of(facts)
                self.spent, self.reserved, self.money = meter.spent, meter.reserved, meter.money
            case "debate.ended":
                self.ended = facts
                self.spent, self.reserved = int(facts["tokens"]), 0
                self.money = Decimal(str(facts["money"]))
            case _:
                pass


@dataclass
class DebateView:
    debate: Facts
    """As the server gave it when it was begun."""
    debaters: dict[str, DebaterView] = field(default_factory=dict)
    options: Sequence[tuple[str, float]] = ()
    meter: Meter | None = None
    round: int = 1
    guests: int = 0
    """Seats that are free."""
    left_out: list[str] = field(default_factory=list)
    """Who takes no part, and why, in sentences."""
    parts: dict[str, PartView] = field(default_factory=dict)
    reserved: dict[tuple[str, int], int] = field(default_factory=dict)
    """Tokens that are set aside for each who is asked and has not answered yet."""
    errand: tuple[str, str] | None = None
    """Who is asked for something else than an answer, and for what: to judge, to sum up."""
    ended: Facts | None = None

    def __post_init__(self) -> None:
        for each in self.debate["voices"]:
            self.debaters[each["name"]] = DebaterView(name=each["name"])
        self.guests = int(self.debate.get("guests") or 0)

    @property
    def id(self) -> str:
        return str(self.debate["id"])

    @property
    def asked(self) -> int:
        return sum(each.state is not DebaterState.LEFT for each in self.debaters.values())

    @property
    def now(self) -> Meter | None:
        """With whoever is being asked, and with the parts of an analysis, which are told apart."""
        aside, parts = sum(self.reserved.values()), self.parts.values()
        if self.meter is None and not aside and not parts:
            return None
        meter = self.meter or _empty(self.debate)
        over = self.ended is not None
        return replace(
            meter,
            spent=meter.spent + sum(each.spent for each in parts),
            reserved=0 if over else max(meter.reserved, aside) + sum(x.reserved for x in parts),
            money=meter.money + sum((each.money for each in parts), Decimal(0)),
        )

    def take(self, told: ReceivedEvent, part: str | None = None) -> None:
        """`part`: of the analysis, in which it happened."""
        if part is not None:
            if part in self.parts:
                self.parts[part].take(told)
            return
        act = self._acts.get(told.type)
        if act is not None:
            act(told.data)

    @property
    def _acts(self) -> Mapping[str, Callable[[Facts], None]]:
        return {
            "round.began": self._round,
            "voice.asked": self._asked,
            "voice.spoke": self._spoke,
            "voice.answered": self._answered,
            "voice.failed": self._failed,
            "standing": self._stands,
            "skipped": self._skipped,
            "guests.wanted": self._wanted,
            PART_BEGAN: self._part,
            ENDED: self._over,
        }

    def _voice(self, name: str) -> DebaterView:
        """A guest is not known before."""
        return self.debaters.setdefault(name, DebaterView(name=name))

    def _round(self, facts: Facts) -> None:
        self.round = int(facts["round"])

    def _asked(self, facts: Facts) -> None:
        voice = self._voice(facts["voice"])
        self.reserved[voice.name, int(facts["round"])] = int(facts.get("reserved_tokens") or 0)
        again = bool(voice.answer) and facts["round"] <= voice.round
        self.errand = None
        if facts["round"] == _ERRAND or again:
            self.errand = (voice.name, str(facts["why"]))
            return
        voice.state, voice.round = DebaterState.ASKED, int(facts["round"])
        voice.why, voice.characters = str(facts["why"]), 0

    def _spoke(self, facts: Facts) -> None:
        if facts["round"] != _ERRAND:
            self._voice(facts["voice"]).characters += len(facts["text"])

    def _answered(self, facts: Facts) -> None:
        voice = self._voice(facts["voice"])
        self.reserved.pop((voice.name, int(facts["round"])), None)
        voice.state, voice.round = DebaterState.ANSWERED, int(facts["round"])
        voice.answer, voice.confidence = str(facts["answer"]), facts["confidence"]
        voice.tokens += int(facts["tokens"])
        voice.seconds = float(facts["seconds"])

    def _failed(self, facts: Facts) -> None:
        self.reserved.pop((str(facts["voice"]), int(facts["round"])), None)
        if facts["round"] == _ERRAND:
            return
        voice = self._voice(facts["voice"])
        if not voice.answer:  # else what it had said before still counts
            voice.state = DebaterState.FAILED
        else:
            voice.state = DebaterState.ANSWERED
        voice.round, voice.why = int(facts["round"]), str(facts["why"])

    def _stands(self, facts: Facts) -> None:
        self.errand = None
        self.options = _options_of(facts)
        self.meter = meter_of(facts)
        for place in [each for each in self.reserved if each[1] == _ERRAND]:
            del self.reserved[place]  # nothing else is told of what is no answer

    def _skipped(self, facts: Facts) -> None:
        """What else is not done is told in words once it is over."""
        if str(facts["what"]).partition(":")[0] == VOICE:
            self.left_out.append(skip_words(facts["what"], facts["why"]))

    def _wanted(self, facts: Facts) -> None:
        self.guests = int(facts["seats"])

    def _part(self, facts: Facts) -> None:
        its = str(facts["debate"])
        self.parts.setdefault(its, PartView(id=its, question=str(facts["question"])))

    def _over(self, facts: Facts) -> None:
        self.ended = facts


def _options_of(facts: Facts) -> Sequence[tuple[str, float]]:
    return [(str(answer), float(share)) for answer, share in facts["options"]]


def _empty(debate: Facts) -> Meter:
    """Before anything was spent."""
    limit = debate["cap"]["money"]
    return Meter(
        spent=0,
        reserved=0,
        cap=debate["cap"]["tokens"],
        money=Decimal(0),
        cap_money=None if limit is None else Decimal(str(limit)),
    )


def meter_of(facts: Facts) -> Meter:
    """As the server tells it with each answer."""
    limit = facts["cap_money"]
    return Meter(
        spent=int(facts["spent_tokens"]),
        reserved=int(facts["reserved_tokens"]),
        cap=facts["cap_tokens"],
        money=Decimal(str(facts["spent_money"])),
        cap_money=None if limit is None else Decimal(str(limit)),
    )


_FULL, _HALF, _NONE = "█", "▌", "░"
_SPENT, _RESERVED = "█", "▒"
_WIDEST_BAR: Final = 40
_WIDEST_NAME: Final = 28
_MOST_OPTIONS: Final = 5
_OTHER: Final = "another answer"
_OTHER_CHOICE: Final = "another choice"
_SIDES: Final = ("yes", "no")
_LEAST_OTHER: Final = 0.005
_TURNS: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SIGNS: Final = {
    DebaterState.LEFT: ("·", "dim"),
    DebaterState.ASKED: ("…", "yellow"),
    DebaterState.ANSWERED: ("✓", "green"),
    DebaterState.FAILED: ("✗", "red"),
}
_COLOURS: Final = ("green", "cyan", "magenta", "blue", "yellow")


def picture(
    view: DebateView, width: int, *, turn: int | None = None, seconds: float | None = None
) -> Sequence[Text]:
    """As wide as the screen at most; `turn` moves the sign of whoever speaks."""
    lines = [
        Text(sized(brief(view.debate["question"]["text"], 10_000), width).rstrip(), style="bold"),
        Text(sized(_head(view, seconds), width).rstrip(), style="dim"),
        *_options(view, width),
        *_meter(view.now, width),
        *(_voice(each, view, width, turn) for each in _shown(view)),
        *(
            Text(sized(f"· {brief(told, 500)}", width).rstrip(), style="dim")
            for told in view.left_out
        ),
    ]
    if view.guests and view.ended is None:
        told = f"? {seats(view.guests)}; it is over at {_clock(view)} at the latest"
        lines.append(Text(sized(told, width).rstrip(), style="yellow"))
    if view.errand is not None and view.ended is None:
        name, why = view.errand
        sign = _SIGNS[DebaterState.ASKED][0] if turn is None else _TURNS[turn % len(_TURNS)]
        told = f"{sign} {brief(name, 60)}: {brief(why, 200)}"
        lines.append(Text(sized(told, width).rstrip(), style="yellow"))
    lines += [_part(each, width, turn) for each in view.parts.values()]
    return lines


def seats(many: int) -> str:
    return f"{'a seat' if many == 1 else f'{many} seats'} for guests: join_debate at /mcp/debate"


def _clock(view: DebateView) -> str:
    """By the clock on the wall."""
    return f"{datetime.fromisoformat(view.debate['deadline']).astimezone():%H:%M:%S}"


def bar(share: float, width: int) -> str:
    """Filled to a half of a letter; what is not nothing is seen."""
    halves = round(min(max(share, 0.0), 1.0) * width * 2)
    halves = max(halves, 1) if share > 0 else 0
    return (_FULL * (halves // 2) + _HALF * (halves % 2)).ljust(width, _NONE)


def sized(text: str, width: int) -> str:
    """Exactly so many columns, whatever letters it has; what is cut off is said."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return f"{set_cell_size(text, max(width - 1, 0))}…"


def meter_words(meter: Meter) -> str:
    """`1,204 tokens spent · 300 reserved · of 20,000`, and what that costs."""
    parts = [f"{meter.spent:,} tokens spent"]
    if meter.reserved:
        parts.append(f"{meter.reserved:,} reserved")
    if meter.cap is not None:
        parts.append(f"of {meter.cap:,}")
    if meter.money or meter.cap_money is not None:
        limit = "" if meter.cap_money is None else f" of {money(str(meter.cap_money))}"
        parts.append(f"{money(str(meter.money))}{limit}")
    return " · ".join(parts)


def _head(view: DebateView, seconds: float | None) -> str:
    debate = view.debate
    if debate.get("analysis"):
        parts = [f"…{view.id[-SHORT:]}", "analysis", _progress(view)]
    else:
        many = f"{view.asked} of {len(view.debaters)} voices asked"
        parts = [f"…{view.id[-SHORT:]}", str(debate["preset"]), many]
    if view.round > 1:
        parts.append("critique round")
    if debate["label"] != "public":
        parts.append(str(debate["label"]))
    return " · ".join([*parts, *([] if seconds is None else [duration(seconds)])])


def _progress(view: DebateView) -> str:
    many, over = len(view.parts), sum(each.ended is not None for each in view.parts.values())
    if not many:
        return "no parts" if view.ended is not None else "being cut into parts"
    return f"{over} of {many} {'part' if many == 1 else 'parts'} over"


def _part(part: PartView, width: int, turn: int | None) -> Text:
    """What it asks, and on the right how far it is."""
    on = part.ended is None
    sign, colour = (
        ("├", "") if on else _SIGNS[DebaterState.ANSWERED] if _answer(part) else ("?", "")
    )
    if on and turn is not None:
        sign, colour = _TURNS[turn % len(_TURNS)], "yellow"
    head, told = f"…{part.id[-SHORT:]} ", sized(_part_words(part), width // 2).rstrip()
    room = width - cell_len(head) - cell_len(told) - 4
    asked = sized(brief(part.question, 10_000), max(room, 0))
    line = Text.assemble((f"{sign} ", colour), f"{head}{asked}", (f"  {told}", "dim"))
    line.rstrip()
    line.truncate(width)
    return line


def _part_words(part: PartView) -> str:
    if part.ended is not None:
        return _answer(part) or "no decision"
    if part.options:
        answer, share = part.options[0]
        return f"{brief(answer, 60)} {percent(share)} so far"
    if part.answers:
        return "1 answer so far" if part.answers == 1 else f"{part.answers} answers so far"
    return f"{plain(part.asked)} is asked" if part.asked else ""


def _answer(part: PartView) -> str:
    """Of one that is over: what was decided, or nothing."""
    decision = None if part.ended is None else part.ended["decision"]
    if not decision or not decision.get("answer"):
        return ""
    return f"{brief(str(decision['answer']), 60)} ({percent(decision['probability'])})"


def _rest(view: DebateView, shown: Sequence[str]) -> str:
    """What whatever is left of certainty is for: of a question with few answers, the last one."""
    question, said = view.debate["question"], {each.strip().casefold() for each in shown}
    kind, named = question["kind"], _SIDES
    if kind == "choice":
        named = tuple(question["choices"])
    left = [each for each in named if each.strip().casefold() not in said]
    if kind in ("yes_no", "choice") and len(left) == 1:
        return left[0]
    return _OTHER_CHOICE if kind == "choice" else _OTHER


def _shown(view: DebateView) -> Sequence[DebaterView]:
    """Of an analysis only those that are asked by itself: the others speak in its parts."""
    voices = view.debaters.values()
    if not view.debate.get("analysis"):
        return [*voices]
    return [each for each in voices if each.state is not DebaterState.LEFT]


def _options(view: DebateView, width: int) -> Sequence[Text]:
    shown = [*view.options[:_MOST_OPTIONS]]
    rest = 1 - sum(share for _, share in shown)
    if shown and rest >= _LEAST_OTHER:
        shown.append((_rest(view, [answer for answer, _ in view.options]), rest))
        quiet = len(shown) - 1
    else:
        quiet = len(shown)
    if not shown:
        return []
    name = min(max(cell_len(brief(answer, 200)) for answer, _ in shown), width // 3)
    room = min(width - name - len("  100 %") - 2, _WIDEST_BAR)
    return [
        Text.assemble(
            f"{sized(brief(answer, 200), name)}  ",
            (bar(share, room), "dim" if place == quiet else _COLOURS[place % len(_COLOURS)]),
            f"  {percent(share):>4}",
        )
        for place, (answer, share) in enumerate(shown)
    ]


def _meter(meter: Meter | None, width: int) -> Sequence[Text]:
    if meter is None:
        return []
    words = sized(meter_words(meter), width).rstrip()
    if not meter.cap:
        return [Text(words, style="dim")]
    room = min(width - cell_len(words) - 2, _WIDEST_BAR)
    if room < 10:
        return [Text(words, style="dim")]
    spent = min(round(meter.spent / meter.cap * room), room)
    reserved = min(round(meter.reserved / meter.cap * room), room - spent)
    drawn = (_SPENT * spent + _RESERVED * reserved).ljust(room, _NONE)
    return [Text.assemble((drawn, "blue"), (f"  {words}", "dim"))]


def _voice(voice: DebaterView, view: DebateView, width: int, turn: int | None) -> Text:
    sign, colour = _SIGNS[voice.state]
    if voice.state is DebaterState.ASKED and turn is not None:
        sign = _TURNS[turn % len(_TURNS)]
    names = max((cell_len(each) for each in view.debaters), default=0)
    name = min(names, _WIDEST_NAME, width // 3)
    facts = _voice_facts(voice)
    room = max(width - name - cell_len(facts) - 6, 0)
    said = sized(_said(voice, over=view.ended is not None), room)
    quiet = "dim" if voice.state is DebaterState.LEFT else ""
    line = Text.assemble(
        (f"{sign} ", colour), (f"{sized(plain(voice.name), name)}  ", quiet), (said, quiet)
    )
    if facts:
        line.append(f"  {facts}", style="dim")
    line.rstrip()
    return line


def _said(voice: DebaterView, *, over: bool) -> str:
    match voice.state:
        case DebaterState.LEFT:
            return "was not needed" if over else "not asked yet"
        case DebaterState.ASKED:
            return (
                f"says {voice.characters:,} letters" if voice.characters else brief(voice.why, 200)
            )
        case DebaterState.ANSWERED:
            sure = "" if voice.confidence is None else f" (is {percent(voice.confidence)} sure)"
            return f"{brief(voice.answer, 200)}{sure}"
        case DebaterState.FAILED:
            return brief(voice.why, 200)


def _voice_facts(voice: DebaterView) -> str:
    if voice.state is not DebaterState.ANSWERED:
        return ""
    return f"{voice.tokens:,} tokens  {duration(voice.seconds):>6}"


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
    told: ReceivedEvent


def happenings(server: Server, debate: str, say: Callable[[str], None]) -> Iterator[ReceivedEvent]:
    """All that is told of it, to its end. Raises `Refused` where no more can be told of it."""
    for told in Following(server, say)(api_path("debates", debate, "events")):
        if told.type == _BROKE:
            raise Refused(503, told.data)
        yield told
        if told.type == ENDED:
            return


def listen(
    server: Server,
    debate: str,
    put: Callable[[ReceivedEvent | OfPart], None],
    say: Callable[[str], None],
) -> None:
    """The same, into `put`, and what is told of each part of an analysis from when it begins, by a
    thread of its own: a part that cannot be followed is only not told of."""
    for told in happenings(server, debate, say):
        put(told)
        if told.type == PART_BEGAN:
            which = (server, str(told.data["debate"]), put)
            threading.Thread(target=_listen_to_part, args=which, daemon=True).start()


def _listen_to_part(
    server: Server, part: str, put: Callable[[ReceivedEvent | OfPart], None]
) -> None:
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
        server.post(api_path("debates", view.id, "stop"))
        return How.STOPPED
    return How.OVER


def _one(server: Server, view: DebateView, at: Terminal) -> Iterator[ReceivedEvent]:
    return happenings(server, view.id, at.say)


def _all(server: Server, view: DebateView, at: Terminal) -> Iterator[ReceivedEvent | OfPart]:
    """Raises what the server refuses for good."""
    queue: SimpleQueue[ReceivedEvent | OfPart | Exception | None] = SimpleQueue()

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


def part_line(part: str, told: ReceivedEvent) -> str | None:
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


def told_line(told: ReceivedEvent) -> str | None:
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
