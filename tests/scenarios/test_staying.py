"""A server that stays: real processes, killed and counted."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.installation import Installation, installation
from tests.servers import free_port

pytestmark = [pytest.mark.scenario, pytest.mark.postgres, pytest.mark.timeout(600)]


@pytest.fixture
def house() -> Iterator[Installation]:
    with installation() as made:
        try:
            yield made
        finally:
            for pid in ours(made):
                os.kill(pid, signal.SIGKILL)


def ours(house: Installation) -> list[int]:
    """Every process that lives and was given this home, or works in it."""
    wanted = f"PORTICO_HOME={house.home}\0".encode()
    return [
        int(folder.name)
        for folder in Path("/proc").iterdir()
        if folder.name.isdecimal() and _is_of(folder, wanted, str(house.home).encode())
    ]


def _is_of(folder: Path, variable: bytes, home: bytes) -> bool:
    try:
        gone = (folder / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
        given = variable in (folder / "environ").read_bytes() + b"\0"
        named = home in (folder / "cmdline").read_bytes()
    except OSError:
        return False
    return not gone and (given or named) and folder.name != str(os.getpid())


def said(house: Installation, *words: str, code: int = 0) -> Any:
    done = house.run("--json", *words)
    assert done.code == code, done.err
    return json.loads(done.out if code == 0 else done.err)


def kept(house: Installation) -> Any:
    return said(house, "status", "--wait", "100")["kept_up"]


def note(house: Installation) -> Any:
    """Read as often as one likes: a command costs a second."""
    return json.loads((house.home / "data" / "server" / "supervisor.json").read_text())


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 240
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def at_once(house: Installation, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [house.program, "--json", *words],
        env=house.environment,
        cwd=house.home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.requirement("staying:up:one-server")
@pytest.mark.requirement("staying:supervised:comes-back")
@pytest.mark.requirement("staying:down:nothing-left")
def test_of_two_at_once_one_server_comes_back_when_killed_and_ends_with_a_request_open(
    house: Installation,
) -> None:
    both = [at_once(house, "up"), at_once(house, "up")]
    told = [json.loads(each.communicate(timeout=120)[0]) for each in both]
    first = kept(house)

    os.kill(first["process"], signal.SIGKILL)
    until(lambda: note(house)["restarts"] == 1 and house.ready())
    second = kept(house)
    with house.client() as client, client.stream("GET", "/events?topics=work") as open_one:
        code = open_one.status_code
        down = said(house, "down")

    assert [each["processes"] for each in told] == [[first["process"]]] * 2
    assert (first["supervised"], first["restarts"]) == (True, 0)
    assert (second["restarts"], second["why"]) == (1, "it was ended by SIGKILL")
    assert second["supervisor"] == first["supervisor"]
    assert code < 500
    assert down["ended"] == [
        {
            "process": second["process"],
            "server": house.url,
            "started_by": "up",
            "killed": False,
        }
    ]
    assert ours(house) == []


@pytest.mark.nightly
@pytest.mark.requirement("staying:down:nothing-left")
@pytest.mark.requirement("staying:uninstall:only-ours")
def test_a_server_without_its_supervisor_is_found_and_uninstalling_leaves_nothing(
    house: Installation,
) -> None:
    said(house, "up")
    first = kept(house)
    os.kill(first["supervisor"], signal.SIGKILL)
    orphan = kept(house)
    down = said(house, "down")
    after_down = ours(house)

    with house.serving():
        taken_over = said(house, "restart")
    os.kill(note(house)["pid"], signal.SIGKILL)
    os.kill(taken_over["processes"][0], signal.SIGKILL)
    database = house.postmaster()

    (house.home / "data" / "thesis.txt").write_text("years of work")
    elsewhere = house.home.parent / "kept.dump"
    refused = house.run("uninstall", "--purge")
    purged = said(house, "uninstall", "--purge", "--yes", "--backup", str(elsewhere))

    assert (orphan["supervised"], orphan["process"]) == (False, first["process"])
    assert [each["process"] for each in down["ended"]] == [first["process"]]
    assert after_down == []
    assert taken_over["kept_up"]
    assert [each["started_by"] for each in taken_over["ended"]] == ["terminal"]
    assert (refused.code, database > 0) == (6, True)
    assert {"postgres", "portico.toml", "client.key", "logs", "secrets"} <= {
        Path(each["path"]).name for each in purged["belongings"]
    }
    assert elsewhere.stat().st_size > 10_000
    assert str(house.home / "data" / "secrets") in purged["not_in_backup"]
    assert [str(path.relative_to(house.home)) for path in sorted(house.home.rglob("*"))] == [
        "data",
        "data/thesis.txt",
        "serve.log",
    ]
    assert ours(house) == []


@pytest.mark.nightly
def test_what_was_never_set_up_says_so_before_it_starts_anything(tmp_path: Path) -> None:
    never = Installation(tmp_path / "never", free_port())
    never.home.mkdir()

    told = said(never, "up", code=4)

    assert told["error"]["code"] == "not_provisioned"
    assert "portico init" in told["error"]["fix"]
    assert ours(never) == []


@pytest.mark.nightly
def test_a_client_that_starts_it_starts_it_the_same_way(house: Installation) -> None:
    done = house.run("stdio", "--start")
    found = kept(house)
    down = said(house, "down")

    assert done.code == 0, done.err
    assert (found["supervised"], found["started_by"]) == (True, "up")
    assert len(down["ended"]) == 1
    assert ours(house) == []


@pytest.mark.requirement("staying:login:unit")
def test_the_unit_at_login_runs_the_supervisor_in_its_place(house: Installation) -> None:
    unit = house.run("up", "--print").out
    line = next(each for each in unit.splitlines() if each.startswith("ExecStart="))
    command = line.removeprefix("ExecStart=").split()
    with subprocess.Popen(
        command, env=house.environment, cwd="/", stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            until(house.ready)
            found = kept(house)
        finally:
            process.send_signal(signal.SIGTERM)
        code = process.wait(60)

    assert f"Environment=PORTICO_HOME={house.home}" in unit
    assert f"PATH={os.environ['PATH']}" in unit.replace("%%", "%")
    assert command[0] == sys.executable
    assert (found["supervisor"], found["supervised"]) == (process.pid, True)
    assert code == 0
    assert ours(house) == []


@contextmanager
def ending(house: Installation) -> Iterator[subprocess.Popen[bytes]]:
    """A server that has left its address and is not gone yet; it goes on at the end."""
    with subprocess.Popen(
        [house.program, "serve"],
        env=house.environment,
        cwd=house.home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            until(house.ready)
            process.terminate()
            process.send_signal(signal.SIGSTOP)
            while _listens(house.port):  # also while it is stopped: the system answers
                process.send_signal(signal.SIGCONT)
                time.sleep(0.01)
                process.send_signal(signal.SIGSTOP)
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.wait(60)


def _listens(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.nightly
def test_a_server_that_follows_one_that_is_still_ending_is_found_and_ended(
    house: Installation,
) -> None:
    with ending(house), (house.home / "second.log").open("wb") as log:
        second = subprocess.Popen(
            [house.program, "serve"],
            env=house.environment,
            cwd=house.home,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        until(lambda: _listens(house.port))
        time.sleep(3)
    with second:
        try:
            until(house.ready)
            running = said(house, "status")
            house.run("down")
            code = second.wait(60)
        finally:
            second.kill()

    assert running["ready"] is True
    assert code == 0
    assert ours(house) == []


@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_demo_whose_window_is_closed_leaves_nothing_running(
    house: Installation, number: signal.Signals
) -> None:
    with subprocess.Popen(
        [house.program, "demo"],
        env=house.environment,
        cwd=house.home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        until(house.ready)
        process.send_signal(number)
        code = process.wait(100)

    assert code == 128 + number
    until(lambda: ours(house) == [])
