"""What this machine lacks for a box, counts of it, and keeps of the dead."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from portico.adapters.sandbox import availability, cgroup, runner, sandbox_process
from portico.adapters.sandbox.availability import Lack, lack_of
from portico.adapters.sandbox.cgroup import Group, NewGroups, OldGroups, find_groups, name_for
from portico.adapters.sandbox.inside.process_reaper import descendants
from portico.adapters.sandbox.runner import Account, account_for
from portico.sandbox.core.errors import SandboxUnavailable
from portico.sandbox.core.probes import Backend

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
        "from portico.adapters.sandbox.availability import lack_of\n"
        "from portico.sandbox.core.probes import Backend\n"
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
    with pytest.raises(SandboxUnavailable, match=words):
        account_for(name)

    assert "box.run_as" in lack(Backend.LANDLOCK, name).fix


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders that are no groups keep their files, and are not removed for all waiting."""
    monkeypatch.setattr(cgroup, "_PATIENCE", 0.0)


def an_own(folder: Path, text: str) -> Path:
    file = folder / "own"
    file.write_text(text)
    return file


def a_new_root(folder: Path, place: str, processes: str) -> Path:
    base = folder / "root" / place
    base.mkdir(parents=True)
    (base / "cgroup.controllers").write_text("cpu memory pids")
    (base / "cgroup.procs").write_text(processes)
    (base / "cgroup.subtree_control").write_text("")
    return folder / "root"


def test_without_any_there_are_none(tmp_path: Path) -> None:
    assert find_groups(tmp_path, tmp_path / "missing") is None
    assert find_groups(tmp_path, an_own(tmp_path, "4:memory:/here\n5:pids:/here\n")) is None


def test_in_the_new_order_one_folder_holds_all(tmp_path: Path) -> None:
    root = a_new_root(tmp_path, "service", f"{os.getpid()}\n")

    groups = find_groups(root, an_own(tmp_path, "0::/service\n"))

    assert groups == NewGroups(root / "service")
    assert (root / "service/cgroup.subtree_control").read_text() == "+memory +pids\n"
    assert (root / "service/portico-itself/cgroup.procs").read_text() == f"{os.getpid()}\n"


def test_where_others_are_it_is_not_ours(tmp_path: Path) -> None:
    root = a_new_root(tmp_path, "session", f"{os.getpid()}\n1\n")

    assert find_groups(root, an_own(tmp_path, "0::/session\n")) is None
    assert (root / "session/cgroup.subtree_control").read_text() == ""


def test_a_group_is_given_its_limits(tmp_path: Path) -> None:
    group = NewGroups(tmp_path).make("box", memory=1000, processes=7)
    group.add(42)

    written = {file.name: file.read_text() for file in (tmp_path / "box").iterdir()}

    assert written == {
        "memory.max": "1000\n",
        "memory.swap.max": "0\n",
        "memory.oom.group": "1\n",
        "pids.max": "7\n",
        "cgroup.procs": "42\n",
    }


def test_in_the_old_order_each_controller_has_its_own_folder(tmp_path: Path) -> None:
    for name in ("memory", "pids"):
        (tmp_path / name / "here").mkdir(parents=True)
    groups = find_groups(tmp_path, an_own(tmp_path, "4:memory:/here\n5:pids:/here\n"))

    assert groups == OldGroups(tmp_path / "memory/here", tmp_path / "pids/here")
    group = groups.make("box", memory=1000, processes=7)
    assert (tmp_path / "memory/here/box/memory.limit_in_bytes").read_text() == "1000\n"
    assert (tmp_path / "pids/here/box/pids.max").read_text() == "7\n"
    assert group.folders == (tmp_path / "memory/here/box", tmp_path / "pids/here/box")


def test_a_group_that_cannot_be_made_leaves_no_half(tmp_path: Path) -> None:
    memory, pids = tmp_path / "memory", tmp_path / "pids"
    memory.mkdir()

    with pytest.raises(FileNotFoundError):
        OldGroups(memory, pids).make("box", memory=1000, processes=7)

    assert list(memory.iterdir()) == []


