"""Where a task stands, and what else may tell where it is going."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from portico.gateway.core.inferred_schema import ToolPlace
from portico.learning.core.prefetch.forms import START, CallForm, EdgeKey, place_text
from portico.learning.core.prefetch.view import tokens
from portico.learning.core.prefetch.window import Window

_BUCKETS: Final = 4_096
_MOST_WORDS: Final = 24
_MOST_SIGNS: Final = 64
_WORDINGS: Final = 2
ANYWHERE: Final = "*"
"""Before a sign that is looked at wherever a task stands."""
_WHOLE: Final = "q"
"""Of a text of the caller's, all its words together."""


class Stand(NamedTuple):
    """What was called last, and before that."""

    before: ToolPlace | None
    last: ToolPlace | None
    failed: bool
    signs: tuple[str, ...]

    @property
    def near(self) -> str:
        mark = "!" if self.failed else ""
        return START if self.last is None else place_text(self.last) + mark

    @property
    def far(self) -> str:
        return f"{START if self.before is None else place_text(self.before)}\t{self.near}"

    @property
    def wordings(self) -> Sequence[str]:
        """Those of the caller's latest texts, each as a whole."""
        return [sign for sign in self.signs if sign.startswith(_WHOLE)][-_WORDINGS:]

    def edge(self, form: CallForm, band: int) -> EdgeKey:
        return EdgeKey(None, self.last, self.failed, form, band)


def stand(window: Window) -> Stand:
    calls = window.calls
    before = calls[-2].tool if len(calls) > 1 else None
    last = calls[-1].tool if calls else None
    failed = bool(calls) and calls[-1].failed
    found = dict.fromkeys(_signs_of_calls(window))
    far = Stand(before, last, failed, ()).far
    for text in window.words:
        found.update(dict.fromkeys(_signs_of_words(text, far)))
    return Stand(before, last, failed, tuple(found)[:_MOST_SIGNS])


def bucket(text: str) -> int:
    """One of so few numbers that many words share each: none can be told from its own."""
    digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest) % _BUCKETS


def _signs_of_words(text: str, far: str) -> Iterator[str]:
    words = list(dict.fromkeys(tokens(text)))[:_MOST_WORDS]
    whole = " ".join(sorted(words))
    yield f"{_WHOLE}{bucket(whole)}"
    yield f"p{bucket(far + whole)}"
    yield f"{ANYWHERE}{bucket(whole)}"
    for word in words:
        yield f"w{bucket(word)}"
        yield f"v{bucket(far + word)}"


def _signs_of_calls(window: Window) -> Iterator[str]:
    calls = window.calls
    if not calls:
        return
    yield f"n{bucket(','.join(calls[-1].form.names))}"
    yield f"h{bucket(' '.join(sorted(filter(_structural, calls[-1].places))))}"
    tools = [place_text(call.tool) for call in calls]
    yield f"s{bucket(' '.join(sorted(set(tools))))}"
    if len(calls) > 1:
        yield f"f{bucket(tools[0])}"
    if len(calls) > 2:  # the two last are looked at anyway
        yield f"t{bucket(tools[-3])}"


def _structural(place: str) -> bool:
    """Whether it is there because of how the answer is built, not of what its texts say."""
    return place.startswith("json") and not any(mark in place for mark in "|~<")
