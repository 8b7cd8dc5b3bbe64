"""Forms: fields that a person filled in, read and checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request

from portico.kernel.errors import FieldError, Kind, PorticoError

_MOST_FIELDS: Final = 2000
_ENCODED: Final = "application/x-www-form-urlencoded"


class InvalidForm(PorticoError):
    kind = Kind.INVALID
    code = "bad_form"
    type_name = "BadForm"
    title = "The form cannot be read"
    fix = "Mend the named field, and send it again."

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}." if field else f"{message}.")
        self.field_errors = (FieldError(field, message),) if field else ()


@dataclass(frozen=True, slots=True)
class Form:
    fields: Mapping[str, Sequence[str]]

    def maybe(self, name: str, *, most: int = 10_000) -> str | None:
        """What was written, without the space around it; None if nothing was. Raises
        `InvalidForm`."""
        written = self.fields.get(name, ("",))
        if len(written) > 1:
            raise InvalidForm(name, "may be given once")
        text = written[0].strip().replace("\r\n", "\n")
        if len(text) > most:
            raise InvalidForm(name, f"must be at most {most} letters")
        if "\0" in text:
            raise InvalidForm(name, "must be text, without the letter NUL")
        return text or None

    def text(self, name: str, *, most: int = 10_000) -> str:
        """Raises `InvalidForm`."""
        found = self.maybe(name, most=most)
        if found is None:
            raise InvalidForm(name, "must be filled in")
        return found

    def whole(self, name: str, *, least: int = 0, most: int = 10**12) -> int | None:
        """A whole number; None if nothing was written. Raises `InvalidForm`."""
        found = self.maybe(name, most=20)
        if found is None:
            return None
        if not (found.isascii() and found.isdigit() and least <= int(found) <= most):
            raise InvalidForm(name, f"must be a whole number from {least} to {most}")
        return int(found)

    def many(self, name: str, *, most: int = 1000) -> list[str]:
        """All that were chosen. Raises `InvalidForm`."""
        found = self.fields.get(name, ())
        if len(found) > most:
            raise InvalidForm(name, f"may be given {most} times at most")
        return [each for each in found if each and "\0" not in each]

    def one_of(self, name: str, choices: Sequence[str]) -> str:
        """Exactly one of these: anything else is a refusal and never a default."""
        found = self.maybe(name, most=200)
        if found is None or found not in choices:
            raise InvalidForm(name, "must be one of what is offered")
        return found

    def ticked(self, name: str) -> bool:
        return bool(self.maybe(name, most=20))

    @property
    def once(self) -> str | None:
        """The key of this very form, so that it is carried out once, however often it is sent."""
        found = self.maybe("once", most=64)
        return found if found is not None and found.isascii() and found.isalnum() else None


async def form_of(request: Request) -> Form:
    """Raises `InvalidForm`."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _ENCODED:
        raise InvalidForm("", f"A form is sent as {_ENCODED}")
    body = await request.body()
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except (UnicodeError, ValueError) as error:
        raise InvalidForm("", "What was sent is not a form of ours") from error
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return Form(fields)
