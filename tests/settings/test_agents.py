"""Providers of models in the configuration, and those that are found by themselves."""

from pathlib import Path

import pytest

from portico.adapters.models.provider import Provider, ProviderKind, on_this_machine
from portico.app.models import by_library, providers_of
from portico.settings.agents import ModelsSettings
from portico.settings.load import InvalidSettings, load

TABLES = """\
[models]
refresh_seconds = 60

[models.providers.work]
kind = "openai"
key = "secret:openai"
clearance = "team+finance"
price_in = 2
price_out = 8.5

[models.providers.attic]
kind = "compatible"
url = "http://attic.example:8080/v1/"
tools = true
"""
SECRET = "sk-0123456789abcdefghij"


def providers(text: str, tmp_path: Path, **environment: str) -> dict[str, Provider]:
    return dict(providers_of(settings(text, tmp_path), environment))


def settings(text: str, tmp_path: Path) -> ModelsSettings:
    file = tmp_path / "config" / "portico.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return load({"PORTICO_HOME": str(tmp_path)}, folder=tmp_path).settings.models


def test_the_library_is_loaded_ahead_for_those_who_were_named(tmp_path: Path) -> None:
    ollama = '[models.providers.cave]\nkind = "ollama"\nurl = "http://cave.example:11434"\n'

    assert by_library(providers(TABLES, tmp_path).values())
    assert by_library(providers("", tmp_path, OPENAI_API_KEY="sk-1").values())
    assert not by_library(providers("", tmp_path).values())
    assert not by_library(providers(ollama, tmp_path).values())


def test_providers_are_tables_of_their_own(tmp_path: Path) -> None:
    found = providers(TABLES, tmp_path)

    work, attic = found["work"], found["attic"]
    assert (work.kind, work.url) == (ProviderKind.OPENAI, "https://api.openai.com/v1")
    assert (str(work.key), str(work.clearance)) == ("secret:openai", "team+finance")
    assert work.price is not None
    assert str(work.price.output) == "8.5"
    assert (attic.url, attic.local) == ("http://attic.example:8080/v1", False)
    assert str(attic.clearance) == "team"
    assert (attic.tools, attic.vision) == ("yes", "unknown")


def test_what_is_usual_is_looked_for_by_itself(tmp_path: Path) -> None:
    bare = providers("", tmp_path)
    keyed = providers("", tmp_path, OPENROUTER_API_KEY=SECRET, OPENAI_API_KEY="")

    assert set(bare) == {"ollama", "llamacpp", "lmstudio", "vllm"}
    assert all(each.found and each.local for each in bare.values())
    assert str(bare["ollama"].clearance) == "restricted"
    assert set(keyed) - set(bare) == {"openrouter"}
    assert str(keyed["openrouter"].key) == "env:OPENROUTER_API_KEY"
    assert not keyed["openrouter"].found
    assert SECRET not in repr(keyed)


def test_what_is_written_wins_by_its_name_and_by_its_address(tmp_path: Path) -> None:
    mine = '[models.providers.mine]\nkind = "ollama"\n[models.providers.vllm]\n'
    found = providers(f'{mine}kind = "ollama"\nenabled = false\n', tmp_path)

    assert set(found) == {"mine", "llamacpp", "lmstudio"}


def test_nothing_is_looked_for_if_that_is_switched_off(tmp_path: Path) -> None:
    assert providers("[models]\ndiscover = false\n", tmp_path, OPENAI_API_KEY=SECRET) == {}


@pytest.mark.parametrize(
    "entry",
    [
        f'kind = "openai"\nkey = "{SECRET}"',
        'kind = "compatible"',
        'kind = "compatible"\nurl = "ftp://attic"',
        'kind = "compatible"\nurl = "http://me:word@attic/v1"',
        'kind = "openai"\nprice_in = 1',
        'kind = "openai"\nclearance = "top"',
        'kind = "llama"',
        'kind = "openai"\nwindow = 1',
        'kind = "openai"\nheaders = {}',
    ],
)
def test_what_is_no_provider_is_refused_without_repeating_it(tmp_path: Path, entry: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        settings(f"[models.providers.work]\n{entry}\n", tmp_path)

    told = f"{caught.value}{caught.value.field_errors}"
    assert "models" in told
    assert SECRET not in told


def test_a_provider_has_a_name_that_a_model_can_begin_with(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="small letters"):
        settings('[models.providers."My Own"]\nkind = "openai"\n', tmp_path)


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("http://localhost/v1", True),
        ("http://[::1]:1", True),
        ("http://127.0.0.1.example/v1", False),
        ("http://10.0.0.1", False),
        ("https://localhost.example", False),
    ],
)
def test_this_machine_is_told_by_its_address_alone(url: str, *, local: bool) -> None:
    assert on_this_machine(url) is local
