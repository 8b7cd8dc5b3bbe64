"""The operating system's account that the embedded server runs as; never root."""

import os
import pwd
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from portico.engine.core.errors import StoreRefused, StoreUnavailable


@dataclass(frozen=True, slots=True)
class Account:
    """`switch` is set where we are root and have to become this account first."""

    name: str
    uid: int
    gid: int
    switch: bool

    def run(self, arguments: Sequence[str | Path], *, timeout: float, given: str = "") -> "Ran":
        """`given` on its standard input."""
        done = subprocess.run(  # noqa: S603 # PostgreSQL's own programs, with our arguments
            list(map(str, arguments)),
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            check=False,
            cwd="/",
            env={"PATH": os.defpath, "LC_ALL": "C", "HOME": "/"},
            user=self.uid if self.switch else None,
            group=self.gid if self.switch else None,
            extra_groups=[] if self.switch else None,
            start_new_session=True,  # a Ctrl-C at our terminal is not meant for the database
            text=True,
        )
        return Ran(done.returncode == 0, done.stdout)

    def owns(self, path: Path) -> None:
        if self.switch:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def writes(self, file: Path, text: str) -> None:
        """Anew and for itself alone. As root we never write where that account has its folders:
        it could have laid a link there. Raises `StoreUnavailable`."""
        script = 'umask 077 && rm -f "$1" && cat > "$1"'
        ran = self.run(["/bin/sh", "-c", script, "sh", file], timeout=30, given=text)
        if not ran.ok:
            raise StoreUnavailable(f"{file} cannot be written: {ran.output.strip()}")

    def reaches(self, path: Path) -> bool:
        return not self.switch or self.run(["test", "-x", path], timeout=10).ok


@dataclass(frozen=True, slots=True)
class Ran:
    ok: bool
    output: str


def account_for(run_as: str | None) -> Account:
    """Ourselves; as root, the account that the settings name. Raises `StoreRefused`."""
    if os.geteuid() != 0:
        me = pwd.getpwuid(os.geteuid())
        return Account(me.pw_name, me.pw_uid, me.pw_gid, switch=False)
    if run_as is None:
        raise StoreRefused(
            "The embedded database does not run as root.",
            fix="Run Portico as an ordinary user, or name an unprivileged account: "
            "portico config set database.run_as NAME",
        )
    try:
        other = pwd.getpwnam(run_as)
    except KeyError:
        raise StoreRefused(
            f"There is no account {run_as!r}, which the setting database.run_as names.",
            fix=f"Make it: useradd --system --no-create-home {run_as}",
        ) from None
    if other.pw_uid == 0:
        raise StoreRefused(
            f"The account {run_as!r} is root itself.",
            fix="Name an unprivileged account: portico config set database.run_as NAME",
        )
    return Account(other.pw_name, other.pw_uid, other.pw_gid, switch=True)
