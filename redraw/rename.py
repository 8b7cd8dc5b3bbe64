"""Rename modules, types, functions, members and parameters by a table, by what mypy knows of them.

    python redraw/rename.py redraw/names.toml --root . --only guard [--dry-run] [--report r.json]

Module-level names are followed by scope and import, members by the class that mypy sees in front
of the dot. Text is cut by positions of the syntax tree. What is unsure is refused, row by row.
"""

import argparse
import ast
import json
import re
import subprocess
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from merge import BUILTINS, COMPREHENSIONS, FUNCTIONS, Project, Python, Uses, bound, read_table, ruff
from semantic import LIBRARY, Index, Use, blocks_of, index

Edit = tuple[int, int, str]
SQL_WORDS = re.compile(
    r"\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|FROM|JOIN|REFERENCES|TABLE|WHERE|AND|ORDER BY)\b")


# ---------------------------------------------------------------- the table


@dataclass(eq=False)
class Row:
    package: str
    kind: str
    """module, name, member or parameter."""
    module: str
    owner: str
    """Of a member its class; of a parameter its function, with its class in front."""
    name: str
    new: str
    templates: bool | list[str] | None = None
    untyped: str | None = None
    wire: bool = False
    at: str = ""
    """The class or function as it is called by now."""

    @property
    def key(self) -> str:
        match self.kind:
            case "module":
                return self.module
            case "name":
                return f"{self.module}:{self.name}"
            case "member":
                return f"{self.module}:{self.owner}.{self.name}"
            case _:
                return f"{self.module}:{self.owner}({self.name})"


def read_names(path: Path, project: Project) -> list[Row]:
    """`[[package]]` has `name`, `root`, and the tables `modules`, `names`, `members`."""
    moves = path.parent / "moves.toml"
    there = {each: row.target for row in read_table(moves) for each in row.sources}
    found = tomllib.loads(path.read_text("utf-8"))
    packages = {_beneath(package["root"], old): _beneath(package["root"], new)
                for package in found["package"] for old, new in package.get("modules", {}).items()}
    gone = {old: new for old, new in packages.items()
            if old not in project.modules and new in project.packages}

    def renamed(module: str) -> str:
        """Where a module is if the packages above it have been renamed."""
        for old in sorted(gone, key=len, reverse=True):
            if module.startswith(old + "."):
                return gone[old] + module.removeprefix(old)
        return module

    rows = []
    for package in found["package"]:
        for old in package.get("modules", {}):
            module = _beneath(package["root"], old)
            new = packages[module]
            if module not in project.modules and renamed(module) in project.modules:
                module, new = renamed(module), renamed(new)
            rows.append(Row(package["name"], "module", module, "", "", new))
            there.setdefault(module, new)

    def located(module: str) -> str:
        for _ in range(4):
            if module in project.modules:
                break
            module = there.get(module) or renamed(module)
        return module

    for package in found["package"]:
        for kind in ("names", "members"):
            for key, value in package.get(kind, {}).items():
                more = value if isinstance(value, dict) else {"to": value}
                module, _, what = key.partition(":")
                module = located(_beneath(package["root"], module))
                given = {each: more.get(each) for each in ("templates", "untyped")}
                given["wire"] = bool(more.get("wire"))
                if found_parameter := re.fullmatch(r"([\w.]+)\((\w+)\)", what):
                    kind_of, owner, name = "parameter", *found_parameter.groups()
                else:
                    owner, _, name = what.rpartition(".")
                    kind_of = "member" if owner else "name"
                rows.append(Row(package["name"], kind_of, module, owner, name, more["to"], **given))
    twice = [key for key, times in Counter(row.key for row in rows).items() if times > 1]
    if twice:
        raise SystemExit(f"The table names twice: {', '.join(twice)}")
    return rows


def _beneath(top: str, name: str) -> str:
    return name if name.startswith(("portico.", "tests.")) else f"{top}.{name}" if name else top


# ---------------------------------------------------------------- members and their kin


class Kin:
    """Members that must have one name: of a class and its bases, of a protocol and what is handed
    in for it."""

    def __init__(self, known: Index) -> None:
        self.classes = known.classes
        self._above: dict[tuple[str, str], tuple[str, str]] = {}
        self.beneath: dict[str, set[str]] = defaultdict(set)
        for name, each in self.classes.items():
            for base in each.order[1:]:
                self.beneath[base].add(name)
        for name, each in self.classes.items():
            if each.file != LIBRARY:
                self._bases(name, each.order)
        for one, protocol in known.implementations:
            self._implements(one, protocol)
        self.groups: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
        for each in list(self._above):
            self.groups[self._root(each)].add(each)

    def _root(self, member: tuple[str, str]) -> tuple[str, str]:
        while (above := self._above.get(member, member)) != member:
            member = above
        return member

    def _join(self, one: tuple[str, str], other: tuple[str, str]) -> None:
        for each in (one, other):
            self._above.setdefault(each, each)
        self._above[self._root(one)] = self._root(other)

    def _bases(self, name: str, mro: list[str]) -> None:
        first: dict[str, str] = {}
        for base in mro:
            each = self.classes.get(base)
            if each is None or base == "builtins.object":
                continue
            for member in each.members:
                if member.startswith("__") and member.endswith("__"):
                    continue
                if member in first:
                    self._join((first[member], member), (base, member))
                else:
                    first[member] = base

    def definer(self, name: str, member: str) -> str | None:
        for base in self.classes[name].order if name in self.classes else ():
            each = self.classes.get(base)
            if each is not None and member in each.members:
                return base
        return None

    def _implements(self, one: str, protocol: str) -> None:
        needed = {member for base in self.classes[protocol].order
                  if (each := self.classes.get(base)) is not None and each.is_protocol
                  for member in each.members if not member.startswith("__")}
        pairs = [(member, self.definer(one, member), self.definer(protocol, member))
                 for member in needed]
        if any(mine is None for _, mine, _ in pairs):
            return  # compared, and not one
        for member, mine, theirs in pairs:
            if mine and theirs and mine != theirs:
                self._join((mine, member), (theirs, member))

    def group(self, owner: str, name: str) -> set[tuple[str, str]]:
        return self.groups.get(self._root((owner, name))) or {(owner, name)}

    def family(self, owner: str) -> set[str]:
        """The class, what is above it, what is beneath it."""
        return {*self.classes[owner].order, *self.beneath[owner]} - {"builtins.object"}


# ---------------------------------------------------------------- keywords that are spread


