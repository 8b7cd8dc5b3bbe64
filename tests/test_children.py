"""A process that a test leaves behind is found, and named."""

import subprocess
import sys

import psutil
import pytest

from tests.children import none_left

ASLEEP = (sys.executable, "-S", "-c", "print(flush=True); import time; time.sleep(60)", "left-over")


def test_whoever_is_left_behind_is_named() -> None:
    with (
        pytest.raises(AssertionError, match=r"\d+ python.* \(sleeping\): .* left-over"),
        none_left(patience=0),
    ):
        stray = _asleep()
    with stray:
        assert not psutil.pid_exists(stray.pid)


def test_whoever_has_ended_and_nobody_waited_for_is_left_behind_too() -> None:
    with pytest.raises(AssertionError, match="zombie"), none_left(patience=0):
        stray = _asleep()
        stray.kill()
        assert stray.stdout is not None
        stray.stdout.read()
    with stray:
        assert not psutil.pid_exists(stray.pid)


def test_whoever_was_there_before_may_stay() -> None:
    with _asleep() as before:
        with none_left(patience=0):
            pass
        before.kill()


def _asleep() -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(ASLEEP, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process
