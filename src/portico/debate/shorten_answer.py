"""Cut an answer off where whoever asked has room for no more of it."""

from dataclasses import dataclass

from portico.kernel.tokens import Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortenAnswer:
    tokenizer: Tokenizer

    def __call__(self, text: str, most: int | None) -> str:
        """The longest beginning of it that has so many tokens at most."""
        count = self.tokenizer.count
        if most is None or count(text) <= most:
            return text
        fits, too_long = 0, len(text)
        while too_long - fits > 1:
            middle = (fits + too_long) // 2
            if count(text[:middle]) <= most:
                fits = middle
            else:
                too_long = middle
        return text[:fits]
