"""What a model sends to a tool of debates, read as what the use cases take."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from portico.debate.core.debates import (
    DebateId,
    DebateWish,
    GuestAnswer,
    OutcomeWish,
    ReplayWish,
    Source,
)
from portico.debate.core.questions import Cap, Preset, QuestionKind
from portico.interfaces.mcp.debate.errors import BadDebateInput
from portico.interfaces.mcp.debate.tools import DebateTool
from portico.interfaces.mcp.fields import flaws_of, lenient
from portico.kernel.errors import Flaw
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label

LONGEST_WAIT: Final = timedelta(seconds=50)
"""Clients give up after a minute."""
_LONGEST: Final = timedelta(days=365)
_MOST: Final = 1_000_000_000
"""That a number may be: more is a slip."""
_PARTS: Final = 6


@dataclass(frozen=True, slots=True)
class Given:
    """Fits what its tool says that it takes; what was left out, or is null, is not there."""

    fields: Mapping[str, Any]

    @classmethod
    def read(cls, tool: DebateTool, given: JsonObject) -> "Given":
        """Raises `BadDebateInput`: also of a field that is not known, which may have been a bound
        that was meant to hold."""
        fields = lenient(tool, given)
        if flaws := [*flaws_of(tool, fields), *_unfit(fields)]:
            raise BadDebateInput(flaws)
        return cls(fields)

    def __contains__(self, field: str) -> bool:
        return field in self.fields

    def text(self, field: str) -> str | None:
        found: str | None = self.fields.get(field)
        return found

    def texts(self, field: str) -> tuple[str, ...]:
        return tuple(self.fields.get(field, ()))

    def whole(self, field: str) -> int | None:
        found: int | None = self.fields.get(field)
        return found

    def number(self, field: str) -> float | None:
        found = self.fields.get(field)
        return None if found is None else float(found)

    def switch(self, field: str) -> bool:
        return bool(self.fields.get(field))

    def debate(self) -> DebateId:
        """Raises `BadId`, and `BadDebateInput` where none is named."""
        if "debate" not in self.fields:
            raise BadDebateInput([Flaw("debate", "is needed")])
        return DebateId.parse(self.fields["debate"])

    def label(self) -> Label | None:
        """Raises `BadLabel`."""
        found = self.text("label")
        return None if found is None else Label.parse(found)

    def patience(self, usual: timedelta) -> timedelta:
        found = self.seconds("wait")
        return usual if found is None else min(found, LONGEST_WAIT)

    def seconds(self, field: str) -> timedelta | None:
        """Raises `BadDebateInput`."""
        found = self.whole(field)
        if found is None:
            return None
        if not 0 <= found <= _LONGEST.total_seconds():
            raise BadDebateInput([Flaw(field, "must be seconds, and at most a year of them")])
        return timedelta(seconds=found)

    def wish(self, question: str, usual: Cap, *, analyze: bool = False) -> DebateWish:
        """`usual` is what may be spent where nothing is said of it. Raises `BadDebateInput`,
        `BadLabel`."""
        preset, kind, budget = self.text("preset"), self.text("kind"), self.whole("budget")
        return DebateWish(
            question=self.fields[question],
            kind=None if kind is None else QuestionKind(kind),
            choices=self.texts("choices"),
            topic=self.text("topic") or "general",
            voices=self.texts("voices"),
            roles=self.texts("roles"),
            preset=None if preset is None else Preset(preset),
            thoroughness=self.number("thoroughness"),
            cap=None if budget is None else replace(usual, tokens=budget),
            deadline=self.seconds("deadline"),
            guests=self.whole("guests") or 0,
            project=self.text("project"),
            memory=self.texts("memory"),
            material=self.text("material") or "",
            label=self.label(),
            shared=self.switch("shared"),
            unbounded=self.switch("unbounded"),
            key=self.text("key"),
            analyze=analyze,
            parts_most=self.whole("parts") or _PARTS,
        )

    @property
    def outcome(self) -> OutcomeWish:
        return OutcomeWish(
            right=self.fields.get("right"),
            answer=self.text("answer"),
            source=Source(self.text("source") or Source.CORRECTION),
            note=self.text("note") or "",
        )

    @property
    def replay(self) -> ReplayWish:
        preset = self.text("preset")
        return ReplayWish(
            preset=None if preset is None else Preset(preset),
            thoroughness=self.number("thoroughness"),
            without=self.texts("without"),
            rounds=self.whole("rounds"),
        )

    @property
    def answered(self) -> GuestAnswer:
        return GuestAnswer(
            answer=self.fields["answer"],
            rationale=self.text("rationale") or "",
            evidence=self.texts("evidence"),
            confidence=self.number("confidence"),
            veto=self.text("veto"),
            changed_because=self.text("changed_because"),
        )


def _unfit(fields: Mapping[str, JsonValue]) -> Iterator[Flaw]:
    """What can be written in JSON and kept nowhere."""
    for name, value in fields.items():
        texts = value if isinstance(value, list) else [value]
        if not all(_is_text(each) for each in texts if isinstance(each, str)):
            yield Flaw(name, "must be text, without the letter NUL or half of a letter")
        if isinstance(value, int | float) and not -_MOST <= value <= _MOST:
            yield Flaw(name, f"must be a number, and at most {_MOST:,}")


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text
