"""Who runs what: a module stays together, since its tests share a house. The pages of the docs
share nothing, and would otherwise keep one process busy long after the others are done."""

from typing import Final

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

APART: Final = "tests/docs/test_shell.py"


class EachPageAlone(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(f"{APART}::"):
            return nodeid
        return str(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    return EachPageAlone(config, log) if config.getvalue("dist") == "loadscope" else None
