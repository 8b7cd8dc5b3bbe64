"""How what belongs to a box is named, so that it is known for ours when its Portico is gone."""

import os
import re
import secrets
from functools import cache
from pathlib import Path
from typing import Final

_NAME: Final = re.compile(r"portico-box-(?P<world>[0-9a-f]+)-(?P<process>[0-9]+)-[0-9a-z-]+")


def name_for(box: object) -> str:
    """No other box has it, not even one of a process that had our number before."""
    return f"portico-box-{_world()}-{os.getpid()}-{box}-{secrets.token_hex(4)}"


def is_left(name: str) -> bool:
    """Whether it is of a process that is gone. Of those that are numbered in another namespace,
    as in a container that shares a folder with us, nobody here knows."""
    found = _NAME.fullmatch(name)
    if found is None or found["world"] != _world():
        return False
    return not Path(f"/proc/{found['process']}").exists()


@cache
def _world() -> str:
    return f"{Path('/proc/self/ns/pid').stat().st_ino:x}"
