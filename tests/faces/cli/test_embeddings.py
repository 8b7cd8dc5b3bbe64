"""Fetching and choosing an encoder: what a scripted house is told, what a real one does."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from portico.faces.cli.app import run
from portico.faces.cli.house import EncoderOrder, SettingEntry
from portico.main.house import PorticoHouse
from tests.adapters.embeddings import tiny
from tests.adapters.embeddings.serving import serving
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.screen import a_screen

Captured = pytest.CaptureFixture[str]


class ChoosingHouse(ScriptedHouse):
    """Has the settings that are chosen here."""

    def __init__(self, root: Path, **values: str) -> None:
        super().__init__(root)
        self.values = {"encoder": "static", **values}

    def setting(self, path: str) -> SettingEntry:
        return SettingEntry(path, self.values.get(path.partition(".")[2]), "default")


@pytest.fixture
def house(tmp_path: Path) -> ChoosingHouse:
    return ChoosingHouse(tmp_path)


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A house of one's own; its configuration file."""
    for name in os.environ:
        if name.startswith("PORTICO_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PORTICO_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "config" / "portico.toml"


def answered(capsys: Captured) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_pull_takes_minilm_adapted_if_nothing_is_said(
    house: ChoosingHouse, capsys: Captured
) -> None:
    assert run(house, ["embeddings", "pull"]) == 0

    said = capsys.readouterr()
    assert house.scripted_encoders.pulled == [
        EncoderOrder(source="minilm", name=None, revision="main", plain=False)
    ]
    assert said.out == "minilm is here: 384 dimensions, 23.9 MB.\n"
    assert said.err == "To search with it: portico embeddings use minilm\n"
    assert house.asked == []


def test_pull_can_use_it_at_once(house: ChoosingHouse, capsys: Captured) -> None:
    words = ["--name", "small", "--revision", "v2", "--plain", "--use", "--json"]

    assert run(house, ["embeddings", "pull", "maker/Model", *words]) == 0

    assert house.scripted_encoders.pulled == [
        EncoderOrder(source="maker/Model", name="small", revision="v2", plain=True)
    ]
    assert house.asked == [("embeddings.encoder", "small")]
    assert answered(capsys) == {
        "name": "small",
        "dimensions": 384,
        "max_tokens": 256,
        "size": 23_900_000,
        "adapter": None,
        "licence": "apache-2.0",
        "source": "maker/Model",
        "used": True,
    }


def test_a_person_sees_how_far_it_is(house: ChoosingHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = a_screen(monkeypatch)

    assert run(house, ["embeddings", "pull"]) == 0

    assert "minilm is here" in screen.getvalue()


def test_use_tries_it_before_it_is_written_down(house: ChoosingHouse, capsys: Captured) -> None:
    assert run(house, ["embeddings", "use", "nothing-here"]) == 4
    assert house.asked == []

    run(house, ["embeddings", "pull"])
    house.overruled_by = "environment PORTICO_EMBEDDINGS__ENCODER"
    assert run(house, ["embeddings", "use", "minilm"]) == 0

    assert house.asked == [("embeddings.encoder", "minilm")]
    assert "… but environment PORTICO_EMBEDDINGS__ENCODER wins" in capsys.readouterr().err


def test_use_asks_a_server_elsewhere_how_long_its_vectors_are(
    house: ChoosingHouse, capsys: Captured
) -> None:
    words = ["--url", "http://a/v1", "--model", "m", "--key-variable", "KEY", "--json"]

    assert run(house, ["embeddings", "use", "remote", *words]) == 0

    assert house.scripted_encoders.asked == [("http://a/v1", "m", "KEY")]
    assert house.asked == [
        ("embeddings.url", "http://a/v1"),
        ("embeddings.model", "m"),
        ("embeddings.dimensions", "768"),
        ("embeddings.key_variable", "KEY"),
        ("embeddings.encoder", "remote"),
    ]
    assert answered(capsys)["encoder"] == "remote"


def test_what_is_known_of_a_server_elsewhere_need_not_be_said_again(tmp_path: Path) -> None:
    house = ChoosingHouse(tmp_path, url="http://a/v1", model="m")

    assert run(house, ["embeddings", "use", "remote", "--model", "n"]) == 0

    assert house.scripted_encoders.asked == [("http://a/v1", "n", None)]
    assert ("embeddings.key_variable", None) not in house.asked


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["remote"], "--url URL --model MODEL"),
        (["remote", "--url", "http://a/v1"], "--url URL --model MODEL"),
        (["static", "--url", "http://a/v1"], "for remote only"),
    ],
)
def test_what_does_not_go_together_is_told(
    house: ChoosingHouse, capsys: Captured, words: list[str], told: str
) -> None:
    assert run(house, ["embeddings", "use", *words]) == 2

    assert told in capsys.readouterr().err
    assert house.asked == []


