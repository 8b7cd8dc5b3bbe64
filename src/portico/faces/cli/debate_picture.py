"""A debate as a person looks on: how likely each answer is, what is spent, and a line a voice."""

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from portico.debate.core.verdict_words import percent
from portico.faces.cli.agent_words import brief, money, plain
from portico.faces.cli.debate_view import DebateView, Meter, VoiceState, VoiceView
from portico.faces.cli.run_names import SHORT
from portico.faces.cli.run_words import duration

_FULL, _HALF, _NONE = "█", "▌", "░"
_SPENT, _RESERVED = "█", "▒"
_WIDEST_BAR: Final = 40
_WIDEST_NAME: Final = 28
_MOST_OPTIONS: Final = 5
_OTHER: Final = "none of these"
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
        *_meter(view.meter, width),
        *(_voice(each, view, width, turn) for each in _shown(view)),
        *(
            Text(sized(f"· {brief(told, 500)}", width).rstrip(), style="dim")
            for told in view.left_out
        ),
    ]
    if view.guests and view.ended is None:
        lines.append(Text(sized(f"? {seats(view.guests)}", width).rstrip(), style="yellow"))
    if view.errand is not None and view.ended is None:
        name, why = view.errand
        sign = _SIGNS[VoiceState.ASKED][0] if turn is None else _TURNS[turn % len(_TURNS)]
        told = f"{sign} {brief(name, 60)}: {brief(why, 200)}"
        lines.append(Text(sized(told, width).rstrip(), style="yellow"))
    lines += [
        Text(sized(f"├ …{part[-SHORT:]} {brief(asked, 10_000)}", width).rstrip())
        for part, asked in view.parts
    ]
    return lines


def seats(many: int) -> str:
    return f"{'a seat' if many == 1 else f'{many} seats'} for guests: join_debate at /mcp/debate"


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
        parts = [f"…{view.id[-SHORT:]}", "analysis", f"{len(view.parts)} parts"]
    else:
        many = f"{view.asked} of {len(view.voices)} voices asked"
        parts = [f"…{view.id[-SHORT:]}", str(debate["preset"]), many]
    if view.round > 1:
        parts.append("critique round")
    if debate["label"] != "public":
        parts.append(str(debate["label"]))
    return " · ".join([*parts, *([] if seconds is None else [duration(seconds)])])


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
        shown.append((_OTHER, rest))
    if not shown:
        return []
    name = min(max(cell_len(brief(answer, 200)) for answer, _ in shown), width // 3)
    room = min(width - name - len("  100 %") - 2, _WIDEST_BAR)
    return [
        Text.assemble(
            f"{sized(brief(answer, 200), name)}  ",
            (bar(share, room), "dim" if answer == _OTHER else _COLOURS[place % len(_COLOURS)]),
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
