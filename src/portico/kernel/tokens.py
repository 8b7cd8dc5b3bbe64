"""Tokens, and whoever counts them; a figure in tokens names its tokenizer."""

from typing import NewType, Protocol

Tokens = NewType("Tokens", int)
NO_TOKENS = Tokens(0)


class Tokenizer(Protocol):
    @property
    def name(self) -> str: ...

    def count(self, text: str) -> Tokens: ...
