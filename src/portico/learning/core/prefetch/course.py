"""One task as it goes: what it has seen, what was predicted of it, what it has taught."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from portico.gateway.core.inferred_schema import ToolPlace
from portico.learning.core.prefetch.forms import learnable
from portico.learning.core.prefetch.layer import MADE, RECORD, Increment, Layer
from portico.learning.core.prefetch.learning import follow, learn
from portico.learning.core.prefetch.predict import Foretold, foretell
from portico.learning.core.prefetch.predicted import Predicted
from portico.learning.core.prefetch.signs import Stand, stand
from portico.learning.core.prefetch.transitions import END
from portico.learning.core.prefetch.view import View
from portico.learning.core.prefetch.window import LONGEST, SeenCall, Window

_LESSONS: Final = 2
"""That one task gives about one edge in half an hour: one that is made to go in circles teaches
no more than any other."""
_MOST_TAUGHT: Final = 512
_SAID: Final = 8
_PATIENCE: Final = 4
"""Calls within which a prediction must be used."""


@dataclass(slots=True)
class _Open:
    foretold: Foretold
    left: int = _PATIENCE

    @property
    def key(self) -> bytes:
        return self.foretold.key


@dataclass(slots=True)
class Course:
    window: Window = field(default_factory=Window)
    _open: list[_Open] = field(default_factory=list)
    _taught: dict[str, list[datetime]] = field(default_factory=dict)
    _said: list[str] = field(default_factory=list)
    """Since the last call."""
    _seen: tuple[View, Stand] | None = None

    def saw(self, call: SeenCall, layer: Layer) -> Sequence[Increment]:
        """What it teaches, which `layer` has been taught already: that of the task's label once
        the call was made."""
        noted: list[Increment] = []
        if self.window.over(call.ended):
            noted += self._begin_anew(layer, call.ended)
        view, at = self._view()
        noted += self._scored(layer, call)
        if (
            call.key
            and learnable(call.form)
            and self._teaches(f"{at.far}\t{call.form}", call.ended)
        ):
            noted += learn(layer, view, at, call)
        self._move(self.window.then(call))
        self._said.clear()
        return noted

    def told(self, text: str) -> None:
        """The caller's words."""
        self._said = [*self._said, text][-_SAID:]
        self._move(self.window.told(text))

    def ahead(
        self, layers: Sequence[Layer], among: Callable[[ToolPlace], bool], most: int = 3
    ) -> Sequence[Predicted]:
        """Likeliest first. They stay open until they are used, or cannot be any more. What was not
        sure enough may be foretold again, surer."""
        view, at = self._view()
        if not self.window.calls and not self.window.words:
            return []
        made = {it.key for it in self._open if it.foretold.predicted.live}
        known = self._known() | made
        found = foretell(layers, view, at, among, known)[:most]
        self._hold(found)
        return [it.predicted for it in found]

    def _hold(self, found: Sequence[Foretold]) -> None:
        """What is foretold once more from the same place is open once."""
        anew = {(it.key, it.predicted.edge.way) for it in found}
        kept = [it for it in self._open if (it.key, it.foretold.predicted.edge.way) not in anew]
        self._open = [*kept, *map(_Open, found)]

    def end(self, layer: Layer) -> Sequence[Increment]:
        """Nothing more will come: what is open was wrong."""
        if not self.window.calls:
            return []
        at, now = self._view()[1], self.window.calls[-1].ended
        noted = [it for held in self._open for it in self._outcome(layer, held, now, hit=0)]
        if self._teaches(f"{at.far}\t{END}", now):
            noted += follow(layer, at, END)
        self._open.clear()
        self._move(Window())
        return noted

    def _begin_anew(self, layer: Layer, now: datetime) -> Sequence[Increment]:
        noted = self.end(layer)
        for key in [key for key, times in self._taught.items() if now - times[-1] > LONGEST]:
            del self._taught[key]
        for text in self._said:
            self._move(self.window.told(text))
        return noted

    def _view(self) -> tuple[View, Stand]:
        if self._seen is None:
            self._seen = (View(self.window), stand(self.window))
        return self._seen

    def _move(self, window: Window) -> None:
        if window is not self.window:
            self.window, self._seen = window, None

    def _known(self) -> set[bytes]:
        """What was called, with nothing changed since."""
        known = set[bytes]()
        for call in self.window.calls:
            known = known | {call.key} if call.reads and not call.failed else set()
        return known

    def _scored(self, layer: Layer, call: SeenCall) -> Iterator[Increment]:
        """Used, if it is what was called. After a change, or too late, it cannot be used."""
        still: list[_Open] = []
        key = call.key
        for held in self._open:
            held.left -= 1
            if held.key == key:
                yield from self._outcome(layer, held, call.ended, hit=1)
            elif held.left and call.reads:
                still.append(held)
            else:
                yield from self._outcome(layer, held, call.ended, hit=0)
        self._open = still

    def _outcome(
        self, layer: Layer, held: _Open, now: datetime, *, hit: int
    ) -> Iterator[Increment]:
        predicted = held.foretold.predicted
        if self._teaches(str(predicted.edge.way), now):  # however sure it was
            yield from layer.note(RECORD, str(predicted.edge), "", hit)
            yield from layer.note(MADE, str(predicted.form), held.foretold.made, hit)

    def _teaches(self, about: str, now: datetime) -> bool:
        times = [at for at in self._taught.pop(about, ()) if now - at <= LONGEST]
        teaches = len(times) < _LESSONS
        self._taught[about] = [*times, now] if teaches else times
        while len(self._taught) > _MOST_TAUGHT:
            del self._taught[next(iter(self._taught))]
        return teaches
