"""Sentence encoders: one of this machine by onnxruntime, or a server's `/v1/embeddings`."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from portico.adapters.egress.client import Bounds, guarded_client
from portico.adapters.egress.client import written as written_of_client
from portico.adapters.embeddings.conversion import (
    FLOAT,
    DoesNotFit,
    Graph,
    ModelDimensions,
    adapted,
    bert_model,
    write_change,
)
from portico.adapters.embeddings.encoders import (
    MODEL,
    PAGE,
    TOKENIZER,
    EncoderDamaged,
    EncoderFolder,
    EncoderNotFound,
    NotTensors,
    Page,
    Pooling,
    RemoteRefused,
    RuntimeMissing,
    digest,
    read_tensors,
    write_page,
)
from portico.adapters.embeddings.pull import ADAPTER, PullEncoder, PullRequest
from portico.adapters.embeddings.sentence_encoders import (
    EncoderChoice,
    Endpoint,
    OnnxEncoder,
    RemoteEmbedder,
    open_encoder,
)
from portico.adapters.embeddings.static_table import StaticTable
from portico.gateway.core.errors import EmbedderUnavailable
from portico.sandbox.core.profile import NetworkEndpoint
from tests.adapters.embeddings import tiny
from tests.adapters.embeddings.serving import serving
from tests.adapters.embeddings.tiny import safetensors

SHAPE = ModelDimensions(layers=tiny.LAYERS, heads=tiny.HEADS, width=tiny.WIDTH, epsilon=1e-12)


def an_encoder(
    folder: Path,
    model: bytes | None = None,
    *,
    pooling: Pooling = "graph",
    max_tokens: int = 16,
    dimensions: int = tiny.WIDTH,
) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / MODEL).write_bytes(model or bert_model(tiny.weights(), SHAPE, "mean"))
    (folder / TOKENIZER).write_text(tiny.tokenizer())
    files = {name: digest(folder / name) for name in (MODEL, TOKENIZER)}
    page = Page(
        name="tiny",
        dimensions=dimensions,
        max_tokens=max_tokens,
        pooling=pooling,
        licence="mit",
        source="here",
        files=files,
    )
    write_page(folder, page)
    return folder


def echoing(*, shape: list[int]) -> bytes:
    """A model that gives its tokens back as numbers, in a form of its makers' choice."""
    graph = Graph()
    wide = graph.node("Cast", ["input_ids"], "wide", to=FLOAT)
    graph.node("Reshape", [wide, graph.constant("form", np.array(shape, np.int64))], "out")
    return graph.model(["input_ids", "token_type_ids"], "out", 1)


async def test_a_vector_does_not_depend_on_its_neighbours(
    tmp_path: Path, nothing_blocks: None
) -> None:
    encoder = await asyncio.to_thread(lambda: OnnxEncoder(an_encoder(tmp_path)))
    texts = ["book a flight", "", "mail", "send a mail to rome", " ", "rome"] * 8

    together = await encoder.embed(texts)

    alone = np.concatenate([await encoder.embed([text]) for text in texts])
    np.testing.assert_array_equal(together, alone)
    lengths = np.linalg.norm(together, axis=1)
    np.testing.assert_allclose(lengths, [float(bool(text.strip())) for text in texts], atol=1e-5)


async def test_no_texts_are_no_rows_and_load_nothing(tmp_path: Path) -> None:
    folder = an_encoder(tmp_path)
    (folder / MODEL).unlink()

    assert (await OnnxEncoder(folder).embed([])).shape == (0, tiny.WIDTH)


async def test_a_long_text_is_cut_where_the_page_says(tmp_path: Path) -> None:
    encoder = OnnxEncoder(an_encoder(tmp_path, max_tokens=5))

    long, short = await encoder.embed(["book a flight to rome and send mail", "book a flight"])

    np.testing.assert_array_equal(long, short)


async def test_many_may_ask_at_once(tmp_path: Path) -> None:
    encoder = OnnxEncoder(an_encoder(tmp_path))

    found = await asyncio.gather(*(encoder.embed(["book a flight"]) for _ in range(8)))

    assert {each.tobytes() for each in found} == {found[0].tobytes()}


@pytest.mark.parametrize(("pooling", "expected"), [("mean", [4, 4, 4, 4]), ("first", [2, 2, 2, 2])])
async def test_a_model_that_gives_a_vector_a_token_is_pooled_here(
    tmp_path: Path, pooling: Pooling, expected: list[int]
) -> None:
    graph = Graph()
    wide = graph.node("Cast", ["input_ids"], "wide", to=FLOAT)
    last = graph.constant("last", np.array([2], np.int64))
    column = graph.node("Unsqueeze", [wide, last], "column")
    shift = graph.constant("shift", np.array([1, 1, 2, 0], np.float32))
    graph.node("Mul", [column, shift], "out")
    model = graph.model(["input_ids"], "out", 4)
    encoder = OnnxEncoder(an_encoder(tmp_path, model, pooling=pooling, dimensions=4))

    [found] = await encoder.embed(["book a flight"])  # 2 4 5 6 3

    unpooled = np.array([1, 1, 2, 0]) * expected
    np.testing.assert_allclose(found, unpooled / np.linalg.norm(unpooled), atol=1e-6)


