"""An expression read and looked through: what is wrong with it, and what it looks up."""

import re
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from jmespath.exceptions import EmptyExpressionError, JMESPathError, LexerError, ParseError
from jmespath.functions import Functions
from jmespath.parser import Parser

from portico.workflows.core.plan import LONGEST_EXPRESSION, WHOLE, BadExpression, did_you_mean

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
    """Raises `BadExpression`."""
    if len(expression) > LONGEST_EXPRESSION:
        what = f"it is longer than {LONGEST_EXPRESSION:,} characters."
        raise BadExpression(expression, LONGEST_EXPRESSION, what)
    tree = _parsed(expression)
    for depth, node in _walk(tree):
        if depth > DEEPEST:
            raise BadExpression(expression, 0, f"it is nested more than {DEEPEST} levels deep.")
        if node["type"] == "function_expression":
            _check_function(expression, node)
        elif node["type"] in _GOING_ON and node["children"][0]["type"] == "not_expression":
            what = "it turns only the name beside it round, and all is null: write !(a.b)."
            raise BadExpression(expression, expression.find("!"), what)
    return tree


def roots(expression: str) -> frozenset[str]:
    """Raises `BadExpression`."""
    return frozenset(_roots(parsed(expression)))


def _parsed(expression: str) -> Node:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a literal that is no JSON is taken, with a warning
            return dict(Parser().parse(expression).parsed)
    except PendingDeprecationWarning as error:
        at = expression.find("`")
        raise BadExpression(expression, at, "between ` and ` stands JSON.") from error
    except EmptyExpressionError as error:
        raise BadExpression(expression, 0, "it is empty.") from error
    except LexerError as error:
        what = f"{error.message}."
        raise BadExpression(expression, error.lexer_position, what) from error
    except ParseError as error:
        token = error.token_value
        what = f"{token!r} was not expected." if token else "it ends too early."
        if _BARE_NUMBER.search(expression):
            what += " Numbers, true, false and null stand between backticks: `0`."
        raise BadExpression(expression, error.lex_position or 0, what) from error
    except (JMESPathError, ValueError, IndexError, RecursionError) as error:
        raise BadExpression(expression, 0, "it cannot be read.") from error


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
        raise BadExpression(expression, at, f"{what} {near}" if near else what)
    wanted = known["signature"]
    more = bool(wanted and wanted[-1].get("variadic"))
    if count < len(wanted) or (count > len(wanted) and not more):
        raise BadExpression(
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
