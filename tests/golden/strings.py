"""The texts in the source of the product: short strings, enums, codes of errors, prefixes of ids.

python -m tests.golden.strings FOLDER     its strings, one a line, sorted: to compare two trees
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).parents[2] / "src" / "portico"
APART: Final = frozenset({"bench", "testing"})
"""Nobody but a developer keeps what stands there."""
_LONG: Final = re.compile(r'"""[\s\S]*?"""')
_STRING: Final = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_FILLED_IN: Final = re.compile(r"\{[^{}]*\}")


@cache
def sources(source: Path = SOURCE, form: str = "*.py") -> tuple[str, ...]:
    inside = (file for file in source.rglob(form) if file.relative_to(source).parts[0] not in APART)
    return tuple(file.read_text(encoding="utf-8") for file in inside)


@cache
def strings(source: Path = SOURCE) -> frozenset[str]:
    """Without those between three quotes; `{}` stands where a value is filled in."""
    return frozenset(
        _FILLED_IN.sub("{}", found)
        for text in sources(source)
        for found in _STRING.findall(_LONG.sub("", text))
    )


@cache
def classes(having: str) -> tuple[ast.ClassDef, ...]:
    """Those of the modules whose text has this."""
    return tuple(
        node
        for text in sources()
        if having in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
    )


def constants(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Names and values that stand in its body."""
    for line in node.body:
        match line:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)):
                yield name, str(value)
            case _:
                pass


if __name__ == "__main__":
    print("\n".join(sorted(strings(Path(sys.argv[1])))))
