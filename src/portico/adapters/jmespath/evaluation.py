"""JMESPath, parsed and evaluated within bounds. Loaded once an expression is met."""

import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from jmespath.exceptions import EmptyExpressionError, JMESPathError, LexerError, ParseError
from jmespath.functions import Functions
from jmespath.parser import Parser
from jmespath.visitor import Options, TreeInterpreter

from portico.kernel.json import JsonValue
from portico.workflows.core.plan import (
    LONGEST_EXPRESSION,
    WHOLE,
    Effort,
    ExpressionFailed,
    ExpressionTooLarge,
    InvalidExpression,
    did_you_mean,
)

MOST_WORK: Final = 1_000_000
"""A step of the interpreter counts ten, a value measured two, an item copied or compared and a
letter written one. No expression of the hostile ones in our tests took half a second."""
MOST_BUILT: Final = 1_000_000
"""Characters that something made by an expression may have, written as JSON. What it only finds in
its document may be as large as it is."""
_MEASURE: Final = 2
_LONGEST_NUMBER: Final = 10_000
"""Bits. Python writes no number of more than 4,300 digits."""


class TooMuch(Exception):
    """Says of what."""


class Meter:
    def __init__(self) -> None:
        self._left = MOST_WORK
        self._sizes: dict[int, tuple[object, int]] = {}
        """By identity, with the value itself, so that no other can come to have it."""

    @property
    def taken(self) -> int:
        return MOST_WORK - self._left

    def spend(self, work: int) -> None:
        self._left -= work
        if self._left < 0:
            raise TooMuch("takes too long.")

    def size(self, value: object) -> int:
        """Of its JSON, or a little more, without writing it: what holds the same thing a thousand
        times is small in memory and large everywhere else. Raises `TooMuch`, and `TypeError` for
        what is not JSON."""
        known = self._sizes.get(id(value))
        if known is not None:
            return known[1]
        self.spend(_MEASURE)
        size = self._measured(value)
        if size > MOST_BUILT:
            raise TooMuch(f"makes more than {MOST_BUILT:,} characters.")
        if isinstance(value, list | dict):
            self._sizes[id(value)] = (value, size)
        return size

    def _measured(self, value: object) -> int:
        match value:
            case str():
                return len(value) + 2
            case list():
                return 2 + sum(self.size(item) + 1 for item in value)
            case dict():
                return 2 + sum(len(key) + 4 + self.size(item) for key, item in value.items())
            case bool() | None:
                return 5
            case int() if value.bit_length() <= _LONGEST_NUMBER:
                return 1 + value.bit_length() // 3
            case float() if math.isfinite(value):
                return 24
        raise TypeError(type(value).__name__)


DEEPEST: Final = 64
"""Levels of an expression inside an expression: each takes a few frames of Python's stack."""

_GOING_ON: Final = frozenset(
    {
        "filter_projection",
        "flatten",
        "projection",
        "subexpression",
        "value_projection",
    }
)

_BARE_NUMBER: Final = re.compile(r"[<>=!]=?\s*-?\d|\d\s*[<>=!]")

Node = dict[str, Any]


@lru_cache(maxsize=2_048)
def parsed(expression: str) -> Node:
    """Raises `InvalidExpression`."""
    if len(expression) > LONGEST_EXPRESSION:
        what = f"it is longer than {LONGEST_EXPRESSION:,} characters."
        raise InvalidExpression(expression, LONGEST_EXPRESSION, what)
    tree = _parsed(expression)
    for depth, node in _walk(tree):
        if depth > DEEPEST:
            raise InvalidExpression(expression, 0, f"it is nested more than {DEEPEST} levels deep.")
        if node["type"] == "function_expression":
            _check_function(expression, node)
        elif node["type"] in _GOING_ON and node["children"][0]["type"] == "not_expression":
            what = "it turns only the name beside it round, and all is null: write !(a.b)."
            raise InvalidExpression(expression, expression.find("!"), what)
    return tree