class Spreads:
    """`Class(**values)`: the keys of the literal that is spread are fields as well, and so are the
    keywords of a function that hands its own `**values` on. Followed by name inside of a file."""

    def __init__(self, files: list[Python], known: Index) -> None:
        self.known, self.modules = known, {_dotted(file.name): file for file in files}
        self.makers: dict[str, set[str]] = defaultdict(set)
        """Functions that hand keywords on, and the classes that they go to."""
        self.keys: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
        """By file: where a key stands, the key, and the class that it goes to."""
        self.unknown: dict[str, list[str]] = defaultdict(list)
        """Calls of a class with something spread that is not followed."""
        calls = []
        for file in files:
            if b"**" in file.data:
                calls += [(file, node, each.value) for node in file.nodes
                          if isinstance(node, ast.Call) for each in node.keywords if not each.arg]
            if b"builds(" in file.data:
                self._built(file)
        before = -1
        while before != (before := sum(map(len, self.makers.values()))):
            for file, call, value in calls:
                for to in self._goes_to(file, call):
                    if isinstance(value, ast.Name | ast.Dict):
                        self._hand_on(file, call, value, to)
        for file, call, value in calls:
            for to in self._goes_to(file, call):
                self._follow(file, call, value, to)

    def _built(self, file: Python) -> None:
        """Hypothesis: `builds(Class, field=…)`."""
        for node in file.nodes:
            match node:
                case ast.Call(func=ast.Attribute(attr="builds") | ast.Name(id="builds"),
                              args=[ast.Name(id=name), *_], keywords=some):
                    whole = self._named(file, name)
                    if whole in self.known.classes:
                        self.keys[file.name] += [(file.span(each)[0], each.arg, whole)
                                                 for each in some if each.arg]
                case _:
                    pass

    def _named(self, file: Python, name: str) -> str:
        for node in file.imports():
            if isinstance(node, ast.ImportFrom):
                for each in node.names:
                    if (each.asname or each.name) == name:
                        return f"{node.module}.{each.name}"
        return f"{_dotted(file.name)}.{name}"

    def _goes_to(self, file: Python, call: ast.Call) -> set[str]:
        match call.func:
            case ast.Name(id="replace"):
                for function in self._around(file, call):
                    if isinstance(function.returns, ast.Name):
                        whole = self._named(file, function.returns.id)
                        return {whole} & set(self.known.classes)
                return set()
            case ast.Name(id="partial" | "dict") | ast.Attribute():
                return set()
            case ast.Name(id=name):
                whole = self._named(file, name)
                return {whole} if whole in self.known.classes else {*self.makers.get(whole, ())}
            case _:
                return set()

    def _around(self, file: Python, node: ast.AST) -> Iterator[ast.AST]:
        while (node := file.parents.get(node)) is not None:
            if isinstance(node, FUNCTIONS):
                yield node

    def _hand_on(self, file: Python, call: ast.Call, value: ast.AST, to: str) -> None:
        names = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
        for function in self._around(file, call):
            if function.args.kwarg and function.args.kwarg.arg in names:
                self.makers[f"{_dotted(file.name)}.{function.name}"].add(to)

    def _follow(self, file: Python, call: ast.Call, value: ast.AST, to: str) -> None:
        if isinstance(value, ast.Name):
            scopes = [each for each in self._around(file, call) if value.id in _bound(file, each)]
            scope = scopes[0] if scopes else file.tree
            kwarg = getattr(getattr(scope, "args", None), "kwarg", None)
            found = kwarg is not None and kwarg.arg == value.id
            for node in ast.walk(scope):
                match node:
                    case ast.Assign(targets=[ast.Name(id=name)], value=given) | ast.AnnAssign(
                        target=ast.Name(id=name), value=given
                    ) | ast.AugAssign(target=ast.Name(id=name), value=given) if name == value.id:
                        found = self._literal(file, given, to) or found
                    case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str()) as key
                                       ) if name == value.id:
                        self._key(file, key, to)
                    case _:
                        pass
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            found = any(self._literal(file, each.value, to) for node in file.tree.body
                        if isinstance(node, FUNCTIONS) and node.name == value.func.id
                        for each in ast.walk(node) if isinstance(each, ast.Return))
        else:
            found = self._literal(file, value, to)
        if not found:
            self.unknown[to].append(f"{file.name}:{call.lineno}: {ast.unparse(value)[:40]}")

    def _literal(self, file: Python, value: ast.AST | None, to: str) -> bool:
        match value:
            case ast.Dict(keys=keys):
                for key in keys:
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        self._key(file, key, to)
                return True
            case ast.Call(func=ast.Name(id="dict"), keywords=some):
                for each in some:
                    if each.arg:
                        self.keys[file.name].append((file.span(each)[0], each.arg, to))
                return True
            case ast.BinOp(left=left, right=right):
                return self._literal(file, left, to) | self._literal(file, right, to)
            case ast.IfExp(body=left, orelse=right):
                return self._literal(file, left, to) | self._literal(file, right, to)
            case _:
                return False

    def _key(self, file: Python, key: ast.Constant, to: str) -> None:
        self.keys[file.name].append((file.span(key)[0] + 1, key.value, to))


# ---------------------------------------------------------------- the plan


@dataclass
class Binding:
    """A name that a scope of a file has for something that is renamed."""

    scope: ast.AST
    local: str
    new: str
    row: Row
    node: ast.AST
    module: str = ""
    """Where it is a module: which one."""


