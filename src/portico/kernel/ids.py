"""Names of things: typed, sortable by time, prefixed on the wire (`spc_01jq…`).

The value is a UUIDv7 (RFC 9562, method 3: the bits after the millisecond carry the microsecond),
the text its 128 bits in Crockford's base 32, so that text sorts as time does too.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Final, Self
from uuid import UUID

from portico.kernel.clock import Entropy
from portico.kernel.errors import Kind, PorticoError

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_VALUE_OF: Final = {letter: value for value, letter in enumerate(_ALPHABET)}
_PAIRS: Final = tuple(one + other for one in _ALPHABET for other in _ALPHABET)
_SHIFTS: Final = range(120, -1, -10)
_TEXT_LENGTH: Final = 26
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class InvalidId(PorticoError):
    kind = Kind.INVALID
    code = "bad_id"
    type_name = "BadId"
    title = "Not an id"
    fix = "Give the whole id, as an answer or a list shows it."

    def __init__(self, text: str, prefix: str) -> None:
        super().__init__(f"{text[:64]!r} is not an id of the form {prefix}_….")
        self.text = text
        self.prefix = prefix


@dataclass(frozen=True, slots=True)
class Id:
    value: UUID

    prefix: ClassVar[str] = "id"

    @classmethod
    def mint(cls, at: datetime, entropy: Entropy) -> Self:
        return cls(uuid7(at, entropy(8)))

    @classmethod
    def of_digest(cls, content: bytes) -> Self:
        """The same for the same content, and nobody's else."""
        number = int.from_bytes(hashlib.sha256(content).digest()[:16])
        number &= ~(0xF << 76 | 0b11 << 62)
        return cls(UUID(int=number | 0x8 << 76 | 0b10 << 62))

    @classmethod
    def parse(cls, text: str) -> Self:
        prefix, _, body = text.rpartition("_")
        if prefix != cls.prefix or len(body) != _TEXT_LENGTH or body[0] > "7":
            raise InvalidId(text, cls.prefix)
        number = 0
        for letter in body:
            if letter not in _VALUE_OF:
                raise InvalidId(text, cls.prefix)
            number = number * 32 + _VALUE_OF[letter]
        return cls(UUID(int=number))

    def __str__(self) -> str:
        number = self.value.int
        pairs = [_PAIRS[(number >> shift) & 1023] for shift in _SHIFTS]
        return f"{self.prefix}_{''.join(pairs)}"


class SpaceId(Id):
    __slots__ = ()
    prefix = "spc"


class PrincipalId(Id):
    __slots__ = ()
    prefix = "prn"


class EventId(Id):
    __slots__ = ()
    prefix = "evt"


class ContextId(Id):
    """Of a task: what has been read in it, and so how secret what comes of it is."""

    __slots__ = ()
    prefix = "ctx"


class ApprovalId(Id):
    __slots__ = ()
    prefix = "apr"


class RunId(Id):
    __slots__ = ()
    prefix = "run"

    @classmethod
    def of_claim(cls, space: SpaceId, principal: PrincipalId, operation: str, key: str) -> Self:
        """The same for the same claim, so that asking twice starts one; nobody else's is this."""
        parts = [str(space), str(principal), operation, key]
        whole = "".join(f"{len(part)}:{part}" for part in parts)
        return cls.of_digest(whole.encode())


def uuid7(at: datetime, randomness: bytes) -> UUID:
    millis, micros = divmod((at - _EPOCH) // _MICROSECOND, 1000)
    fraction = micros * 4096 // 1000
    tail = int.from_bytes(randomness[:8]) & ((1 << 62) - 1)
    return UUID(int=millis << 80 | 0x7 << 76 | fraction << 64 | 0b10 << 62 | tail)
