"""Text without secrets: for whatever is written down or shown, whoever wrote it."""

import re
from typing import Final

_KEY: Final = re.compile(r"ptc_([0-9A-Za-z]{12})_[0-9A-Za-z]+")
_PASSWORD: Final = re.compile(
    r"(?i)(\bpassword\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)|(://[^:/@\s]*:)\S*(?=@)"
)


def blacked_out(text: str) -> str:
    """Without what looks like a key or a password; a key keeps its public id, so that whoever
    reads it can tell which one it was."""
    return _PASSWORD.sub(r"\1\3********", _KEY.sub(r"ptc_\1_********", text))
