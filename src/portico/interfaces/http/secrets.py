"""Secrets over REST: they go in, and never come out; no receipt keeps what was sent."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field, SecretStr

from portico.guard.core.secrets import LONGEST
from portico.guard.secrets import SecretLook
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.gateway_use_cases import Gateway
from portico.interfaces.http.problems import documented
from portico.interfaces.http.words import SECRET_NAME, Body

SecretNamePath = Annotated[str, Path(pattern=SECRET_NAME, max_length=64)]


class SecretIn(Body, title="SecretIn"):
    value: Annotated[SecretStr, Field(min_length=1, max_length=LONGEST)]


class SecretOut(BaseModel, title="SecretOut"):
    name: str
    where: str
    """What it is kept in: `keyring`, or `age` for an encrypted file."""
    set_at: datetime
    set_by: str
    used_by: list[str]
    """Servers of tools that are given it when they start."""


router = APIRouter(prefix="/secrets", tags=["secrets"])


@router.get("", name="list_secrets", responses=documented())
async def list_secrets(gateway: Gateway, caller: Caller) -> list[SecretOut]:
    """Which there are, never what they are."""
    return [_out(look) for look in await gateway.secrets.list_secrets(caller)]


@router.put("/{name}", name="set_secret", responses=documented())
async def set_secret(
    gateway: Gateway, caller: Caller, name: SecretNamePath, body: SecretIn
) -> SecretOut:
    """A server that runs is given the new one when it is started again."""
    value = body.value.get_secret_value()
    return _out(await gateway.secrets.set_secret(caller, name, value))


@router.delete("/{name}", name="unset_secret", status_code=204, responses=documented(404))
async def unset_secret(gateway: Gateway, caller: Caller, name: SecretNamePath) -> None:
    """A server that is to be given it does not start any more."""
    await gateway.secrets.unset_secret(caller, name)


def _out(look: SecretLook) -> SecretOut:
    return SecretOut(
        name=look.secret.name,
        where=look.where,
        set_at=look.secret.set_at,
        set_by=look.secret.set_by,
        used_by=[*look.used_by],
    )
