"""The wheel in use by an ordinary user: set up, opened in a browser, called, kept, uninstalled."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from portico.bench.first_minute import first_answer, listed_bare, set_up
from portico.bench.newcomer import SERVERS, Newcomer, prepare_home
from tests.installed.guest import ACCOUNT, Guest
from tests.scenarios.browsing import PATIENCE, chromium
from tests.servers import IS_ROOT, free_port

pytestmark = [pytest.mark.scenario, pytest.mark.postgres, pytest.mark.timeout(900)]

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
"""As a browser asks. Without it no address leads to the console."""
OPEN = {
    "/join": "You are invited to Portico",
    "/login": "Log in · Portico",
    "/oauth/login?state=nosuch": "Portico",
    "/oauth/callback/nosuch?code=secret&state=nosuch": "Portico",
}
"""Addresses that need no session, each with the title of its page."""


@pytest.fixture(scope="module")
def serving(installed: Guest) -> Iterator[Guest]:
    assert "Portico is set up." in installed.run(installed.portico, "init")
    with installed.serving():
        yield installed


@pytest.mark.requirement("house:first-minute:unprivileged")
def test_an_ordinary_user_sets_up_serves_and_asks(serving: Guest) -> None:
    status = serving.json("status", "--verbose")
    key = serving.run(serving.portico, "--quiet", "keys", "create", "laptop").strip()
    me = httpx2.get(
        f"{serving.url}/api/v1/me", headers={"Authorization": f"Bearer {key}"}, timeout=60
    )
    checks = serving.json("doctor")["checks"]

    assert status["ready"] is True
    assert status["key_file"] == str(serving.home / ".config" / "portico" / "client.key")
    assert me.status_code == 200
    assert {each["state"] for each in checks} == {"good"}
    assert Path(status["key_file"]).stat().st_mode & 0o777 == 0o600


def test_pages_that_need_no_session_open_in_a_browser(serving: Guest) -> None:
    with chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        opened = {}
        for path in OPEN:
            page.goto(f"{serving.url}{path}")
            opened[page.url.removeprefix(serving.url)] = page.title()
        page.goto(f"{serving.url}/runs")
        asked_to_log_in = page.url
        page.fill("#key", serving.key)
        page.press("#key", "Enter")
        page.wait_for_selector("nav.side")
        title = page.title()

    assert opened == OPEN
    assert asked_to_log_in == f"{serving.url}/login?to=%2Fruns"
    assert title.startswith("Runs")


def test_every_other_address_wants_a_key(serving: Guest) -> None:
    """Also of a browser: an address of programs does not lead it to the login."""
    with httpx2.Client(base_url=serving.url, headers=BROWSER, timeout=60) as browser:
        documented = browser.get(
            "/api/v1/openapi.json", headers={"Authorization": f"Bearer {serving.key}"}
        ).json()["paths"]
        answers = {
            (method, path): browser.request(method.upper(), path).status_code
            for path, methods in documented.items()
            for method in methods
        }
        others = {path: browser.get(path).status_code for path in ("/metrics", "/mcp", "/nosuch")}

    assert len(answers) > 150
    assert {route for route, status in answers.items() if status != 401} == {
        ("get", "/healthz"),
        ("get", "/readyz"),
    }
    assert others == {"/metrics": 401, "/mcp": 401, "/nosuch": 303}


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_a_tool_is_called(serving: Guest, way: str) -> None:
    client = serving.home / "client.py"
    client.write_text((Path(__file__).parent / "client.py").read_text())
    client.chmod(0o644)
    serving.run(serving.portico, "servers", "approve", "builtin", "--yes")
    stdio, http = (str(serving.portico), "stdio"), (f"{serving.url}/mcp", serving.key)
    where = {"stdio": stdio, "http": http}[way]

    answer = json.loads(serving.run(serving.programs / "python", client, way, *where))

    assert answer["tools"][0] == "search_tools"
    assert (answer["failed"], answer["text"]) == (False, "result: 42")


@pytest.fixture
def newcomer(installed: Guest) -> Iterator[Newcomer]:
    """The same user, with a second home and programs of other makers set up in it."""
    home = installed.home / "second"
    user = Newcomer(home, ACCOUNT if IS_ROOT else None, installed.home / ".cache")
    for folder in (installed.home, user.caches, home):
        folder.mkdir(mode=0o700, exist_ok=True)
        user.take(folder)
    try:
        yield user
    finally:
        user.leave()


@pytest.mark.skipif(not shutil.which("npx"), reason="no npx here")
@pytest.mark.requirement("release:first-minute:answered")
def test_servers_of_other_programs_are_taken_unasked_and_the_first_call_is_answered(
    installed: Guest, newcomer: Newcomer
) -> None:
    given = {
        "PATH": f"{installed.programs}:{newcomer.environment()['PATH']}",
        "PORTICO_SERVER__PORT": str(free_port()),
    }
    newcomer.run(installed.programs / "pip", "install", "--quiet", "uv")
    servers = [each for each in SERVERS if each.name in {"time", "memory"}]
    prepare_home(newcomer, servers)
    bare = listed_bare(newcomer, installed.programs, servers, offline=False, **given)

    taken: Any = set_up(newcomer, installed.programs, **given)
    answered = first_answer(newcomer, installed.programs, **given)

    assert {each["name"]: each.get("tools") for each in taken["servers"]} == bare["tools"]
    assert taken["context"]["tokens_after"] < taken["context"]["tokens_before"]
    assert answered["tools"][0] == "search_tools"
    assert "UTC" in answered["said"]


@pytest.mark.requirement("house:first-minute:measured")
def test_the_start_can_be_measured(installed: Guest) -> None:
    figures = installed.json("bench", "start", "--runs", "1")

    assert figures.keys() >= {"cold_s", "warm_s", "help_cpu_ms", "corpus", "conditions", "baseline"}


@pytest.mark.requirement("staying:down:nothing-left")
@pytest.mark.requirement("staying:uninstall:only-ours")
def test_a_user_keeps_it_running_stops_it_and_uninstalls_it(installed: Guest) -> None:
    user = installed.in_another_home("third")
    user.run(user.portico, "init")
    up = user.json("up")
    os.kill(up["processes"][0], signal.SIGKILL)
    kept = user.json("status", "--wait", "240")
    user.run(user.portico, "down")
    after = user.processes()
    gone = user.json("uninstall", "--purge", "--yes")

    assert (kept["kept_up"]["restarts"], kept["kept_up"]["supervised"]) == (1, True)
    assert after == []
    assert {"postgres", "client.key"} <= {Path(each["path"]).name for each in gone["belongings"]}
    assert gone["package"].endswith("uninstall portico")
    folders = (".config/portico", ".local/share/portico", ".local/state/portico")
    assert [each for each in folders if (user.home / each).exists()] == []
