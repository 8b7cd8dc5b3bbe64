"""Which encoder it is to be beside the table of words: none, one of this machine, one elsewhere."""

from dataclasses import dataclass

import httpx2

from portico.adapters.embeddings.encoder_folder import EncoderFolder
from portico.adapters.embeddings.onnx_encoder import OnnxEncoder
from portico.adapters.embeddings.remote import Endpoint, RemoteEmbedder
from portico.gateway.core.search_text import REMOTE, STATIC
from portico.gateway.ports import Embedder


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The user's choice, in this adapter's words."""

    encoder: str
    shelf: EncoderFolder
    endpoint: Endpoint | None = None


def open_encoder(wanted: Wanted, client: httpx2.AsyncClient) -> Embedder | None:
    """None if the table of words is to be enough. Raises `EmbedderUnavailable`."""
    if wanted.encoder == STATIC:
        return None
    if wanted.encoder == REMOTE and wanted.endpoint is not None:
        return RemoteEmbedder(client, wanted.endpoint)
    return OnnxEncoder(wanted.shelf.find(wanted.encoder))
