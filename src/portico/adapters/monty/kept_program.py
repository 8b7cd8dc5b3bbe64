"""A program that waits, as bytes: the interpreter's own, and what it has called and used so far."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from portico.sandbox.core.errors import CodeRefused
from portico.sandbox.core.requests import Pending

_MARK: Final = b"portico-code-1\n"
_DIGEST: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptProgram:
    interpreter: bytes
    functions: frozenset[str]
    calls: int
    printed: int
    """Bytes."""
    pending: Mapping[int, Pending] = field(default_factory=dict)

    def write(self) -> bytes:
        head = {
            "functions": sorted(self.functions),
            "calls": self.calls,
            "printed": self.printed,
            "pending": [
                [each.number, each.function, each.arguments, each.named]
                for each in self.pending.values()
            ],
        }
        body = json.dumps(head).encode() + b"\n" + self.interpreter
        return _MARK + sha256(body).digest() + body

    @classmethod
    def read(cls, snapshot: bytes) -> "KeptProgram":
        """Raises `CodeRefused` for what `write` has not written, or what was damaged since."""
        digest = snapshot[len(_MARK) : len(_MARK) + _DIGEST]
        body = snapshot[len(_MARK) + _DIGEST :]
        if not snapshot.startswith(_MARK) or sha256(body).digest() != digest:
            raise CodeRefused("that is no snapshot of a program, or a damaged one")
        text, _, interpreter = body.partition(b"\n")
        head: dict[str, Any] = json.loads(text)
        pending = (
            Pending(number=number, function=function, arguments=arguments, named=named)
            for number, function, arguments, named in head["pending"]
        )
        return cls(
            interpreter=interpreter,
            functions=frozenset(head["functions"]),
            calls=head["calls"],
            printed=head["printed"],
            pending={each.number: each for each in pending},
        )


NEW: Final = KeptProgram(interpreter=b"", functions=frozenset(), calls=0, printed=0)