def roots(expression: str) -> frozenset[str]:
    """Raises `InvalidExpression`."""
    return frozenset(_roots(parsed(expression)))


def _parsed(expression: str) -> Node:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a literal that is no JSON is taken, with a warning
            return dict(Parser().parse(expression).parsed)
    except PendingDeprecationWarning as error:
        at = expression.find("`")
        raise InvalidExpression(expression, at, "between ` and ` stands JSON.") from error
    except EmptyExpressionError as error:
        raise InvalidExpression(expression, 0, "it is empty.") from error
    except LexerError as error:
        what = f"{error.message}."
        raise InvalidExpression(expression, error.lexer_position, what) from error
    except ParseError as error:
        token = error.token_value
        what = f"{token!r} was not expected." if token else "it ends too early."
        if _BARE_NUMBER.search(expression):
            what += " Numbers, true, false and null stand between backticks: `0`."
        raise InvalidExpression(expression, error.lex_position or 0, what) from error
    except (JMESPathError, ValueError, IndexError, RecursionError) as error:
        raise InvalidExpression(expression, 0, "it cannot be read.") from error


def _walk(tree: Node) -> Iterator[tuple[int, Node]]:
    waiting = [(1, tree)]
    while waiting:
        depth, node = waiting.pop()
        yield depth, node
        inner = [child for child in node["children"] if isinstance(child, dict)]
        waiting += [(depth + 1, child) for child in inner]


def _check_function(expression: str, node: Node) -> None:
    name, count = node["value"], len(node["children"])
    found = re.search(rf"\b{re.escape(name)}\s*\(", expression)
    at = found.start() if found else 0
    known = Functions.FUNCTION_TABLE.get(name)
    if known is None:
        near = did_you_mean(name, Functions.FUNCTION_TABLE)
        what = f"there is no function {name[:60]!r}."
        raise InvalidExpression(expression, at, f"{what} {near}" if near else what)
    wanted = known["signature"]
    more = bool(wanted and wanted[-1].get("variadic"))
    if count < len(wanted) or (count > len(wanted) and not more):
        raise InvalidExpression(
            expression, at, f"{name} takes {len(wanted)} arguments, and is given {count}."
        )


_FIRST_ONLY: Final = frozenset({"subexpression", "index_expression", "pipe"})
"""Their later parts look at what the earlier ones gave, and not at the document."""
_PROJECTIONS: Final = frozenset({"projection", "value_projection", "filter_projection", "flatten"})
_NOWHERE: Final = frozenset({"literal", "expref"})


def _roots(node: Node) -> Iterator[str]:
    kind = node["type"]
    if kind == "field":
        yield node["value"]
    elif kind in {"current", "identity", "index", "slice"}:
        yield WHOLE
    elif kind in _FIRST_ONLY or kind in _PROJECTIONS:
        yield from _roots(node["children"][0])
    elif kind not in _NOWHERE:
        for child in node["children"]:
            yield from _roots(child)


# JMESPath's interpreter, metered: whatever the expression, it ends soon and makes little.
#
# Lists that hold the same list twice double with every pipe (`[@,@] | [@,@] | …`), flattening makes
# them real, and joining, writing and comparing take as long as they are large. So every list,
# object and text that an expression makes is measured when it is made, before anything is done with
# it.

_STEP: Final = 10
_LOOKS_INSIDE: Final = frozenset({"to_string", "contains", "join", "sort", "max", "min", "sum"})
"""Functions that take as long as what they are given is large, and not only as it is wide."""

_GLANCING: Final = frozenset({"length", "not_null", "to_array", "type"})
"""Functions that take no longer for what is large."""