def test_status_says_what_is_used_and_what_is_here(house: ChoosingHouse, capsys: Captured) -> None:
    run(house, ["embeddings", "pull", "--quiet"])
    capsys.readouterr()

    assert run(house, ["embeddings", "status"]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "encoder\tstatic",
        "origin\tdefault",
        "works\tyes",
        "dimensions\t384",
        "fingerprint\tf00d",
        "folder\tmodels",
        "",
        "minilm\t384\t256\t23.9 MB\ttools\tapache-2.0\tminilm",
    ]


def test_status_says_what_is_wrong_and_is_no_failure_itself(
    tmp_path: Path, capsys: Captured
) -> None:
    assert run(ChoosingHouse(tmp_path, encoder="gone"), ["embeddings", "status", "--json"]) == 0

    found = answered(capsys)
    assert (found["works"], found["problem"], found["stored"]) == (False, "There is no gone.", [])
    assert found["fix"] == "See what is in use: portico embeddings status"


def test_an_encoder_is_pulled_used_and_shown(real: Path, capsys: Captured, tmp_path: Path) -> None:
    published = str(tiny.publish(tmp_path / "tiny"))
    house = PorticoHouse()

    assert run(house, ["embeddings", "status", "--json"]) == 0
    before = answered(capsys)
    assert run(house, ["embeddings", "pull", published, "--use", "--json"]) == 0
    pulled = answered(capsys)
    assert run(PorticoHouse(), ["embeddings", "status", "--json"]) == 0
    after = answered(capsys)

    assert (before["encoder"], before["dimensions"], before["works"]) == ("static", 256, True)
    assert (pulled["name"], pulled["dimensions"]) == ("tiny", tiny.WIDTH)
    assert (after["encoder"], after["dimensions"], after["works"]) == ("tiny", tiny.WIDTH, True)
    assert after["origin"].startswith(str(real))
    assert [each["name"] for each in after["stored"]] == ["tiny"]


def test_a_key_is_taken_from_the_environment_and_never_written(
    real: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys: list[str | None] = []

    async def embeddings(request: Request) -> JSONResponse:
        keys.append(request.headers.get("authorization"))
        return JSONResponse({"data": [{"index": 0, "embedding": [3, 4, 0]}]})

    monkeypatch.setenv("MY_KEY", "correct-horse-battery")
    with serving([Route("/v1/embeddings", embeddings, methods=["POST"])]) as url:
        words = ["--url", f"{url}/v1", "--model", "m", "--key-variable", "MY_KEY", "--json"]
        assert run(PorticoHouse(), ["embeddings", "use", "remote", *words]) == 0
        answered(capsys)
        house = PorticoHouse()
        assert run(house, ["embeddings", "status", "--json"]) == 0

    found = answered(capsys)
    assert (found["works"], found["dimensions"]) == (True, 3)
    assert keys == ["Bearer correct-horse-battery"] * 2
    assert "correct-horse" not in real.read_text()
    assert "correct-horse" not in house.ground.secrets.clean("it is correct-horse-battery")


def test_an_encoder_that_is_gone_is_told_by_name(real: Path, capsys: Captured) -> None:
    real.parent.mkdir(parents=True)
    real.write_text('[embeddings]\nencoder = "gone"\n')

    assert run(PorticoHouse(), ["embeddings", "status", "--json"]) == 0

    found = answered(capsys)
    assert found["works"] is False
    assert found["fix"] == "Fetch it: portico embeddings pull gone"
