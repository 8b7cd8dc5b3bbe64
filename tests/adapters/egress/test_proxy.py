"""The way out of a box: what passes, what does not, and what it is told then."""

import asyncio
import base64
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2
import pytest

from portico.adapters.egress.dialer import Dialer
from portico.adapters.egress.proxy import Egress, EgressTerms
from portico.sandbox.core.profile import Network, NetworkEndpoint
from tests.adapters.egress.canary import Answer, canary, listener

HASTY = EgressTerms(connections=4, head=0.3, dial=1.0, idle=0.5, lingering=0.3)


@asynccontextmanager
async def an_egress(
    *reach: NetworkEndpoint,
    network: Network = Network.NONE,
    to: NetworkEndpoint | None = None,
    **told: Any,
) -> AsyncIterator[tuple[int, Egress]]:
    door = listener()
    port = door.getsockname()[1]
    whole: dict[str, Any] = {"dialer": Dialer(), **told}
    egress = Egress(network, reach, **whole)
    await egress.serve(door, to=to)
    try:
        yield port, egress
    finally:
        await egress.close()


async def said(port: int, text: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(text)
    answer = await reader.read()
    writer.close()
    return answer


async def echoed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Says all again that comes after the first piece, and then that it has heard the end."""
    while piece := await reader.read(65_536):
        writer.write(piece)
        await writer.drain()
    writer.write(b"END")
    await writer.drain()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


def answering(*pieces: bytes) -> Answer:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"".join(pieces))
        await writer.drain()

    return answer


async def test_a_tunnel_leads_to_a_place_that_was_named() -> None:
    async with canary() as bird, an_egress(NetworkEndpoint("127.0.0.1", bird.port)) as (port, _):
        answer = await said(
            port, b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n\r\nGET" % bird.port
        )

        assert answer.startswith(b"HTTP/1.1 200 Connected\r\n\r\n")
        assert answer.endswith(b"INTERNAL")
        assert bird.hits == [b"GET"]


async def test_a_tunnel_carries_both_ways_until_both_have_said_all() -> None:
    async with (
        canary(echoed) as bird,
        an_egress(NetworkEndpoint("127.0.0.1", bird.port)) as (port, _),
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n\r\n" % bird.port)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"first")
        sent = bytes(range(256)) * 8192

        async def speaks() -> None:
            writer.write(sent)
            await writer.drain()
            writer.write_eof()

        heard, _ = await asyncio.gather(reader.read(-1), speaks())
        writer.close()

    assert bird.hits[0] + heard == b"first" + sent + b"END"


@pytest.mark.parametrize("network", Network)
@pytest.mark.parametrize(
    "target",
    [
        *("127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}", "127.0.0.1:80", "localhost:443"),
        *("127.1:80", "0:80", "2130706433:80", "0x7f000001:80", "0177.0.0.1:80", "[::]:80"),
        *("[::ffff:127.0.0.1]:80", "[64:ff9b::7f00:1]:80", "169.254.169.254:80", "10.0.0.1:443"),
    ],
)
async def test_no_spelling_of_this_machine_passes(network: Network, target: str) -> None:
    async with canary() as bird, an_egress(network=network) as (port, egress):
        asked = target.format(port=bird.port)
        tunnel = await said(port, f"CONNECT {asked} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        plain = await said(port, f"GET http://{asked}/ HTTP/1.1\r\nHost: x\r\n\r\n".encode())

        for answer in (tunnel, plain):
            assert answer.startswith(b"HTTP/1.1 403 ")
            is_told = b"--reach " + asked.encode() in answer
            assert is_told is not asked.startswith("169.254.")
        assert bird.hits == []
        assert egress.refused == {asked: 2}
        assert egress.could_be_let == ([] if asked.startswith("169.254.") else [asked])


@pytest.mark.parametrize(
    "head",
    [
        *(b"CONNECT a HTTP/1.1\r\nHost: x", b"CONNECT a@b:80 HTTP/1.1\r\nHost: x"),
        *(b"CONNECT http://a:80/ HTTP/1.1\r\nHost: x", b"CONNECT a:0 HTTP/1.1\r\nHost: x"),
        *(b"GET / HTTP/1.1\r\nHost: x", b"GET https://a/ HTTP/1.1\r\nHost: x"),
        *(b"GET http://u:p@127.0.0.1/ HTTP/1.1\r\nHost: x", b"GET http:/// HTTP/1.1\r\nHost: x"),
        *(b"GET ftp://a/ HTTP/1.1\r\nHost: x", b"CONNECT [fe80::1%25lo]:80 HTTP/1.1\r\nHost: x"),
        *(b"GET http://a/ HTTP/1.1", b"\x16\x03\x01", b"GET http://\xff/ HTTP/1.1\r\nHost: x"),
    ],
)
async def test_what_is_no_request_of_a_proxy_is_not_understood(head: bytes) -> None:
    async with an_egress(network=Network.PUBLIC) as (port, _):
        answer = await said(port, head + b"\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 400 ")


async def test_plain_http_is_handed_on_as_its_address_says_without_what_is_between_neighbours() -> (
    None
):
    answer = answering(
        b"HTTP/1.1 200 OK\r\nKeep-Alive: 1\r\nConnection: x-hop\r\nX-Hop: 1\r\nX-End: 2\r\n",
        b"Content-Length: 2\r\n\r\nokTOO MUCH",
    )
    async with (
        canary(answer) as bird,
        an_egress(NetworkEndpoint("localhost", bird.port)) as (port, _),
    ):
        asked = b"POST http://LOCALHOST:%d/a/b?c=d HTTP/1.1\r\n" % bird.port
        heads = [
            *(b"Host: elsewhere", b"Proxy-Authorization: Basic c2VjcmV0", b"Connection: x-mine"),
            *(b"X-Mine: 1", b"X-Theirs: 2", b"Upgrade: websocket", b"Content-Length: 4"),
        ]
        heard = await said(port, asked + b"\r\n".join(heads) + b"\r\n\r\nbodyGET http://other/")

    [hit] = bird.hits
    told, _, body = hit.partition(b"\r\n\r\n")
    assert told.split(b"\r\n") == [
        b"POST /a/b?c=d HTTP/1.1",
        b"Host: localhost:%d" % bird.port,
        *(b"x-theirs: 2", b"content-length: 4", b"connection: close"),
    ]
    assert body in {b"", b"body"}
    assert heard.lower().split(b"\r\n\r\n") == [
        b"http/1.1 200 ok\r\nx-end: 2\r\ncontent-length: 2\r\nconnection: close",
        b"ok",
    ]


async def test_a_second_request_on_the_connection_never_reaches_the_first_ones_host() -> None:
    async def patient(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await writer.drain()
        bird.hits.append(await reader.read())

    async with (
        canary(patient) as bird,
        an_egress(NetworkEndpoint("127.0.0.1", bird.port)) as (port, _),
    ):
        first = b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: x\r\n\r\n" % bird.port
        second = b"GET http://other.example/ HTTP/1.1\r\nHost: x\r\nCookie: secret\r\n\r\n"
        heard = await said(port, first + second)

    assert heard.endswith(b"\r\n\r\nok")
    assert not any(b"secret" in hit for hit in bird.hits)


@pytest.mark.parametrize("length", [b"Content-Length: 4\r\nTransfer-Encoding: chunked"])
async def test_a_request_whose_end_can_be_read_in_two_ways_ends_where_one_says(
    length: bytes,
) -> None:
    """Framed anew by the same reading: what follows the end is not sent on."""
    async with canary() as bird, an_egress(NetworkEndpoint("127.0.0.1", bird.port)) as (port, _):
        asked = b"POST http://127.0.0.1:%d/ HTTP/1.1\r\nHost: x\r\n%b\r\n\r\n" % (bird.port, length)
        await said(port, asked + b"0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n")

    assert not any(b"smuggled" in hit for hit in bird.hits)


async def test_an_http_client_goes_through_it_with_bodies_of_any_form() -> None:
    async def doubled(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = b"ab" * 300_000
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
        await writer.drain()

    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"
        yield b"two"

    async with (
        canary(doubled) as bird,
        an_egress(NetworkEndpoint("127.0.0.1", bird.port)) as (port, _),
    ):
        client = httpx2.AsyncClient(proxy=f"http://127.0.0.1:{port}", trust_env=False)
        answer = await client.post(f"http://127.0.0.1:{bird.port}/", content=pieces())
        await client.aclose()

    assert len(answer.content) == 600_000


@pytest.mark.parametrize(
    "given", [b"", b"Proxy-Authorization: Basic eDp5\r\n", b"Proxy-Authorization: x\r\n"]
)
async def test_who_has_no_token_gets_nowhere_and_who_has_it_passes(given: bytes) -> None:
    pair = b"Proxy-Authorization: Basic " + base64.b64encode(b"portico:t0ken") + b"\r\n"
    async with canary() as bird:
        async with an_egress(NetworkEndpoint("127.0.0.1", bird.port), token="t0ken") as (port, _):
            head = b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n%b\r\n" % (bird.port, given)
            answer = await said(port, head)
            refused = list(bird.hits)
            head = b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n%b\r\nHi" % (bird.port, pair)
            passed = await said(port, head)

        assert answer.startswith(b"HTTP/1.1 407 ")
        assert b'Proxy-Authenticate: Basic realm="portico"' in answer
        assert refused == []
        assert passed.endswith(b"INTERNAL")


async def test_what_does_not_answer_is_a_bad_gateway() -> None:
    with listener() as closed:
        dead = closed.getsockname()[1]
    async with an_egress(NetworkEndpoint("127.0.0.1", dead)) as (port, _):
        answer = await said(port, b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n\r\n" % dead)

    assert answer.startswith(b"HTTP/1.1 502 127.0.0.1:%d cannot be reached: " % dead)


async def test_a_straight_way_leads_to_its_place_whatever_is_said() -> None:
    async with canary() as bird:
        place = NetworkEndpoint("localhost", bird.port)
        async with an_egress(place, to=place) as (port, _):
            answer = await said(port, b"\0\0\0\x08\x04\xd2\x16\x2f")

    assert answer.endswith(b"INTERNAL")
    assert bird.hits == [b"\0\0\0\x08\x04\xd2\x16\x2f"]


async def test_a_straight_way_to_a_place_that_was_not_named_leads_nowhere() -> None:
    async with canary() as bird:
        place = NetworkEndpoint("127.0.0.1", bird.port)
        async with an_egress(to=place) as (port, egress):
            with suppress(ConnectionResetError):
                assert await said(port, b"x") == b""

        assert (bird.hits, egress.refused) == ([], {str(place): 1})


@pytest.mark.parametrize(
    ("network", "asked", "told"),
    [
        (Network.NONE, [], b"only places that were named are reached"),
        (Network.PUBLIC, ["example.org"], b"it leads to an address of a private network"),
    ],
)
async def test_without_a_network_not_even_a_name_is_looked_up(
    network: Network, asked: Sequence[str], told: bytes
) -> None:
    looked_up: list[str] = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        looked_up.append(host)
        return ["10.0.0.1"]

    async with an_egress(network=network, dialer=Dialer(resolve=resolve)) as (port, _):
        answer = await said(port, b"CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 403 ")
    assert told in answer
    assert looked_up == asked


async def test_who_says_much_and_is_refused_still_hears_why() -> None:
    async with an_egress() as (port, _):
        asked = b"POST http://10.0.0.1/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(asked + bytes(3_000_000))
        await writer.drain()

        assert (await reader.read()).startswith(b"HTTP/1.1 403 ")
        writer.close()


async def test_a_head_without_an_end_is_cut_short() -> None:
    async with an_egress(network=Network.PUBLIC) as (port, _):
        endless = b"GET http://example.org/ HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 4000
        answer = await said(port, endless)

    assert answer.startswith(b"HTTP/1.1 431 ")


async def test_a_head_that_does_not_come_is_not_waited_for() -> None:
    async with an_egress(terms=HASTY) as (port, _):
        assert await said(port, b"GET http://exa") == b""


async def test_what_stands_still_is_over() -> None:
    async with canary(silent) as bird:
        place = NetworkEndpoint("127.0.0.1", bird.port)
        async with an_egress(place, terms=HASTY) as (port, _):
            tunnel = b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n\r\nHi" % bird.port
            plain = b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: x\r\n\r\n" % bird.port

            assert await said(port, tunnel) == b"HTTP/1.1 200 Connected\r\n\r\n"
            assert await said(port, plain) == b""


@pytest.mark.parametrize("said_there", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"])
async def test_a_place_that_breaks_off_breaks_off_here_too(said_there: bytes) -> None:
    there = canary(answering(said_there))
    async with there as bird, an_egress(NetworkEndpoint("127.0.0.1", bird.port)) as (port, _):
        asked = b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: x\r\n\r\n" % bird.port

        heard = await said(port, asked)

    assert heard.partition(b"\r\n\r\n")[2] == (b"half" if said_there else b"")
    assert bool(heard) is bool(said_there)


async def test_a_connect_with_a_body_is_not_understood() -> None:
    async with canary() as bird, an_egress(NetworkEndpoint("127.0.0.1", bird.port)) as (port, _):
        head = b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nHi"

        assert (await said(port, head % bird.port)).startswith(b"HTTP/1.1 400 ")


async def test_who_is_not_yet_heard_when_it_closes_is_cut_off_too() -> None:
    async with an_egress() as (port, egress):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while not egress._guests:  # noqa: ASYNC110 # it tells nobody
            await asyncio.sleep(0)
        await egress.close()
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()


async def test_what_moves_is_not_over() -> None:
    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(8):
            await asyncio.sleep(0.1)
            writer.write(b".")

    async with canary(slow) as bird:
        place = NetworkEndpoint("127.0.0.1", bird.port)
        async with an_egress(place, to=place, terms=HASTY) as (port, _):
            assert await said(port, b"Hi") == b"." * 8


async def test_who_comes_when_it_is_full_is_told_so_and_others_go_on() -> None:
    async with canary(silent) as bird:
        place = NetworkEndpoint("127.0.0.1", bird.port)
        terms = EgressTerms(connections=2)
        async with an_egress(place, terms=terms) as (port, _):
            opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
            for reader, writer in opened:
                writer.write(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n\r\n" % bird.port)
                assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 200 Connected\r\n\r\n"

            assert (await said(port, b"")).startswith(b"HTTP/1.1 503 ")

            for _, writer in opened:
                writer.close()


async def test_closing_cuts_off_whoever_is_still_talking() -> None:
    async with canary(silent) as bird:
        place = NetworkEndpoint("127.0.0.1", bird.port)
        async with an_egress(place) as (port, egress):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n\r\n" % bird.port)
            await reader.readuntil(b"\r\n\r\n")

            await egress.close()

            assert await reader.read() == b""
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", port)
            writer.close()


async def test_what_is_refused_is_in_the_log_once_a_place(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "portico.web")
    async with an_egress() as (port, _):
        for _ in range(3):
            await said(port, b"CONNECT 10.0.0.1:80 HTTP/1.1\r\nHost: x\r\n\r\n")

    told: Sequence[str] = caplog.messages
    assert told == [
        "from a box: 10.0.0.1:80 is not reached from here: "
        "only places that were named are reached.",
        "10.0.0.1:80 was refused 3 times",
    ]
