"""A debate as a person looks on: how likely each answer is, what is spent, and a line a voice."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from portico.debate.core.conduct import percent
from portico.interfaces.cli.agent_words import brief, money, plain
from portico.interfaces.cli.debate_view import DebateView, Meter, PartView, VoiceState, VoiceView
from portico.interfaces.cli.run_names import SHORT
from portico.interfaces.cli.run_words import duration

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
    VoiceState.LEFT: ("·", "dim"),
    VoiceState.ASKED: ("…", "yellow"),
    VoiceState.ANSWERED: ("✓", "green"),
    VoiceState.FAILED: ("✗", "red"),
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
        sign = _SIGNS[VoiceState.ASKED][0] if turn is None else _TURNS[turn % len(_TURNS)]
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
        many = f"{view.asked} of {len(view.voices)} voices asked"
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
    sign, colour = ("├", "") if on else _SIGNS[VoiceState.ANSWERED] if _answer(part) else ("?", "")
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


def _shown(view: DebateView) -> Sequence[VoiceView]:
    """Of an analysis only those that are asked by itself: the others speak in its parts."""
    voices = view.voices.values()
    if not view.debate.get("analysis"):
        return [*voices]
    return [each for each in voices if each.state is not VoiceState.LEFT]


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


def _voice(voice: VoiceView, view: DebateView, width: int, turn: int | None) -> Text:
    sign, colour = _SIGNS[voice.state]
    if voice.state is VoiceState.ASKED and turn is not None:
        sign = _TURNS[turn % len(_TURNS)]
    names = max((cell_len(each) for each in view.voices), default=0)
    name = min(names, _WIDEST_NAME, width // 3)
    facts = _voice_facts(voice)
    room = max(width - name - cell_len(facts) - 6, 0)
    said = sized(_said(voice, over=view.ended is not None), room)
    quiet = "dim" if voice.state is VoiceState.LEFT else ""
    line = Text.assemble(
        (f"{sign} ", colour), (f"{sized(plain(voice.name), name)}  ", quiet), (said, quiet)
    )
    if facts:
        line.append(f"  {facts}", style="dim")
    line.rstrip()
    return line


def _said(voice: VoiceView, *, over: bool) -> str:
    match voice.state:
        case VoiceState.LEFT:
            return "was not needed" if over else "not asked yet"
        case VoiceState.ASKED:
            return f"says {voice.letters:,} letters" if voice.letters else brief(voice.why, 200)
        case VoiceState.ANSWERED:
            sure = "" if voice.confidence is None else f" (is {percent(voice.confidence)} sure)"
            return f"{brief(voice.answer, 200)}{sure}"
        case VoiceState.FAILED:
            return brief(voice.why, 200)


def _voice_facts(voice: VoiceView) -> str:
    if voice.state is not VoiceState.ANSWERED:
        return ""
    return f"{voice.tokens:,} tokens  {duration(voice.seconds):>6}"
