"""Which of the doors `portico stdio` leads to."""

import pytest

from portico.faces.cli.errors import BadUsage
from portico.faces.cli.stdio import Face, _path


def test_the_gateway_unless_another_door_is_named() -> None:
    assert _path(None, "gateway") == "/mcp"
    assert _path("git hub", "gateway") == "/mcp/servers/git%20hub"
    assert _path(None, "bridge") == "/mcp/bridge"
    assert _path(None, "debate") == "/mcp/debate"


@pytest.mark.parametrize("face", ["bridge", "debate"])
def test_nobody_comes_in_by_two_doors(face: Face) -> None:
    with pytest.raises(BadUsage):
        _path("github", face)
