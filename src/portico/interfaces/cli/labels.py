"""How secret something is, as an option: what is no label is refused before anything is asked."""

from typing import Annotated

from cyclopts import Parameter

from portico.kernel.label import Label


def _check(_type: object, text: object) -> None:
    """Raises `BadLabel`."""
    if isinstance(text, str):
        Label.parse(text)


LabelOption = Annotated[str | None, Parameter(validator=_check)]
