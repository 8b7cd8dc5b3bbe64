"""Which functions a program has, and what its calls mean."""

import pytest

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.kernel.json import JsonObject, JsonValue
from portico.sandbox.core.requests import Pending, Raised
from portico.workflows.core.programs import (
    BadProgram,
    ProgramLimits,
    ProgramWish,
    Wanted,
    check,
    function_name,
    functions_in,
    uses_call,
    wanted,
)

READ = ToolRef("fs", "read_file")
DASHED = ToolRef("my-git", "log.all")
FUNCTIONS = {"fs__read_file": READ}


def called(function: str, *arguments: JsonValue, **named: JsonValue) -> Pending:
    return Pending(number=3, function=function, arguments=list(arguments), named=named)


def test_a_function_is_named_after_its_server_and_its_tool() -> None:
    assert function_name(READ) == "fs__read_file"
    assert function_name(DASHED) == "my_git__log_all"


def test_a_program_has_the_functions_that_it_names_and_no_others() -> None:
    three = [DASHED, READ, ToolRef("fs", "write_file")]
    rows: list[tuple[str, list[ToolRef], dict[str, ToolRef]]] = [
        (
            "x = await my_git__log_all()\nprint('fs__read_file')",
            three,
            {**FUNCTIONS, "my_git__log_all": DASHED},
        ),
        ("xfs__read_file fs__read_file2", [READ], {}),
        ("\uff46s__read_file()", [READ], FUNCTIONS),
        ("fs__read_file()", [ToolRef("fs", "read-file"), READ], {}),
    ]

    for code, refs, found in rows:
        assert functions_in(code, refs) == found, code


def test_call_is_there_for_whoever_names_it() -> None:
    rows: list[tuple[str, bool]] = [
        ("await call('a.b')", True),
        ("recall()", False),
        ("call_it()", False),
    ]

    for code, uses in rows:
        assert uses_call(code) is uses


def test_arguments_are_given_by_their_names_or_as_one_object() -> None:
    rows: list[Pending] = [
        called("fs__read_file", path="a"),
        called("fs__read_file", {"path": "a"}),
        called("call", "fs.read_file", {"path": "a"}),
        called("call", "fs.read_file", arguments={"path": "a"}),
        called("call", tool="fs.read_file", arguments={"path": "a"}),
    ]

    for pending in rows:
        assert wanted(pending, FUNCTIONS) == Wanted(3, READ, {"path": "a"})
    assert wanted(called("call", "fs.read_file"), {}) == Wanted(3, READ, {})
    assert wanted(called("call", "nothing"), {}) == Raised(
        "'nothing' is not of the form server.tool.", "ValueError"
    )


def test_what_has_no_name_is_refused_with_the_reason() -> None:
    rows: list[Pending] = [
        called("fs__read_file", "a"),
        called("fs__read_file", {"path": "a"}, path="b"),
        called("fs__read_file", {}, {}),
    ]

    for pending in rows:
        assert wanted(pending, FUNCTIONS) == Raised(
            "fs__read_file takes its arguments by their names", "TypeError"
        )


def test_call_takes_nothing_else() -> None:
    rows: list[Pending] = [
        called("call"),
        called("call", 1),
        called("call", None, {}),
        called("call", "a.b", []),
        called("call", "a.b", {}, {}),
        called("call", "a.b", {}, tool="c.d"),
        called("call", "a.b", ticket="apr_1"),
        called("call", ["a.b"]),
    ]

    for pending in rows:
        meant = wanted(pending, {})

        assert isinstance(meant, Raised), pending
        assert meant.kind == "TypeError", pending


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
