"""Whether a kind of box can be made on this machine; and if not, what would have to change."""

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portico.adapters.sandbox.inside.confinement import landlock_version
from portico.adapters.sandbox.kernel_filters import ARCHITECTURES, SIGNALS_SCOPED
from portico.adapters.sandbox.runner import Account, account_for
from portico.sandbox.core.errors import SandboxUnavailable
from portico.sandbox.core.probes import Backend

_TRIAL: Final = ("--ro-bind", "/", "/", "--unshare-pid", "--unshare-net", "--", "/bin/true")
_APPARMOR: Final = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_MOST_NAMESPACES: Final = Path("/proc/sys/user/max_user_namespaces")
_UNPRIVILEGED: Final = Path("/proc/sys/kernel/unprivileged_userns_clone")
_OLDEST: Final = (0, 8)
_SYSTEM: Final = Path("/etc/os-release")
_INSTALLS: Final = {
    "debian": "apt install",
    "ubuntu": "apt install",
    "fedora": "dnf install",
    "rhel": "dnf install",
    "arch": "pacman -S",
    "suse": "zypper install",
    "opensuse": "zypper install",
    "alpine": "apk add",
}


@dataclass(frozen=True, slots=True)
class Lack:
    reason: str
    fix: str


def lack_of(backend: Backend, *, run_as: str) -> Lack | None:
    """None if it can be tried; whether it holds is for the probes to say."""
    if sys.platform != "linux":
        return Lack(
            f"there is no box for {platform.system()} yet",
            "Run Portico on Linux, in a virtual machine or a container.",
        )
    if platform.machine() not in ARCHITECTURES:
        return Lack(
            f"the system calls of a {platform.machine()} are not known", "Use x86_64 or aarch64."
        )
    try:
        account = account_for(run_as)
    except SandboxUnavailable as error:
        return Lack(error.reason, error.fix or "")
    return _of_bubblewrap(account) if backend is Backend.BUBBLEWRAP else _of_landlock()


def _of_landlock() -> Lack | None:
    version = landlock_version()
    if version >= SIGNALS_SCOPED:
        return None
    fix = "Use Linux 6.12 or newer, with landlock among its security modules (lsm=)."
    if version == 0:
        return Lack("this kernel has no Landlock", fix)
    return Lack(f"Landlock {version} does not hold back signals, {SIGNALS_SCOPED} does", fix)


def _of_bubblewrap(account: Account) -> Lack | None:
    program = shutil.which("bwrap")
    if program is None:
        return Lack("bubblewrap is not installed", f"Install it: {_installing()}")
    try:
        version = _version(program)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Lack(f"bubblewrap does not say its version: {error}", "Install it anew.")
    if version < _OLDEST:
        fix = f"Install 0.8 or newer: {_installing()}, or a newer release of this system."
        return Lack("bubblewrap is too old", fix)
    as_user = () if account.switch else ("--unshare-user", "--disable-userns")
    said = _said([program, *as_user, *_TRIAL])
    return None if said is None else _why_no_namespaces(said, root=account.switch)


def _why_no_namespaces(said: str, *, root: bool) -> Lack:
    if not root and _number(_APPARMOR) == 1:
        return Lack(
            "AppArmor does not let ordinary users make user namespaces",
            "Give bwrap a profile that has `userns,`, or allow it to all: "
            + _sysctl("kernel.apparmor_restrict_unprivileged_userns=0"),
        )
    switches = {
        _MOST_NAMESPACES: "user.max_user_namespaces=15000",
        _UNPRIVILEGED: "kernel.unprivileged_userns_clone=1",
    }
    wrong = [setting for file, setting in switches.items() if _number(file) == 0]
    if not root and wrong:
        return Lack("ordinary users may not make user namespaces here", _sysctl(*wrong))
    return Lack(
        f"bubblewrap cannot make namespaces here: {said}",
        "In a container: allow them (CAP_SYS_ADMIN, or a seccomp profile that permits them).",
    )


def _installing() -> str:
    """With what this system installs things."""
    try:
        lines = _SYSTEM.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    told = dict(line.split("=", 1) for line in lines if "=" in line)
    like = f"{told.get('ID', '')} {told.get('ID_LIKE', '')}".replace('"', "").split()
    known = [_INSTALLS[name] for name in like if name in _INSTALLS]
    return f"sudo {known[0]} bubblewrap" if known else "the package bubblewrap"


def _sysctl(*settings: str) -> str:
    """Now, and after the next start of the machine."""
    kept = "".join(f"{each}\\n" for each in settings)
    return (
        f"sudo sysctl -w {' '.join(settings)}; and to keep it: "
        f"printf '{kept}' | sudo tee /etc/sysctl.d/60-portico.conf"
    )


def _said(command: list[str]) -> str | None:
    """What it complained of, in one line; None if it had no reason to."""
    try:
        done = subprocess.run(  # noqa: S603 # bubblewrap, with arguments of ours
            command, capture_output=True, check=False, timeout=30, env={"PATH": os.defpath}
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else f"it ended with {done.returncode}, without a word"


def _version(program: str) -> tuple[int, ...]:
    done = subprocess.run(  # noqa: S603 # bubblewrap, asked for its version
        [program, "--version"], capture_output=True, check=False, timeout=30
    )
    numbers = done.stdout.decode(errors="replace").split()[-1:] or ["0"]
    return tuple(int(each) for each in numbers[0].split(".") if each.isdigit())


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
