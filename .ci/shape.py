"""The shape of `src/portico` by package: how large its modules are, and how they hang together."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import rustworkx

Functions = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    name: str
    """As it is imported: `portico.guard.keys`."""
    code_lines: int
    statements: int
    tree: ast.Module

    @property
    def package(self) -> str:
        """The one below `portico`; a module beside them counts for `portico`."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 and parts[1] not in {"__init__", "__main__"} else parts[0]

    @property
    def import_lines(self) -> int:
        imports = (each for each in ast.walk(self.tree) if isinstance(each, IMPORTS))
        return sum((each.end_lineno or each.lineno) - each.lineno + 1 for each in imports)


IMPORTS = (ast.Import, ast.ImportFrom)


@dataclass
class Shape:
    files: int = 0
    folders: set[Path] = field(default_factory=set)
    code_lines: int = 0
    statements: int = 0
    import_lines: int = 0
    classes: int = 0
    functions: int = 0
    sizes: dict[str, int] = field(default_factory=dict)
    """Code lines of each module."""

    def add(self, module: Module, folder: Path) -> None:
        nodes = [*ast.walk(module.tree)]
        self.files += 1
        self.folders.add(folder)
        self.code_lines += module.code_lines
        self.statements += module.statements
        self.import_lines += module.import_lines
        self.classes += sum(isinstance(each, ast.ClassDef) for each in nodes)
        self.functions += sum(isinstance(each, Functions) for each in nodes)
        self.sizes[module.name] = module.code_lines

    def row(self, circles: int) -> dict[str, int | str]:
        largest = max(self.sizes, key=lambda name: self.sizes[name])
        # An `__init__` that only says what its package is for is a file, and not a module.
        modules = [size for size in self.sizes.values() if size]
        return {
            "files": self.files,
            "folders": len(self.folders),
            "code_lines": self.code_lines,
            "statements": self.statements,
            "import_lines": self.import_lines,
            "classes": self.classes,
            "functions": self.functions,
            "median": round(median(modules)) if modules else 0,
            "largest": self.sizes[largest],
            "circles": circles,
            "largest_module": largest,
        }


def shapes(modules: Mapping[Path, Module]) -> dict[str, dict[str, int | str]]:
    """By package, and `all`."""
    found: dict[str, Shape] = {}
    for path, module in modules.items():
        for name in (module.package, "all"):
            found.setdefault(name, Shape()).add(module, path.parent)
    circles = circles_of([*modules.values()])
    members = {name: [c for c in circles if _package(c[0]) == name] for name in found}
    members["all"] = circles
    return {name: shape.row(len(members[name])) for name, shape in sorted(found.items())}


def circles_of(modules: Sequence[Module]) -> list[list[str]]:
    """Modules that need each other as they are imported."""
    names = {module.name.removesuffix(".__init__"): place for place, module in enumerate(modules)}
    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from([*names])
    for name, place in names.items():
        # Every module needs its packages; that alone makes no circle.
        for wanted in set(imported(modules[place], names)) - {name}:
            if not name.startswith(f"{wanted}."):
                graph.add_edge(place, names[wanted], None)
    found = rustworkx.strongly_connected_components(graph)
    return sorted(sorted(graph[node] for node in each) for each in found if len(each) > 1)


def imported(module: Module, names: Mapping[str, int]) -> Iterator[str]:
    """Modules of ours that are imported with it, and not later in a function."""
    for node in _at_once(module.tree.body):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                inner = f"{node.module}.{each.name}"
                if inner in names:
                    yield inner
                elif node.module in names:
                    yield node.module


def _at_once(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from _at_once(node.orelse)
            continue
        yield node
        if not isinstance(node, Functions):
            for name in ("body", "orelse", "finalbody"):
                yield from _at_once(getattr(node, name, []))


def _package(name: str) -> str:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def table(rows: Mapping[str, Mapping[str, int | str]]) -> str:
    """For people."""
    columns = [name for name in next(iter(rows.values())) if name != "largest_module"]
    lines = ["  ".join([f"{'':10}", *(f"{name:>12}" for name in columns)])]
    for package, row in rows.items():
        numbers = (f"{row[name]:>12,}" for name in columns)
        lines.append("  ".join([f"{package:10}", *numbers, str(row["largest_module"])]))
    return "\n".join(lines)
