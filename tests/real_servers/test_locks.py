"""The locks hold exactly what the catalogue pins, and nobody's address."""

import json
import re

import pytest

from tests.real_servers.catalogue import SERVERS, Shelf
from tests.real_servers.install import lock_file

PYTHON = [shelf for shelf in Shelf if shelf is not Shelf.NPM]


def of(shelf: Shelf) -> dict[str, str]:
    return {s.package: s.version for s in SERVERS if s.shelf is shelf}


def test_at_least_ten_servers_come_from_each_registry_and_twenty_five_in_all() -> None:
    npm = len(of(Shelf.NPM))
    python = sum(len(of(shelf)) for shelf in PYTHON)

    assert min(npm, python) >= 10
    assert npm + python >= 25
    assert len({server.name for server in SERVERS}) == len(SERVERS)


def test_the_npm_lock_has_every_package_at_its_pinned_version() -> None:
    packages = json.loads(lock_file(Shelf.NPM).read_text())["packages"]

    locked = {name: packages[f"node_modules/{name}"]["version"] for name in of(Shelf.NPM)}

    assert locked == of(Shelf.NPM)
    assert packages[""]["dependencies"] == of(Shelf.NPM)
    assert all(package.get("integrity") for place, package in packages.items() if place)


@pytest.mark.parametrize("shelf", PYTHON)
def test_a_python_lock_has_every_package_at_its_pinned_version(shelf: Shelf) -> None:
    text = lock_file(shelf).read_text()

    locked = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE))

    assert {name.replace(".", "-"): version for name, version in of(shelf).items()}.items() <= (
        locked.items()
    )


@pytest.mark.parametrize("shelf", Shelf)
def test_a_lock_names_no_address(shelf: Shelf) -> None:
    assert "://" not in lock_file(shelf).read_text()
