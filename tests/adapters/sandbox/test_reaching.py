"""The network of a box: none, the proxy, and straight ways to places that were named."""

import asyncio
import os
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from portico.adapters.sandbox import sandbox_process
from portico.adapters.sandbox.sandbox_process import Opening
from portico.sandbox.core.errors import InvalidProfile
from portico.sandbox.core.probes import Backend
from portico.sandbox.core.profile import Network, NetworkEndpoint, Profile
from tests.adapters.sandbox.boxes import Made

TALK = """
import socket
with socket.create_connection(({host!r}, {port}), 10) as connection:
    connection.sendall(b"hello\\n")
    print(connection.makefile().readline(), end="")
"""
BY_PROXY = """
import os, urllib.request
print(os.environ["http_proxy"].split("@")[-1].split(":")[1])
print(urllib.request.urlopen("http://{host}:{port}/", timeout=10).read().decode())
"""


@asynccontextmanager
async def an_echo() -> AsyncIterator[tuple[int, list[bytes]]]:
    """On this machine; it writes down what it hears, and answers to HTTP too."""
    heard: list[bytes] = []

    async def met(reader: StreamReader, writer: StreamWriter) -> None:
        line = await reader.readline()
        heard.append(line)
        if line.startswith(b"GET"):
            line = b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nyes"
        writer.write(line)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(met, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], heard


async def test_without_a_network_nothing_is_reached(made: Made) -> None:
    async with an_echo() as (port, heard):
        outcome = await made.python(TALK.format(host="127.0.0.1", port=port))

    assert outcome.code == 1
    assert heard == []


async def test_the_public_network_is_not_this_machine(made: Made) -> None:
    async with an_echo() as (port, heard):
        profile = Profile(network=Network.PUBLIC)
        straight = await made.python(TALK.format(host="127.0.0.1", port=port), profile=profile)
        asked = await made.python(BY_PROXY.format(host="localhost", port=port), profile=profile)

    assert (straight.code, asked.code) == (1, 1)
    assert heard == []


async def test_a_place_that_was_named_is_reached_by_the_proxy(made: Made) -> None:
    async with an_echo() as (port, heard):
        profile = Profile(network=Network.PUBLIC, reach=(NetworkEndpoint("127.0.0.1", port),))
        script = "import os; os.environ['no_proxy'] = ''" + BY_PROXY.format(
            host="127.0.0.1", port=port
        )
        outcome = await made.python(script, profile=profile)

    assert outcome.output.split()[-1:] == [b"yes"], outcome.errors
    assert len(heard) == 1


async def test_a_neighbour_of_a_place_is_not_reached(made: Made) -> None:
    async with an_echo() as (named, _), an_echo() as (other, heard):
        profile = Profile(network=Network.PUBLIC, reach=(NetworkEndpoint("127.0.0.1", named),))
        outcome = await made.python(TALK.format(host="127.0.0.1", port=other), profile=profile)

    assert outcome.code == 1
    assert heard == []


async def test_single_places_need_namespaces() -> None:
    profile = Profile(reach=(NetworkEndpoint("db.internal", 5432),))

    with pytest.raises(InvalidProfile, match="cannot be held apart") as refused:
        await Made(Backend.LANDLOCK).shell("true", profile=profile)

    assert "bubblewrap" in (refused.value.fix or "")


@pytest.mark.parametrize("bound", [True, False])
async def test_without_namespaces_nothing_listens(bound: bool) -> None:
    script = f"""
import socket
listening = socket.socket()
if {bound}: listening.bind(("127.0.0.1", 0))
listening.listen()
print(listening.getsockname())
"""
    outcome = await Made(Backend.LANDLOCK).python(script, profile=Profile(network=Network.PUBLIC))

    assert outcome.output == b""
    assert b"PermissionError" in outcome.errors


async def test_a_place_by_two_names_is_reached_by_both() -> None:
    async with an_echo() as (port, heard):
        profile = Profile(
            reach=(NetworkEndpoint("localhost", port), NetworkEndpoint("127.0.0.1", port))
        )
        script = "".join(TALK.format(host=host, port=port) for host in ("localhost", "127.0.0.1"))
        outcome = await Made(Backend.BUBBLEWRAP).python(script, profile=profile)

    assert outcome.output == b"hello\nhello\n", outcome.errors
    assert len(heard) == 2


