"""Somebody who has never had Portico: an account without rights, a home, uv, Node, full caches."""

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from portico.bench.scratch import scratch_home

_SYSTEM: Final = "/usr/local/bin:/usr/bin:/bin"
"""Where programs are that any account can start; root's own PATH may lead into root's home."""
_FETCHING: Final = ("PIP_", "UV_INDEX", "UV_DEFAULT_INDEX", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS")
_PASSED_ON: Final = ("LANG", "SSL_CERT_FILE", "HTTPS_PROXY", "NODE_EXTRA_CA_CERTS")
_PATIENCE: Final = 900


class Unprepared(Exception):
    """What could not be had, so that nothing is measured."""


@dataclass(frozen=True, slots=True)
class Newcomer:
    home: Path
    account: str | None
    """None: whoever runs this."""
    caches: Path
    """Of packages; theirs."""

    @property
    def uv_cache(self) -> Path:
        return self.caches / "uv"

    @property
    def npm_cache(self) -> Path:
        return self.caches / "npm"

    @property
    def python(self) -> str:
        """One that the account can come to; ours may be in a home that is closed to it."""
        return sys.executable if self.account is None else "/usr/bin/python3"

    def environment(self, **changes: str) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in _PASSED_ON or name.startswith(_FETCHING)
        }
        usual = os.environ["PATH"] if self.account is None else _SYSTEM
        who = self.account or pwd.getpwuid(os.getuid()).pw_name
        return {
            **kept,
            "PATH": f"{self.home / 'tools' / 'bin'}:{usual}",
            "HOME": str(self.home),
            "USER": who,
            "LOGNAME": who,
            "UV_CACHE_DIR": str(self.uv_cache),
            "UV_PYTHON": self.python,
            "npm_config_cache": str(self.npm_cache),
            "npm_config_update_notifier": "false",
            **changes,
        }

    def run(self, *command: str | Path, **changes: str) -> str:
        """What it says on standard output. Raises `Unprepared` with what it says otherwise."""
        account = None if self.account is None else pwd.getpwnam(self.account)
        done = subprocess.run(
            list(map(str, command)),
            cwd=self.home,
            env=self.environment(**changes),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
            user=account and account.pw_uid,
            group=account and account.pw_gid,
            extra_groups=None if account is None else [],
        )
        if done.returncode != 0:
            said = (done.stderr or done.stdout)[-1500:].strip()
            raise Unprepared(f"{Path(command[0]).name} ended with {done.returncode}: {said}")
        return done.stdout

    def write(self, place: str, text: str) -> None:
        """Below the home, as one's own."""
        path = self.home / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        for each in (path, *path.parents):
            if not each.is_relative_to(self.home):
                break
            self.take(each)

    def needs(self, programs: Sequence[str]) -> None:
        """Raises `Unprepared`."""
        path = self.environment()["PATH"]
        if missing := [each for each in programs if shutil.which(each, path=path) is None]:
            raise Unprepared(f"no {', '.join(missing)} on the PATH of this user")

    def leave(self) -> None:
        """Ends what was left running, known by the home that is only this user's: the server,
        what keeps it up, and the database."""
        theirs = [each for each in psutil.process_iter(["environ"]) if self._has_home(each)]
        for process in theirs:
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        _, alive = psutil.wait_procs(theirs, timeout=60)
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(alive, timeout=10)

    def _has_home(self, process: psutil.Process) -> bool:
        about: Mapping[str, str] = process.info["environ"] or {}
        return about.get("HOME") == str(self.home)

    def take(self, path: Path) -> None:
        """It is theirs from now on."""
        if self.account is not None:
            account = pwd.getpwnam(self.account)
            os.chown(path, account.pw_uid, account.pw_gid)


@contextmanager
def newcomer(account: str | None, caches: Path | None) -> Iterator[Newcomer]:
    """In a home that is gone afterwards, with whatever was started from it, and with the caches
    unless those were named."""
    with scratch_home() as folder:
        folder.chmod(0o711)
        home = folder / "home"
        home.mkdir(mode=0o700)
        made = Newcomer(home, account, (caches or home / "caches").absolute())
        made.caches.mkdir(parents=True, exist_ok=True)
        made.take(home)
        made.take(made.caches)
        try:
            yield made
        finally:
            made.leave()
