"""Commands that are named while something is run in the demo, as they are called there."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO

from portico.interfaces.cli.commands import COMMANDS

OF_THE_MACHINE: Final = frozenset(
    {"init", "serve", "demo", "doctor", "join", "config", "embeddings", "db", "spaces"}
)
"""What is not about a space, or would end it behind our back."""
_OF_A_SPACE: Final = [
    name
    for title, commands in COMMANDS.items()
    for name in commands
    if name not in OF_THE_MACHINE and (title != "Start" or name in {"ui", "stdio"})
]
_NAMED: Final = re.compile(rf"(?<![\w./-])portico (?=(?:{'|'.join(_OF_A_SPACE)})\b)")


class _Naming:
    """A stream that a person reads: whatever says it need not know of the demo."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(_NAMED.sub("portico demo ", text))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 # all else is the stream's own
        return getattr(self._stream, name)


@contextmanager
def named_as_in_the_demo() -> Iterator[None]:
    """Programs get what they would get elsewhere."""
    streams = {name: getattr(sys, name) for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        if stream.isatty():
            setattr(sys, name, _Naming(stream))
    try:
        yield
    finally:
        for name, stream in streams.items():
            setattr(sys, name, stream)
