"""Debian's nginx in front of a Portico, set up as the page about proxies says."""

import re
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx2

from tests.installation import Installation
from tests.servers import reachable_folder

PAGE: Final = Path(__file__).parents[2] / "docs/how-to/run-behind-a-proxy.md"
NAME: Final = "localhost"
"""It needs no resolver. Portico knows it with its own port only, so that with the proxy's it is a
name as any other."""

_AROUND: Final = """
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {server}
}}
"""


@dataclass(frozen=True, slots=True)
class Proxy:
    port: int
    authority: Path
    """The certificate that clients trust."""

    @property
    def url(self) -> str:
        return f"https://{NAME}:{self.port}"

    def trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.authority))

    def client(self, **headers: str) -> httpx2.Client:
        return httpx2.Client(
            base_url=self.url, headers=headers, verify=self.trusted(), timeout=30, trust_env=False
        )


def as_documented(page: str, *, port: int, upstream: int, folder: Path) -> str:
    """The block of the page, with this machine's ports and files in it and nothing else changed."""
    found = re.search(r"^```nginx\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None, "the page has no block for nginx"
    text = found[1]
    for theirs, ours in {
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "server_name portico.example;": f"server_name {NAME};",
        "/etc/ssl/portico.example.pem": str(folder / "pem"),
        "/etc/ssl/portico.example.key": str(folder / "key"),
        "http://127.0.0.1:3100": f"http://127.0.0.1:{upstream}",
    }.items():
        assert text.count(theirs) == 1, theirs
        text = text.replace(theirs, ours)
    return text


@contextmanager
def nginx_before(house: Installation, port: int) -> Iterator[Proxy]:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    assert program, "There is no nginx here: bash .ci/setup as root, or apt-get install nginx-light"
    with reachable_folder() as folder:
        _certificate(folder)
        server = as_documented(PAGE.read_text(), port=port, upstream=house.port, folder=folder)
        (folder / "conf").write_text(_AROUND.format(folder=folder, server=server))
        arguments = [program, "-p", str(folder), "-c", str(folder / "conf"), "-e", "stderr"]
        with subprocess.Popen(arguments, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
            try:
                made = Proxy(port, folder / "pem")
                _answers(made, process)
                yield made
            finally:
                process.terminate()
                process.wait(30)


def _certificate(folder: Path) -> None:
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", f"/CN={NAME}"),
            *("-addext", f"subjectAltName=DNS:{NAME}"),
            *("-keyout", str(folder / "key"), "-out", str(folder / "pem")),
        ],
        check=True,
        capture_output=True,
    )


def _answers(proxy: Proxy, process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 30
    while True:
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline
        try:
            with proxy.client() as client:
                client.get("/healthz")
        except httpx2.TransportError:
            time.sleep(0.02)
        else:
            return
