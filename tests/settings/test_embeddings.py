"""Which vectors are made, as settings."""

import pytest
from pydantic import ValidationError

from portico.settings.model import EmbeddingSettings


def test_nothing_set_is_the_table_of_words() -> None:
    assert EmbeddingSettings().encoder == "static"


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({}, "url and model and dimensions"),
        ({"url": "http://127.0.0.1:1/v1", "dimensions": 8}, "model"),
        ({"url": "http://127.0.0.1:1/v1", "model": "m"}, "dimensions"),
    ],
)
def test_a_server_elsewhere_must_be_said_in_full(given: dict[str, object], missing: str) -> None:
    with pytest.raises(ValidationError, match=f"remote also needs {missing};"):
        EmbeddingSettings.model_validate({"encoder": "remote", **given})


def test_a_server_elsewhere_is_used_once_all_is_said() -> None:
    found = EmbeddingSettings(
        encoder="remote", url="http://127.0.0.1:11434/v1/", model="m", dimensions=8
    )

    assert found.url == "http://127.0.0.1:11434/v1"


@pytest.mark.parametrize("name", ["../elsewhere", "Upper", "", "a/b", "-x", "a" * 65])
def test_an_encoders_name_is_no_path(name: str) -> None:
    with pytest.raises(ValidationError):
        EmbeddingSettings(encoder=name)


@pytest.mark.parametrize("url", ["ftp://x/v1", "https://user:pass@x/v1", "x", "https://x/v1?key=1"])
def test_an_address_carries_no_password(url: str) -> None:
    with pytest.raises(ValidationError, match="must be an address"):
        EmbeddingSettings(url=url)


def test_a_key_is_named_not_given_and_not_repeated() -> None:
    with pytest.raises(ValidationError) as caught:
        EmbeddingSettings(key_variable="sk-hunter2-hunter2")

    assert "hunter2" not in str([each["msg"] for each in caught.value.errors()])
