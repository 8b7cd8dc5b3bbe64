"""Paths into what a tool gives, in JMESPath: of any item of a list the first stands for all."""

import json
import re
from typing import Final

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def member(path: str, key: str) -> str:
    """`json` and `id` are `json.id`; what is no plain name stands in quotes."""
    return f"{path}.{key if _PLAIN.fullmatch(key) else json.dumps(key, ensure_ascii=False)}"


def item(path: str) -> str:
    return f"{path}[0]"
