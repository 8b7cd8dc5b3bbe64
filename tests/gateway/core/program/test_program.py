"""What can be begun as a program, and what a turn of it may use."""

import pytest

from portico.gateway.core.program.errors import BadProgram
from portico.gateway.core.program.program import ProgramLimits, ProgramWish, check
from portico.kernel.json import JsonObject


def test_a_small_program_with_inputs_can_be_begun() -> None:
    wish = ProgramWish(code="print(x)", inputs={"x": [1], "long_name_2": None})

    assert check(wish) is wish


@pytest.mark.parametrize("code", ["", " \n", "x" * 100_001])
def test_nothing_and_too_much_is_refused(code: str) -> None:
    with pytest.raises(BadProgram):
        check(ProgramWish(code=code))


@pytest.mark.parametrize(
    "inputs",
    [
        {"call": 1},
        {"fs__read": 1},
        {"1x": 1},
        {"a b": 1},
        {"\uff58": 1},
        {"": 1},
        {"x": "y" * 1_000_001},
    ],
)
def test_inputs_that_no_variable_could_hold_are_refused(inputs: JsonObject) -> None:
    with pytest.raises(BadProgram):
        check(ProgramWish(code="1", inputs=inputs))


def test_a_turn_may_take_what_is_left_of_the_whole_time() -> None:
    limits = ProgramLimits(seconds=2, whole_seconds=10)

    assert limits.for_turn(4.0).whole_seconds == 4.0
    assert limits.for_turn(4.0).seconds == 2
    assert limits.for_turn(-1).whole_seconds > 0
