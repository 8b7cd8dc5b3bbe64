"""The header that says which task a request is part of, in both eras."""

from dataclasses import dataclass, field

from portico.kernel.ids import ContextId
from portico.kernel.principal import Principal
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.faces.mcp.gateway import Gateway, Site, serving
from tests.faces.mcp.test_sessions import opened
from tests.faces.mcp.wire import legacy, modern

TASK = str(ContextId.mint(BEGINNING, SeededEntropy("task")))


@dataclass
class Noting(Gateway):
    tasks: list[ContextId | None] = field(default_factory=list)
    """Of whoever asked for the list of tools."""

    async def _surface(self, caller: Principal) -> object:
        self.tasks.append(caller.context)
        return await super()._surface(caller)


async def test_a_request_of_the_later_era_is_part_of_the_task_that_it_names() -> None:
    gateway = Noting()

    async with serving(gateway) as site:
        named = await modern(site, "tools/list", {}, more={"Portico-Context": TASK})
        unnamed = await modern(site, "tools/list", {})

    assert (named.status_code, unnamed.status_code) == (200, 200)
    assert gateway.tasks == [ContextId.parse(TASK), None]


async def test_a_session_belongs_to_the_task_that_it_was_opened_in(site: Site) -> None:
    session = await opened(site)

    outside = await legacy(site, session, "tools/list", more={"Portico-Context": TASK})

    assert outside.status_code == 404
    assert (await legacy(site, session, "tools/list")).status_code == 200


async def test_what_is_no_task_is_refused(site: Site) -> None:
    answer = await modern(site, "tools/list", {}, more={"Portico-Context": "quarter"})

    assert (answer.status_code, answer.json()["code"]) == (422, "bad_id")
