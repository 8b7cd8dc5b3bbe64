"""The reference says what the code is: pages are written from it, or held against it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from portico.interfaces.cli.errors import Exit
from portico.interfaces.http.authentication import OPEN_BELOW, OPEN_PATHS

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs/reference"


def test_the_generated_pages_are_what_the_code_would_write_now() -> None:
    checked = subprocess.run(
        [sys.executable, ROOT / "docs/generate.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert checked.returncode == 0, checked.stderr


@pytest.mark.requirement("first-hour:docs:metrics")
def test_the_page_on_metrics_and_the_how_to_name_the_same() -> None:
    told = set(re.findall(r"^\| `(\w+)`", (REFERENCE / "metrics.md").read_text(), re.MULTILINE))
    observed = (ROOT / "docs/how-to/observe.md").read_text()

    assert told == set(re.findall(r"`((?:portico|process)_\w+)`", observed))


@pytest.mark.requirement("first-hour:docs:benchmarks")
def test_every_recorded_benchmark_says_what_it_was_measured_on_and_when() -> None:
    recorded = sorted((ROOT / "docs/benchmarks").glob("*.json"))

    for file in recorded:
        found = json.loads(file.read_text())
        assert found["benchmark"] == file.stem
        assert found["corpus"]
        assert "cores" in found["conditions"]
        assert "date" in {**found["conditions"], **found.get("recorded", {})}
    assert recorded


@pytest.mark.requirement("first-hour:docs:llms")
def test_llms_txt_has_every_page_of_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    pages = re.findall(r": (\S+)\.md$", navigation, re.MULTILINE)
    told = re.findall(r"\]\((\S*?)/?index\.md\): \S", (ROOT / "docs/llms.txt").read_text())

    assert told == [page.removesuffix("index").rstrip("/") for page in pages]


def test_the_page_on_rest_has_every_route_and_no_other() -> None:
    document = json.loads((REFERENCE / "openapi.json").read_text())
    served = {(method.upper(), path) for path, item in document["paths"].items() for method in item}

    page = (REFERENCE / "rest.md").read_text()
    told = set(re.findall(r"^\| ([A-Z]+) \| `(\S+)` \|", page, re.MULTILINE))

    pages = {"/join", "/api/v1/openapi.json", f"{OPEN_BELOW}{{server}}", *OPEN_PATHS}
    assert told == served | {("GET", page) for page in pages} | {("POST", "/oauth/login")}


def test_the_page_on_exit_codes_has_every_code() -> None:
    told = re.findall(r"^\| (\d+) \|", (REFERENCE / "exit-codes.md").read_text(), re.MULTILINE)

    assert sorted(map(int, told)) == sorted(Exit)
