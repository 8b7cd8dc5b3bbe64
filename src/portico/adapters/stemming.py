"""English words without their endings, as Snowball cuts them."""

from functools import lru_cache

import Stemmer  # ty: ignore[import-not-found] # a compiled module without types


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """One stemmer a call: the library's own is not to be used by two threads at once."""
    stemmed: str = Stemmer.Stemmer("english", 0).stemWord(word)
    return stemmed
