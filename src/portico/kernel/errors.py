"""What can go wrong, in six kinds that every interface knows how to answer; figures in
sentences.
"""

from dataclasses import dataclass
from enum import StrEnum

# What can go wrong, in six kinds that every face knows how to answer.
#
# PorticoError
# ├── InvalidId            kernel.ids
# ├── NotCanonical         kernel.json
# ├── InvalidLabel         kernel.label
# ├── ReservationExceeded  kernel.budget
# ├── guard.core           who may do what: errors, and those of secret and vault_keys
# ├── box.core.errors      what runs inside walls
# ├── engine.core.errors   the store and its upkeep
# ├── gateway.core.errors  tools and the servers that have them
# ├── workflows.core       plans and programs: errors, plan, plan_values, saved, programs
# ├── learning.core.suggest suggestions: suggestion, kept_suggestion
# └── settings.errors      the configuration


class Kind(StrEnum):
    INVALID = "invalid"
    DENIED = "denied"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    EXHAUSTED = "exhausted"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with one field of what was sent."""

    field: str
    message: str


class PorticoError(Exception):
    """A broken journey. The message is one sentence; `fix` says what to do next."""

    kind: Kind
    code: str
    title: str
    fix: str | None = None
    field_errors: tuple[FieldError, ...] = ()

    def __init__(self, message: str, *, fix: str | None = None) -> None:
        super().__init__(message)
        if fix is not None:
            self.fix = fix


def type_name(error: BaseException) -> str:
    """The `type` of a stored or published failure: the class's own `type_name`, or else its name.

    A class that is renamed keeps its earlier name as `type_name`.
    """
    kind = type(error)
    return str(vars(kind).get("type_name", kind.__name__))


def many(count: int, word: str) -> str:
    """`1 tool`, `1,200 tools`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"
