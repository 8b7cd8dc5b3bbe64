"""What a function was called when it was defined: in tallies and transcripts it goes by that."""

from collections.abc import Callable


def name_of(function: Callable[..., object]) -> str:
    return str(getattr(function, "__name__", function))
