"""Which encoder is opened for which choice."""

from pathlib import Path

import httpx2
import pytest

from portico.adapters.embeddings.encoder_folder import EncoderFolder
from portico.adapters.embeddings.errors import EncoderNotFound
from portico.adapters.embeddings.onnx_encoder import OnnxEncoder
from portico.adapters.embeddings.pull import Order, PullEncoder
from portico.adapters.embeddings.remote import Endpoint, RemoteEmbedder
from portico.adapters.embeddings.source import Wanted, open_encoder
from portico.adapters.web.client import guarded_client
from portico.gateway.core.errors import EmbedderUnavailable
from tests.adapters.embeddings import tiny

THERE = Endpoint(url="http://127.0.0.1:9/v1", model="m", dimensions=2)


@pytest.fixture
def shelf(tmp_path: Path) -> EncoderFolder:
    return EncoderFolder(tmp_path / "models")


async def test_the_table_alone_is_no_encoder(shelf: EncoderFolder) -> None:
    async with httpx2.AsyncClient() as client:
        assert open_encoder(Wanted(encoder="static", shelf=shelf), client) is None


async def test_a_server_elsewhere_is_opened_by_its_endpoint(shelf: EncoderFolder) -> None:
    async with httpx2.AsyncClient() as client:
        found = open_encoder(Wanted(encoder="remote", shelf=shelf, endpoint=THERE), client)

    assert isinstance(found, RemoteEmbedder)
    assert found.model.dimensions == 2


def test_one_that_was_pulled_is_opened_by_its_name(shelf: EncoderFolder, tmp_path: Path) -> None:
    pull = PullEncoder(shelf=shelf, client=guarded_client, hub="http://127.0.0.1:9")
    pull(Order(source=str(tiny.publish(tmp_path / "tiny"))), lambda *_: None)

    found = open_encoder(Wanted(encoder="tiny", shelf=shelf), httpx2.AsyncClient())

    assert isinstance(found, OnnxEncoder)
    assert found.model.dimensions == tiny.WIDTH


@pytest.mark.parametrize("name", ["gone", "remote", "../models"])
async def test_what_is_not_there_is_told_as_an_embedder_that_cannot_be_had(
    shelf: EncoderFolder, name: str
) -> None:
    async with httpx2.AsyncClient() as client:
        with pytest.raises(EncoderNotFound) as caught:
            open_encoder(Wanted(encoder=name, shelf=shelf), client)

    assert isinstance(caught.value, EmbedderUnavailable)
