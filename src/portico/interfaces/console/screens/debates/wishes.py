"""What somebody wants debated, as they wrote it into the form."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Final

from portico.debate.core.debates import DebateWish
from portico.debate.core.questions import Cap, Preset, QuestionKind
from portico.interfaces.console.forms import BadForm, Form
from portico.kernel.label import Label, join

KINDS: Final[Mapping[str, str]] = {
    "": "by its words",
    str(QuestionKind.YES_NO): "yes or no",
    str(QuestionKind.CHOICE): "one of the options",
    str(QuestionKind.NUMBER): "a number",
    str(QuestionKind.TEXT): "something short",
    str(QuestionKind.OPEN): "open: a text",
}
PRESETS: Final[Mapping[str, str]] = {
    "": "auto: by the kind of the question",
    str(Preset.VOTE): "vote: blind answers, weighed",
    str(Preset.DEBATE): "debate: and one round of critique",
    str(Preset.QUORUM): "quorum: two thirds, two families, vetoes",
}
MINUTES: Final[Mapping[str, str]] = {
    "": "as usual",
    "1": "a minute",
    "5": "5 minutes",
    "15": "15 minutes",
    "60": "an hour",
    "1440": "a day",
}
_MATERIAL: Final = 400_000
_MOST: Final = 26


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """As it stands in the form, whether it can be debated or not."""

    question: str = ""
    choices: str = ""
    kind: str = ""
    preset: str = ""
    thoroughness: str = "0.5"
    voices: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    tokens: str = ""
    money: str = ""
    minutes: str = ""
    guests: str = ""
    project: str = ""
    memory: str = ""
    material: str = ""
    label: str = ""
    shared: bool = False
    unbounded: bool = False
    analyze: bool = False
    conversation: str = ""
    message: str = ""

    @property
    def more(self) -> bool:
        """Whether something of what is folded away was filled in."""
        rare = (self.kind, self.minutes, self.guests, self.memory, self.material, self.money)
        return any(rare) or self.unbounded


def typed_in(form: Form) -> Typed:
    def one(name: str) -> str:
        return form.fields.get(name, [""])[0]

    return Typed(
        question=one("question"),
        choices=one("choices"),
        kind=one("kind"),
        preset=one("preset"),
        thoroughness=one("thoroughness") or "0.5",
        voices=tuple(form.fields.get("voices", ())),
        roles=tuple(form.fields.get("roles", ())),
        tokens=one("tokens"),
        money=one("money"),
        minutes=one("minutes"),
        guests=one("guests"),
        project=one("project"),
        memory=one("memory"),
        material=one("material"),
        label=one("label"),
        shared=bool(one("shared")),
        unbounded=bool(one("unbounded")),
        analyze=bool(one("analyze")),
        conversation=one("conversation"),
        message=one("message"),
    )


def wish_of(form: Form, least: Label, usual: Cap, *, once: bool = True) -> DebateWish:
    """`least`: how secret what it was taken from is. `usual`: what may be spent where nothing is
    said of it. Raises `BadForm`, `BadLabel`."""
    kind, preset = _one(form, "kind", KINDS), _one(form, "preset", PRESETS)
    minutes, label = _one(form, "minutes", MINUTES), form.maybe("label", most=500)
    return DebateWish(
        question=form.maybe("question", most=20_000) or "",
        kind=QuestionKind(kind) if kind else None,
        choices=tuple(_lines(form, "choices")),
        voices=tuple(form.many("voices", most=_MOST)),
        roles=tuple(form.many("roles", most=_MOST)),
        preset=Preset(preset) if preset else None,
        thoroughness=_share(form),
        cap=_cap(form, usual),
        deadline=timedelta(minutes=int(minutes)) if minutes else None,
        guests=form.whole("guests", most=_MOST) or 0,
        project=form.maybe("project", most=100),
        memory=tuple(_lines(form, "memory")),
        material=form.maybe("material", most=_MATERIAL) or "",
        label=join([least, Label.parse(label)]) if label else least,
        shared=form.ticked("shared"),
        unbounded=form.ticked("unbounded"),
        analyze=form.ticked("analyze"),
        key=form.once if once else None,
    )


def amount(form: Form, name: str) -> Decimal | None:
    """US dollars. Raises `BadForm`."""
    text = form.maybe(name, most=20)
    if text is None:
        return None
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise BadForm(name, "must be an amount such as 0.50") from error
    if not value.is_finite() or not 0 <= value < 10**9:
        raise BadForm(name, "must be an amount such as 0.50")
    return value


def share(text: str | None, name: str) -> float | None:
    """Raises `BadForm`."""
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError as error:
        raise BadForm(name, "must be a number from 0 to 1") from error
    if not 0 <= value <= 1:
        raise BadForm(name, "must be a number from 0 to 1")
    return value


def _share(form: Form) -> float | None:
    return share(form.maybe("thoroughness", most=10), "thoroughness")


def _cap(form: Form, usual: Cap) -> Cap:
    tokens, money = form.whole("tokens", most=10**9), amount(form, "money")
    return Cap(
        tokens=usual.tokens if tokens is None else tokens,
        money=usual.money if money is None else money,
    )


def _lines(form: Form, name: str) -> list[str]:
    text = form.maybe(name, most=60_000) or ""
    return [line.strip() for line in text.splitlines() if line.strip()]


def _one(form: Form, name: str, choices: Mapping[str, str]) -> str:
    """Nothing is also one of them; anything that is not offered is refused."""
    return form.one_of(name, [*choices]) if form.maybe(name, most=40) else ""
