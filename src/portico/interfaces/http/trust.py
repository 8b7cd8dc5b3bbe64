"""Over REST: whose word it is when the program with a key passes on its user's answer."""

from fastapi import APIRouter
from pydantic import BaseModel

from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.gateway_use_cases import Gateway
from portico.interfaces.http.problems import documented
from portico.interfaces.http.words import Body, KeyIdPath, PrincipalIdText
from portico.kernel.ids import PrincipalId


class TrustIn(Body, title="TrustIn"):
    person: PrincipalIdText | None
    """Null: nobody's any more."""


class TrustOut(BaseModel, title="TrustOut"):
    key: str
    person: str | None


router = APIRouter(prefix="/keys", tags=["keys"])


@router.get("/{key_id}/trust", name="show_trust", responses=documented(404))
async def show_trust(gateway: Gateway, caller: Caller, key_id: KeyIdPath) -> TrustOut:
    """Whose answers to requests for approval this key's program passes on, if anybody's."""
    person = await gateway.approvals.show_trust(caller, key_id)
    return TrustOut(key=key_id, person=None if person is None else str(person))


@router.put("/{key_id}/trust", name="trust_client", responses=documented(404))
async def trust_client(
    gateway: Gateway, caller: Caller, key_id: KeyIdPath, body: TrustIn
) -> TrustOut:
    """Take what this key's program says that its user has answered for that person's own word."""
    person = None if body.person is None else PrincipalId.parse(body.person)
    await gateway.approvals.trust_client(caller, key_id, person)
    return TrustOut(key=key_id, person=body.person)