class Plan:
    def __init__(self, project: Project, rows: list[Row], known: Index, only: set[str],
                 pages: list[Python]) -> None:
        self.project, self.known, self.kin = project, known, Kin(known)
        self.refused: dict[str, list[str]] = {}
        self.done: list[str] = []
        self.notes: dict[str, list[str]] = defaultdict(list)
        self.files = [*project.files, *pages]
        self.by_name = {file.name: file for file in self.files}
        self.spreads = Spreads(self.files, known)
        self.texts = {path: path.read_text("utf-8") for path in sorted(
            project.source.rglob("*.html")) if "templates" in path.parts}
        self.all_rows = rows
        rows = [row for row in rows if not only or row.package in only or row.key in only]
        self.rows = [row for row in rows if self._is_there(row)]
        while True:
            before = len(self.refused)
            self._take([row for row in self.rows if row.key not in self.refused])
            self._check()
            if len(self.refused) == before:
                break

    def _refuse(self, row: Row, why: str) -> None:
        reasons = self.refused.setdefault(row.key, [])
        if why not in reasons:
            reasons.append(why)

    # -- what the table says

    def _is_there(self, row: Row) -> bool:
        modules = self.project.modules
        if row.kind == "module":
            if row.module in modules and row.new != row.module:
                return True
            (self.done.append(row.key) if row.new in modules else
             self._refuse(row, "there is no such module"))
            return False
        file = modules.get(row.module)
        if file is None:
            self._refuse(row, "there is no such module")
            return False
        if row.kind == "name":
            if row.name in self._own(row.module):
                return True
            (self.done.append(row.key) if row.new in self._own(row.module) else
             self._refuse(row, "the module does not define it"))
            return False
        whole = f"{row.module}.{row.owner}"
        if row.kind == "member":
            each = self.known.classes.get(whole) or self.known.classes.get(
                self._renamed(row.module, row.owner))
            if each is None:
                self._refuse(row, "there is no such class")
            elif row.name in each.members:
                row.at = each.name
                return True
            elif row.new in each.members:
                self.done.append(row.key)
            else:
                self._refuse(row, "the class does not define it"
                             + (f"; {base} does" if (base := self.kin.definer(whole, row.name))
                                else ""))
            return False
        row.at = whole if whole in self.known.functions else self._renamed(row.module, row.owner)
        parameters = self.known.functions.get(row.at)
        if parameters is None or row.name not in parameters[2]:
            (self.done.append(row.key) if parameters and row.new in parameters[2] else
             self._refuse(row, "there is no such parameter"))
            return False
        return True

    def _renamed(self, module: str, owner: str) -> str:
        """A class or function as an earlier run has renamed it, and a method of it."""
        first, _, method = owner.partition(".")
        done = {(row.kind, row.owner, row.name): row.new for row in self.all_rows
                if row.module == module}
        method = done.get(("member", first, method), method)
        first = done.get(("name", "", first), first)
        return f"{module}.{first}.{method}" if method else f"{module}.{first}"

    def _own(self, module: str) -> set[str]:
        file = self.project.modules[module]
        if not hasattr(file, "own"):
            file.own = {name for node in file.tree.body for name in _defined(node)}
        return file.own

    def _take(self, rows: list[Row]) -> None:
        self.active = rows
        self._bindings: dict[str, list[Binding]] = {}
        self.module_rows: dict[str, Row] = {}
        for row in sorted(rows, key=lambda each: len(each.module)):
            if row.kind == "module":
                self.module_rows |= {each: row for each in self.project.modules
                                     if each == row.module or each.startswith(row.module + ".")}
        self.modules = {module: row.new + module.removeprefix(row.module)
                        for module, row in self.module_rows.items()}
        self.names = {(row.module, row.name): row for row in rows if row.kind == "name"}
        self.members: dict[tuple[str, str], Row] = {}
        self.parameters: dict[tuple[str, str], Row] = {}
        for row in rows:
            if row.kind == "member":
                for each in self.kin.group(row.at, row.name):
                    other = self.members.setdefault(each, row)
                    if other.new != row.new:
                        self._refuse(row, f"{other.key}, which is the same, is {other.new}")
            elif row.kind == "parameter":
                owner, _, method = row.at.rpartition(".")
                some = [row.at]
                if owner in self.known.classes:
                    some = [f"{each}.{name}" for each, name in self.kin.group(owner, method)]
                for each in some:
                    if row.name in self.known.functions.get(each, ("", 0, ()))[2]:
                        self.parameters[each, row.name] = row
        self._final: dict[tuple[str, str], tuple[str, Row | None]] = {}

    # -- module-level names

    def final(self, module: str, name: str) -> tuple[str, Row | None]:
        """What a module-level name of a module is called afterwards, and by which row."""
        key = (module, name)
        if key not in self._final:
            self._final[key] = (name, None)
            self._final[key] = self._resolved(module, name)
        return self._final[key]

    def _resolved(self, module: str, name: str) -> tuple[str, Row | None]:
        if row := self.names.get((module, name)):
            return row.new, row
        file = self.project.modules.get(module)
        if file is None or name in self._own(module):
            return name, None
        for node in file.imports():
            if isinstance(node, ast.ImportFrom) and node.module:
                for each in node.names:
                    if each.name == name and each.asname in {None, name}:
                        if f"{node.module}.{name}" in self.project.modules:
                            return name, None
                        new, row = self.final(node.module, name)
                        return (name, None) if each.asname else (new, row)
        return name, None

    def bindings(self, file: Python) -> list[Binding]:
        if file.name not in self._bindings:
            self._bindings[file.name] = self._bindings_of(file)
        return self._bindings[file.name]

    def _bindings_of(self, file: Python) -> list[Binding]:
        found = []
        if file.module:
            for name in self._own(file.module):
                if row := self.names.get((file.module, name)):
                    found.append(Binding(file.tree, name, row.new, row, file.tree))
        for node in file.imports():
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            if node.module.partition(".")[0] != self.project.package:
                continue
            for each in node.names:
                whole, scope = f"{node.module}.{each.name}", file.scope_of(node)
                if whole in self.project.modules:
                    new = self.modules.get(whole, whole).rpartition(".")[2]
                    local = each.asname or each.name
                    row = self.module_rows.get(whole)
                    if each.asname or new == each.name:
                        new = local
                    found.append(Binding(scope, local, new, row, node, whole))
                elif not each.asname:
                    new, row = self.final(node.module, each.name)
                    if row is not None:
                        found.append(Binding(scope, each.name, new, row, node))
        return found

    def uses(self, file: Python, binding: Binding) -> list[tuple[int, int, ast.AST, str]]:
        kept = file.__dict__.setdefault("kept_uses", {})
        if (id(binding.scope), binding.local) not in kept:
            names = {each.local for each in self.bindings(file) if each.scope is binding.scope}
            for name in names:
                kept[id(binding.scope), name] = []
            for each in Uses(file, names, binding.scope).found:
                kept[id(binding.scope), each[3]].append(each)
        return kept[id(binding.scope), binding.local]

    def clash(self, file: Python, binding: Binding, others: list[Binding]) -> str | None:
        """Why a binding cannot have its new name."""
        new, here = binding.new, f"{file.name}:{getattr(binding.node, 'lineno', 1)}"
        beside = [each for each in others if each.scope is binding.scope and each is not binding]
        if new in _bound(file, binding.scope) and not any(
            each.local == new and each.new != new for each in beside
        ):
            return f"{here}: {new} is there already"
        for each in beside:
            if each.new == new and each.local != binding.local:
                return f"{here}: {each.local} becomes {new} as well"
        for _, _, node, _ in self.uses(file, binding):
            child, above = node, file.parents.get(node)
            while above is not None and above is not binding.scope:
                inside = isinstance(above, (ast.Lambda, *COMPREHENSIONS)) or (
                    isinstance(above, FUNCTIONS) and child in above.body) or (
                    isinstance(above, ast.ClassDef) and child in above.body
                    and not isinstance(child, FUNCTIONS))
                if inside and new in _bound(file, above) and not any(
                    each.scope is above and each.local == new for each in others
                ):
                    return f"{file.name}:{node.lineno}: a local {new} would hide it"
                child, above = above, file.parents.get(above)
        return None

    # -- whether it can be done

    def _check(self) -> None:
        for row in self.active:
            if row.kind == "module":
                self._check_module(row)
            elif not row.new.isidentifier():
                self._refuse(row, f"{row.new} is no name")
            elif row.new in BUILTINS and row.kind != "member":
                self._refuse(row, f"{row.new} is a built-in")
        words = [name.encode() for _, name in self.names]
        search = re.compile(rb"\b(?:%b)\b" % b"|".join(words)) if words else None
        for file in self.files:
            if search and search.search(file.data):
                found = self.bindings(file)
                for each in found:
                    if not each.module and (why := self.clash(file, each, found)):
                        self._refuse(each.row, why)
        self._check_members()
        for (whole, name), row in self.parameters.items():
            self._check_parameter(whole, name, row)

    def _check_module(self, row: Row) -> None:
        for module, new in self.modules.items():
            if self.module_rows[module] is row and new in self.project.modules and (
                new not in self.modules
            ):
                self._refuse(row, f"{new} is there already")

    def _check_members(self) -> None:
        members, classes = self.members, self.known.classes
        for (owner, name), row in members.items():
            each = classes.get(owner)
            if each is None or each.file == LIBRARY:
                self._refuse(row, f"{owner} of a library has it too")
                continue
            if each.is_wire and not row.wire:
                self._refuse(row, f"{owner} is a wire format ({each.file}:{each.line}); wire = true")
            for other in self.kin.family(owner):
                if other in classes and row.new in classes[other].members and (
                    (other, row.new) not in members
                ):
                    self._refuse(row, f"{other} has {row.new} already")
            if row.new in BUILTINS and self._says(owner, row.new):
                self._refuse(row, f"{owner} uses the built-in {row.new}")
        olds = {name for _, name in members} | {name for _, name in self.parameters}
        by_old: dict[str, list[Row]] = defaultdict(list)
        for row in self.active:
            if row.kind in {"member", "parameter"}:
                by_old[row.name].append(row)
        for label, some in self.known.uses.items():
            for use in some:
                if use.name in olds:
                    self._check_use(label, use, by_old[use.name])
        for file in self.files:
            self._check_unseen(file, by_old)
        for each in self.known.misplaced:
            for row in by_old.get(each.rpartition(" ")[2].rstrip("="), ()):
                if row.untyped is None:
                    self._refuse(row, f"not found in the text: {each}")
        for old, rows in by_old.items():
            self._check_templates(old, rows)

    def decide(self, use: Use) -> tuple[Row | None, str | None]:
        """The row that a use belongs to, or why that cannot be said."""
        table = self.members
        owners = use.owners
        if use.kind in {"keyword", "parameter"} and any(each.endswith("()") for each in owners):
            table, owners = self.parameters, tuple(each.removesuffix("()") for each in owners)
            made = {to for each in owners for to in self.spreads.makers.get(each, ())}
            taken = [self.known.functions.get(each, ("", 0, ()))[2] for each in owners]
            if made and not any(use.name in each for each in taken):
                table = self.members
                owners = tuple(sorted({one for each in made
                                       if (one := self.kin.definer(each, use.name))}))
        rows = [table.get((each, use.name)) for each in owners]
        real = {row.new: row for row in rows if row is not None}
        if not real:
            return None, None
        if len(real) > 1 or None in rows:
            return next(iter(real.values())), f"means one of {', '.join(sorted(owners))}"
        return next(iter(real.values())), None

    def _check_use(self, label: str, use: Use, rows: list[Row]) -> None:
        if use.kind == "definition":
            return
        if not use.owners:
            for row in rows:
                if row.untyped is None:
                    self._refuse(row, f"{self.at(label, use.start)}: untyped {use.kind}")
            return
        row, why = self.decide(use)
        if row is not None and why:
            self._refuse(row, f"{self.at(label, use.start)}: {use.kind} {why}")

    def at(self, label: str, place: int) -> str:
        file = self.by_name.get(label)
        return f"{label}:{file.data.count(bytes([10]), 0, place) + 1 if file else '?'}"

    def _says(self, owner: str, name: str) -> bool:
        each = self.known.classes[owner]
        file = self.by_name.get(each.file)
        node = file and _class_at(file, owner.removeprefix(each.module + "."))
        return node is None or any(isinstance(one, ast.Name) and one.id == name
                                   for stands in node.body
                                   for one in (_outside(stands)))

    @cached_property
    def _seen(self) -> dict[str, set[tuple[int, str]]]:
        return {label: {(use.start, use.name) for use in some}
                for label, some in self.known.uses.items()}

    def _check_unseen(self, file: Python, by_old: dict[str, list[Row]]) -> None:
        """Attributes and keywords that mypy has not looked at: unreachable, or not its files."""
        names = {name for name in by_old if name.encode() in file.data}
        if not names:
            return
        seen = self._seen.get(file.name, set())
        for node in file.nodes:
            if isinstance(node, ast.Attribute) and node.attr in names:
                start = file.span(node)[1] - len(node.attr.encode())
                name = node.attr
            elif isinstance(node, ast.keyword) and node.arg in names:
                start, name = file.span(node)[0], node.arg
            else:
                continue
            if file.data[start:start + len(name.encode())] != name.encode():
                continue  # inside of an f-string, where only mypy knows places
            if (start, name) not in seen:
                for row in by_old[name]:
                    if row.untyped is None and self._may_mean(file, row):
                        self._refuse(row, f"{file.name}:{node.lineno}: mypy does not see this")

    def _may_mean(self, file: Python, row: Row) -> bool:
        return file.module != "" or b"portico" in file.data

    def _check_templates(self, old: str, rows: list[Row]) -> None:
        found = [f"{path.relative_to(self.project.source)}:{line}"
                 for path, line in self._in_templates(old)]
        for row in rows:
            if row.kind == "member" and found and row.templates is None:
                self._refuse(row, f"templates read .{old} ({len(found)}: {', '.join(found[:3])}); "
                             "templates = false, true or their names")

    def _in_templates(self, old: str) -> Iterator[tuple[Path, int]]:
        search = _in_jinja(old)
        for path, text in self.texts.items():
            for found in search.finditer(text):
                yield path, text.count("\n", 0, found.start()) + 1

    def _check_parameter(self, whole: str, name: str, row: Row) -> None:
        for file, node in self.function(whole):
            if row.new in _bound(file, node):
                self._refuse(row, f"{file.name}:{node.lineno}: {row.new} is there already")

    def function(self, whole: str) -> Iterator[tuple[Python, ast.AST]]:
        label = self.known.functions[whole][0]
        file = self.by_name.get(label)
        if file is None:
            return
        for node in file.nodes:
            if isinstance(node, FUNCTIONS) and whole.endswith("." + node.name):
                parts, above = [node.name], file.parents.get(node)
                while above is not None:
                    if isinstance(above, ast.ClassDef):
                        parts.insert(0, above.name)
                    above = file.parents.get(above)
                if whole.endswith("." + ".".join(parts)) and (
                    whole.removesuffix("." + ".".join(parts)) in {file.module, _dotted(file.name)}
                ):
                    yield file, node


