"""What this machine lacks for a box, told with what would help."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from portico.adapters.box import availability
from portico.adapters.box.account import account_for
from portico.adapters.box.availability import Lack, lack_of
from portico.box.core.errors import BoxUnavailable
from portico.box.core.report import Backend

pytestmark = pytest.mark.timeout(60)


NO_NAMESPACES = ("_APPARMOR", "_MOST_NAMESPACES", "_UNPRIVILEGED")


def lack(backend: Backend = Backend.BUBBLEWRAP, run_as: str = "nobody") -> Lack:
    found = lack_of(backend, run_as=run_as)
    assert found is not None
    return found


@pytest.mark.parametrize("backend", list(Backend))
def test_this_machine_lacks_nothing(backend: Backend) -> None:
    assert lack_of(backend, run_as="nobody") is None


@pytest.mark.requirement("house:doctor:box")
@pytest.mark.parametrize(
    ("system", "command"),
    [
        ("ID=debian\n", "sudo apt install bubblewrap"),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', "sudo apt install bubblewrap"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "sudo dnf install bubblewrap"),
        ("ID=arch\n", "sudo pacman -S bubblewrap"),
        ("a line\nID=haiku\n", "the package bubblewrap"),
        (None, "the package bubblewrap"),
    ],
)
def test_where_bubblewrap_is_missing_it_is_installed_as_the_system_installs_things(
    system: str | None, command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(availability, "_SYSTEM", tmp_path / "os-release")
    if system is not None:
        (tmp_path / "os-release").write_text(system)

    found = lack()

    assert "not installed" in found.reason
    assert found.fix == f"Install it: {command}"


@pytest.mark.parametrize(("version", "words"), [(0, "no Landlock"), (5, "does not hold back")])
def test_landlock_may_be_missing_or_too_old(
    monkeypatch: pytest.MonkeyPatch, version: int, words: str
) -> None:
    monkeypatch.setattr(availability, "landlock_version", lambda: version)

    found = lack(Backend.LANDLOCK)

    assert words in found.reason
    assert "6.12" in found.fix


def test_there_is_none_for_another_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    assert "Run Portico on Linux" in lack(Backend.LANDLOCK).fix


@pytest.mark.parametrize(
    ("version", "ends", "told"),
    [
        ("0.6.1", "exit 0", "0.8"),
        ("0.8.0", 'echo "bwrap: No permissions" >&2; exit 1', "bwrap: No permissions"),
        ("0.8.0", "exit 3", "it ended with 3, without a word"),
    ],
)
def test_bubblewrap_may_be_too_old_complain_or_end_without_a_word(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, ends: str, told: str
) -> None:
    program = tmp_path / "bwrap"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "bubblewrap {version}" && exit\n{ends}\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _: str(program))
    for name in NO_NAMESPACES:
        monkeypatch.setattr(availability, name, tmp_path / "missing")

    found = lack()

    assert told in found.fix or found.reason.endswith(told)


@pytest.mark.parametrize("hangs", [True, False])
def test_bubblewrap_may_not_say_what_it_is(monkeypatch: pytest.MonkeyPatch, hangs: bool) -> None:
    def started(command: list[str], **_: object) -> None:
        raise subprocess.TimeoutExpired(command, 30) if hangs else PermissionError(13, "denied")

    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/bwrap")
    monkeypatch.setattr(subprocess, "run", started)

    assert "does not say its version" in lack().reason


@pytest.mark.parametrize(
    ("switch", "words", "setting"),
    [
        ("_APPARMOR=1", "AppArmor", "kernel.apparmor_restrict_unprivileged_userns=0"),
        ("_MOST_NAMESPACES=0", "may not make", "user.max_user_namespaces=15000"),
        ("_UNPRIVILEGED=0", "may not make", "kernel.unprivileged_userns_clone=1"),
    ],
)
def test_who_forbids_namespaces_is_named(
    switch: str, words: str, setting: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for each in NO_NAMESPACES:
        monkeypatch.setattr(availability, each, tmp_path / each)
    name, _, value = switch.partition("=")
    (tmp_path / name).write_text(f"{value}\n")

    found = availability._why_no_namespaces("bwrap: No", root=False)

    assert words in found.reason
    assert f"sudo sysctl -w {setting}; " in found.fix
    assert f"'{setting}\\n' | sudo tee /etc/sysctl.d/" in found.fix


def test_where_user_namespaces_are_used_up_it_is_said() -> None:
    program = (
        "from portico.adapters.box.availability import lack_of\n"
        "from portico.box.core.report import Backend\n"
        "print([lack_of(each, run_as='nobody') for each in Backend])"
    )
    none = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'

    done = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", none, "sh", sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )

    assert "ordinary users may not make user namespaces here" in done.stdout
    assert done.stdout.strip().endswith("None]")


@pytest.mark.root
@pytest.mark.parametrize(("name", "words"), [("no-such-account", "no account"), ("root", "root")])
def test_there_must_be_an_account_to_run_as(name: str, words: str) -> None:
    with pytest.raises(BoxUnavailable, match=words):
        account_for(name)

    assert "box.run_as" in lack(Backend.LANDLOCK, name).fix
