"""Vectors from a server elsewhere, over real sockets."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import httpx2
import numpy as np
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from portico.adapters.egress.client import Bounds, guarded_client, written
from portico.adapters.embeddings.encoders import RemoteRefused
from portico.adapters.embeddings.sentence_encoders import Endpoint, RemoteEmbedder
from portico.sandbox.core.profile import Place
from tests.adapters.embeddings.serving import serving


@dataclass
class Vendor:
    """Answers with the length of each text and with what it was told to say before that."""

    url: str = ""
    before: list[Response] = field(default_factory=list)
    asked: list[dict[str, object]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)

    async def embeddings(self, request: Request) -> Response:
        body = await request.json()
        self.asked.append(body)
        self.keys.append(request.headers.get("authorization"))
        if self.before:
            return self.before.pop(0)

        rows = [
            {"index": place, "embedding": [len(text), 3.0], "object": "embedding"}
            for place, text in enumerate(body["input"])
        ]
        return JSONResponse({"data": rows[::-1], "model": body["model"]})


def vectors(*rows: object) -> Response:
    data = [{"index": place, "embedding": row} for place, row in enumerate(rows)]
    return JSONResponse({"data": data})


@pytest.fixture
def vendor() -> Iterator[Vendor]:
    found = Vendor()
    with serving([Route("/v1/embeddings", found.embeddings, methods=["POST"])]) as url:
        found.url = f"{url}/v1"
        yield found


@pytest.fixture
async def client(vendor: Vendor) -> AsyncIterator[httpx2.AsyncClient]:
    places = [written(vendor.url), Place("127.0.0.1", 9)]
    async with guarded_client(allow=places, bounds=Bounds(redirects=0)) as found:
        yield found


class Pauses(list[float]):
    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


def remote(
    client: httpx2.AsyncClient, url: str, *, key: str | None = None, dimensions: int = 2
) -> tuple[RemoteEmbedder, Pauses]:
    pauses = Pauses()
    there = Endpoint(url=url, model="m", dimensions=dimensions, key=key, timeout=5)
    return RemoteEmbedder(client, there, pauses), pauses


async def test_vectors_come_in_the_order_of_the_texts_and_of_length_one(
    client: httpx2.AsyncClient, vendor: Vendor
) -> None:
    embedder, _ = remote(client, vendor.url)

    found = await embedder.embed(["abcd", "", "four and more", " "])

    expected = np.array([[4, 3], [0, 0], [13, 3], [0, 0]])
    lengths = np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1)
    np.testing.assert_allclose(found, expected / lengths, atol=1e-6)
    assert vendor.asked == [
        {"model": "m", "input": ["abcd", "four and more"], "encoding_format": "float"}
    ]


async def test_many_texts_go_in_several_requests(
    client: httpx2.AsyncClient, vendor: Vendor
) -> None:
    embedder, _ = remote(client, vendor.url)

    found = await embedder.embed([f"text {place}" for place in range(150)])

    assert [len(str(each["input"]).split(", ")) for each in vendor.asked] == [64, 64, 22]
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


async def test_nothing_is_asked_for_no_words(client: httpx2.AsyncClient, vendor: Vendor) -> None:
    embedder, _ = remote(client, vendor.url)

    assert (await embedder.embed(["", "\n"])).tolist() == [[0, 0], [0, 0]]
    assert vendor.asked == []


async def test_the_key_is_sent_and_never_shown(client: httpx2.AsyncClient, vendor: Vendor) -> None:
    embedder, _ = remote(client, vendor.url, key="hunter2")
    vendor.before = [PlainTextResponse("no such key: sk-abcdefghijklmnopqrstuvwxyz", 401)]

    with pytest.raises(RemoteRefused, match="answers 401") as caught:
        await embedder.embed(["mail"])

    assert vendor.keys == ["Bearer hunter2"]
    assert "abcdefgh" not in str(caught.value)
    assert "hunter2" not in repr(Endpoint(url="u", model="m", dimensions=2, key="hunter2"))


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_busy_server_is_asked_again_when_it_says_or_within_half_a_minute(
    client: httpx2.AsyncClient, vendor: Vendor, status: int
) -> None:
    embedder, pauses = remote(client, vendor.url)
    later = ("7", None, "Wed, 21 Oct 2026 07:28:00 GMT", "86400", "-5")
    busy = [
        Response(status_code=status, headers={"retry-after": each} if each else None)
        for each in later
    ]

    vendor.before = busy[:3]
    found = await embedder.embed(["mail"])
    vendor.before = busy[3:]
    await embedder.embed(["mail"])

    assert found[0, 0] == pytest.approx(0.8)
    assert pauses == [7, 1, 2, 30, 0]


async def test_a_server_that_stays_busy_is_given_up(
    client: httpx2.AsyncClient, vendor: Vendor
) -> None:
    embedder, pauses = remote(client, vendor.url)
    vendor.before = [Response(status_code=503) for _ in range(9)]

    with pytest.raises(RemoteRefused, match="answers 503: nothing"):
        await embedder.embed(["mail"])

    assert (len(vendor.asked), len(pauses)) == (4, 3)


async def test_a_server_that_is_not_there_is_tried_again_and_one_that_nobody_allowed_is_not(
    client: httpx2.AsyncClient,
) -> None:
    away, pauses = remote(client, "http://127.0.0.1:9/v1")
    barred, none = remote(client, "http://127.0.0.1:10/v1")

    with pytest.raises(RemoteRefused, match=r"http://127\.0\.0\.1:9/v1 does not answer"):
        await away.embed(["mail"])
    with pytest.raises(RemoteRefused, match="is not reached from here"):
        await barred.embed(["mail"])

    assert (len(pauses), none) == (3, [])


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Response(b"x", headers={"Content-Encoding": "br"}), "packed in a way"),
        (PlainTextResponse("no model\n'm'", 404), "answers 404: no model 'm'"),
        (JSONResponse({}), "something else than vectors"),
        (vectors("AAAA"), "something else than vectors"),
        (vectors([]), "something else than vectors"),
        (vectors([1, 2], [1]), "something else than vectors"),
        (vectors([1, 2]), "asked for 2 vectors"),
        (vectors([1, 2], [0, 0]), "no direction"),
        (
            vectors([1, 2, 3], [1, 2, 3]),
            "3 numbers a vector, and embeddings.dimensions says 2",
        ),
    ],
)
async def test_an_answer_that_cannot_be_right_is_told_and_not_asked_for_again(
    client: httpx2.AsyncClient, vendor: Vendor, answer: Response, told: str
) -> None:
    embedder, pauses = remote(client, vendor.url)
    vendor.before = [answer]

    with pytest.raises(RemoteRefused, match=told):
        await embedder.embed(["mail", "rome"])

    assert pauses == []


async def test_the_server_can_be_asked_how_long_its_vectors_are(
    client: httpx2.AsyncClient, vendor: Vendor
) -> None:
    embedder, _ = remote(client, vendor.url, dimensions=0)

    assert await embedder.ask_dimensions() == 2


async def test_another_server_model_or_length_is_another_model(client: httpx2.AsyncClient) -> None:
    there = Endpoint(url="http://a/v1", model="m", dimensions=2)
    others = [
        Endpoint(url="http://b/v1", model="m", dimensions=2),
        Endpoint(url="http://a/v1", model="n", dimensions=2),
        Endpoint(url="http://a/v1", model="m", dimensions=3),
    ]

    models = [RemoteEmbedder(client, each).model for each in (there, *others)]

    assert models[0].name == "remote:m"
    assert len({model.fingerprint for model in models}) == 4
