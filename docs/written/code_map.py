"""The map of the code: each module with its first sentence, and its subject in other layers."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

_SOURCE: Final = Path(__file__).parents[2] / "src/portico"
_DOMAINS: Final = (
    "kernel",
    "guard",
    "sandbox",
    "engine",
    "gateway",
    "workflows",
    "learning",
    "agents",
    "bridge",
    "debate",
)
_OUTSIDE: Final = ("adapters", "interfaces", "settings", "app", "testing", "bench", "samples")
_HEAD: Final = """\
# Map of the code

Each module of `src/portico` with its first sentence, package by package, from the bottom up.
[Architecture](architecture.md) follows two requests through it. In a domain, a subject has its use cases in
the module of its name and its dataclasses and pure functions in `core/`; the last column says which
modules of other layers bear the same name.
"""


def code_map() -> str:
    modules = {
        path.relative_to(_SOURCE).with_suffix("").as_posix(): _sentence(path)
        for path in sorted(_SOURCE.rglob("*.py"))
        if path.name not in {"__init__.py", "__main__.py"}
    }
    parts = [_HEAD, *(_domain(name, modules) for name in _DOMAINS)]
    return "\n".join([*parts, *(_outside(name, modules) for name in _OUTSIDE)])


def _sentence(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


def _domain(name: str, modules: Mapping[str, str]) -> str:
    rows = []
    subjects = {}
    for module, sentence in modules.items():
        if module.startswith(f"{name}/"):
            subject = module.removeprefix(f"{name}/").removeprefix("core/")
            subjects.setdefault(subject, {})[module] = sentence
    for subject, found in sorted(subjects.items()):
        said = found.get(f"{name}/{subject}") or found[f"{name}/core/{subject}"]
        core = "core" if f"{name}/core/{subject}" in found else ""
        both = f"`{subject}`" if f"{name}/{subject}" in found else f"`core/{subject}`"
        elsewhere = [
            *filter(None, [core if both == f"`{subject}`" else ""]),
            *_same(subject, modules),
        ]
        rows.append(f"| {both} | {said} | {', '.join(elsewhere)} |")
    return _table(name, ("module", "what it is for", "also in"), rows)


def _same(subject: str, modules: Mapping[str, str]) -> Iterator[str]:
    """Where else something bears the name of a subject."""
    stem = subject.rpartition("/")[2]
    for module in () if stem in {"errors", "ports"} else modules:
        if module.startswith(("adapters/", "interfaces/")) and module.endswith(f"/{stem}"):
            yield f"`{module.removesuffix(f'/{stem}')}`"


def _outside(name: str, modules: Mapping[str, str]) -> str:
    folders = defaultdict(list)
    for module, sentence in modules.items():
        if module.startswith(f"{name}/"):
            folder, _, stem = module.rpartition("/")
            folders[folder].append(f"| `{stem}` | {sentence} |")
    return "\n".join(
        _table(folder, ("module", "what it is for"), rows) for folder, rows in folders.items()
    )


def _table(name: str, columns: Sequence[str], rows: Sequence[str]) -> str:
    head = f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}"
    return "\n".join([f"## {name}\n", head, *rows, ""])