def test_the_fingerprint_is_of_weights_tokens_pooling_and_limit(tmp_path: Path) -> None:
    other_weights = bert_model(tiny.weights(1), SHAPE, "mean")
    models = [
        OnnxEncoder(an_encoder(tmp_path / "a")).model,
        OnnxEncoder(an_encoder(tmp_path / "b", other_weights)).model,
        OnnxEncoder(an_encoder(tmp_path / "c", max_tokens=8)).model,
        OnnxEncoder(an_encoder(tmp_path / "d", pooling="mean")).model,
    ]

    assert len({model.fingerprint for model in models}) == 4
    assert OnnxEncoder(an_encoder(tmp_path / "e")).model == models[0]


@pytest.mark.parametrize(
    ("spoil", "model", "dimensions", "told"),
    [
        (lambda folder: added_to(folder / MODEL), None, tiny.WIDTH, f"{MODEL} is not the file"),
        (lambda folder: added_to(folder / TOKENIZER), None, tiny.WIDTH, "that was pulled"),
        (
            lambda folder: (folder / TOKENIZER).unlink(),
            None,
            tiny.WIDTH,
            r"tokenizer\.json cannot be read",
        ),
        (lambda _: None, b"not a model", tiny.WIDTH, r"model\.onnx cannot be loaded"),
        (lambda _: None, [1, -1], 4, "not 4 numbers"),
        (lambda _: None, [7, 7], 7, "cannot be run"),
    ],
    ids=["another model", "other tokens", "no tokens", "no model", "another length", "broken"],
)
async def test_what_was_changed_or_cannot_be_run_is_told(
    tmp_path: Path,
    spoil: Callable[[Path], object],
    model: bytes | list[int] | None,
    dimensions: int,
    told: str,
) -> None:
    given = echoing(shape=model) if isinstance(model, list) else model
    folder = an_encoder(tmp_path, given, dimensions=dimensions)
    spoil(folder)

    with pytest.raises(EncoderDamaged, match=told):
        await OnnxEncoder(folder).embed(["book a flight"])


def added_to(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b" ")


@pytest.mark.parametrize("page", ["{", '{"name": "tiny"}', None])
def test_a_folder_without_its_page_is_told(tmp_path: Path, page: str | None) -> None:
    folder = an_encoder(tmp_path)
    (folder / PAGE).unlink()
    if page is not None:
        (folder / PAGE).write_text(page)

    with pytest.raises(EncoderDamaged, match=r"encoder\.json cannot be read"):
        OnnxEncoder(folder)


async def test_without_the_runtime_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)

    with pytest.raises(RuntimeMissing) as caught:
        await OnnxEncoder(an_encoder(tmp_path)).embed(["book"])

    assert isinstance(caught.value, EmbedderUnavailable)
    assert "portico[embeddings]" in str(caught.value.fix)


def run(weights: tiny.Weights, rows: list[list[int]], pooling: Pooling) -> NDArray[np.float32]:
    session = onnxruntime.InferenceSession(bert_model(weights, SHAPE, pooling))
    longest = max(map(len, rows))
    ids = np.array([row + [0] * (longest - len(row)) for row in rows], np.int64)
    mask = np.array([[1] * len(row) + [0] * (longest - len(row)) for row in rows], np.int64)
    found = session.run(None, {"input_ids": ids, "attention_mask": mask})
    return np.asarray(found[0], np.float32)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_rounded_weights_point_where_the_exact_ones_do(seed: int, pooling: Pooling) -> None:
    weights, ids = tiny.weights(seed), [2, 4, 5, 6, 7, 8, 3]

    [found] = run(weights, [ids], pooling)

    exact = tiny.expected(weights, ids, first=pooling == "first")
    assert found @ exact > 0.995
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-5)


def test_weights_take_a_byte_each(tmp_path: Path) -> None:
    model = bert_model(tiny.weights(), SHAPE, "mean")

    numbers = sum(each.size for each in tiny.weights().values())
    assert len(model) < 2 * numbers + 20_000


THERE = Endpoint(url="http://127.0.0.1:9/v1", model="m", dimensions=2)


@pytest.fixture
def shelf(tmp_path: Path) -> EncoderFolder:
    return EncoderFolder(tmp_path / "models")


