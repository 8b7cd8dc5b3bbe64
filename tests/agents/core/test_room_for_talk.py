"""What a window leaves for talk."""

import pytest

from portico.agents.core.room_for_talk import LEAST, room_for_talk
from portico.testing.agent_data import an_agent_spec


@pytest.mark.parametrize(
    ("window", "tools", "enough"),
    [(2_048, ("files.*",), False), (2_048, (), True), (8_192, ("files.*",), True)],
)
def test_a_small_window_leaves_little_beside_tools(
    window: int, tools: tuple[str, ...], enough: bool
) -> None:
    spec = an_agent_spec(tools=tools, instructions="x" * 200, most_output=4_096)

    assert (room_for_talk(spec, window, len) >= LEAST) is enough