class Bounded(TreeInterpreter):
    """For one evaluation. Raises `TooMuch`, and what JMESPath and Python raise for values that do
    not fit: `JMESPathError`, `TypeError`, `ValueError`, `ArithmeticError`, `RecursionError`."""

    def __init__(self) -> None:
        self._meter = Meter()
        self._made: set[int] = set()
        super().__init__(Options(custom_functions=_Functions(self._meter)))
        own: Any = self  # theirs is of the class: each of these has its own meter
        own.COMPARATOR_FUNC = {
            **TreeInterpreter.COMPARATOR_FUNC,
            "eq": self._equal,
            "ne": lambda one, other: not self._equal(one, other),
        }

    @property
    def taken(self) -> int:
        """How much work it was."""
        return self._meter.taken

    def result(self, tree: Node, document: JsonValue) -> JsonValue:
        found = self.visit(tree, document)
        if not isinstance(found, list | dict | str) or id(found) in self._made:
            self._meter.size(found)
        return found  # type: ignore[no-any-return]  # it has been looked at

    def visit(self, node: Any, *args: object, **kwargs: object) -> Any:  # noqa: ANN401  # theirs
        self._meter.spend(_STEP)
        value = super().visit(node, *args, **kwargs)
        if _makes(node) and isinstance(value, list | dict | str):
            self._meter.spend(len(value))
            self._meter.size(value)
            self._made.add(id(value))
        return value

    def _equal(self, one: object, other: object) -> bool:
        if isinstance(one, list | dict | str) and isinstance(other, list | dict | str):
            if type(one) is not type(other) or len(one) != len(other):
                return False
            self._meter.spend(min(self._meter.size(one), self._meter.size(other)))
        return bool(_EQUALS(one, other))


_EQUALS: Final[Callable[[Any, Any], Any]] = TreeInterpreter.COMPARATOR_FUNC["eq"]
_MAKING: Final = frozenset(
    {
        "filter_projection",
        "flatten",
        "function_expression",
        "literal",
        "multi_select_dict",
        "multi_select_list",
        "projection",
        "slice",
        "value_projection",
    }
)


_PICKING: Final = frozenset({"max_by", "min_by", "not_null"})
"""Functions that give one of what they are given."""


def _makes(node: Node) -> bool:
    picks = node["type"] == "function_expression" and node["value"] in _PICKING
    return node["type"] in _MAKING and not picks


class _Functions(Functions):
    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def call_function(self, function_name: str, resolved_args: Iterable[object]) -> object:
        given = list(resolved_args)
        for each in given:
            if function_name not in _GLANCING and isinstance(each, list | dict | str):
                self._meter.spend(len(each))
            if function_name in _LOOKS_INSIDE:
                self._meter.spend(self._meter.size(each))
        if function_name == "join":
            self._meter.spend(_letters_between(given))
        return super().call_function(function_name, given)


def _letters_between(given: Sequence[object]) -> int:
    between, texts = given
    if isinstance(between, str) and isinstance(texts, list):
        return len(between) * len(texts)
    return 0  # of what it will refuse


def search(expression: str, document: JsonValue, effort: Effort | None = None) -> JsonValue:
    """Raises `InvalidExpression`, `ExpressionTooLarge`, `ExpressionFailed`, `TooMuchEffort`."""
    tree, bounded = parsed(expression), Bounded()
    try:
        found = bounded.result(tree, document)
    except TooMuch as error:
        raise ExpressionTooLarge(expression, str(error)) from error
    except JMESPathError as error:
        raise ExpressionFailed(expression, _told(error)) from error
    except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise ExpressionFailed(expression, "it does not fit what is there.") from error
    finally:
        if effort is not None:
            effort.spend(bounded.taken)
    return found


def _told(error: JMESPathError) -> str:
    """Not in its own words, which repeat the value at any length."""
    name = getattr(error, "function_name", "a function")
    actual = getattr(error, "actual_type", "another type")
    wanted = getattr(error, "expected_types", ())
    return f"{name} is given a value of type {actual}, and takes {' or '.join(wanted)}."
