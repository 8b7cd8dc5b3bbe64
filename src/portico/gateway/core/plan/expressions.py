"""Expressions over what steps gave: JMESPath, of a bounded length, effort and result."""

from typing import Protocol

from portico.gateway.core.plan.effort import Effort
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.json import JsonValue

WHOLE = "@"
"""Among the roots of an expression that looks at its document as a whole."""


class BadExpression(PorticoError):
    kind = Kind.INVALID
    code = "bad_expression"
    title = "Not an expression"
    fix = "Expressions are JMESPath: `json.items[?ok].name`, `length(content) > `3``."

    def __init__(self, expression: str, position: int, what: str) -> None:
        super().__init__(f"{expression[:100]!r}, at character {position + 1}: {what}")
        self.position = position
        """In characters, from 0."""
        self.what = what


class ExpressionTooLarge(PorticoError):
    kind = Kind.EXHAUSTED
    code = "expression_too_large"
    title = "The expression takes or makes too much"
    fix = "Choose less of it: name the fields that are wanted, or filter first."

    def __init__(self, expression: str, what: str) -> None:
        super().__init__(f"{expression[:100]!r} {what}")
        self.what = what


class ExpressionFailed(PorticoError):
    kind = Kind.INVALID
    code = "expression_failed"
    title = "The expression does not fit what is there"
    fix = "Look at what the step gave, and use functions on what they are for."

    def __init__(self, expression: str, what: str) -> None:
        super().__init__(f"{expression[:100]!r}: {what}")
        self.what = what


class Expressions(Protocol):
    """Pure functions: the same expression over the same document always gives the same."""

    def check(self, expression: str) -> None:
        """Raises `BadExpression`, also for a function that there is none of."""
        ...

    def roots(self, expression: str) -> frozenset[str]:
        """The names that it looks up in its document itself, and `WHOLE` if it takes it as one.
        Raises `BadExpression`."""
        ...

    def search(
        self, expression: str, document: JsonValue, effort: Effort | None = None
    ) -> JsonValue:
        """None for a path to nothing; what it took is spent of `effort`. Raises `BadExpression`,
        `ExpressionTooLarge`, `ExpressionFailed` and `TooMuchEffort`; whatever the expression,
        within a fraction of a second."""
        ...


def holds(value: JsonValue) -> bool:
    """Whether a condition with this result is met, as JMESPath has it: not for false, null and
    what is empty, and for 0."""
    return not (value is None or value is False or value in ("", [], {}))
