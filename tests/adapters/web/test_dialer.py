"""The gate: what is judged, and that what was judged is what is dialled."""

import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack

import pytest

from portico.adapters.web.dialer import Dialer
from portico.adapters.web.names import OwnAddresses, SystemNames
from portico.box.core.errors import AddressRefused
from portico.box.core.profile import Place
from tests.adapters.web.canary import canary, listener

PUBLIC = ("93.184.216.34", "2606:4700:4700::1111")


def answering(*addresses: str) -> Callable[[str, int], Awaitable[Sequence[str]]]:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return addresses

    return resolve


def a_dialer(*addresses: str, places: Sequence[Place] = (), public: bool = True) -> Dialer:
    return Dialer(
        places, public=public, own=lambda: ["93.184.216.99"], resolve=answering(*addresses)
    )


async def test_a_name_with_public_addresses_alone_is_judged_good() -> None:
    assert await a_dialer(*PUBLIC).judged("Example.ORG.", 443) == PUBLIC


@pytest.mark.parametrize("bad", ["127.0.0.1", "::1", "10.0.0.1", "::ffff:8.8.8.8", "fe80::1%lo"])
async def test_one_bad_answer_refuses_all(bad: str) -> None:
    with pytest.raises(AddressRefused, match="it leads to") as refused:
        await a_dialer(*PUBLIC, bad).judged("mixed.example.org", 443)

    assert refused.value.place == "mixed.example.org:443"


async def test_what_a_name_stands_for_in_here_is_not_told() -> None:
    with pytest.raises(AddressRefused) as refused:
        await a_dialer("10.11.12.13").judged("wiki.inner.example.org", 443)

    assert "10.11.12.13" not in str(refused.value)


async def test_an_address_of_this_machine_is_refused_though_it_is_public() -> None:
    with pytest.raises(AddressRefused, match="an address of this machine"):
        await a_dialer().judged("93.184.216.99", 443)
    with pytest.raises(AddressRefused, match="an address of this machine"):
        await a_dialer("93.184.216.99").judged("me.example.org", 443)


def test_the_addresses_of_this_machine_are_found_and_kept_for_a_while() -> None:
    own = OwnAddresses()

    assert "127.0.0.1" in own()
    assert own() is own()


@pytest.mark.parametrize("port", [1, 22, 25, 79, 81, 444, 8080, 6379, 65_535])
async def test_other_ports_than_those_of_http_are_refused(port: int) -> None:
    with pytest.raises(AddressRefused, match="only the ports 80 and 443"):
        await a_dialer(*PUBLIC).judged("example.org", port)


@pytest.mark.parametrize(
    "host",
    [
        *(
            "127.1",
            "0",
            "0x7f000001",
            "0177.0.0.1",
            "2130706433",
            "1.2.3",
            "0x7f.1",
            "example.0x7f",
        ),
        *("", ".", "..", "a..b", "a b", "a\0b", "-a.org", "a%2eorg", "exämple.org", "a@b", "a/b"),
        *(
            "\uff11\uff12\uff17.0.0.1",
            "127\u30020\u30020\u30021",
            "x" * 254,
            "a\tb",
            "[",
            "a\\b",
            "fe80::1%25lo",
        ),
    ],
)
async def test_what_is_no_plain_name_is_refused_before_anybody_is_asked(host: str) -> None:
    with pytest.raises(AddressRefused):
        await a_dialer(*PUBLIC).judged(host, 80)


async def test_a_place_is_reached_whatever_it_resolves_to_at_its_port_alone() -> None:
    dialer = a_dialer("127.0.0.1", places=[Place("ollama.lan", 11_434)])

    assert await dialer.judged("OLLAMA.lan.", 11_434) == ("127.0.0.1",)
    with pytest.raises(AddressRefused):
        await dialer.judged("ollama.lan", 80)
    with pytest.raises(AddressRefused):
        await dialer.judged("127.0.0.1", 11_434)


async def test_a_place_that_is_an_address_is_known_in_every_spelling() -> None:
    dialer = a_dialer(places=[Place("::1", 8080)])

    assert await dialer.judged("0:0:0:0:0:0:0:1", 8080) == ["::1"]
    with pytest.raises(AddressRefused):
        await dialer.judged("::1", 80)


async def test_a_narrowed_dialer_knows_none_of_the_places_of_the_other() -> None:
    wide = a_dialer(*PUBLIC, places=[Place("127.0.0.1", 1)])
    narrow = wide.narrowed([Place("127.0.0.1", 2)], public=False)

    assert await narrow.judged("127.0.0.1", 2) == ["127.0.0.1"]
    for host, port in (("127.0.0.1", 1), ("example.org", 443)):
        with pytest.raises(AddressRefused, match="only places that were named"):
            await narrow.judged(host, port)


async def test_what_has_no_address_is_not_dialled() -> None:
    with pytest.raises(OSError, match="no address"):
        await a_dialer().judged("nowhere.example.org", 443)


async def test_the_address_that_was_judged_is_dialled() -> None:
    async with canary() as bird:
        place = Place("bird.lan", bird.port)
        with await a_dialer("127.0.0.1", places=[place]).dial("bird.lan", bird.port) as found:
            assert found.getpeername() == ("127.0.0.1", bird.port)


@pytest.mark.parametrize("seconds", [5.0, None])
async def test_when_one_address_does_not_answer_the_next_is_tried(seconds: float | None) -> None:
    with listener() as closed:
        dead = closed.getsockname()[1]
    async with canary(hosts=["127.0.0.2"], port=dead):
        place = Place("bird.lan", dead)
        dialer = a_dialer("127.0.0.1", "127.0.0.2", places=[place])

        with await dialer.dial("bird.lan", dead, seconds=seconds) as found:
            assert found.getpeername() == ("127.0.0.2", dead)


async def test_a_dial_that_lasts_too_long_is_given_up() -> None:
    with listener() as full:
        full.listen(0)
        place = Place("127.0.0.1", full.getsockname()[1])
        dialer = a_dialer(places=[place])
        with pytest.raises(TimeoutError), ExitStack() as waiting:
            for _ in range(10):  # until its queue is full
                found = await dialer.dial(place.host, place.port, seconds=0.2)
                waiting.enter_context(found)


async def test_the_system_resolves_in_threads_of_its_own(nothing_blocks: None) -> None:
    assert "127.0.0.1" in await SystemNames()("localhost", 80)


async def test_a_name_that_cannot_be_encoded_is_no_name() -> None:
    with pytest.raises(socket.gaierror):
        await SystemNames()("a" * 70 + "ä.org", 80)
