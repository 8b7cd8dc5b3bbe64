"""What the first lines of a file say about how it is run."""

import re
from pathlib import Path
from typing import Final

_LONGEST: Final = 512
_CODE: Final = (".js", ".mjs", ".cjs", ".ts", ".py", ".rb", ".pl", ".php", ".sh", ".jar")
_HANDED_ON: Final = re.compile(rb"'''exec' ['\"]([^'\"]+)['\"]")


def interpreters(file: Path) -> tuple[str, ...]:
    """What it is run by; where that is too long for its first line, also what the second hands it
    on to."""
    try:
        with file.open("rb") as stream:
            first, second = stream.readline(_LONGEST), stream.readline(_LONGEST)
    except OSError:
        return ()
    if not first.startswith(b"#!"):
        return ()
    words = first[2:].decode(errors="replace").split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    handed = _HANDED_ON.match(second)
    return (*words[:1], *([] if handed is None else [handed[1].decode(errors="replace")]))


def is_code(file: Path) -> bool:
    """Whether it is program text rather than something to work on."""
    named = file.suffix in _CODE or "node_modules" in file.parts
    return named or bool(interpreters(file))
