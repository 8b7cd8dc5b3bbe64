"""`just bench search`, with five sets of six tools."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.kept_vectors import KeptVectors
from benchmarks.search import search
from portico.gateway.core.search_text import EmbeddingModel
from portico.interfaces.cli.errors import Exit
from portico.interfaces.cli.terminal import Terminal
from tests.adapters.embeddings.tiny import publish
from tests.bench.small_sets import write_sets
from tests.gateway.core.shop import Floats, embedded
from tests.interfaces.cli.house import ScriptedHouse

pytestmark = pytest.mark.nightly

ALWAYS = {
    "default_ndcg10",
    "onnx_ndcg10",
    "live_question_r5",
    "live_question_r10",
    "live_steps_r10",
    "offtopic_auc",
    "abstain_sets_held",
    "default_p95_cpu_ms_10k",
    "onnx_p95_cpu_ms_10k",
    "corpus",
    "conditions",
    "baseline",
}


class CountingEncoder:
    def __init__(self) -> None:
        self.model = EmbeddingModel("counting", 48, "f00d")
        self.made = 0

    def embed_now(self, texts: Sequence[str]) -> Floats:
        self.made += len(texts)
        return embedded(texts)


@pytest.mark.scenario
def test_without_an_encoder_its_figures_are_null_and_say_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    at = Terminal(services=ScriptedHouse(tmp_path), json=True)

    done = search(data=write_sets(tmp_path), tools=60, learnt=tmp_path / "learnt", at=at)

    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert done == Exit.OK
    assert told.keys() >= ALWAYS
    assert told["onnx_ndcg10"] is None is told["live_steps_r10"]
    assert "--encoder minilm" in told["conditions"]["encoder"]
    assert 0.5 < told["baseline"]["bm25_ndcg10"] <= 1
    assert told["default_ndcg10"] > 0.7
    weights = np.load(tmp_path / "learnt" / "token_weights.npy")
    assert weights.shape == (32_000,)
    assert set(json.loads((tmp_path / "learnt" / "learnt.json").read_text())) == {"words", "static"}


@pytest.mark.scenario
def test_with_an_encoder_every_figure_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    at = Terminal(services=ScriptedHouse(tmp_path), json=True)
    tiny = publish(tmp_path / "tiny")

    done = search(data=write_sets(tmp_path), encoder=str(tiny), tools=60, at=at)

    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert done == Exit.OK
    assert None not in [told[name] for name in ALWAYS]
    assert told["sets"]["live"].keys() >= {"bm25", "default", "onnx", "spike", "spike_onnx"}
    assert told["baseline"]["spike_onnx_ndcg10"] > 0.5
    assert told["paired"]["onnx_over_spike"]["interval"]
    assert "minilm-live adapted with None" in told["conditions"]["encoder"]
    assert told["conditions"]["learnt_without_ultra"].keys() == {
        "words",
        "static",
        "encoder",
        "encoder+static",
    }


def test_a_vector_is_made_once(tmp_path: Path) -> None:
    encoder = CountingEncoder()

    first = KeptVectors(tmp_path / "kept").of(encoder, ["one", "two"])
    again = KeptVectors(tmp_path / "kept").of(encoder, ["one", "two"])

    assert encoder.made == 2
    assert np.array_equal(first, again)