def _dotted(name: str) -> str:
    return name.removesuffix(".py").removeprefix("src/").replace("/", ".")


def _in_jinja(old: str) -> re.Pattern[str]:
    return re.compile(rf"(?<=\.){old}\b(?!\.html|\.css|\.js)|(?<=attribute=[\"']){old}\b")


def _outside(node: ast.stmt) -> Iterator[ast.AST]:
    """What a statement of a class body says in the scope of the class."""
    if isinstance(node, FUNCTIONS):
        parts = [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]
        for each in parts:
            yield from ast.walk(each)
    else:
        yield from ast.walk(node)


def _class_at(file: Python, name: str) -> ast.ClassDef | None:
    last = name.rpartition(".")[2]
    return next((node for node in file.nodes
                 if isinstance(node, ast.ClassDef) and node.name == last), None)


def _defined(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Assign(targets=targets):
            for target in targets:
                yield from (one.id for one in ast.walk(target) if isinstance(one, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.If(body=body, orelse=other) | ast.Try(body=body, orelse=other):
            for each in (*body, *other):
                yield from _defined(each)
        case _:
            return


def _bound(file: Python, scope: ast.AST) -> set[str]:
    kept = file.__dict__.setdefault("kept_bound", {})
    if id(scope) not in kept:
        kept[id(scope)] = bound(scope)
    return kept[id(scope)]


# ---------------------------------------------------------------- the edits


@dataclass
class Writer:
    plan: Plan
    counts: Counter[str] = field(default_factory=Counter)
    """Places, by row."""
    strings: list[str] = field(default_factory=list)
    done: dict[str, set[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.project = self.plan.project
        package = re.escape(self.project.package)
        self._dotted = re.compile(rf"(?<![\w./~-]){package}((?:\.[A-Za-z_]\w*)+)(?::([A-Za-z_]\w*))?")
        self._paths = re.compile(
            r"(?<![\w/.-])((?:src/)?(?:portico/)?)((?:[a-z_0-9]+/)+[a-z_0-9]+)\.py\b")
        folders = {module: new for module, new in self.plan.modules.items()
                   if module in self.project.packages}
        self._folders = sorted(((module.replace(".", "/"), new.replace(".", "/"))
                                for module, new in folders.items()), key=lambda each: -len(each[0]))

    def file(self, file: Python) -> bytes:
        edits = [*self._lexical(file), *self._members(file)]
        spans = [file.span(node) for node in file.imports()]
        edits += [each for each in self._mentions(file.data.decode("latin-1"), file.name)
                  if not any(a <= each[0] < b for a, b in spans)]
        edits += self._ticks(file)
        if not edits:
            return file.data
        taken, kept = {}, []
        for each in edits:
            if each[:2] in taken and taken[each[:2]] != each[2]:
                raise SystemExit(f"{file.name}: {taken[each[:2]]} or {each[2]}, at {each[0]}")
            if each[:2] not in taken:
                taken[each[:2]] = each[2]
                kept.append(each)
        return file.spliced(kept)

    def _edit(self, row: Row | None, start: int, end: int, new: str) -> Edit:
        if row is not None:
            self.counts[row.key] += 1
        return start, end, new

    # -- names and modules

    def _lexical(self, file: Python) -> Iterator[Edit]:
        plan = self.plan
        found = plan.bindings(file)
        aliased: set[tuple[int, str]] = set()
        for each in found:
            if each.module and each.new != each.local and (why := plan.clash(file, each, found)):
                plan.notes["aliased"].append(f"{why} ({each.module} stays {each.local})")
                aliased.add((id(each.node), each.local))
                each.new = each.local
        for node in file.imports():
            yield from self._import(file, node, aliased)
        for each in found:
            for start, end, node, _ in plan.uses(file, each):
                if each.new != each.local:
                    yield self._edit(each.row, start, end, each.new)
                if each.module:
                    yield from self._of_module(file, node, each)
        for node in file.tree.body:
            match node:
                case ast.Assign(targets=[ast.Name(id="__all__")], value=value) if file.module:
                    for each in ast.walk(value):
                        if isinstance(each, ast.Constant):
                            new, row = plan.final(file.module, each.value)
                            if row:
                                yield self._edit(row, *file.span(each), f'"{new}"')
                case _:
                    pass

    def _of_module(self, file: Python, node: ast.AST, binding: Binding) -> Iterator[Edit]:
        match above := file.parents.get(node):
            case ast.Attribute(attr=attr) if above.value is node:
                new, row = self.plan.final(binding.module, attr)
                if row is not None:
                    for start, end in file.places(above, f"{binding.local}.{attr}"):
                        yield self._edit(row, end - len(attr.encode()), end, new)
            case ast.Call(args=[first, ast.Constant(value=str(name)) as second, *_]) if (
                first is node
            ):
                new, row = self.plan.final(binding.module, name)
                if row is not None:
                    start, end = file.span(second)
                    yield self._edit(row, start + 1, end - 1, new)
            case _:
                pass

    def _import(self, file: Python, node: ast.Import | ast.ImportFrom,
                aliased: set[tuple[int, str]]) -> Iterator[Edit]:
        plan = self.plan
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name in plan.modules:
                    start = file.span(each)[0]
                    yield self._edit(plan.module_rows[each.name], start, start + len(each.name),
                                     plan.modules[each.name])
            return
        if not node.module or node.module.partition(".")[0] != self.project.package:
            return
        parts: list[tuple[ast.alias, str, str, Row | None]] = []
        for each in node.names:
            whole = f"{node.module}.{each.name}"
            if whole in self.project.modules:
                parent, _, last = plan.modules.get(whole, whole).rpartition(".")
                row = plan.module_rows.get(whole)
            else:
                parent, row = plan.modules.get(node.module, node.module), None
                last, row = plan.final(node.module, each.name)
                row = row or plan.module_rows.get(node.module)
            parts.append((each, parent, last, row))
        parents = {parent for _, parent, _, _ in parts}
        if parents == {node.module} and all(each.name == last for each, _, last, _ in parts):
            return
        if len(parents) == 1:
            start, end = file.span(node)
            found = re.compile(rb"from\s+([\w.]+)").match(file.data, start)
            if node.module not in parents:
                yield self._edit(parts[0][3], *found.span(1), *parents)
            for each, _, last, row in parts:
                if each.name != last:
                    start = file.span(each)[0]
                    new = last + (f" as {each.name}" if (id(node), each.name) in aliased else "")
                    yield self._edit(row, start, start + len(each.name.encode()), new)
            return
        groups: dict[str, list[str]] = defaultdict(list)
        for each, parent, last, row in parts:
            local = each.asname or (each.name if (id(node), each.name) in aliased else last)
            groups[parent].append(last if local == last else f"{last} as {local}")
            if row:
                self.counts[row.key] += 1
        indent = "\n" + " " * node.col_offset
        yield (*file.span(node), indent.join(f"from {parent} import {', '.join(names)}"
                                             for parent, names in groups.items()))

    # -- members and parameters

    def _members(self, file: Python) -> Iterator[Edit]:
        plan = self.plan
        for use in plan.known.uses.get(file.name, ()):
            row, _ = plan.decide(use)
            if row is not None:
                yield self._edit(row, use.start, use.end, row.new)
            elif not use.owners and (row := self._by_table(use)) is not None:
                yield self._edit(row, use.start, use.end, row.new)
        for start, key, to in plan.spreads.keys.get(file.name, ()):
            row = plan.members.get((plan.kin.definer(to, key) or "", key))
            if row is not None and file.data[start:start + len(key)] == key.encode():
                yield self._edit(row, start, start + len(key), row.new)
        for (whole, name), row in plan.parameters.items():
            if plan.known.functions[whole][0] != file.name:
                continue
            for _, node in plan.function(whole):
                for each in ast.walk(node.args):
                    if isinstance(each, ast.arg) and each.arg == name:
                        start = file.span(each)[0]
                        yield self._edit(row, start, start + len(name.encode()), row.new)
                for start, end, _, _ in Uses(file, {name}, node).found:
                    yield self._edit(row, start, end, row.new)

    def _by_table(self, use: Use) -> Row | None:
        rows = [row for row in self.plan.active if row.kind in {"member", "parameter"}
                and row.name == use.name and row.untyped == "rename"]
        return rows[0] if rows else None

    # -- text

    def _mentions(self, text: str, name: str) -> Iterator[Edit]:
        plan = self.plan
        for found in self._dotted.finditer(text):
            dotted = f"{self.project.package}{found[1]}"
            parts = dotted.split(".")
            for size in range(len(parts), 1, -1):
                module = ".".join(parts[:size])
                if module not in self.project.modules:
                    continue
                rest = parts[size:]
                if rest == ["py"]:
                    break
                named = rest or ([found[2]] if found[2] else [])
                new = self._rest(module, named)
                whole = plan.modules.get(module, module)
                if rest:
                    whole, tail = ".".join([whole, *new]), f":{found[2]}" if found[2] else ""
                else:
                    tail = ":" + new[0] if new else ""
                if whole + tail != found[0]:
                    yield self._said(name, text, found.start(), found.end(), whole + tail)
                break
        for found in self._paths.finditer(text):
            stem = found[2].removesuffix("/__init__")
            module = f"{self.project.package}.{stem.replace('/', '.')}"
            if (new := plan.modules.get(module)) and new != module:
                there = new.partition(".")[2].replace(".", "/")
                end = found.start() + len(found[1]) + len(stem)
                yield self._said(name, text, found.start(), end, found[1] + there)
        for old, new in self._folders:
            for found in re.finditer(rf"(?<![\w/.-])((?:src/)?){old}(?=/(?:[*{{]|`|\"|\s|$)|`|\")", text):
                yield self._said(name, text, found.start(), found.end(), found[1] + new)
            bare, there = old.partition("/")[2], new.partition("/")[2]
            quoted = re.compile(rf"(?<=[\"'`]){bare}(?=/[\w./*-]*[\"'`])(?!/[\w/-]*\.py)")
            for found in quoted.finditer(text):
                yield self._said(name, text, found.start(), found.end(), there)

    def _rest(self, module: str, names: list[str]) -> list[str]:
        if not names:
            return []
        new, row = self.plan.final(module, names[0])
        if row is not None:
            self.counts[row.key] += 1
        rest = names[1:]
        if rest and (member := self.plan.members.get((f"{module}.{names[0]}", rest[0]))):
            self.counts[member.key] += 1
            rest = [member.new, *rest[1:]]
        return [new, *rest]

    def _said(self, name: str, text: str, start: int, end: int, new: str) -> Edit:
        line = text.count("\n", 0, start) + 1
        self.strings.append(f"{name}:{line}: {text[start:end]} -> {new}")
        return start, end, new

    def _ticks(self, file: Python) -> Iterator[Edit]:
        """`Names` in the comments and docstrings of a file that knows them."""
        here = {each.local: each for each in self.plan.bindings(file)
                if each.scope is file.tree and not each.module and each.new != each.local}
        for found in re.finditer(rb"`([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?(?=[`(\[.])", file.data):
            name, member = found[1].decode(), (found[2] or b"").decode()
            if each := here.get(name):
                yield self._edit(each.row, *found.span(1), each.new)
            if member:
                rows = {row.new: row for (owner, old), row in self.plan.members.items()
                        if old == member and owner.rpartition(".")[2] == name}
                if len(rows) == 1:
                    yield self._edit(*rows.values(), *found.span(2), *rows)
        for (owner, old), row in self.plan.members.items():
            known = self.plan.known.classes.get(owner)
            if known is None or known.file != file.name:
                continue
            node = _class_at(file, owner.removeprefix(known.module + "."))
            if node is not None:
                for found in re.compile(rb"`(%b)(?=[`(])" % old.encode()).finditer(
                    file.data, *file.span(node)
                ):
                    yield self._edit(row, *found.span(1), row.new)

    def page(self, path: Path) -> str:
        name = path.relative_to(self.project.root).as_posix()
        text = path.read_text("utf-8")
        if path.suffix == ".md":
            out, done = [], 0
            for which, (found, plain) in enumerate(blocks_of(text)):
                file = self.plan.by_name.get(f"{name}#{which}")
                if file is None:
                    continue
                new = self.file(file).decode()
                if new != plain:
                    indented = "\n".join(found[1] + line if line else line
                                         for line in new.split("\n"))
                    out += [text[done:found.start(3)], indented]
                    done = found.end(3)
            text = "".join([*out, text[done:]])
        edits = sorted(set(self._mentions(text, name)))
        out, done = [], 0
        for start, end, new in edits:
            if start >= done:
                out += [text[done:start], new]
                done = end
        text = "".join([*out, text[done:]])
        return self._ticks_on_page(text) if path.suffix == ".md" else text

    def _ticks_on_page(self, text: str) -> str:
        """A `TypeName` on a page, where only one type has that name."""
        for (_, old), row in self.plan.names.items():
            others = [module for module, file in self.project.modules.items()
                      if old in self.plan._own(module) and module != row.module]
            if old[:1].isupper() and not others:
                text, times = re.subn(rf"`{old}(?=[`(.\[])", f"`{row.new}", text)
                self.counts[row.key] += times
        return text

    def templates(self) -> Iterator[tuple[Path, str]]:
        rows = [row for row in self.plan.active if row.kind == "member" and row.templates]
        for path, text in self.plan.texts.items():
            new = text
            for row in rows:
                only = row.templates if isinstance(row.templates, list) else ["*.html"]
                if any(path.match(each) for each in only):
                    new, times = _in_jinja(row.name).subn(row.new, new)
                    self.counts[row.key] += times
            if new != text:
                yield path, new


# ---------------------------------------------------------------- SQL


def sql(root: Path, table: Path, *, dry: bool) -> dict:
    """Tables by `[sql.tables]`, columns by `[sql.columns]` ("table.column"), in SQL files and in
    strings of Python that are SQL.

    Indexes and constraints that begin with the name of their table follow it. A column is renamed
    in files that name its table as portico.TABLE, in Python also where a string is its name and
    nothing else; a table of two words wherever a string is its name. Of a table of one word such
    strings are reported, not renamed.
    """
    found = tomllib.loads(table.read_text("utf-8")).get("sql", {})
    tables, columns = found.get("tables", {}), found.get("columns", {})
    report: dict[str, object] = {"places": Counter(), "files": [], "literals": []}
    files = sorted([*root.glob("src/**/*.sql"), *root.glob("tests/**/*.sql")])
    texts = {path: path.read_text("utf-8") for path in files}
    follow = _following(texts.values(), tables)

    def rewritten(text: str, named: set[str]) -> str:
        for key, new in columns.items():
            owner, _, column = key.partition(".")
            if owner in named:
                text, times = re.subn(rf"(?<![:\w])(?<!%\(){column}\b(?!\)s)", new, text)
                report["places"][key] += times
        for old, new in tables.items():
            bare = rf"(?<![\w.{{])(?<!%\(){old}\b" if "_" in old else rf"\bportico\.{old}\b"
            text, times = re.subn(
                rf"\bportico\.{old}\b|{bare}",
                lambda each, new=new: ("portico." if each[0].startswith("portico.") else "") + new,
                text,
            )
            text, more = re.subn(rf"\b(FROM|INTO|UPDATE|JOIN) {old}\b", rf"\1 {new}", text)
            report["places"][old] += times + more
        for old, new in follow.items():
            text = re.sub(rf"\b{old}\b", new, text)
        return text

    def named_in(text: str) -> set[str]:
        return {key.partition(".")[0] for key in columns
                if re.search(rf"\bportico\.{key.partition('.')[0]}\b", text)}

    for path, text in texts.items():
        changed = re.sub(
            r"^SELECT pg_temp\.\w+\(.*?;$",
            lambda call: re.sub(r"(?<=[{', ])\w+(?=[,}'])",
                                lambda each: tables.get(each[0], each[0]), call[0]),
            rewritten(text, named_in(text)),
            flags=re.MULTILINE | re.DOTALL,
        )
        if changed != text:
            report["files"].append(str(path.relative_to(root)))
            if not dry:
                path.write_text(changed, "utf-8")
    for file in Project(root).files:
        named = named_in(file.data.decode())
        edits = []
        for node in file.nodes:
            inner = isinstance(file.parents.get(node), ast.JoinedStr | ast.FormattedValue)
            plain = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if inner or not (plain or isinstance(node, ast.JoinedStr)):
                continue
            start, end = file.span(node)
            old = file.data[start:end].decode()
            alone = plain and node.value in {key.partition(".")[2] for key in columns
                                             if key.partition(".")[0] in named}
            if alone or SQL_WORDS.search(old):
                if (new := rewritten(old, named)) != old:
                    edits.append((start, end, new))
            elif plain and "_" in node.value and node.value in {**tables, **follow}:
                new = {**tables, **follow}[node.value]
                edits.append((start, end, old.replace(node.value, new)))
            elif plain and node.value in tables:
                report["literals"].append(f"{file.name}:{node.lineno}: {node.value}")
        if edits:
            report["files"].append(file.name)
            if not dry:
                file.path.write_bytes(file.spliced(edits))
    return report


def _following(texts: Iterable[str], tables: dict[str, str]) -> dict[str, str]:
    """Indexes and constraints that begin with the name of a table that is renamed."""
    names = set()
    for text in texts:
        for old in tables:
            names.update(re.findall(rf"INDEX ({old}_\w+)\s+ON (?:ONLY )?portico\.{old}\b", text))
            for body in re.findall(rf"TABLE (?:ONLY )?portico\.{old}\b[^;]*;", text):
                names.update(re.findall(rf"CONSTRAINT ({old}_\w+)", body))
    return {name: new + name.removeprefix(old)
            for name in sorted(names) for old, new in tables.items() if name.startswith(old + "_")}


# ---------------------------------------------------------------- all of it


def prepared(root: Path, table: Path, only: set[str]) -> Plan:
    project = Project(root)
    rows = read_names(table, project)
    pages = [path for path in project.texts() if path.suffix == ".md"]
    known = index(root, [file.path for file in project.files], pages)
    blocks = [Python(data, label) for label, data in known.blocks.items()]
    return Plan(project, rows, known, only, blocks)


def apply(root: Path, table: Path, only: set[str], *, dry: bool) -> dict:
    begun = time.monotonic()
    plan = prepared(root, table, only)
    writer = Writer(plan)
    project = plan.project
    changed: dict[Path, bytes] = {}
    moved: dict[Path, Path] = {}
    for module, new in plan.modules.items():
        path = project.modules[module].path
        package = path.name == "__init__.py"
        there = project.path_of(new)
        moved[path] = there.with_suffix("") / "__init__.py" if package else there
    if plan.active:
        for file in project.files:
            after = writer.file(file)
            if after != file.data:
                ast.parse(after, file.name)  # before anything is written
                changed[file.path] = after
        for path in project.texts():
            try:
                before = path.read_text("utf-8")
            except UnicodeDecodeError:
                continue
            if (text := writer.page(path)) != before:
                changed[path] = text.encode()
        changed |= {path: text.encode() for path, text in writer.templates()}
    if not dry:
        _write(plan, changed, moved)
    rows = {row.key: {"to": row.new, "places": writer.counts[row.key]} for row in plan.active}
    for row in plan.active:
        if row.kind == "member":
            some = sorted(owner for owner, _ in plan.kin.group(row.at, row.name))
            rows[row.key]["with"] = some
    return {
        "seconds": round(time.monotonic() - begun, 1),
        "seconds of mypy": plan.known.seconds,
        "errors of mypy before": plan.known.errors,
        "places": sum(writer.counts.values()),
        "files": len({*changed, *moved}),
        "renamed": rows,
        "nothing to do": plan.done,
        "refused": plan.refused,
        "strings and paths": sorted(set(writer.strings)),
        "literals": sorted(_literals(plan)),
        "spread, not followed": sorted({f"{each} into {to.rpartition('.')[2]}"
                                        for to, some in plan.spreads.unknown.items()
                                        if any(plan.kin.definer(to, name) == owner
                                               for owner, name in plan.members)
                                        for each in some}),
        **{key: sorted(set(some)) for key, some in plan.notes.items()},
    }


def _literals(plan: Plan) -> Iterator[str]:
    """Strings that are the old name of a member, and that nothing says anything about."""
    olds = {name.encode(): row.new for (_, name), row in plan.members.items()}
    if not olds:
        return
    search = re.compile(rb"[\"'](%b)[\"']" % b"|".join(map(re.escape, olds)))
    for file in plan.project.files:
        seen = {use.start for use in plan.known.uses.get(file.name, ()) if use.kind == "string"}
        seen |= {start for start, _, _ in plan.spreads.keys.get(file.name, ())}
        for found in search.finditer(file.data):
            if found.start(1) not in seen:
                yield f"{plan.at(file.name, found.start())}: {found[1].decode()}"


def _write(plan: Plan, changed: dict[Path, bytes], moved: dict[Path, Path]) -> None:
    project, written = plan.project, []
    for path, data in changed.items():
        path.write_bytes(data)
    whole = sorted({(row.module, row.new) for row in plan.active
                    if row.kind == "module" and row.module in project.packages})
    for module, new in whole:  # what a package has beside Python goes with it
        folder = project.source.joinpath(*module.split("."))
        for each in sorted(folder.rglob("*")):
            if each.is_file() and each.suffix not in {".py", ".pyc"}:
                moved[each] = project.source.joinpath(*new.split(".")) / each.relative_to(folder)
        moves = Path(__file__).parent / "moves.toml"
        moves.write_text(re.sub(rf'(?m)^from = "{module}(?=[."])', f'from = "{new}', moves.read_text()))
    for path, there in moved.items():
        there.parent.mkdir(parents=True, exist_ok=True)
        path.rename(there)
        changed.setdefault(there, b"")
        changed.pop(path, None)
    for folder in sorted({path.parent for path in moved}, key=lambda each: -len(each.parts)):
        while folder != project.source and folder.is_dir():
            left = [each for each in folder.iterdir() if each.name != "__pycache__"]
            if left:
                break
            for each in sorted(folder.rglob("*"), reverse=True):
                each.rmdir() if each.is_dir() else each.unlink()
            folder.rmdir()
            folder = folder.parent
    for row in plan.active:
        if row.kind == "name":
            path = project.modules[row.module].path
            _keep_error_type(moved.get(path, path), row.name, row.new)
    written = [str(path) for path in changed if path.suffix == ".py"]
    for size in range(0, len(written), 400):
        some = written[size:size + 400]
        run = [*ruff(project.root), "check", "--quiet"]
        subprocess.run([*run, "--select", "I", "--fix", *some], cwd=project.root, check=False)
        subprocess.run([*ruff(project.root), "format", "--quiet", *some], cwd=project.root,
                       check=False)
        subprocess.run([*run, "--select", "F821,F811,F823,F401", *some], cwd=project.root,
                       check=False)


def _keep_error_type(path: Path, old: str, new: str) -> None:
    """The `type` of a stored failure stays: an error that is renamed says what it was."""
    text = path.read_text("utf-8")
    found = re.search(rf"(?ms)^class {new}\(.*?(?=^\S|\Z)(?<!\A)", text)
    body = found and text[found.start():found.end()]
    if body and "type_name" not in body and (code := re.search(r'(?m)^    code = ".*"\n', body)):
        there = found.start() + code.end()
        path.write_text(f'{text[:there]}    type_name = "{old}"\n{text[there:]}', "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("--root", type=Path, default=Path())
    parser.add_argument("--only", nargs="*", default=[],
                        help="packages or single rows; without: all")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--sql", action="store_true", help="the names of [sql], and nothing else")
    given = parser.parse_args()
    root, table = given.root.resolve(), given.table.resolve()
    if given.sql:
        report = sql(root, table, dry=given.dry_run)
        print(f"{sum(report['places'].values())} places in {len(report['files'])} files")
    else:
        report = apply(root, table, set(given.only), dry=given.dry_run)
        print(f"{len(report['renamed'])} rows, {report['places']} places in {report['files']} files; "
              f"{len(report['refused'])} refused; {len(report['nothing to do'])} with nothing to do; "
              f"{report['seconds']} s, of which mypy {report['seconds of mypy']}")
        for key, why in report["refused"].items():
            more = f" … and {len(why) - 6} more" if len(why) > 6 else ""
            print(f"refused {key}: {'; '.join(why[:6])}{more}")
    if given.report:
        given.report.resolve().write_text(json.dumps(report, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
