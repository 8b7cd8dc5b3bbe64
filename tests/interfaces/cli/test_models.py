"""Models at a terminal: which there are, and whether they work."""

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from portico.app.cli_services import PorticoServices
from portico.interfaces.cli.app import run
from portico.interfaces.cli.errors import Exit
from portico.interfaces.cli.services import EncoderOrder, SettingEntry
from tests.adapters.embeddings import tiny
from tests.adapters.embeddings.serving import serving
from tests.interfaces.cli.command_line import CommandLine, Outcome
from tests.interfaces.cli.scripted_server import Problem

MODEL = {
    "model": "router:acme/large",
    "window": 131_072,
    "most_output": None,
    "tools": "yes",
    "vision": "no",
    "structured": "unknown",
    "price": {"input": "0.5", "output": "10"},
    "local": False,
    "clearance": "team",
    "told_by": "server",
}
FREE = {**MODEL, "model": "ollama:small", "price": {"input": "0", "output": "0"}}
UNKNOWN = {**MODEL, "model": "plain:x", "price": None, "window": None}
AWAY = {
    "name": "ollama",
    "kind": "ollama",
    "url": "http://127.0.0.1:11434",
    "local": True,
    "clearance": "restricted",
    "reachable": False,
    "why": "ollama cannot be asked: nothing answers there.",
    "models": 0,
    "took_ms": 1.5,
    "asked_at": "2026-01-01T12:00:00+00:00",
}
TESTED = {
    "model": MODEL,
    "answers": True,
    "streams": True,
    "calls_tools": "yes",
    "holds_to_form": "no",
    "usage_reported": True,
    "first_piece_ms": 120.0,
    "tokens_a_second": 40.5,
    "took_ms": 900.0,
    "notes": [],
    "problem": None,
    "fix": None,
}
SILENT = {"answers": False, "problem": "Nothing answers there.", "fix": "Start it."}
NOT_FOUND = Problem(404, {"code": "no_such_model", "detail": "No.", "fix": "See."})
LARGE = "router:acme/large"


def models(cli: CommandLine, words: str, **changes: Any) -> Outcome:
    usual = {
        "GET /models": [MODEL, FREE, UNKNOWN],
        "GET /models/providers": [AWAY],
        "GET /models/router%3Aacme/large": MODEL,
        "POST /models/test": TESTED,
    }
    return cli(f"models {words}", usual | changes)


def test_models_are_listed_with_window_abilities_and_price(cli: CommandLine) -> None:
    large, free, unknown = models(cli, "list").rows

    assert large == [LARGE, "131072", "yes", "no", "unknown", "0.5 / 10", "team", "server"]
    assert free[5] == "free"
    assert unknown[5:7] == ["unknown", "team"]
    assert models(cli, "list --fresh --json").json == {"data": [MODEL, FREE, UNKNOWN]}


def test_one_is_shown_by_its_name(cli: CommandLine) -> None:
    assert "price\t0.5 / 10" in models(cli, f"show {LARGE}").lines
    assert models(cli, f"show {LARGE} --json").json == MODEL


def test_whoever_does_not_answer_is_listed_with_why(cli: CommandLine) -> None:
    assert "nothing answers there" in models(cli, "providers").out


def test_a_model_is_tried(cli: CommandLine) -> None:
    got = models(cli, f"test {LARGE}")
    silent = models(cli, f"test {LARGE}", **{"POST /models/test": TESTED | SILENT})

    assert got.code == 0
    assert "tokens_a_second\t40.5" in got.lines
    assert f"model\t{LARGE}" in got.lines
    assert "problem" not in got.out
    assert silent.code == Exit.NOT_RUNNING
    assert "Nothing answers there." in silent.err
    assert "Start it." in silent.err


