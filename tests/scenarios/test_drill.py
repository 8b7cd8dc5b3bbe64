"""Killed with no chance to say anything, a server's work goes on in the next one."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installation import Installation, installation

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.timeout(120),
]


@pytest.fixture(scope="module")
def home() -> Iterator[Installation]:
    with installation() as made:
        yield made


@pytest.mark.requirement("runs:drill:shows-takeover")
@pytest.mark.requirement("cli:runs:tail")
def test_a_drill_outlives_its_server_and_so_does_whoever_follows_it(
    home: Installation, tmp_path: Path
) -> None:
    out, err = tmp_path / "out", tmp_path / "err"
    with home.serving() as server, out.open("w") as told_to, err.open("w") as talked_to:
        started = home.run("runs", "start", "drill", "--input", '{"steps": 12, "pause": 1}')
        run = started.out.strip()
        following = subprocess.Popen(
            [home.program, "runs", "tail", run],
            env=home.environment,
            stdout=told_to,
            stderr=talked_to,
        )
        while len(out.read_text().splitlines()) < 4:
            time.sleep(0.05)
        server.kill()
        server.wait(60)
    with home.serving(), home.client() as client:
        following.wait(timeout=90)
        ended = client.get(f"/runs/{run}").json()

    told, talk = out.read_text(), err.read_text()
    assert following.returncode == 0, told + talk
    assert told.count("run.taken_over") == 1
    assert [told.count(f" step-{number} ") for number in range(1, 13)] == [1] * 12
    assert "The server has gone" in talk
    assert ended["status"] == "done"
    assert (ended["result"]["taken_over"], len(ended["result"]["processes"])) == (1, 2)


@pytest.mark.requirement("runs:waits:hold-nothing")
def test_an_answer_that_comes_after_a_restart_wakes_the_run(home: Installation) -> None:
    with home.serving():
        run = home.run("runs", "start", "drill", "--input", '{"ask": true}').out.strip()
        with home.client() as client:
            while client.get(f"/runs/{run}").json()["status"] != "waiting":
                time.sleep(0.05)
    with home.serving(), home.client() as client:
        told = home.run("runs", "signal", run, "answer", '"late, but here"')
        while (ended := client.get(f"/runs/{run}").json())["status"] != "done":
            time.sleep(0.05)

    assert told.code == 0, told.err
    assert ended["result"]["answer"] == "late, but here"
