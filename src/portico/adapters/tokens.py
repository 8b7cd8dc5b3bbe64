"""Tokens as o200k_base counts them; its vocabulary comes with the package, nothing is fetched."""

from functools import cache
from importlib import import_module
from typing import Protocol

from portico.kernel.budget import Tokens


class O200k:
    @property
    def name(self) -> str:
        return "o200k_base"

    def count(self, text: str) -> Tokens:
        try:
            return Tokens(_vocabulary().count(text))
        except UnicodeEncodeError:  # half of a surrogate pair: to be counted, not to be sent
            return self.count(text.encode(errors="replace").decode())


class _Vocabulary(Protocol):
    def count(self, text: str) -> int: ...


@cache
def _vocabulary() -> _Vocabulary:
    """Loaded when it is first needed: it takes a tenth of a second, and memory."""
    vocabulary: _Vocabulary = import_module("rs_bpe.bpe").openai.o200k_base()
    return vocabulary
