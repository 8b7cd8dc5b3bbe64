"""What servers may reach, over REST: look at it, say otherwise."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from portico.gateway.confinement import ProfileLook
from portico.gateway.core.confinement import MOST, profile_from
from portico.gateway.core.launch import shown
from portico.gateway.core.servers import Hold, let_out
from portico.gateway.servers import Held
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.gateway_use_cases import Gateway
from portico.interfaces.http.problems import documented
from portico.interfaces.http.server_names import ServerName
from portico.interfaces.http.words import Body
from portico.sandbox.core.profile import Network, Profile

Names = Annotated[tuple[str, ...], Field(max_length=MOST)]


class ProfileIn(Body, title="ProfileIn"):
    read: Names = ()
    """Folders and files by their whole paths, beside its own program."""
    write: Names = ()
    """Folders that it may also change."""
    network: Network = Network.NONE
    """`public`: any public address over HTTP and HTTPS. `none`: nothing but `reach`."""
    reach: Names = ()
    """Places as host:port, which may be this machine or its neighbours."""


class GrantsOut(BaseModel, title="GrantsOut"):
    read: list[str]
    write: list[str]
    network: Network
    reach: list[str]


class ConfinementOut(BaseModel, title="ConfinementOut"):
    hold: Hold
    """`boxed`; `unboxed`, with all rights of Portico itself; `refused`, because there is no box
    here; `elsewhere`, because it is not started here; or `ours`."""
    reaches: str
    """In one line, what it may reach."""
    stated: bool
    """Whether somebody has said so, or it follows from how it is started."""
    profile: GrantsOut | None


class ConsentOut(BaseModel, title="ConsentOut"):
    """To run without a box, where there is none."""

    by: str
    at: datetime
    holds: bool
    """Whether it is for the launch as it is now."""


class ProfileOut(ConfinementOut, title="ProfileOut"):
    name: str
    command: str
    default: GrantsOut
    """What it may reach if nobody says otherwise."""
    proposed: GrantsOut | None
    """Tighter, and known to suffice."""
    consent: ConsentOut | None
    let_out: str
    """What the setting `box.unboxed` has to name to run exactly this without a box."""


router = APIRouter(prefix="/servers", tags=["servers"])


@router.get("/{name}/profile", name="show_profile", responses=documented(404, 409))
async def show_profile(gateway: Gateway, caller: Caller, name: ServerName) -> ProfileOut:
    """What it may reach, what it could do with, and whether it is boxed at all."""
    return _out(await gateway.show_profile(caller, name))


@router.put("/{name}/profile", name="set_profile", responses=documented(404, 409))
async def set_profile(
    gateway: Gateway, caller: Caller, name: ServerName, body: ProfileIn
) -> ProfileOut:
    """This and nothing else, beside its own program and home. Its process is ended; to let it
    reach more than before wants `servers:approve`."""
    profile = profile_from(body.model_dump(mode="json"))
    return _out(await gateway.set_profile(caller, name, profile))


@router.delete("/{name}/profile", name="forget_profile", responses=documented(404, 409))
async def forget_profile(gateway: Gateway, caller: Caller, name: ServerName) -> ProfileOut:
    """Back to what follows from how it is started."""
    return _out(await gateway.set_profile(caller, name, None))


def confinement_out(held: Held) -> ConfinementOut:
    confinement = held.confinement
    profile = confinement.profile
    return ConfinementOut(
        hold=confinement.hold,
        reaches=held.said,
        stated=confinement.stated,
        profile=None if profile is None else _grants(profile),
    )


def _out(look: ProfileLook) -> ProfileOut:
    server, consent = look.server, look.server.unboxed
    return ProfileOut(
        **confinement_out(look.held).model_dump(),
        name=server.name,
        command=shown(server.launch),
        default=_grants(look.default),
        proposed=None if look.proposed is None else _grants(look.proposed),
        let_out=let_out(server.name, server.launch_pin),
        consent=None
        if consent is None
        else ConsentOut(
            by=consent.by, at=consent.at, holds=consent.launch_pin == server.launch_pin
        ),
    )


def _grants(profile: Profile) -> GrantsOut:
    return GrantsOut(
        read=[*profile.read],
        write=[*profile.write],
        network=profile.network,
        reach=[str(place) for place in profile.reach],
    )
