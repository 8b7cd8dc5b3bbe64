"""Which licences are agreed to, and what is not known stops the page."""

import pytest

from tests.deploy.scripts import script

licences = script("docs/licences.py")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("anything", "MIT"),
        ("anything", "Apache-2.0 OR (BSD-2-Clause AND ISC)"),
        ("psycopg", "LGPL-3.0-only"),
        ("tqdm", "MPL-2.0 AND MIT"),
    ],
)
def test_permissive_ones_and_the_known_exceptions_are_agreed_to(
    name: str, told: str
) -> None:
    assert licences.agreed(name, told) == told


@pytest.mark.requirement("release:licences:agreed")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("anything", "GPL-3.0-or-later"),
        ("anything", "MIT AND AGPL-3.0-only"),
        ("anything", "LGPL-3.0-only"),
        ("psycopg", "GPL-3.0-only"),
        ("anything", "unknown"),
        ("anything", "Proprietary"),
    ],
)
def test_any_other_is_not(name: str, told: str) -> None:
    with pytest.raises(licences.NotAgreed, match=name):
        licences.agreed(name, told)


def test_a_package_that_is_not_here_has_to_be_read_by_a_person() -> None:
    with pytest.raises(licences.NotAgreed, match="read its licence"):
        licences.licence("heron-of-nowhere")


def test_a_lock_is_read_with_its_versions_and_who_needs_it() -> None:
    text = (
        "heron==1.2 ; sys_platform == 'win32' \\\n    --hash=sha256:00\n    # via reed\n"
        "frog==2.0 ; python_full_version < '3.12' \\\n    --hash=sha256:00\n"
        "    # via\n    #   heron\n    #   reed\n"
        "frog==2.1 ; python_full_version >= '3.12' \\\n    --hash=sha256:00\n    # via heron\n"
    )

    frog, heron = licences.locked(text)

    assert (frog.versions, frog.needed_by, frog.only_on) == (["2.0", "2.1"], ["heron", "reed"], "")
    assert (heron.versions, heron.needed_by, heron.only_on) == (["1.2"], ["reed"], "Windows")
