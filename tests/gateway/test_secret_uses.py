"""Which servers are given which secrets."""

from portico.gateway.core.server import FromSecret, Http, Inside, Plain, Stdio, Template
from portico.gateway.secret_uses import FindSecretUses, secrets_of
from portico.testing.gateway import MemoryServers, a_server
from portico.testing.guard import a_person, a_space
from portico.testing.world import MemoryWorld

ANA = a_person("ana")


def test_a_secret_is_found_wherever_it_is_given() -> None:
    started = Stdio(
        "x",
        (FromSecret("secret:a"), Plain("secret:no")),
        {"K": FromSecret("secret:b"), "F": FromSecret("keyring:s/n")},
    )
    reached = Http("https://x.example", {"A": Template(("Bearer ", FromSecret("secret:c")))})

    assert [*secrets_of(started)] == ["a", "b"]
    assert [*secrets_of(reached)] == ["c"]
    assert [*secrets_of(Inside("builtin", "1"))] == []


async def test_each_server_is_named_once_for_each_secret_that_it_is_given() -> None:
    world = MemoryWorld()
    world.spaces[ANA.space] = a_space()
    servers = MemoryServers(world)
    twice = (FromSecret("secret:github"), FromSecret("secret:github"))
    both = Stdio("x", twice, {"K": FromSecret("secret:aws")})
    for server in (
        a_server("tracker", launch=both),
        a_server("code", launch=Stdio("x", twice[:1])),
        a_server("time"),
    ):
        await servers.add(ANA, server)

    found = await FindSecretUses(servers=servers)(ANA)

    assert {name: sorted(users) for name, users in found.items()} == {
        "github": ["code", "tracker"],
        "aws": ["tracker"],
    }
