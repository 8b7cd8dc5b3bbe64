"""The tools of a shelf, as suggestions look at them."""

from portico.gateway.shelf import Shelf
from portico.gateway.suggest.offered_tools import OfferedTools
from portico.kernel.effect import Effect
from portico.testing.gateway import an_approved_server
from tests.gateway.suggest.suggest_room import READ, WRITE


def test_each_has_its_parameters_and_its_effect_and_what_is_not_there_is_not() -> None:
    tools = OfferedTools(Shelf.of([an_approved_server("files")], {"files": [READ, WRITE]}))

    read = tools["files.read"]

    assert (read.effect, [each.name for each in read.required]) == (Effect.LOCAL_READ, ["path"])
    assert tools["files.read"] is read
    assert list(tools) == ["files.read", "files.write"]
    assert len(tools) == 2
    assert "files.gone" not in tools
    assert "no tool" not in tools
