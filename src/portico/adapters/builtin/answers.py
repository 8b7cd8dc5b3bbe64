"""What a tool of ours answers: words for a model, and the same in a form for programs."""

import re
from base64 import b64encode
from codecs import lookup
from typing import Final

from portico.gateway.core.calls import Answer
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject

_WRITTEN: Final = re.compile(
    r"(utf-(8|16|32)|iso8859-|cp|koi8|gb|big5|shift_jis|euc_|iso2022_|ascii|mac-)[a-z0-9_-]*"
)


def told(words: str, structured: JsonObject, *, failed: bool = False) -> Answer:
    return Answer([{"type": "text", "text": words}], structured, failed=failed)


def refusal(error: PorticoError) -> Answer:
    """A journey that broke inside a tool is that tool's failure, with what to do about it."""
    fix = {} if error.fix is None else {"fix": error.fix}
    words = " ".join([str(error), *fix.values()])
    return told(words, {"code": error.code, "message": str(error), **fix}, failed=True)


def content(body: bytes, charset: str = "utf-8") -> JsonObject:
    """As `text` if it is one, else as `base64`."""
    try:
        return {"text": body.decode(_known(charset))}
    except UnicodeDecodeError:
        return {"base64": b64encode(body).decode()}


def words_of(shown: JsonObject) -> str:
    """What `content` made of it, for somebody who reads."""
    if "text" in shown:
        return str(shown["text"])
    return f"(not a text; in base64)\n{shown['base64']}"


def _known(charset: str) -> str:
    """Somebody else has named it. One that nobody knows is none; nor is what Python calls a codec
    and no text is written in: some of those take a time that grows with the square."""
    try:
        name = lookup(charset).name
    except (LookupError, ValueError):
        return "utf-8"
    return name if _WRITTEN.fullmatch(name) else "utf-8"