@pytest.fixture
def chosen(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the settings of the encoder are."""
    values = {"encoder": "static"}

    def setting(path: str) -> SettingEntry:
        return SettingEntry(path, values.get(path.partition(".")[2]), "default")

    monkeypatch.setattr(cli.house, "setting", setting)
    return values


def test_pull_takes_minilm_adapted_if_nothing_is_said(cli: CommandLine) -> None:
    got = cli("embeddings pull")

    assert cli.house.scripted_encoders.pulled == [
        EncoderOrder(source="minilm", name=None, revision="main", plain=False)
    ]
    assert (got.code, got.out) == (0, "minilm is here: 384 dimensions, 23.9 MB.\n")
    assert got.err == "To search with it: portico embeddings use minilm\n"
    assert cli.house.asked == []
    assert "minilm is here" in cli("embeddings pull", screen=80).out


def test_pull_can_use_it_at_once(cli: CommandLine) -> None:
    words = "--name small --revision v2 --plain --use --json"

    told = cli(f"embeddings pull maker/Model {words}").json

    assert cli.house.scripted_encoders.pulled == [
        EncoderOrder(source="maker/Model", name="small", revision="v2", plain=True)
    ]
    assert cli.house.asked == [("embeddings.encoder", "small")]
    assert told == {
        "name": "small",
        "dimensions": 384,
        "max_tokens": 256,
        "size": 23_900_000,
        "adapter": None,
        "licence": "apache-2.0",
        "source": "maker/Model",
        "used": True,
    }


def test_use_tries_it_before_it_is_written_down(cli: CommandLine) -> None:
    assert cli("embeddings use nothing-here").code == 4
    assert cli.house.asked == []

    cli("embeddings pull")
    cli.house.overruled_by = "environment PORTICO_EMBEDDINGS__ENCODER"
    got = cli("embeddings use minilm")

    assert (got.code, cli.house.asked) == (0, [("embeddings.encoder", "minilm")])
    assert "… but environment PORTICO_EMBEDDINGS__ENCODER wins" in got.err


@pytest.mark.usefixtures("chosen")
def test_use_asks_a_server_elsewhere_how_long_its_vectors_are(cli: CommandLine) -> None:
    words = "--url http://a/v1 --model m --key-variable KEY --json"

    told = cli(f"embeddings use remote {words}").json

    assert cli.house.scripted_encoders.asked == [("http://a/v1", "m", "KEY")]
    assert cli.house.asked == [
        ("embeddings.url", "http://a/v1"),
        ("embeddings.model", "m"),
        ("embeddings.dimensions", "768"),
        ("embeddings.key_variable", "KEY"),
        ("embeddings.encoder", "remote"),
    ]
    assert told["encoder"] == "remote"


def test_what_is_known_of_a_server_elsewhere_need_not_be_said_again(
    cli: CommandLine, chosen: dict[str, str]
) -> None:
    chosen |= {"url": "http://a/v1", "model": "m"}

    assert cli("embeddings use remote --model n").code == 0

    assert cli.house.scripted_encoders.asked == [("http://a/v1", "n", None)]
    assert ("embeddings.key_variable", None) not in cli.house.asked


@pytest.mark.usefixtures("chosen")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("remote", "--url URL --model MODEL"),
        ("remote --url http://a/v1", "--url URL --model MODEL"),
    ],
)
def test_what_does_not_go_together_is_told(cli: CommandLine, words: str, told: str) -> None:
    got = cli(f"embeddings use {words}")

    assert (got.code, cli.house.asked) == (2, [])
    assert told in got.err


def test_status_says_what_is_used_and_what_is_here(
    cli: CommandLine, chosen: dict[str, str]
) -> None:
    cli("embeddings pull --quiet")

    assert cli("embeddings status").lines == [
        "encoder\tstatic",
        "origin\tdefault",
        "works\tyes",
        "dimensions\t384",
        "fingerprint\tf00d",
        "folder\tmodels",
        "",
        "minilm\t384\t256\t23.9 MB\ttools\tapache-2.0\tminilm",
    ]

    chosen["encoder"] = "gone"
    gone = cli("embeddings status --json")
    assert (gone.code, gone.json["works"], gone.json["problem"]) == (0, False, "There is no gone.")
    assert gone.json["fix"] == "See what is in use: portico embeddings status"


Ask = Callable[..., Any]


@pytest.fixture
def real(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Ask:
    """What is said in JSON in a house of one's own; its file is home/config/portico.toml."""
    for name in os.environ:
        if name.startswith("PORTICO_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PORTICO_HOME", str(tmp_path / "home"))

    def ask(words: str, house: PorticoServices | None = None) -> Any:
        assert run(house or PorticoServices(), ["embeddings", *shlex.split(words), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return ask


def test_an_encoder_is_pulled_used_and_shown(real: Ask, tmp_path: Path) -> None:
    published = tiny.publish(tmp_path / "tiny")

    before = real("status")
    pulled = real(f"pull {published} --use")
    after = real("status")

    assert (before["encoder"], before["dimensions"], before["works"]) == ("static", 256, True)
    assert (pulled["name"], pulled["dimensions"]) == ("tiny", tiny.WIDTH)
    assert (after["encoder"], after["dimensions"], after["works"]) == ("tiny", tiny.WIDTH, True)
    assert after["origin"].startswith(str(tmp_path / "home" / "config" / "portico.toml"))
    assert [each["name"] for each in after["stored"]] == ["tiny"]


def test_a_key_is_taken_from_the_environment_and_never_written(
    real: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys: list[str | None] = []

    async def embeddings(request: Request) -> JSONResponse:
        keys.append(request.headers.get("authorization"))
        return JSONResponse({"data": [{"index": 0, "embedding": [3, 4, 0]}]})

    monkeypatch.setenv("MY_KEY", "correct-horse-battery")
    with serving([Route("/v1/embeddings", embeddings, methods=["POST"])]) as url:
        real(f"use remote --url {url}/v1 --model m --key-variable MY_KEY")
        house = PorticoServices()
        found = real("status", house)

    assert (found["works"], found["dimensions"]) == (True, 3)
    assert keys == ["Bearer correct-horse-battery"] * 2
    assert "correct-horse" not in (tmp_path / "home/config/portico.toml").read_text()
    assert "correct-horse" not in house.app.secrets.clean("it is correct-horse-battery")


def test_an_encoder_that_is_gone_is_told_by_name(real: Ask, tmp_path: Path) -> None:
    file = tmp_path / "home" / "config" / "portico.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[embeddings]\nencoder = "gone"\n')

    found = real("status")

    assert found["works"] is False
    assert found["fix"] == "Fetch it: portico embeddings pull gone"
