"""The real thing: an encoder from the package index, and a server that others wrote."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from portico.adapters.embeddings.sentence_encoders import Endpoint, OnnxEncoder, RemoteEmbedder
from tests.servers import free_port

pytestmark = [pytest.mark.scenario]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def portico(home: Path, *words: str, **more: str) -> dict[str, Any]:
    kept = {name: each for name, each in os.environ.items() if not name.startswith("PORTICO_")}
    done = subprocess.run(
        [sys.executable, "-m", "portico", *words, "--json"],
        env={**kept, **more, "PORTICO_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def vendor(tmp_path: Path) -> Iterator[str]:
    """npm's @copilotkit/aimock: a server that speaks many vendors' protocols, in its own process.

    Its vectors are made of a text's hash: they differ from text to text, and mean nothing."""
    install = ["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", str(tmp_path)]
    subprocess.run([*install, "@copilotkit/aimock@1.43.0"], check=True, capture_output=True)
    (tmp_path / "none.json").write_text('{"fixtures": []}')
    port = free_port()
    server = subprocess.Popen(
        [tmp_path / "node_modules/.bin/llmock", "-p", str(port), "-f", tmp_path / "none.json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # `node` may be a small program that starts the real one
    )
    with server:
        assert server.stdout is not None
        try:
            assert any("listening" in line for line in server.stdout)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            os.killpg(server.pid, signal.SIGTERM)


async def test_minilm_is_pulled_by_name_used_and_understands(home: Path) -> None:
    pulled = portico(home, "embeddings", "pull", "--use")
    status = portico(home, "embeddings", "status")

    assert pulled["dimensions"] == 384
    assert pulled["size"] < 25_000_000
    assert (status["encoder"], status["works"]) == ("minilm", True)
    [flight, plane, soup] = await OnnxEncoder(home / "cache" / "models" / "minilm").embed(
        ["book a flight", "buy plane tickets", "cook a soup"]
    )
    assert flight @ plane > flight @ soup + 0.2


async def test_a_server_that_others_wrote_gives_vectors(vendor: str, home: Path) -> None:
    words = ["--url", vendor, "--model", "text-embedding-3-small", "--key-variable", "MY_KEY"]

    portico(home, "embeddings", "use", "remote", *words, MY_KEY="secret-of-mine")
    status = portico(home, "embeddings", "status", MY_KEY="secret-of-mine")

    assert (status["works"], status["dimensions"]) == (True, 1536)
    assert "secret-of-mine" not in (home / "config" / "portico.toml").read_text()
    async with httpx2.AsyncClient() as client:
        there = Endpoint(url=vendor, model="text-embedding-3-small", dimensions=1536)
        one, other, same = await RemoteEmbedder(client, there).embed(["mail", "rome", "mail"])
    assert one @ one == pytest.approx(1, abs=1e-5)
    assert one @ same == pytest.approx(1, abs=1e-5)
    assert one @ other < 0.9
