"""Names with stars in them, looked at one by one."""

import re
from functools import cache
from itertools import product

NAMES = ["".join(letters) for size in range(6) for letters in product("ab/", repeat=size)]


@cache
def stands_for(pattern: str) -> frozenset[str]:
    """Every short name of it."""
    parts = re.findall(r"\*\*|\*|[^*]", pattern)
    written = "".join({"*": "[^/]*", "**": ".*"}.get(part, part) for part in parts)
    return frozenset(name for name in NAMES if re.fullmatch(written, name))
