"""What the guard is told of where a call goes."""

from dataclasses import replace

from portico.box.core.profile import Network, Place, Profile
from portico.gateway.core.aim import aim_at
from portico.gateway.core.confinement import Unboxed
from portico.gateway.core.server import Http, Inside, Server
from portico.gateway.core.tool import ToolRef
from portico.kernel.effect import Effect
from portico.testing.gateway import a_server
from portico.testing.kernel import BEGINNING

BOXED = a_server("files")
UNBOXED = replace(BOXED, unboxed=Unboxed(by="ana", at=BEGINNING, launch_pin=BOXED.launch_pin))


def held(profile: Profile) -> Server:
    return replace(BOXED, profile=profile)


def test_what_a_server_is_given_leaves_this_machine_unless_something_keeps_it_here() -> None:
    rows: list[tuple[Server, bool]] = [
        (BOXED, False),
        (held(Profile()), False),
        (a_server("own", launch=Inside("builtin", "1")), False),
        (a_server("far", launch=Http("https://tools.example/mcp")), True),
        (UNBOXED, True),
        (held(Profile(network=Network.PUBLIC)), True),
        (held(Profile(reach=(Place("tools.example", 443),))), True),
    ]

    for server, outside in rows:
        aim = aim_at(server, ToolRef(server.name, "read"), Effect.LOCAL_READ, "p")

        assert (aim.outside, aim.effect) == (outside, Effect.LOCAL_READ)
