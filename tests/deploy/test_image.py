"""The image and what runs beside it, as far as they can be looked at without an engine."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from portico.settings.load import load
from tests.deploy.dockerfile import DOCKERFILE, ROOT, stages

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())
OURS = ("setup", "portico")


@pytest.mark.process
@pytest.mark.requirement("release:image:linted")
def test_the_dockerfile_has_nothing_that_hadolint_would_change() -> None:
    program = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    assert program, "There is no hadolint here: just setup"

    done = subprocess.run([program, DOCKERFILE], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.requirement("release:image:confined")
def test_the_image_runs_as_an_ordinary_user_and_keeps_everything_in_one_folder() -> None:
    build, image = stages(DOCKERFILE.read_text())

    words = [step.word for step in image.steps]
    home = image.environment("/bin")["PORTICO_HOME"]
    assert image.last("USER").rest not in {"root", "0"}
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert image.last("VOLUME").rest == image.last("WORKDIR").rest == home
    assert (image.last("ENTRYPOINT").words, image.last("CMD").words) == (["portico"], ["serve"])
    assert "/readyz" in image.health[-1]
    assert build.image == image.image
    installs = " ".join(step.rest for step in build.steps if "-r requirements" in step.rest)
    assert installs.count("-r requirements") == installs.count("--require-hashes") == 2


def test_all_that_the_image_is_made_of_is_sent_to_the_engine() -> None:
    sent = (ROOT / "deploy/Dockerfile.dockerignore").read_text().splitlines()
    build, _ = stages(DOCKERFILE.read_text())

    copied = [
        source for step in build.steps if step.word == "COPY" for source in step.rest.split()[:-1]
    ]
    assert "*" in sent
    for source in copied:
        assert (ROOT / source).exists()
        assert any(f"!{each}" in sent for each in (source, *map(str, Path(source).parents)))


@pytest.mark.requirement("release:image:confined")
@pytest.mark.parametrize("name", COMPOSE["services"])
def test_a_service_is_confined(name: str) -> None:
    service = COMPOSE["services"][name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "/tmp" in service["tmpfs"]
    assert "privileged" not in service
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_what_a_service_names_is_there() -> None:
    named: dict[str, set[str]] = {"secrets": set(), "volumes": set(), "networks": set()}
    for service in COMPOSE["services"].values():
        named["secrets"] |= set(service.get("secrets", []))
        named["volumes"] |= {each.partition(":")[0] for each in service["volumes"]}
        named["networks"] |= set(service["networks"])
        assert set(service.get("depends_on", {})) <= set(COMPOSE["services"])

    assert named == {kind: set(COMPOSE[kind]) for kind in named}
    assert set(COMPOSE) == {"name", "services", "x-confined", "x-portico", *named}


def test_passwords_are_in_files_alone() -> None:
    told = {name: each.get("environment", {}) for name, each in COMPOSE["services"].items()}

    assert "PASSWORD" not in json.dumps([told[name] for name in OURS])
    assert told["db"] == {"POSTGRES_PASSWORD_FILE": "/run/secrets/postgres_password"}
    assert all(set(each) == {"file"} for each in COMPOSE["secrets"].values())


def test_the_database_is_reached_from_inside_alone() -> None:
    services = COMPOSE["services"]

    assert COMPOSE["networks"]["inside"] == {"internal": True}
    assert services["db"]["networks"] == ["inside"]
    assert "ports" not in services["db"]


def test_the_settings_of_the_services_are_valid(tmp_path: Path) -> None:
    for name in OURS:
        given = {
            setting: text.partition(":-")[2].removesuffix("}") if ":-" in text else text
            for setting, text in COMPOSE["services"][name]["environment"].items()
        }

        settings = load({**given, "PORTICO_HOME": str(tmp_path)}, folder=tmp_path).settings

        assert settings.server.host == "0.0.0.0"
        assert settings.server.public_url == "http://localhost:3100"


def test_the_server_starts_after_its_database_and_what_sets_it_up() -> None:
    waits = COMPOSE["services"]["portico"]["depends_on"]

    assert waits == {
        "db": {"condition": "service_healthy"},
        "setup": {"condition": "service_completed_successfully"},
    }
    assert "pg_isready" in COMPOSE["services"]["db"]["healthcheck"]["test"]
