"""Every attempt to get out of every box, as root, as a user, and without user namespaces."""

import json
import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from portico.sandbox.core.probes import TRIALS, Backend, Manner, SandboxLayer, Situation, Verdict
from tests.scenarios.walls import WALLS
from tests.servers import IS_ROOT, RUN_AS

REPOSITORY = Path(__file__).parents[2]
SYSTEM_PYTHON = "/usr/bin/python3"
NOT_HERE = {
    *("open_disk", "kernel_memory", "system_requests", "load_module", "change_kernel"),
    *("ciphers_of_kernel", "loopback_by_other_streams", "first_root", "loopback_of_ipv6"),
    *("host_of_virtual_machine", "calls_of_32_bits", "kernel_log", "loopback_by_many_paths"),
    *("limit_process", "type_into_terminal"),
}
"""What may be missing on a machine, so that not even root without a box reaches it."""
NEEDS_MORE = {"inherited_descriptors"}
"""What whoever runs the tests does not have either: more open files."""
FOR_ROOT_ALONE = {
    *("read_shadow", "make_device", "kernel_settings", "read_by_handle", "write_elsewhere"),
    *("new_mount_namespace", "new_network_namespace", "new_process_namespace", "enter_namespace"),
    *("mount", "mount_by_new_calls", "turn_root", "change_root", "programs_in_kernel"),
    *("performance_counters", "faults_by_hand", "file_events", "restart_machine", "kernel_log"),
    *("set_clock", "set_name", "swap", "process_accounts", "become_root", "become_another"),
    *("join_groups", "raise_priority", "real_time", "raw_packets", "raw_addresses"),
    *("other_families", "raise_limits", "network_of_kernel", "home_folder", "first_environment"),
    *("signal_keeper", "dump_memory"),
}

pytestmark = [pytest.mark.scenario]


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="portico-probes-", dir="/var/tmp"))
    made.chmod(0o777)
    (made / "home" / ".ssh").mkdir(parents=True)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def as_a(situation: Situation) -> Sequence[str]:
    """The beginning of a command that runs in it."""
    if situation is Situation.ROOT:
        if not IS_ROOT:
            pytest.skip("needs root")
        return [sys.executable]
    if IS_ROOT:
        account = pwd.getpwnam(RUN_AS or "")
        ids = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
        become, python = ["setpriv", *ids], SYSTEM_PYTHON
    else:
        account, become, python = pwd.getpwuid(os.getuid()), [], sys.executable
    if situation is Situation.USER:
        return [*become, python]
    ids = [f"--map-user={account.pw_uid}", f"--map-group={account.pw_gid}"]
    # The first namespace may have one more, which is ours, and nobody any after that.
    allow_one = 'echo 1 > /proc/sys/user/max_user_namespaces; exec unshare -U "$@"'
    return [*become, "unshare", "-Ur", "sh", "-c", allow_one, "sh", *ids, python]


def tried(situation: Situation, kind: str, folder: Path, *more: str) -> dict[str, Any]:
    paths = [str(REPOSITORY / "src"), str(REPOSITORY), sysconfig.get_path("purelib")]
    done = subprocess.run(
        [*as_a(situation), "-m", "tests.scenarios.box_table", kind, str(folder), *more],
        cwd="/",
        env={"PATH": os.environ["PATH"], "PYTHONPATH": ":".join(paths), "HOME": f"{folder}/home"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.mark.parametrize("situation", [Situation.ROOT, Situation.USER])
@pytest.mark.parametrize("backend", Backend)
@pytest.mark.requirement("box:probes:as-published")
def test_everything_ends_as_the_table_says(
    backend: Backend, situation: Situation, folder: Path
) -> None:
    differing = compared(tried(situation, backend, folder), backend, situation)

    assert differing == []


@pytest.mark.nightly
def test_without_user_namespaces_there_is_still_one_box(folder: Path) -> None:
    situation = Situation.NO_NAMESPACES

    gone = tried(situation, Backend.BUBBLEWRAP, folder)
    found = tried(situation, Backend.LANDLOCK, folder)

    assert gone["missing"]
    assert gone["fix"]
    assert compared(found, Backend.LANDLOCK, situation) == []


def compared(told: dict[str, Any], backend: Backend, situation: Situation) -> Sequence[str]:
    assert "probes" in told, told
    assert len(told["probes"]) == len(TRIALS) >= 60
    declared = {trial.name: trial.declared(backend, situation) for trial in TRIALS}
    return [
        f"{probe['name']}: {'held' if probe['held'] else 'reached'}, {probe['detail']}"
        for probe in told["probes"]
        if probe["held"] is not (declared[probe["name"]] is Verdict.HELD)
    ]


@pytest.mark.nightly
@pytest.mark.parametrize("situation", [Situation.ROOT, Situation.USER])
def test_without_a_box_everything_is_reached(situation: Situation, folder: Path) -> None:
    told = tried(situation, "bare", folder)

    held = {probe["name"] for probe in told["probes"] if probe["held"]}
    excused = NOT_HERE | NEEDS_MORE | (FOR_ROOT_ALONE if situation is Situation.USER else set())
    assert held - excused == set()
    assert not [each for each in told["probes"] if "nobody knows" in each["detail"]]
    together = [trial for trial in TRIALS if trial.manner is Manner.TOGETHER]
    assert len(told["probes"]) == len(together)


@pytest.mark.nightly
def test_every_start_would_see_that_a_wall_is_missing() -> None:
    """But for those that cannot be seen in a moment."""
    seen = {trial.name for trial in TRIALS if trial.quick}

    for walls in WALLS.values():
        momentary = walls.keys() - {SandboxLayer.ENDING}
        assert {walls[wall].probe for wall in momentary} <= seen


SITUATION = Situation.ROOT if IS_ROOT else Situation.USER


@pytest.mark.parametrize(
    ("backend", "wall"), [(backend, wall) for backend in Backend for wall in WALLS[backend]]
)
@pytest.mark.requirement("box:probes:every-wall-holds-something")
def test_without_any_one_wall_a_named_attempt_gets_out(
    backend: Backend, wall: SandboxLayer, folder: Path
) -> None:
    broken = WALLS[backend][wall]
    situation = broken.situation or SITUATION
    (trial,) = (each for each in TRIALS if each.name == broken.probe)

    (without,) = tried(situation, backend, folder, wall, broken.probe)["probes"]

    assert trial.declared(backend, situation) is Verdict.HELD
    assert not without["held"], without
    assert "nobody knows" not in without["detail"]
