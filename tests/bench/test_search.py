"""`portico bench search`, with five sets of six tools, and how those are read."""

import json
from pathlib import Path

import pytest

from portico.adapters.egress.client import guarded_client
from portico.adapters.embeddings.encoders import EncoderFolder
from portico.adapters.embeddings.pull import PullEncoder, PullRequest
from portico.bench.search import search
from portico.bench.tool_sets import FILES, FIVE, LIVE, MULTI, SEAL, missing_files, read_sets
from portico.interfaces.cli.errors import Exit
from portico.interfaces.cli.terminal import Terminal
from tests.adapters.embeddings.tiny import publish
from tests.bench.small_sets import THINGS, write_sets
from tests.interfaces.cli.house import ScriptedHouse

OF_AN_ENCODER = {
    "onnx_ndcg10",
    "onnx_unseen_ndcg10",
    "live_question_r5",
    "live_question_r10",
    "live_steps_r10",
    "offtopic_auc",
    "onnx_p95_cpu_ms_10k",
}
ALWAYS = {
    "default_ndcg10",
    "default_unseen_ndcg10",
    "default_live_question_r5",
    "default_live_steps_r10",
    "default_offtopic_auc",
    "default_abstain_sets_held",
    "abstain_sets_held",
    "default_p95_cpu_ms_10k",
    "corpus",
    "conditions",
    "baseline",
}


@pytest.mark.scenario
def test_without_an_encoder_its_figures_are_null_and_say_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = Terminal(services=ScriptedHouse(tmp_path), json=True)

    done = search(data=write_sets(tmp_path), tools=60, at=at)

    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert done == Exit.OK
    assert None not in [told[name] for name in ALWAYS]
    assert {told[name] for name in OF_AN_ENCODER} == {None}
    assert "--encoder" in told["conditions"]["encoder"]
    assert 0.5 < told["baseline"]["bm25_ndcg10"] <= 1
    assert told["default_ndcg10"] > 0.7
    assert told["sets"]["live"].keys() == {"default", "bm25"}
    assert told["default_abstention"].keys() == set(FIVE)


@pytest.mark.scenario
def test_with_an_encoder_every_figure_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    house = ScriptedHouse(tmp_path)
    shelf = EncoderFolder(house.encoders().folder)
    pull = PullEncoder(shelf=shelf, client=guarded_client, hub="")
    pull(
        PullRequest(source=str(publish(tmp_path / "tiny")), name="tiny", change=None),
        lambda *_: None,
    )
    at = Terminal(services=house, json=True)

    done = search(data=write_sets(tmp_path), encoder="tiny", tools=60, at=at)

    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert done == Exit.OK
    assert None not in [told[name] for name in ALWAYS | OF_AN_ENCODER]
    assert told["sets"]["live"].keys() == {"default", "onnx", "bm25"}
    assert told["conditions"]["encoder"] == "tiny"


def test_an_encoder_that_was_not_pulled_is_named_and_the_rest_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    at = Terminal(services=ScriptedHouse(tmp_path), json=True)

    done = search(data=write_sets(tmp_path), encoder="absent", tools=60, at=at)

    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert done == Exit.OK
    assert "absent" in told["conditions"]["encoder"]
    assert told["onnx_ndcg10"] is None


def test_all_five_sets_are_read_as_they_were_written(tmp_path: Path) -> None:
    sets = read_sets(write_sets(tmp_path) / "tool-search")

    assert set(sets) == {*FIVE, MULTI}
    assert all(len(each.tools) == len(THINGS) for each in sets.values())
    assert all(len(each.questions) == len(each.gold) for each in sets.values())
    assert "not here" not in sets[SEAL].questions  # they have no tool of the set
    assert "nothing" not in sets[LIVE].questions
    assert sets[LIVE].steps[0] == ("look at the letter", "do it")
    assert sets[LIVE].tools[0].parameters == (("when", "the day"), ("odd", ""))
    (tmp_path / "tool-search" / FILES[2]).unlink()
    assert missing_files(tmp_path / "tool-search") == [FILES[2]]
