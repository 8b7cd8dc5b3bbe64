"""Somebody without rights who has nothing but a home, an interpreter, and the wheel."""

import json
import os
import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import psutil

from tests.servers import IS_ROOT, free_port

ACCOUNT = "portico-guest"
_PASSED = ("LANG", "SSL_CERT_FILE", "HTTPS_PROXY", "NODE_EXTRA_CA_CERTS")
_OF_INSTALLERS = ("PIP_", "UV_INDEX", "UV_DEFAULT_INDEX", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS")
_SYSTEM = "/usr/local/bin:/usr/bin:/bin"
"""Where programs are that any account can start; root's own PATH may lead into root's home."""


@dataclass(frozen=True)
class Guest:
    home: Path
    port: int
    programs: Path

    def in_another_home(self, name: str) -> "Guest":
        """The same programs, with nothing set up yet."""
        home = self.home / name
        home.mkdir(mode=0o700)
        self.own(home)
        return replace(self, home=home, port=free_port())

    def own(self, path: Path) -> None:
        if IS_ROOT:
            shutil.chown(path, ACCOUNT, ACCOUNT)

    @property
    def portico(self) -> Path:
        return self.programs / "portico"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def key(self) -> str:
        return (self.home / ".config" / "portico" / "client.key").read_text().strip()

    def start(self, *command: str | Path, output: int = subprocess.PIPE) -> "subprocess.Popen[str]":
        account = pwd.getpwnam(ACCOUNT) if IS_ROOT else None
        return subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.home,
            env=self.environment(),
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
        )

    def run(self, *command: str | Path) -> str:
        with self.start(*command) as process:
            output, _ = process.communicate(timeout=900)
        assert process.returncode == 0, f"{command}: {output}"
        return output

    def json(self, *command: str) -> Any:
        return json.loads(self.run(self.portico, *command, "--json").splitlines()[-1])

    def environment(self) -> Mapping[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in _PASSED or name.startswith(_OF_INSTALLERS)
        }
        return {
            **kept,
            "PATH": f"{self.programs}:{_SYSTEM if IS_ROOT else os.environ['PATH']}",
            "HOME": str(self.home),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PORTICO_SERVER__PORT": str(self.port),
        }

    @contextmanager
    def serving(self) -> Iterator[None]:
        log = self.home / "serve.log"
        with (
            log.open("w") as output,
            self.start(self.portico, "serve", output=output.fileno()) as process,
        ):
            try:
                self._wait(process, log)
                yield
            finally:
                process.terminate()

    def _wait(self, process: "subprocess.Popen[str]", log: Path) -> None:
        deadline = time.monotonic() + 240
        while True:
            try:
                if httpx2.get(f"{self.url}/readyz").status_code == 200:
                    return
            except httpx2.TransportError:
                pass
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, "the server did not become ready"
            time.sleep(0.05)

    def processes(self) -> list[str]:
        """Those that live and belong to this home."""
        return [
            str(each)
            for each in psutil.process_iter(["status", "environ", "cmdline"])
            if each.info["status"] != "zombie"
            and (
                (each.info["environ"] or {}).get("HOME") == str(self.home)
                or str(self.home) in " ".join(each.info["cmdline"] or [])
            )
        ]


def interpreter() -> str:
    """One that another user can reach; ours may be in a home that is closed to them."""
    return "/usr/bin/python3" if IS_ROOT else sys.executable


@contextmanager
def account(home: Path) -> Iterator[None]:
    if not IS_ROOT:
        home.mkdir(mode=0o700)
        yield
        return
    subprocess.run(["userdel", ACCOUNT], check=False, capture_output=True)
    subprocess.run(["useradd", "--create-home", "--home-dir", home, ACCOUNT], check=True)
    home.chmod(0o700)
    try:
        yield
    finally:
        subprocess.run(["userdel", ACCOUNT], check=False, capture_output=True)