async def test_an_encoder_is_opened_by_its_name_and_the_table_alone_is_none(
    shelf: EncoderFolder,
) -> None:
    async with httpx2.AsyncClient() as client:
        found = open_encoder(EncoderChoice(encoder="remote", shelf=shelf, endpoint=THERE), client)

        assert open_encoder(EncoderChoice(encoder="static", shelf=shelf), client) is None
        for name in ("gone", "remote", "../models"):
            with pytest.raises(EncoderNotFound) as caught:
                open_encoder(EncoderChoice(encoder=name, shelf=shelf), client)
            assert isinstance(caught.value, EmbedderUnavailable)

    assert isinstance(found, RemoteEmbedder)
    assert found.model.dimensions == 2


def test_one_that_was_pulled_is_opened_by_its_name(shelf: EncoderFolder, tmp_path: Path) -> None:
    pull = PullEncoder(shelf=shelf, client=guarded_client, hub="http://127.0.0.1:9")
    pull(PullRequest(source=str(tiny.publish(tmp_path / "tiny"))), lambda *_: None)

    found = open_encoder(EncoderChoice(encoder="tiny", shelf=shelf), httpx2.AsyncClient())

    assert isinstance(found, OnnxEncoder)
    assert found.model.dimensions == tiny.WIDTH


ROWS = np.array([[0, 0], [0, 1], [3, 0], [0, 4]], np.float16)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "weights").mkdir()
    (tmp_path / "tokenizers").mkdir()
    (tmp_path / "weights" / "l2_supercat_256.safetensors").write_bytes(
        tiny.safetensors({"embedding.weight": ROWS})
    )
    (tmp_path / "tokenizers" / "l2_supercat_tokenizer_config.json").write_text(
        tiny.tokenizer(("[PAD]", "[UNK]", "east", "north"), special=False)
    )
    return tmp_path


def plain(package: Path) -> StaticTable:
    return StaticTable(package, weights=package / "none.npy")


async def test_a_text_is_the_direction_of_its_words_together_and_without_one_zeros(
    package: Path,
) -> None:
    found = await plain(package).embed(["east", "north", "", "East north", " \n", "NORTH east"])

    expected = [[1, 0], [0, 1], [0, 0], [0.6, 0.8], [0, 0], [0.6, 0.8]]
    np.testing.assert_allclose(found, np.array(expected), atol=1e-6)
    assert found.dtype == np.float32
    assert (await plain(package).embed([])).shape == (0, 2)


async def test_many_texts_are_the_same_as_each_alone(package: Path, nothing_blocks: None) -> None:
    texts = ["east", "north east", "", "north north east"] * 150
    table = plain(package)

    together = await table.embed(texts)

    alone = np.concatenate([await table.embed([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-6)


async def test_learnt_weights_let_some_words_count_more(package: Path) -> None:
    np.save(package / "w.npy", np.array([1, 1, 4, 1], np.float16))

    [found] = await StaticTable(package, weights=package / "w.npy").embed(["east north"])

    np.testing.assert_allclose(found, np.array([12, 4]) / np.sqrt(160), atol=1e-6)


def test_learnt_weights_make_another_model(package: Path) -> None:
    before = plain(package).model
    np.save(package / "w.npy", np.ones(4, np.float16))

    after = StaticTable(package, weights=package / "w.npy").model

    assert (before.dimensions, before.name) == (after.dimensions, after.name) == (2, "static")
    assert before.fingerprint != after.fingerprint


def test_weights_for_another_table_are_refused(package: Path) -> None:
    np.save(package / "w.npy", np.ones(3, np.float16))

    with pytest.raises(EmbedderUnavailable, match="each of 4 tokens"):
        StaticTable(package, weights=package / "w.npy").embed_now(["east"])


@pytest.mark.parametrize("name", ["weights", "tokenizers"])
def test_a_package_that_is_not_whole_is_told_with_what_to_do(package: Path, name: str) -> None:
    [file] = (package / name).iterdir()
    file.write_bytes(b"{")

    with pytest.raises(EmbedderUnavailable, match=file.name) as caught:
        plain(package).embed_now(["east"])

    assert "pip install" in str(caught.value.fix)


def test_a_package_that_is_not_installed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EmbedderUnavailable, match="l2_supercat_256"):
        plain(tmp_path).model  # noqa: B018 # asking is what is tested

    monkeypatch.setattr("portico.adapters.embeddings.static_table.find_spec", lambda name: None)
    with pytest.raises(EmbedderUnavailable, match="not installed"):
        StaticTable().embed_now(["east"])


async def test_the_installed_table_knows_what_belongs_together() -> None:
    table = StaticTable()

    flight, plane, soup = await table.embed(["book a flight", "buy plane tickets", "cook soup"])

    assert table.model.dimensions == len(flight) == 256
    assert flight @ plane > flight @ soup + 0.2


async def test_half_a_character_is_taken_for_one_that_is_not_known() -> None:
    found = await StaticTable().embed(["mail \ud800", "x" * 1_000_000])

    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


GIVEN: dict[str, NDArray[Any]] = {
    "half": np.arange(6, dtype=np.float16).reshape(2, 3),
    "single": np.array([1.5, -2.5], np.float32),
    "whole": np.array([[7]], np.int64),
    "nothing": np.zeros((0, 3), np.float32),
}


def test_what_was_written_is_read_by_name_with_its_shape_and_kind(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(safetensors(GIVEN))

    found = read_tensors(tmp_path / "w")

    assert found.keys() == GIVEN.keys()
    for name, array in GIVEN.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"PK\x03\x04 an archive, not tensors",
        (4).to_bytes(8, "little") + b"{{{{",
        (2).to_bytes(8, "little") + b"[]",
        (20).to_bytes(8, "little") + b'{"x": {"dtype": "F"}}'[:20],
        safetensors({"x": np.zeros(3, np.uint8)}),
        safetensors({"x": np.zeros(3, np.float32)})[:-1],
    ],
)
def test_what_is_not_whole_or_not_known_is_refused(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "w").write_bytes(raw)

    with pytest.raises(NotTensors):
        read_tensors(tmp_path / "w")


@pytest.mark.parametrize("offsets", [[-4, 0], [0, 8], [4, 8], [0]])
def test_a_header_cannot_point_outside_of_the_file(tmp_path: Path, offsets: list[int]) -> None:
    header = f'{{"x": {{"dtype": "F32", "shape": [1], "data_offsets": {offsets}}}}}'.encode()
    (tmp_path / "w").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))

    with pytest.raises(NotTensors):
        read_tensors(tmp_path / "w")


