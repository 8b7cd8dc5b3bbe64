"""Who runs what: a module stays together, since its tests share a house. The pages of the docs
share nothing, and would otherwise keep one process busy long after the others are done; but for
those that start something at the same port, of which one waits for the other."""

import re
from pathlib import Path
from typing import Final

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

APART: Final = "tests/docs/test_shell.py"
_ROOT: Final = Path(__file__).parents[1]
_PORT: Final = re.compile(r"http://127\.0\.0\.1:(87\d\d)/")


class EachPageAlone(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(f"{APART}::"):
            return _port_of(nodeid) or nodeid
        return str(super()._split_scope(nodeid))


def _port_of(nodeid: str) -> str | None:
    page = _ROOT / nodeid.partition("[")[2].removesuffix("]")
    found = _PORT.search(page.read_text()) if page.is_file() else None
    return None if found is None else f"{APART}::{found[1]}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    return EachPageAlone(config, log) if config.getvalue("dist") == "loadscope" else None
