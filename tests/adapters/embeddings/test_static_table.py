"""The table of words: the one of the installed package, and small ones made here."""

from pathlib import Path

import numpy as np
import pytest

from portico.adapters.embeddings.static_table import StaticTable
from portico.gateway.core.errors import EmbedderUnavailable
from tests.adapters.embeddings import tiny

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


async def test_a_text_is_the_direction_of_its_words_together(package: Path) -> None:
    found = await plain(package).embed(["east", "north", "East north", "NORTH east"])

    expected = [[1, 0], [0, 1], [0.6, 0.8], [0.6, 0.8]]
    np.testing.assert_allclose(found, np.array(expected), atol=1e-6)
    assert found.dtype == np.float32


async def test_a_text_without_a_word_is_zeros_and_disturbs_nobody(package: Path) -> None:
    found = await plain(package).embed(["", "east", " \n", "north", ""])

    np.testing.assert_array_equal(found, [[0, 0], [1, 0], [0, 0], [0, 1], [0, 0]])


async def test_no_texts_are_no_rows(package: Path) -> None:
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


def test_a_package_without_its_files_is_told(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match="l2_supercat_256"):
        plain(tmp_path).model  # noqa: B018 # asking is what is tested


def test_a_package_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
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
