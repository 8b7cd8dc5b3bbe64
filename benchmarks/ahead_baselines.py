"""What simpler ways would have done with the same sessions, through the same gates and clock."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from benchmarks.ahead_foretold import Foretold, Replayed
from benchmarks.ahead_sessions import Made, Session
from benchmarks.ahead_truth import LetIn
from portico.learning.core.observed_calls import Origin, ReadRequest, Source
from portico.learning.core.prefetch_predictor import BANDS, band_of

THRESHOLD: Final = 0.4
"""What the spike before this found best: whatever the predictor thinks likelier is tried."""
_FEWEST: Final = 5
_LEAST: Final = 0.05
_CONSTANT: Final = Source(Origin.CONSTANT, None)

Form = tuple[str, tuple[str, ...]]
Rule = tuple[str, str]


@dataclass(slots=True)
class FirstOrder:
    """The tool that most often came after the last one, with arguments copied from the last call,
    from a place in its answer, or from what they always were."""

    tools: Mapping[str, LetIn]
    after: dict[str, Counter[Form]] = field(default_factory=lambda: defaultdict(Counter))
    right: Counter[tuple[str, Form, str, Rule]] = field(default_factory=Counter)
    seen: Counter[tuple[str, Form, str]] = field(default_factory=Counter)

    def learn(self, sessions: Iterable[Session]) -> None:
        for session in sessions:
            for last, call in zip(session.calls, session.calls[1:], strict=False):
                self._learn(last, call)
            if session.calls:
                self.after[session.calls[-1].name]["", ()] += 1

    def _learn(self, last: Made, call: Made) -> None:
        form = (call.name, tuple(sorted(call.arguments)))
        self.after[last.name][form] += 1
        given = dict(_given(last))
        for name, value in call.arguments.items():
            self.seen[last.name, form, name] += 1
            for rule, found in given.items():
                if found == value:
                    self.right[last.name, form, name, rule] += 1
            self.right[last.name, form, name, ("is", json.dumps(value))] += 1

    def foretell(self, sessions: Iterable[Session]) -> list[Replayed]:
        return [
            Replayed(each, [[], *(list(self._after(call)) for call in each.calls)])
            for each in sessions
        ]

    def _after(self, last: Made) -> Iterator[Foretold]:
        counted = self.after[last.name]
        for form, times in counted.most_common(1):
            filled = [self._filled(last, form, name) for name in form[1]]
            tool = self.tools.get(form[0])
            share = times / counted.total()
            for _, sure in filled:
                share *= sure
            if tool is not None and tool.effect.is_read_only and share >= _LEAST:
                values = zip(form[1], (value for value, _ in filled), strict=True)
                yield foretold_of(tool, dict(values), share)

    def _filled(self, last: Made, form: Form, name: str) -> tuple[Any, float]:
        """The value that the best rule gives, and how often that rule was right."""
        asked = self.seen[last.name, form, name]
        rules = {
            **dict(_given(last)),
            **{
                rule: json.loads(rule[1])
                for (before, one, parameter, rule) in self.right
                if (before, one, parameter) == (last.name, form, name) and rule[0] == "is"
            },
        }
        best = max(rules, key=lambda rule: self.right[last.name, form, name, rule], default=None)
        if best is None or asked < _FEWEST:
            return None, 0.0
        return rules[best], self.right[last.name, form, name, best] / asked


def foretold_of(tool: LetIn, arguments: Mapping[str, Any], sure: float) -> Foretold:
    wanted = ReadRequest(
        ref=tool.ref,
        pin=tool.pin,
        arguments=arguments,
        sources={name: frozenset({_CONSTANT}) for name in arguments},
        proven=True,
    )
    return Foretold(wanted, str(tool.ref), sure, band_of(sure), live=True)


def by_threshold(replayed: Sequence[Replayed]) -> list[Replayed]:
    """The first that our predictor thinks likelier than that, whatever became of such before."""
    return [
        Replayed(each.session, [_first(foretold) for foretold in each.foretold])
        for each in replayed
    ]


def _first(foretold: Sequence[Foretold]) -> Sequence[Foretold]:
    likely = [each for each in foretold if each.band >= THRESHOLD * BANDS]
    return [
        replace(each, wanted=replace(each.wanted, proven=True), live=True) for each in likely[:1]
    ]


def _given(call: Made) -> Iterator[tuple[Rule, Any]]:
    for name, value in call.arguments.items():
        yield ("given", name), value
    for path, value in _leaves(_document(call), ""):
        yield ("gave", path), value


def _document(call: Made) -> Any:  # noqa: ANN401 # JSON
    try:
        return json.loads(call.text)
    except ValueError:
        return call.text


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 # JSON
    """The first of a list stands for it."""
    match value:
        case dict():
            for key, inner in value.items():
                yield from _leaves(inner, f"{path}.{key}")
        case [first, *_]:
            yield from _leaves(first, f"{path}[]")
        case str() | int():
            yield path, value
        case _:
            return
