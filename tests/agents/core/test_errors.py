"""What is wrong with a file of an agent is said together with how to get a right one."""

from portico.agents.core.errors import BadAgentFile
from portico.kernel.errors import Kind


def test_a_file_that_cannot_be_read_says_why_and_where_a_right_one_comes_from() -> None:
    error = BadAgentFile("line 3 has no value.")

    assert str(error) == "This cannot be read as an agent: line 3 has no value."
    assert "portico agents export" in str(error.fix)
    assert error.kind is Kind.INVALID
