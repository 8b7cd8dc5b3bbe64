"""The OpenAPI document and the running server agree, whatever is thrown at it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installation import Installation, installation

pytestmark = [pytest.mark.scenario, pytest.mark.postgres, pytest.mark.timeout(1800)]

SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
PHASES = "examples,coverage,fuzzing" if FULL_SIZE else "examples,coverage"
"""What each rule of the document asks for; at full size also what chance brings."""
ONE_IN = 1 if FULL_SIZE else 8
"""Of the operations, in the order of their ids."""

ENDS_ITSELF = "revoke_key|rotate_key|delete_space|change_principal"
"""What may end the key that the tests come in with; run last, and each with a key of its own."""

STREAMS = "watch_run|watch_topics"
"""What may never end; a run's events are asked for as a page, and topics only in other tests."""

NOT_OURS = "positive_data_acceptance"
"""A cursor, or an idempotency key, that fits its pattern may still be refused."""


@pytest.fixture(scope="module")
def house() -> Iterator[Installation]:
    with installation() as made, made.serving():
        yield made


def throw(house: Installation, key: str, *choice: str) -> str:
    done = subprocess.run(
        [
            SCHEMATHESIS,
            "run",
            f"{house.url}/api/v1/openapi.json",
            f"--header=Authorization: Bearer {key}",
            f"--phases={PHASES}",
            "--max-examples=25",
            f"--exclude-checks={NOT_OURS}",
            "--no-color",
            "--seed=1",
            "--generation-database=none",
            *choice,
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=house.home,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.requirement("http:openapi:holds")
def test_no_request_breaks_the_server_or_gets_an_answer_that_the_document_does_not_know(
    house: Installation,
) -> None:
    apart = re.compile(f"{ENDS_ITSELF}|{STREAMS}")
    with house.client() as client:
        paths = client.get("/openapi.json").json()["paths"].values()
        ids = sorted(each["operationId"] for path in paths for each in path.values())
        chosen = [each for each in ids if not apart.search(each)][::ONE_IN]

        said = throw(house, house.key, f"--include-operation-id-regex=^({'|'.join(chosen)})$")

        assert int(re.findall(r"(\d+) generated", said)[0]) > 10 * len(chosen)
        assert client.get("/me").status_code == 200
    assert "Traceback" not in house.log


@pytest.mark.nightly
@pytest.mark.requirement("http:openapi:holds")
@pytest.mark.parametrize("operation", ENDS_ITSELF.split("|"))
def test_the_same_holds_for_what_can_end_the_callers_own_access(
    house: Installation, operation: str
) -> None:
    with house.client() as client:
        key = client.post("/keys", json={"name": operation}).json()["key"]

    said = throw(house, key, f"--include-operation-id-regex={operation}")

    assert int(re.findall(r"(\d+) generated", said)[0]) > 10
    assert "Traceback" not in house.log


@pytest.mark.nightly
@pytest.mark.requirement("http:openapi:holds")
def test_the_same_holds_for_pages_of_events(house: Installation) -> None:
    as_page = "--header=Accept: application/json"

    said = throw(house, house.key, "--include-operation-id-regex=watch_run", as_page)

    assert int(re.findall(r"(\d+) generated", said)[0]) > 10
    assert "Traceback" not in house.log


@pytest.mark.requirement("http:openapi:holds")
def test_the_document_is_openapi_3_1_and_names_every_route(house: Installation) -> None:
    with house.client() as client:
        document = client.get("/openapi.json").json()

    assert document["openapi"].startswith("3.1")
    assert len(document["paths"]) >= 13
    assert document["security"] == [{"key": []}]
