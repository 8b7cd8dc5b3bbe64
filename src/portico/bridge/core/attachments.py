"""Attachments of messages."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from portico.bridge.core.errors import AttachmentNotFound, flaws_of_line
from portico.kernel.errors import FieldError
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label

LARGEST: Final = 25_000_000
"""Bytes."""
MOST_LETTERS: Final = 200
"""Of its name."""
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_MEDIA_TYPE: Final = re.compile(r"[\w.+-]{1,90}/[\w.+-]{1,90}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Digest:
    """SHA-256 of a content, as hexadecimal digits."""

    text: str

    @classmethod
    def of(cls, content: bytes) -> Self:
        return cls(hashlib.sha256(content).hexdigest())

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `AttachmentNotFound` of what is none: nothing has it."""
        if not _DIGEST.fullmatch(text):
            raise AttachmentNotFound(text)
        return cls(text)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """The same content under two labels is two: who may read one need not know of the other."""

    digest: Digest
    label: Label
    name: str
    media_type: str
    size: int
    untrusted: bool = False
    """Whoever added it had read strangers' words in the same task."""
    by: PrincipalId
    at: datetime


def flaws_of_attachment(name: str, media_type: str, size: int) -> Iterator[FieldError]:
    yield from flaws_of_line("name", name, most=MOST_LETTERS)
    if not _MEDIA_TYPE.fullmatch(media_type):
        yield FieldError("media_type", "is not a media type such as text/plain")
    if size > LARGEST:
        yield FieldError("content", f"has {size:,} bytes; at most {LARGEST:,}")
