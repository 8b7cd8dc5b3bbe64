"""What would be decided is told as it would be, and nothing comes of it."""

from dataclasses import replace

import pytest

from portico.gateway.check_arguments import CheckArguments
from portico.gateway.core.errors import ToolNotFound
from portico.gateway.tool_aims import ToolAims
from portico.gateway.weigh_call import WeighCall
from portico.guard.core.act import Allowed, Denied, NeedsApproval
from tests.gateway.open_room import ANA, DELETE, READ, VIEWER, WRITE, OpenRoom


def weighing(room: OpenRoom) -> WeighCall:
    catalogues = room.gateway.catalogues
    return WeighCall(
        aims=ToolAims(catalogues=catalogues),
        check=CheckArguments(catalogues=catalogues, schemas=room.doors.schemas),
        decide=room.doors.gate.decide,
    )


async def test_it_is_decided_as_the_gate_would() -> None:
    weigh = weighing(OpenRoom())

    assert isinstance((await weigh(ANA, str(READ.ref))).decision, Allowed)
    assert isinstance((await weigh(ANA, str(DELETE.ref))).decision, NeedsApproval)
    assert isinstance((await weigh(VIEWER, str(WRITE.ref))).decision, Denied)


async def test_what_is_not_on_the_callers_list_is_denied() -> None:
    listed = replace(ANA, tools=(("files.write",),))

    weighed = await weighing(OpenRoom())(listed, str(READ.ref))

    assert weighed.decision.rule == "default:list"


async def test_nothing_is_called_and_nothing_written_down() -> None:
    room = OpenRoom()

    await weighing(room)(ANA, str(DELETE.ref), {})

    assert room.upstreams.called == []
    assert room.asking.asked == []
    assert await room.use.list_calls(ANA) == []


async def test_arguments_that_do_not_fit_are_told() -> None:
    weigh = weighing(OpenRoom())

    assert (await weigh(ANA, "files.read", {"path": "a"})).flaws == ()
    [flaw] = (await weigh(ANA, "files.read", {"path": 7})).flaws
    assert flaw.startswith("path: ")


async def test_what_waits_for_approval_is_denied_whatever_it_is_given() -> None:
    room = OpenRoom()
    room.replace(replace(READ, accepted_pin="another"))

    weighed = await weighing(room)(ANA, str(READ.ref), {"path": 7})

    assert (weighed.decision.rule, weighed.flaws) == ("default:approved", ())


async def test_what_is_not_there_is_not_found() -> None:
    with pytest.raises(ToolNotFound):
        await weighing(OpenRoom())(ANA, "files.nothing")
