"""Which agents somebody wants to see."""

import pytest

from portico.agents.core.agent import AgentFilter, AgentSpec
from portico.agents.core.agent_filter import takes

SPEC = AgentSpec(
    name="Clerk",
    description="Answers Letters.",
    model="a:b",
    fallbacks=("c:d",),
    tools=("files.*",),
    tags=("post",),
)


@pytest.mark.parametrize(
    ("which", "taken"),
    [
        (AgentFilter(), True),
        (AgentFilter(text="clERK"), True),
        (AgentFilter(text="letters"), True),
        (AgentFilter(text="bills"), False),
        (AgentFilter(tag="post"), True),
        (AgentFilter(tag="pos"), False),
        (AgentFilter(model="a:b"), True),
        (AgentFilter(model="c:d"), True),
        (AgentFilter(model="a"), False),
        (AgentFilter(tool="files.read"), True),
        (AgentFilter(tool="mail.send"), False),
        (AgentFilter(text="clerk", tag="post", model="a:b", tool="mail.send"), False),
    ],
)
def test_an_agent_is_taken_if_all_is_so(which: AgentFilter, taken: bool) -> None:
    assert takes(which, SPEC) is taken
