"""Idempotency records: what a repeated request is answered with."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from portico.kernel.json import JsonObject, JsonValue, canonical

# Doing a thing once, however often it is asked: what identifies an asking, and its answer.


@dataclass(frozen=True, slots=True)
class Claim:
    """One principal's key for one operation, and a fingerprint of what was asked under it."""

    operation: str
    key: str
    fingerprint: str

    @classmethod
    def of(cls, operation: str, key: str, request: JsonValue) -> "Claim":
        return cls(operation, key, hashlib.sha256(canonical(request)).hexdigest())


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """What is said. `shown_once` joins the first answer only and is never kept: a new key."""

    stored: JsonObject
    shown_once: JsonObject = field(default_factory=dict)

    def first(self) -> Mapping[str, JsonValue]:
        return {**self.stored, **self.shown_once}


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    body: JsonObject
    replayed: bool