RANDOM = np.random.default_rng(5)
UP = RANDOM.normal(0, 0.1, (6, 2)).astype(np.float32)
DOWN = RANDOM.normal(0, 0.1, (2, 4)).astype(np.float32)
WEIGHTS = {"a": RANDOM.normal(0, 1, (6, 4)).astype(np.float32), "b": np.ones(3, np.float32)}


def written(folder: Path, name: str = "a") -> Path:
    write_change(folder / "change.npz", {name: (UP, DOWN)})
    return folder / "change.npz"


def test_the_product_is_added_to_the_weight_of_its_name(tmp_path: Path) -> None:
    before = WEIGHTS["a"].copy()
    change = written(tmp_path)

    found = adapted(WEIGHTS, change)
    write_change(change, {"a": (np.zeros_like(UP), DOWN)})

    np.testing.assert_allclose(found["a"] - before, UP @ DOWN, atol=5e-4)
    assert found["b"] is WEIGHTS["b"]
    np.testing.assert_array_equal(adapted(WEIGHTS, change)["a"], before)


@pytest.mark.parametrize("name", ["b", "elsewhere"])
def test_a_change_for_other_weights_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DoesNotFit, match=name):
        adapted(WEIGHTS, written(tmp_path, name))


LAYERS, WIDTH, INNER, RANK = 6, 384, 1536, 8
PARTS = {
    "attention.self.query": (WIDTH, WIDTH),
    "attention.self.key": (WIDTH, WIDTH),
    "attention.self.value": (WIDTH, WIDTH),
    "attention.output.dense": (WIDTH, WIDTH),
    "intermediate.dense": (INNER, WIDTH),
    "output.dense": (WIDTH, INNER),
}
HELD_OUT = sorted((Path(__file__).parents[3] / "benchmarks" / "adapters").glob("*.npz"))


def test_there_is_one_for_each_set_that_was_held_out() -> None:
    assert [file.stem for file in HELD_OUT] == ["live", "meta", "seal"]


@pytest.mark.parametrize("file", [ADAPTER, *HELD_OUT], ids=lambda file: file.stem)
def test_it_changes_every_linear_map_a_little_and_is_small(file: Path) -> None:
    expected = {
        f"encoder.layer.{layer}.{name}.weight": shape
        for layer in range(LAYERS)
        for name, shape in PARTS.items()
    }

    with np.load(file, allow_pickle=False) as parts:
        names = {key.rpartition(".")[0] for key in parts.files}
        found = {
            name: (parts[f"{name}.up"].astype(np.float32) * parts[f"{name}.scale"])
            @ parts[f"{name}.down"].astype(np.float32)
            for name in names
        }

    assert {name: change.shape for name, change in found.items()} == expected
    assert all(0 < np.abs(change).max() < 0.5 for change in found.values())
    assert file.stat().st_size < 400_000


def test_no_two_of_them_are_the_same() -> None:
    assert len({file.read_bytes() for file in (ADAPTER, *HELD_OUT)}) == 4


# Vectors from a server elsewhere, over real sockets.


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
    places = [written_of_client(vendor.url), NetworkEndpoint("127.0.0.1", 9)]
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
