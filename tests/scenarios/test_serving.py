"""A running server: how it starts, shares its database, and ends."""

import signal
import socket
import subprocess
import time
from dataclasses import replace

import pytest

from tests.installation import Installation
from tests.servers import free_port

pytestmark = [pytest.mark.scenario, pytest.mark.postgres]


def database_runs(house: Installation) -> bool:
    return house.run("db", "status").code == 0


@pytest.mark.nightly
@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_asked_to_end_it_ends_in_order_and_stops_its_database(
    house: Installation, asked: signal.Signals
) -> None:
    with house.serving() as server:
        running = database_runs(house)
        server.send_signal(asked)
        code = server.wait(30)

    assert running
    assert code == (130 if asked is signal.SIGINT else 0)
    assert not database_runs(house)


@pytest.mark.requirement("postgres:shared:last-one-out")
def test_two_servers_share_the_database_and_the_last_one_stops_it(house: Installation) -> None:
    second = replace(house, port=free_port())

    with second.serving():
        with house.serving(), second.client() as client:
            assert client.get("/me").status_code == 200
        still = database_runs(house)
        assert second.ready()

    assert still
    assert not database_runs(house)


@pytest.mark.requirement("postgres:shared:last-one-out")
def test_after_a_kill_the_database_stays_until_the_next_start_or_stop(house: Installation) -> None:
    with house.serving() as server:
        server.kill()
        server.wait()
        orphaned = house.postmaster()

        with house.serving():
            taken_over = house.postmaster()

    assert taken_over == orphaned
    assert not database_runs(house)


@pytest.mark.nightly
def test_a_second_server_on_the_same_address_is_told_at_once(house: Installation) -> None:
    with house.serving():
        second = house.run("serve")

    assert second.code == 1
    assert "address_taken" in second.err
    assert f"--port {house.port + 1}" in second.err


@pytest.mark.nightly
def test_before_init_serving_says_what_to_do(house: Installation) -> None:
    bare = replace(house, home=house.home / "other")
    bare.home.mkdir()

    said = bare.run("serve")

    assert said.code == 4
    assert "portico init" in said.err


@pytest.mark.requirement("guard:keys:revoked-at-once")
def test_a_revoked_key_is_refused_by_every_server_the_next_time_it_is_shown(
    house: Installation,
) -> None:
    second = replace(house, port=free_port())

    with house.serving(), second.serving(), house.client() as client:
        made = client.post("/keys", json={"name": "doomed"}).json()
        with second.client(made["key"]) as other:
            before = other.get("/me").status_code
            client.delete(f"/keys/{made['id']}")
            after = other.get("/me").status_code

    assert (before, after) == (200, 401)


@pytest.mark.requirement("http:walls:host-and-origin")
def test_a_hostile_host_is_refused_on_the_wire(house: Installation) -> None:
    with house.serving():
        answers = [
            _raw(house.port, f"GET /healthz HTTP/1.1\r\n{header}Connection: close\r\n\r\n")
            for header in ("", "Host: evil.example\r\n", f"Host: 127.0.0.1:{house.port}\r\n")
        ]
        old = _raw(house.port, "GET /healthz HTTP/1.0\r\n\r\n")

    assert [answer.split()[1] for answer in answers] == ["400", "421", "200"]
    assert old.split()[1] == "421"


def _raw(port: int, request: str) -> str:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request.encode())
        return connection.makefile().read()


@pytest.mark.nightly
def test_a_crowd_that_sets_up_at_once_makes_one_home(house: Installation) -> None:
    fresh = replace(house, home=house.home / "crowd")
    fresh.home.mkdir(mode=0o711)
    crowd = [
        subprocess.Popen(
            [fresh.program, "init"],
            env=dict(fresh.environment),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]

    said = [process.communicate(timeout=90)[1] for process in crowd]

    assert [process.returncode for process in crowd] == [0, 0, 0], said
    assert sum("Portico is set up." in each for each in said) == 1
    with fresh.serving(), fresh.client() as client:
        assert client.get("/me").status_code == 200
        made = [each["kind"] for each in client.get("/principals").json()["data"]]
        assert sorted(made) == ["agent", "person"]


@pytest.mark.nightly
@pytest.mark.parametrize("after", [0.1, 0.3, 0.5, 0.7])
def test_asked_to_end_while_it_starts_it_ends_too(house: Installation, after: float) -> None:
    with subprocess.Popen(
        [house.program, "serve"],
        env=dict(house.environment),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        time.sleep(after)
        server.terminate()
        code = server.wait(30)

    assert code in {0, -signal.SIGTERM}  # before its first line of Python the kernel ends it
    assert not database_runs(house)


@pytest.mark.requirement("cli:server:met-in-private")
def test_the_key_is_not_sent_to_a_stranger_who_has_taken_the_port(house: Installation) -> None:
    with socket.create_server(("127.0.0.1", house.port)) as stranger:
        stranger.settimeout(1)
        said = house.run("status")

        with pytest.raises(TimeoutError):
            stranger.accept()

    assert said.code == 4
    assert "not_running" in said.err


@pytest.mark.nightly
def test_init_mends_a_key_that_is_lost_or_dead(house: Installation) -> None:
    key_file = house.home / "config" / "client.key"
    first = house.key
    key_file.unlink()

    lost = house.run("init", "--json")
    second = house.key
    with house.serving():
        revoked = house.run("keys", "revoke", second.split("_")[1])
        shut_out = house.run("status")
        dead = house.run("init", "--json")
        again = house.run("status")

    assert '"recovered": true' in lost.out
    assert second != first
    assert revoked.code == 0
    assert (shut_out.code, dead.code, again.code) == (5, 0, 0)
    assert '"recovered": true' in dead.out
    assert '"recovered": false' in house.run("init", "--json").out


@pytest.mark.nightly
def test_without_its_pepper_the_server_says_so_and_starts_no_other(house: Installation) -> None:
    pepper = house.home / "data" / "secrets" / "pepper"
    pepper.rename(house.home / "kept")

    serving, again = house.run("serve"), house.run("init")
    recovered = house.run("init", "--recover")

    assert (serving.code, again.code) == (4, 4)
    assert "pepper_missing" in serving.err + again.err
    assert recovered.code == 0
    with house.serving():
        assert house.run("status").code == 0


@pytest.mark.nightly
def test_deleting_home_hands_nobody_elses_space_to_whoever_runs_init(house: Installation) -> None:
    with house.serving():
        house.run("spaces", "create", "acme", "--admin", "carol")
        house.run("spaces", "delete", "--confirm", "home")
    said = house.run("init", "--json")

    assert '"space": "home"' in said.out
    assert '"new": true' in said.out


@pytest.mark.nightly
def test_the_doctor_finds_what_is_wrong_without_making_anything(house: Installation) -> None:
    healthy = house.run("doctor")
    (house.home / "config" / "client.key").unlink()
    keyless = house.run("doctor", "--json")
    house.data.rename(house.home / "unmounted")
    gone = house.run("doctor", "--json")

    assert healthy.code == 0, healthy.out
    assert (keyless.code, gone.code) == (1, 1)
    assert "no readable key" in keyless.out
    assert "is gone from" in gone.out
    assert not house.data.exists()
