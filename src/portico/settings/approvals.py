"""What the user decides about requests for approval: how long they wait, and who hears of them."""

from typing import Annotated, Final, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, Strict, field_validator, model_validator
from pydantic_core import PydanticCustomError

from portico.guard.core.secrets import Source, parse_ref

_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class ApprovalsSettings(BaseModel):
    """How long somebody is waited for, and how long a request can be answered."""

    model_config = _MODEL

    wait_seconds: Annotated[int, Strict(), Field(ge=0, le=300)] = 20
    """Seconds that a call which needs approval waits for it; then it is told where to ask again."""
    expires_minutes: Annotated[int, Strict(), Field(ge=1, le=10_080)] = 60
    """Minutes after which a request that nobody has answered is over, and also how long the call
    that was approved may still be made if nobody could make it at once."""
    most_waiting: Annotated[int, Strict(), Field(ge=1, le=100_000)] = 50
    """Requests of one principal that wait at a time; what needs approval beyond is refused."""
    webhook: str | None = None
    """Address that is told of each request, signed and without its arguments:
    https://hooks.example/portico. Not set: nobody is told."""
    webhook_secret: str | None = None
    """Where the secret is that it is signed with: env:NAME, keyring:SERVICE/NAME or file:PATH."""

    @field_validator("webhook")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        """Does not repeat it: what is behind its path may be a key."""
        if value is None:
            return None
        try:
            parts = urlsplit(value)
            usable = parts.hostname and parts.username is None and parts.port != 0
        except ValueError:
            usable = False
        if not usable or parts.scheme not in {"http", "https"} or parts.fragment:
            raise ValueError("must be an address, as in https://hooks.example/portico")
        return value

    @field_validator("webhook_secret")
    @classmethod
    def _is_a_reference(cls, value: str | None) -> str | None:
        """Does not repeat it: it may be the secret itself."""
        ref = None if value is None else parse_ref(value)
        if value is not None and (ref is None or ref.source is Source.SECRET):
            raise ValueError("must say where the secret is, as in env:PORTICO_WEBHOOK_SECRET")
        return value

    @model_validator(mode="after")
    def _is_signed(self) -> Self:
        if self.webhook is not None and self.webhook_secret is None:
            raise PydanticCustomError(
                "unsigned",
                "webhook needs webhook_secret: what is not signed, anybody could send",
                {"setting": "webhook_secret"},
            )
        return self
