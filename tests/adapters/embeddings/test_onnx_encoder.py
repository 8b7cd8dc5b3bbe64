"""An encoder in a folder, run for real."""

import asyncio
import sys
from pathlib import Path

import numpy as np
import pytest

from portico.adapters.embeddings.bert_graph import Shape, bert_model
from portico.adapters.embeddings.encoder_folder import (
    MODEL,
    PAGE,
    TOKENIZER,
    Page,
    Pooling,
    digest,
    write_page,
)
from portico.adapters.embeddings.errors import EncoderDamaged, RuntimeMissing
from portico.adapters.embeddings.onnx_encoder import OnnxEncoder
from portico.adapters.embeddings.onnx_file import FLOAT, Graph
from portico.gateway.core.errors import EmbedderUnavailable
from tests.adapters.embeddings import tiny

SHAPE = Shape(layers=tiny.LAYERS, heads=tiny.HEADS, width=tiny.WIDTH, epsilon=1e-12)


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


async def test_a_text_is_what_the_model_makes_of_its_tokens(tmp_path: Path) -> None:
    encoder = OnnxEncoder(an_encoder(tmp_path))

    [found] = await encoder.embed(["Book a flight"])

    assert found @ tiny.expected(tiny.weights(), [2, 4, 5, 6, 3]) > 0.995
    assert found.dtype == np.float32


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


@pytest.mark.parametrize("name", [MODEL, TOKENIZER])
async def test_a_file_that_was_changed_is_not_run(tmp_path: Path, name: str) -> None:
    folder = an_encoder(tmp_path)
    (folder / name).write_bytes((folder / name).read_bytes() + b" ")

    with pytest.raises(EncoderDamaged, match=f"{name} is not the file that was pulled"):
        await OnnxEncoder(folder).embed(["book"])


async def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    folder = an_encoder(tmp_path)
    (folder / TOKENIZER).unlink()

    with pytest.raises(EncoderDamaged, match=r"tokenizer\.json cannot be read"):
        await OnnxEncoder(folder).embed(["book"])


async def test_a_model_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(EncoderDamaged, match=r"model\.onnx cannot be loaded"):
        await OnnxEncoder(an_encoder(tmp_path, b"not a model")).embed(["book"])


async def test_a_model_that_gives_another_length_is_told(tmp_path: Path) -> None:
    encoder = OnnxEncoder(an_encoder(tmp_path, echoing(shape=[1, -1]), dimensions=4))

    with pytest.raises(EncoderDamaged, match="not 4 numbers"):
        await encoder.embed(["book a flight"])


async def test_a_model_that_breaks_is_told(tmp_path: Path) -> None:
    encoder = OnnxEncoder(an_encoder(tmp_path, echoing(shape=[7, 7]), dimensions=7))

    with pytest.raises(EncoderDamaged, match="cannot be run"):
        await encoder.embed(["book a flight"])


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
