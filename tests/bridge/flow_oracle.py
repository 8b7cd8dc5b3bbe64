"""Who knows what, by marks in the texts: written apart from what it looks at.

Each text that is written has a word of its own, and every word that its writer has read before in
the same task. A word is as secret as the first text that it stood in. None may ever stand in
something less secret, nor be read by somebody who is not cleared for it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

WORD = re.compile(r"\bw\d+\b")
_LEVELS = ["public", "team", "confidential", "restricted"]


class Leak(AssertionError):
    """A word was where it must not be."""


def at_least(one: str, other: str) -> bool:
    """Whether whoever may read the first may read the second, both as they are spelt."""
    (level, *inside), (other_level, *other_inside) = one.split("+"), other.split("+")
    high_enough = _LEVELS.index(level) >= _LEVELS.index(other_level)
    return high_enough and set(inside) >= set(other_inside)


@dataclass(slots=True)
class FlowOracle:
    known: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Words that were read in each task."""
    born: dict[str, str] = field(default_factory=dict)
    """How secret the first text was that each word stood in."""
    let_out: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """How secret the copies are in which a person has let each word out."""
    flows: int = 0
    """How often a word went on."""

    def text(self, task: str, *, most: int = 1_000) -> str:
        """What somebody says who says all that they know; the newest, if it is too much."""
        words = [f"w{len(self.born) + 1}"]
        for word in sorted(self.known[task], key=lambda word: -int(word[1:])):
            if len(" ".join([*words, word])) <= most:
                words.append(word)
        return " ".join(words)

    def wrote(self, task: str, text: str, label: str) -> None:
        """It was taken as that secret. What one has made up oneself one has not read: one may say
        it again to others."""
        for word in WORD.findall(text):
            self.born.setdefault(word, label)
            if not self._covers(label, word):
                raise Leak(f"{word} is {self.born[word]}; {task} wrote it as {label}")
            self.flows += 1

    def did(self, task: str, label: str) -> None:
        """Something that others see who may see so much: it may depend on all that was read."""
        for word in self.known[task]:
            if not self._covers(label, word):
                raise Leak(f"{task} knew {word}, {self.born[word]}, and showed it at {label}")

    def read(self, task: str, clearance: str, texts: Iterable[str]) -> None:
        for word in WORD.findall(" ".join(texts)):
            if not self._covers(clearance, word):
                raise Leak(f"{task} is cleared for {clearance} and read {word}, {self.born[word]}")
            self.known[task].add(word)

    def _covers(self, label: str, word: str) -> bool:
        """Whether whoever may read so much may know the word."""
        return any(at_least(label, its) for its in (self.born[word], *self.let_out[word]))