def test_what_is_left_of_the_dead_is_swept(tmp_path: Path) -> None:
    ours, gone = name_for("one"), name_for("two").replace(f"-{os.getpid()}-", "-99999999-")
    for name in (ours, gone, "portico-itself", "portico-box-12-99999999-another-world"):
        (tmp_path / name).mkdir()

    NewGroups(tmp_path).sweep()

    left = {each.name for each in tmp_path.iterdir()}
    assert left == {ours, "portico-itself", "portico-box-12-99999999-another-world"}


def test_no_two_groups_have_one_name() -> None:
    assert name_for(1) != name_for(1)


@pytest.mark.parametrize(("text", "wanted"), [("oom 1\noom_kill 2\n", True), ("oom_kill 0", False)])
def test_that_memory_ran_out_is_seen(tmp_path: Path, text: str, wanted: bool) -> None:
    (tmp_path / "events").write_text(text)

    assert Group((), tmp_path / "events").ran_out() is wanted
    assert Group((), tmp_path / "missing").ran_out() is False


@pytest.mark.root
def test_a_group_of_this_machine_is_made_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    groups = find_groups()
    assert groups is not None

    group = groups.make(name_for("test"), memory=100_000_000, processes=10)
    there = [folder.is_dir() for folder in group.folders]
    group.remove()

    assert all(there)
    assert not any(folder.exists() for folder in group.folders)


FAMILY = """
import subprocess, sys, threading
def start():
    grandchild = "held = bytearray(50_000_000); print(flush=True); input()"
    subprocess.Popen([sys.executable, "-c", grandchild]).wait()
thread = threading.Thread(target=start)
thread.start()
thread.join()
"""
"""A child of a thread, which has much."""


@pytest.fixture
def keeper() -> Iterator[int]:
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {FAMILY!r}])",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert parent.stdout is not None
    parent.stdout.readline()
    yield parent.pid
    parent.communicate(b"\n")


def test_what_all_of_its_processes_have_is_added_up(keeper: int) -> None:
    assert sandbox_process.family(keeper) == descendants(keeper)
    assert len(sandbox_process.family(keeper)) == 2
    assert 50_000_000 < sandbox_process.held(keeper, 1 << 40) < 1 << 30
    assert 50_000_000 < sandbox_process.held(keeper, 1000) < 1 << 30


def test_the_processes_of_others_are_not_looked_at(
    keeper: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def whole(_process: int) -> set[int]:
        pytest.fail("all of /proc was read")

    monkeypatch.setattr(sandbox_process, "descendants", whole)

    assert sandbox_process.held(keeper, 1 << 40) > 50_000_000


async def test_what_has_too_much_is_told(keeper: int) -> None:
    told: list[int] = []

    await sandbox_process.watch(keeper, 10_000_000, lambda: told.append(keeper))

    assert told == [keeper]


def test_what_has_ended_has_nothing() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()

    assert sandbox_process.held(ended.pid, 0) == 0


OURSELVES = Account(os.geteuid(), os.getegid(), switch=False)


def test_it_is_there_for_its_account_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    folder = runner.make(OURSELVES)

    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "home").is_dir()


def test_what_is_left_of_the_dead_is_removed_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ours, gone = name_for("home"), name_for("home").replace(f"-{os.getpid()}-", "-99999999-")
    linked = name_for("home").replace(f"-{os.getpid()}-", "-99999999-")
    for name in (ours, gone, "portico-box-12-99999999-of-another-world", "theirs"):
        (tmp_path / name / "deep").mkdir(parents=True)
    (tmp_path / linked).symlink_to(tmp_path / "theirs")

    folder = runner.make(OURSELVES)

    left = {each.name for each in tmp_path.iterdir()} - {folder.name}
    assert left == {ours, linked, "portico-box-12-99999999-of-another-world", "theirs"}
    assert (tmp_path / "theirs" / "deep").is_dir()
