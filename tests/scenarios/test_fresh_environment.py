"""The wheel, installed by an ordinary user into an environment of their own, from nothing."""

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from portico.bench.first_minute import first_answer, listed_bare, set_up
from portico.bench.first_minute_servers import SERVERS, prepare_home
from portico.bench.first_minute_user import Newcomer
from tests.servers import IS_ROOT, free_port, reachable_folder

pytestmark = [pytest.mark.scenario, pytest.mark.postgres, pytest.mark.timeout(900)]

ROOT = Path(__file__).parent.parent.parent
GUEST = "portico-guest"


@dataclass(frozen=True)
class Guest:
    """A user who has nothing but a home, an interpreter, and the wheel."""

    home: Path
    port: int

    @property
    def portico(self) -> Path:
        return self.home / "venv" / "bin" / "portico"

    def start(self, *command: str | Path) -> "subprocess.Popen[str]":
        account = pwd.getpwnam(GUEST) if IS_ROOT else None
        return subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.home,
            env=self._environment(),
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
        )

    def run(self, *command: str | Path) -> str:
        with self.start(*command) as process:
            said, _ = process.communicate(timeout=600)
        assert process.returncode == 0, f"{command}: {said}"
        return said

    def _environment(self) -> dict[str, str]:
        passed = ("PATH", "LANG", "SSL_CERT_FILE", "HTTPS_PROXY")
        of_installers = ("PIP_", "UV_INDEX", "UV_DEFAULT_INDEX", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS")
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in passed or name.startswith(of_installers)
        }
        return {
            **kept,
            "HOME": str(self.home),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PORTICO_SERVER__PORT": str(self.port),
        }


@pytest.fixture(scope="module")
def wheel() -> Iterator[Path]:
    with reachable_folder() as folder:
        folder.chmod(0o755)
        subprocess.run(
            [sys.executable, "-m", "build", "--wheel", "--no-isolation", f"--outdir={folder}"],
            cwd=ROOT,
            check=True,
            capture_output=True,
        )
        yield next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def guest() -> Iterator[Guest]:
    with reachable_folder() as folder, _account(folder / "home"):
        yield Guest(folder / "home", free_port())


@contextmanager
def _account(home: Path) -> Iterator[None]:
    if not IS_ROOT:
        home.mkdir(mode=0o700)
        yield
        return
    subprocess.run(["userdel", GUEST], check=False, capture_output=True)
    subprocess.run(["useradd", "--create-home", "--home-dir", home, GUEST], check=True)
    home.chmod(0o700)
    try:
        yield
    finally:
        subprocess.run(["userdel", GUEST], check=False, capture_output=True)


def interpreter() -> str:
    """One that another user can reach; ours may be in a home that is closed to them."""
    return "/usr/bin/python3" if IS_ROOT else sys.executable


@pytest.fixture(scope="module")
def installed(guest: Guest, wheel: Path) -> Guest:
    guest.run(interpreter(), "-m", "venv", "venv")
    programs = guest.home / "venv" / "bin"
    guest.run(programs / "pip", "install", "--quiet", "uv")
    guest.run(
        programs / "uv", "pip", "install", "--quiet", f"--python={programs / 'python'}", str(wheel)
    )
    return guest


@contextmanager
def serving(guest: Guest) -> Iterator[None]:
    with guest.start(guest.portico, "serve") as process:
        try:
            _wait(guest, process)
            yield
        finally:
            process.terminate()


