"""Modules stay together, pages do not."""

from pathlib import Path

from tests.scheduling import APART, EachPageAlone

ROOT = Path(__file__).parents[1]


def scope(nodeid: str) -> str:
    return EachPageAlone.__new__(EachPageAlone)._split_scope(nodeid)


def test_a_module_stays_together() -> None:
    assert scope("tests/a/test_b.py::test_c[d]") == scope("tests/a/test_b.py::test_e")


def test_a_page_is_run_by_whoever_is_free() -> None:
    assert (ROOT / APART).exists()
    assert scope(f"{APART}::test_it[README.md]") != scope(f"{APART}::test_it[docs/a.md]")


def test_pages_that_start_something_at_the_same_port_take_turns() -> None:
    pages = [f"docs/tutorial/{name}.md" for name in ("first-agent", "working-together", "kill-it")]
    scopes = [scope(f"{APART}::test_it[{page}]") for page in pages]

    assert scopes[0] == scopes[1] != scopes[2]
    assert all((ROOT / page).is_file() for page in pages)
