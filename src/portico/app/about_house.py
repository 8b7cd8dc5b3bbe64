"""What Portico's own tools are told about Portico itself, by the parts that the gateway is of."""

from portico.adapters.builtin.status import Measures
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.app.assemble_workflows import WorkflowDoors
from portico.app.builtin import HouseDoors
from portico.app.outside import Outside
from portico.engine.notifications import TellPeople
from portico.gateway.calls import CheckArguments, ShowOwnFigures
from portico.gateway.catalog import Catalogues
from portico.gateway.policy_targets import ToolAims, WeighCall
from portico.gateway.ports import SchemaCheck, Servers
from portico.guard.policy import Decide
from portico.workflows.run_queries import LookAtOwn


def bring_house(  # noqa: PLR0913 # the parts, one by one
    house: HouseDoors,
    outside: Outside,
    *,
    catalogues: Catalogues,
    servers: Servers,
    schemas: SchemaCheck,
    workflows: WorkflowDoors,
    decide: Decide,
) -> None:
    """All but what agents bring: their models, and what their runs used up."""
    house.weigh = WeighCall(
        aims=ToolAims(catalogues=catalogues),
        check=CheckArguments(catalogues=catalogues, schemas=schemas),
        decide=decide,
    )
    house.runs = LookAtOwn(engines=workflows.engines, show=workflows.show())
    house.measures = Measures(
        figures=ShowOwnFigures(history=workflows.history, servers=servers, clock=outside.clock)
    )
    house.tell = TellPeople(
        log=PostgresEventLog(outside.transactions, outside.bus, outside.clock, outside.entropy),
        contexts=workflows.contexts,
        clock=outside.clock,
        clean=outside.clean,
    )
