"""What the user decides about the audit: where its heads go."""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, Strict

_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class AuditSettings(BaseModel):
    """The record of what was done and decided, which nobody can change unnoticed."""

    model_config = _MODEL

    heads_every: Annotated[int, Strict(), Field(ge=1, le=1_000_000)] = 1000
    """Entries of a space after which its head is exported: to a file, and with the traces. Without
    a head that is kept elsewhere nobody can tell whether the end of the audit was cut off."""
    heads_file: str | None = None
    """File that the heads are added to; if not set, `audit-heads.ndjson` in the state folder."""
