"""The same for an ordinary user, when the suite itself is run by root."""

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SYSTEM = "/usr/bin/python3"


@pytest.mark.root
def test_all_that_holds_for_root_holds_for_an_ordinary_user() -> None:
    account = pwd.getpwnam("portico")
    names = ("test_running", "test_seeing", "test_reaching")
    files = [str(HERE / f"{name}.py") for name in names]

    done = subprocess.run(
        [
            *(_interpreter(account.pw_uid), "-m", "pytest", "-p", "no:cacheprovider"),
            *("-m", "not root", "--timeout=60", *files),
        ],
        env={
            "PATH": os.defpath,
            "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE.parents[2]), *sys.path])),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": "/",
        },
        cwd=HERE.parents[2],
        user=account.pw_uid,
        group=account.pw_gid,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


def _interpreter(uid: int) -> str:
    """Ours, if that account can start it; root's own is often where nobody else comes to."""
    ours = str(Path(sys.executable).resolve())
    trial = subprocess.run(["/usr/bin/test", "-x", ours], user=uid, check=False)
    return ours if trial.returncode == 0 else SYSTEM
