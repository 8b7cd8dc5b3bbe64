"""Installations that are broken in known ways, looked over by the real command."""

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from portico.gateway.core.server import Plain, Stdio
from portico.gateway.core.start_advice import advice
from tests.installation import Installation, installation
from tests.real_servers.catalogue import Shelf
from tests.real_servers.install import install
from tests.real_servers.world import give_away

pytestmark = [pytest.mark.nightly, pytest.mark.scenario, pytest.mark.timeout(300)]

WORDS = "AttributeError: 'Server' object has no attribute 'list_resources'"
"""Of `uvx mcp-server-sqlite`, without a version, on 2026-11-17."""
_AS_IF_UNPINNED = """
import glob, importlib, sys
sys.path += glob.glob(sys.argv[1] + "/lib/python*/site-packages")
sys.argv = ["server", "--db-path", "/dev/null"]
importlib.import_module("{module}").main()
"""


@pytest.mark.requirement("house:doctor:unpinned")
@pytest.mark.parametrize("module", ["mcp_server_sqlite", "ppt_mcp_server"])
def test_real_servers_for_version_1_are_recognised_with_version_2(module: str) -> None:
    """They limit `mcp` to no version below 2, so that this is what they are installed with."""
    shelves = install().shelves
    done = subprocess.run(
        [
            shelves[Shelf.MODERN] / "bin" / "python",
            *("-c", _AS_IF_UNPINNED.format(module=module)),
            shelves[Shelf.LEGACY],
        ],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )

    told = advice(Stdio("uvx", (Plain(module),)), "it ended", done.stderr.splitlines()[-20:])

    assert done.returncode == 1, done.stderr
    assert told is not None
    assert told.endswith(f"Start it as: uvx --with 'mcp<2' {module}")


def findings(house: Installation, *flags: str) -> dict[str, dict[str, Any]]:
    """By check; of several the last one."""
    done = house.run("doctor", *flags, "--json")
    return {each["check"]: each for each in json.loads(done.out)["checks"]}


@contextmanager
def ollama() -> Iterator[str]:
    """As far as it says that it is."""

    class Says(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"version": "0.13.5"}).encode()
            self.send_response(200 if self.path == "/api/version" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # its own name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Says) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def unpinned(house: Installation, folder: Path) -> Path:
    """A client's file with such a server, and a launcher that ends as the real one did."""
    launcher = folder / "uvx"
    launcher.write_text(f'#!/bin/sh\necho "{WORDS}" >&2\nexit 1\n')
    launcher.chmod(0o755)
    file = folder / "mcp.json"
    entry = {"command": str(launcher), "args": ["mcp-server-sqlite"]}
    file.write_text(json.dumps({"mcpServers": {"db": entry}}))
    give_away(folder)
    assert house.run("init", "--from", str(file), "--yes").code == 0
    return file


def lost_client(house: Installation) -> None:
    (house.home / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"portico": {"command": "/no/portico", "args": ["stdio"]}}})
    )


@pytest.mark.requirement("house:doctor:mends")
@pytest.mark.requirement("house:doctor:context")
def test_what_is_broken_is_named_and_what_can_be_is_mended() -> None:
    with installation() as house, ollama() as url:
        folder = house.home.parent / "clients"
        folder.mkdir()
        file = unpinned(house, folder)
        lost_client(house)
        stale = next((house.home / "data").glob("server"), None)
        with (house.home / "config" / "portico.toml").open("a") as settings:
            settings.write(f'\n[models.providers.here]\nkind = "compatible"\nurl = "{url}/v1"\n')
        socket_left = _left_behind(house, stale)

        found = findings(house, "--fix")

        assert found["servers"]["state"] == "broken"
        assert f"mcp-server-sqlite (in {file})" in found["servers"]["fix"]
        assert "uvx --with 'mcp<2' mcp-server-sqlite" in found["servers"]["fix"]
        assert found["clients"]["detail"].endswith("starts /no/portico, which is not there")
        assert 'set kind = "ollama"' in found["context"]["fix"]
        assert found["leftovers"]["state"] == "mended"
        assert not socket_left.exists()
        assert found["running"]["detail"] == "no server runs"
        assert found["node"]["detail"] == "no server needs it"
        assert found["disk"]["check"] == "disk"


def _left_behind(house: Installation, folder: Path | None) -> Path:
    where = folder or house.home / "data" / "server"
    where.mkdir(mode=0o700, exist_ok=True)
    left = where / "1.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(left))
    return left