async def test_as_many_places_as_can_be_handed_over_and_no_more() -> None:
    places = tuple(NetworkEndpoint(f"h{number}.internal", 5432) for number in range(64))

    held = await Made(Backend.BUBBLEWRAP).shell("echo in", profile=Profile(reach=places[1:]))

    assert held.output == b"in\n"
    with pytest.raises(InvalidProfile, match="more than 63 places"):
        await Made(Backend.BUBBLEWRAP).shell("true", profile=Profile(reach=places))


async def test_who_does_not_know_the_word_does_not_pass_the_proxy_of_this_machine() -> None:
    script = """
import os, socket
port = int(os.environ["http_proxy"].rsplit(":", 1)[1])
with socket.create_connection(("127.0.0.1", port), 10) as connection:
    connection.sendall(b"GET http://example.org/ HTTP/1.1\\r\\nHost: example.org\\r\\n\\r\\n")
    print(connection.makefile().readline())
"""
    outcome = await Made(Backend.LANDLOCK).python(script, profile=Profile(network=Network.PUBLIC))

    assert b" 407 " in outcome.output


async def test_programs_in_a_box_reach_each_other() -> None:
    script = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b"hi")).start()
print(socket.create_connection(server.getsockname()).recv(2))
"""
    outcome = await Made(Backend.BUBBLEWRAP).python(script)

    assert outcome.output == b"b'hi'\n"


async def test_names_of_places_are_known_inside() -> None:
    profile = Profile(
        reach=(NetworkEndpoint("database.internal", 5432), NetworkEndpoint("cache.internal", 6379))
    )
    script = """
import socket
for name in ("database.internal", "cache.internal", "localhost"):
    print(socket.gethostbyname(name))
"""
    outcome = await Made(Backend.BUBBLEWRAP).python(script, profile=profile)

    assert outcome.output.split() == [b"127.0.1.1", b"127.0.1.2", b"127.0.0.1"]


async def test_a_low_port_is_listened_on_where_root_asks_for_it() -> None:
    profile = Profile(reach=(NetworkEndpoint("mail.internal", 25),))
    script = """
import socket
print(socket.create_connection(("mail.internal", 25), 10).getpeername())
"""
    outcome = await Made(Backend.BUBBLEWRAP).python(script, profile=profile)

    if os.geteuid() == 0:
        assert outcome.output == b"('127.0.1.1', 25)\n", outcome.errors
    else:
        assert b"ConnectionRefusedError" in outcome.errors


DB, NEAR, OWN = (
    NetworkEndpoint("db.internal", 5432),
    NetworkEndpoint("127.0.1.1", 5432),
    NetworkEndpoint("::1", 5432),
)
LOW, OF_PROXY = NetworkEndpoint("mail.internal", 25), NetworkEndpoint("localhost", 3128)


@pytest.mark.parametrize(
    ("reach", "low_ports", "openings"),
    [
        ((), True, ()),
        ((OF_PROXY,), True, (("127.0.0.1", 3129, None), ("127.0.0.1", 3128, OF_PROXY))),
        (
            (DB, NEAR),
            True,
            (("127.0.0.1", 3128, None), ("127.0.1.2", 5432, DB), ("127.0.1.1", 5432, NEAR)),
        ),
        (
            (NetworkEndpoint("10.0.0.5", 5432), OWN),
            True,
            (("127.0.0.1", 3128, None), ("::1", 5432, OWN)),
        ),
        ((LOW,), True, (("127.0.0.1", 3128, None), ("127.0.1.1", 25, LOW))),
        ((LOW,), False, (("127.0.0.1", 3128, None),)),
    ],
    ids=["no network", "the proxy's port", "names", "another machine", "low by root", "low"],
)
def test_each_place_of_this_machine_has_its_opening_and_the_proxy_has_the_rest(
    reach: tuple[NetworkEndpoint, ...],
    low_ports: bool,
    openings: tuple[tuple[str, int, NetworkEndpoint | None], ...],
) -> None:
    found = sandbox_process.openings(Profile(reach=reach), low_ports=low_ports)

    assert found == tuple(Opening(*each) for each in openings)


def test_a_name_with_two_ports_has_one_address() -> None:
    reach = (
        NetworkEndpoint("db.internal", 1),
        NetworkEndpoint("db.internal", 2),
        NetworkEndpoint("other.internal", 1),
    )

    assert sandbox_process.addresses(reach) == {
        "db.internal": "127.0.1.1",
        "other.internal": "127.0.1.2",
    }
    assert sandbox_process.hosts_file(reach, "box").splitlines() == [
        "127.0.0.1 localhost box",
        "127.0.1.1 db.internal",
        "127.0.1.2 other.internal",
    ]
