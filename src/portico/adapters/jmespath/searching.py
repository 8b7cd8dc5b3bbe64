"""An expression evaluated, and what goes wrong with it told in our words."""

from jmespath.exceptions import JMESPathError

from portico.adapters.jmespath.bounded import Bounded
from portico.adapters.jmespath.meter import TooMuch
from portico.adapters.jmespath.parsing import parsed
from portico.kernel.json import JsonValue
from portico.workflows.core.plan import Effort, ExpressionFailed, ExpressionTooLarge


def search(expression: str, document: JsonValue, effort: Effort | None = None) -> JsonValue:
    """Raises `BadExpression`, `ExpressionTooLarge`, `ExpressionFailed`, `TooMuchEffort`."""
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