def _wait(guest: Guest, process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            if httpx2.get(f"http://127.0.0.1:{guest.port}/readyz").status_code == 200:
                return
        except httpx2.TransportError:
            pass
        assert process.poll() is None, process.stdout and process.stdout.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.skipif(IS_ROOT and not shutil.which("useradd"), reason="cannot make a user here")
@pytest.mark.requirement("house:first-minute:unprivileged")
def test_an_ordinary_user_installs_sets_up_serves_and_asks(installed: Guest) -> None:
    said = installed.run(installed.portico, "init")

    with serving(installed):
        status = json.loads(installed.run(installed.portico, "status", "--verbose", "--json"))
        key = installed.run(installed.portico, "--quiet", "keys", "create", "laptop").strip()
        me = httpx2.get(
            f"http://127.0.0.1:{installed.port}/api/v1/me",
            headers={"Authorization": f"Bearer {key}"},
        )
    after = json.loads(installed.run(installed.portico, "doctor", "--json").splitlines()[-1])

    assert "Portico is set up." in said
    assert status["ready"] is True
    assert status["key_file"] == str(installed.home / ".config" / "portico" / "client.key")
    assert me.status_code == 200
    assert {each["state"] for each in after["checks"]} == {"good"}
    secret = installed.home / ".config" / "portico" / "client.key"
    assert secret.stat().st_mode & 0o777 == 0o600
    assert not (installed.home / ".local/share/portico/postgres/run/.s.PGSQL.5432").exists()


@pytest.fixture
def newcomer(installed: Guest) -> Iterator[Newcomer]:
    """The same user, with a second home and programs of other makers set up in it."""
    home = installed.home / "second"
    user = Newcomer(home, GUEST if IS_ROOT else None, installed.home / ".cache")
    for folder in (installed.home, user.caches, home):
        folder.mkdir(mode=0o700, exist_ok=True)
        user.take(folder)
    try:
        yield user
    finally:
        user.leave()


@pytest.mark.skipif(IS_ROOT and not shutil.which("useradd"), reason="cannot make a user here")
@pytest.mark.skipif(not shutil.which("npx"), reason="no npx here")
@pytest.mark.requirement("release:first-minute:answered")
def test_servers_of_other_programs_are_taken_unasked_and_the_first_call_is_answered(
    installed: Guest, newcomer: Newcomer
) -> None:
    programs = installed.portico.parent
    given = {
        "PATH": f"{programs}:{newcomer.environment()['PATH']}",
        "PORTICO_SERVER__PORT": str(free_port()),
    }
    servers = [each for each in SERVERS if each.name in {"time", "git", "fetch", "memory"}]
    prepare_home(newcomer, servers)
    bare = listed_bare(newcomer, programs, servers, offline=False, **given)

    taken: Any = set_up(newcomer, programs, **given)
    answered = first_answer(newcomer, programs, **given)

    assert {each["name"]: each.get("tools") for each in taken["servers"]} == bare["tools"]
    assert taken["context"]["tokens_after"] < taken["context"]["tokens_before"]
    assert answered["tools"][0] == "search_tools"
    assert "UTC" in answered["said"]


@pytest.mark.skipif(IS_ROOT and not shutil.which("useradd"), reason="cannot make a user here")
@pytest.mark.requirement("staying:down:nothing-left")
@pytest.mark.requirement("staying:uninstall:only-ours")
def test_an_ordinary_user_keeps_it_up_ends_it_and_takes_it_away(installed: Guest) -> None:
    installed.run(installed.portico, "init")
    up = json.loads(installed.run(installed.portico, "--json", "up"))
    os.kill(up["processes"][0], signal.SIGKILL)
    kept = json.loads(installed.run(installed.portico, "--json", "status", "--wait", "240"))
    installed.run(installed.portico, "down")
    after = processes_of(installed)
    gone = json.loads(
        installed.run(installed.portico, "--json", "uninstall", "--purge", "--yes").splitlines()[-1]
    )

    assert (kept["kept_up"]["restarts"], kept["kept_up"]["supervised"]) == (1, True)
    assert after == []
    assert {"postgres", "client.key"} <= {Path(each["path"]).name for each in gone["belongings"]}
    assert gone["package"].startswith("uv pip uninstall")
    folders = (".config/portico", ".local/share/portico", ".local/state/portico")
    assert [each for each in folders if (installed.home / each).exists()] == []


def processes_of(guest: Guest) -> list[str]:
    """That live, and have this home."""
    with_home = [
        each
        for each in psutil.process_iter(["status", "environ", "cmdline"])
        if (each.info["environ"] or {}).get("HOME") == str(guest.home)
        or str(guest.home) in " ".join(each.info["cmdline"] or [])
    ]
    return [str(each) for each in with_home if each.info["status"] != "zombie"]


@pytest.mark.requirement("house:first-minute:measured")
def test_the_start_can_be_measured_where_it_is_installed(
    installed: Guest, capsys: pytest.CaptureFixture[str]
) -> None:
    said = installed.run(installed.portico, "bench", "start", "--runs", "3", "--json")

    figures = json.loads(said.splitlines()[-1])
    with capsys.disabled():
        shown = {name: figures[name] for name in ("cold_s", "warm_s", "help_cpu_ms", "baseline")}
        print(f"\nstart, from the wheel, as {GUEST}: {shown}")
    assert figures.keys() >= {"cold_s", "warm_s", "help_cpu_ms", "corpus", "conditions", "baseline"}
