"""How secret a server is, and what may be sent to it, over REST."""

from fastapi import APIRouter
from pydantic import BaseModel

from portico.gateway.core.servers import Server
from portico.gateway.servers import Labelling
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.gateway_use_cases import Gateway
from portico.interfaces.http.problems import documented
from portico.interfaces.http.server_names import ServerName
from portico.interfaces.http.words import Body, LabelText, Switch
from portico.kernel.label import Label


class LabellingIn(Body, title="LabellingIn"):
    """What is left away stays as it is."""

    label: LabelText | None = None
    """What its results carry; whoever is not cleared for it does not see the server."""
    clearance: LabelText | None = None
    """The most that may be sent to it."""
    trusted: Switch | None = None
    """Whether its results count as your own words, and not as a stranger's."""


class LabelsOut(BaseModel, title="LabelsOut"):
    label: str
    clearance: str
    trusted: bool


router = APIRouter(prefix="/servers", tags=["servers"])


@router.put("/{name}/label", name="label_server", responses=documented(404))
async def label_server(
    gateway: Gateway, caller: Caller, name: ServerName, body: LabellingIn
) -> LabelsOut:
    """By somebody who is cleared for what it was and for what it becomes."""
    wish = Labelling(
        label=None if body.label is None else Label.parse(body.label),
        clearance=None if body.clearance is None else Label.parse(body.clearance),
        trusted=body.trusted,
    )
    return labels_out(await gateway.label_server(caller, name, wish))


def labels_out(server: Server) -> LabelsOut:
    return LabelsOut(
        label=str(server.label), clearance=str(server.clearance), trusted=server.trusted
    )
