"""Wheel and sdist: the same bytes wherever they are built, and small."""

import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

import pytest

from tests.deploy.dockerfile import ROOT
from tests.deploy.scripts import script
from tests.servers import reachable_folder

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(600)]

EPOCH = "1700000000"


@dataclass(frozen=True)
class Builds:
    here: Path
    """From this checkout."""
    elsewhere: Path
    """From the sdist of this checkout, unpacked: no git, another folder, other times and modes."""

    def bytes_of(self, form: str) -> tuple[bytes, bytes]:
        here, elsewhere = (next(each.glob(form)) for each in (self.here, self.elsewhere))
        assert here.name == elsewhere.name
        return here.read_bytes(), elsewhere.read_bytes()


AS_DATA: Final[dict[str, Any]] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
"""What Python 3.11.4 learnt, and 3.14 does anyway."""


@pytest.fixture(scope="module")
def builds() -> Iterator[Builds]:
    with reachable_folder() as folder:
        made = Builds(folder / "here", folder / "elsewhere")
        _build(ROOT, made.here)
        with tarfile.open(next(made.here.glob("*.tar.gz"))) as sdist:
            sdist.extractall(folder / "unpacked", **AS_DATA)
        [source] = (folder / "unpacked").iterdir()
        for path in source.rglob("*"):
            path.chmod(path.stat().st_mode & 0o700)  # as another umask leaves it
            os.utime(path, (1_600_000_000, 1_600_000_000))
        _build(source, made.elsewhere)
        yield made


def _build(source: Path, into: Path) -> None:
    given = {name: text for name, text in os.environ.items() if name != "PORTICO_VERSION"}
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(into)]
    subprocess.run(
        [*command, "--target", "sdist", "--target", "wheel"],
        cwd=source,
        env={**given, "SOURCE_DATE_EPOCH": EPOCH},
        check=True,
        capture_output=True,
        timeout=500,
    )


@pytest.mark.requirement("release:build:reproducible")
@pytest.mark.parametrize("form", ["*.whl", "*.tar.gz"])
def test_two_builds_are_the_same_bytes(builds: Builds, form: str) -> None:
    here, elsewhere = builds.bytes_of(form)

    assert here == elsewhere


@pytest.mark.nightly
def test_their_dates_are_those_that_were_said(builds: Builds) -> None:
    with ZipFile(next(builds.here.glob("*.whl"))) as wheel:
        dates = {each.date_time for each in wheel.infolist()}

    assert dates == {(2023, 11, 14, 22, 13, 20)}


@pytest.mark.requirement("release:build:small")
def test_the_wheel_is_small(builds: Builds) -> None:
    wheel = next(builds.here.glob("*.whl"))

    assert wheel.stat().st_size <= script(".ci/release.py").LARGEST_WHEEL


@pytest.mark.requirement("release:version:from-tags")
def test_a_build_has_the_version_of_its_checkout(builds: Builds) -> None:
    with ZipFile(next(builds.elsewhere.glob("*.whl"))) as wheel:
        [about] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        lines = wheel.read(about).decode().splitlines()

    assert f"Version: {script('.ci/version.py').version()}" in lines
