"""Move and merge modules by a table, mechanically, and rewrite all that names them.

    python merge.py moves.toml --root . --only guard [--dry-run] [--report report.json]

Text is cut and put together again by positions of the syntax tree, so that comments and layout
stay; names are followed by scope. What cannot be done safely is refused, row by row, with reasons.
"""

import argparse
import ast
import builtins
import json
import re
import subprocess
import sys
import textwrap
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

PYTHON_IN = ("src", "tests", "training", "benchmarks", "docs", "examples", ".ci", "deploy")
HISTORY = ("docs/decisions/", "CHANGELOG.md", "tests/golden/")
"""Pages that say what was so when they were written, and values that stay."""
SKIPPED = {".venv", ".git", "__pycache__", "node_modules", "site", "dist", "redraw"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SAFE_CALLS = {"compile", "timedelta", "frozenset", "getLogger", "get_logger", "TypeVar", "Decimal",
              "NewType", "tuple", "len", "escape", "ConfigDict"}
REGISTRATIONS = {"command", "register_url_convertor"}
"""What may be called at import: it fills a table of the module's own, or of the framework."""
BUILTINS = set(dir(builtins))


# ---------------------------------------------------------------- the table


@dataclass(eq=False)
class Row:
    """One module to be, and the modules that it is made of."""

    domain: str
    target: str
    sources: list[str]
    doc: str | None = None
    names: dict[str, str] = field(default_factory=dict)
    """`module:name` of a source, or of something imported, and what it is called in the target."""


def read_table(path: Path) -> list[Row]:
    """`[[domain]]` has `name`, `from`, `to` (packages) and `modules`: target = sources, or
    target = { doc = "…", from = sources, names = { "source:name" = "new" } }; target and sources
    are relative to the packages, so are those of names, if they are sources."""
    rows = []
    for domain in tomllib.loads(path.read_text("utf-8"))["domain"]:
        for target, value in domain["modules"].items():
            sources = value if isinstance(value, list) else value["from"]
            doc = None if isinstance(value, list) else value.get("doc")
            names = {} if isinstance(value, list) else value.get("names", {})
            whole = {f"{domain['from']}.{old}" if old.partition(":")[0] in sources else old: new
                     for old, new in names.items()}
            rows.append(Row(domain["name"], f"{domain['to']}.{target}",
                            [f"{domain['from']}.{each}" for each in sources], doc, whole))
    made = Counter(each for row in rows for each in row.sources)
    twice = [each for each, times in made.items() if times > 1]
    if twice or len({row.target for row in rows}) < len(rows):
        raise SystemExit(f"The table names a module twice: {twice or 'a target'}")
    return rows


# ---------------------------------------------------------------- one Python file


class Python:
    """The text of a file, its tree, and where in the text each node stands."""

    def __init__(self, data: bytes, name: str, module: str = "", path: Path | None = None) -> None:
        self.data, self.name, self.module, self.path = data, name, module, path
        self.tree = ast.parse(data)
        self.objects: dict[str, str] = {}
        """Modules that are moved, by the names that they are given here."""
        self._starts = [0]
        for line in data.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def span(self, node: ast.AST) -> tuple[int, int]:
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def places(self, node: ast.AST, text: str) -> list[tuple[int, int]]:
        """Where `text` stands that the node is. Before Python 3.12 the positions of what is inside
        of an f-string may be wrong: there it is looked for."""
        start, end = self.span(node)
        if re.sub(rb"\s+", b"", self.data[start:end]) == text.encode():
            return [(start, end)]
        around = node
        while not isinstance(around, ast.JoinedStr):
            around = self.parents.get(around)
            if around is None:
                raise SystemExit(f"{self.name}: {text} is not where it should be")
        while isinstance(above := self.parents.get(self.parents.get(around)), ast.JoinedStr):
            around = above
        start, end = self.span(around)
        found = re.compile(rb"(?<![\w.])%b(?!\w|\s*=[^=])" % re.escape(text).encode())
        spans = [each.span() for each in found.finditer(self.data, start, end)
                 if self._in_braces(start, each.start())]
        if not spans:
            raise SystemExit(f"{self.name}: {text} is not found in its f-string")
        return spans

    def _in_braces(self, start: int, place: int) -> bool:
        before = self.data[start:place].replace(b"{{", b"").replace(b"}}", b"")
        return before.count(b"{") > before.count(b"}")

    def lines(self, first: int, last: int) -> tuple[int, int]:
        return self.at(first, 0), min(self._starts[last], len(self.data))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    @cached_property
    def identifiers(self) -> set[str]:
        found = set()
        for node in self.nodes:
            match node:
                case ast.Name(id=name) | ast.arg(arg=name):
                    found.add(name)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    found.add(name)
                case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
                    found.add(name)
                case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                    found.add(name)
                case ast.alias(name=name, asname=other):
                    found.add(other or name.partition(".")[0])
                case _:
                    pass
        return found

    @cached_property
    def locals(self) -> set[str]:
        """Names that some function or class inside binds for itself."""
        scopes = (*FUNCTIONS, ast.Lambda, ast.ClassDef, *COMPREHENSIONS)
        return {each for node in ast.walk(self.tree) if isinstance(node, scopes)
                for each in bound(node)}

    @cached_property
    def _imports(self) -> list[ast.Import | ast.ImportFrom]:
        return [node for node in self.nodes if isinstance(node, ast.Import | ast.ImportFrom)]

    def imports(self) -> list[ast.Import | ast.ImportFrom]:
        return self._imports

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    def is_typing_only(self, node: ast.AST) -> bool:
        if node.col_offset == 0:
            return False
        while (node := self.parents.get(node)) is not None:
            if is_type_checking(node):
                return True
        return False

    def scope_of(self, node: ast.AST) -> ast.AST:
        if node.col_offset == 0:
            return self.tree
        while (node := self.parents.get(node)) is not None:
            if isinstance(node, (*FUNCTIONS, ast.Module)):
                return node
        return self.tree

    def spliced(self, edits: Iterable[tuple[int, int, str]]) -> bytes:
        out, done = [], 0
        for start, end, text in sorted(set(edits), key=lambda each: (each[0], -each[1])):
            if end <= done:
                continue  # inside of something that is replaced as a whole
            if start < done:
                raise SystemExit(f"{self.name}: two changes overlap at byte {start}")
            out += [self.data[done:start], text.encode()]
            done = end
        return b"".join([*out, self.data[done:]])


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in {
        "TYPE_CHECKING", "typing.TYPE_CHECKING"}


def hidden(file: "Python", node: ast.AST, name: str) -> bool:
    """Whether a function or class around `node` binds the name for itself."""
    within_function = False
    while (node := file.parents.get(node)) is not None:
        is_function = isinstance(node, (*FUNCTIONS, ast.Lambda, *COMPREHENSIONS))
        if is_function or (isinstance(node, ast.ClassDef) and not within_function):
            if name in bound(node):
                return True
        within_function = within_function or is_function
    return False


def bound(scope: ast.AST) -> set[str]:
    """The names that a function, lambda, class or comprehension binds in its own scope."""
    names: set[str] = set()
    free: set[str] = set()
    if isinstance(scope, COMPREHENSIONS):
        return {each.id for made in scope.generators for each in ast.walk(made.target)
                if isinstance(each, ast.Name)}
    if isinstance(scope, (*FUNCTIONS, ast.Lambda)):
        a = scope.args
        names |= {each.arg for each in (*a.posonlyargs, *a.args, *a.kwonlyargs)}
        names |= {each.arg for each in (a.vararg, a.kwarg) if each}
    stack = [scope.body] if isinstance(scope, ast.Lambda) else list(scope.body)
    while stack:
        node = stack.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
                continue
            case ast.Lambda():
                continue
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                names.add(name)
            case ast.Global(names=some) | ast.Nonlocal(names=some):
                free |= set(some)
            case ast.alias(name=name, asname=other):
                names.add(other or name.partition(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                names.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                names.add(name)
            case _:
                pass
        if isinstance(node, COMPREHENSIONS):
            names |= {each.target.id for each in ast.walk(node) if isinstance(each, ast.NamedExpr)}
            continue
        stack += ast.iter_child_nodes(node)
    return names - free


def hiding(file: Python, node: ast.AST, name: str) -> ast.AST | None:
    """The scope around `node`, inside of the module, that binds `name` for itself."""
    direct = True
    while (node := file.parents.get(node)) is not None:
        if isinstance(node, (*FUNCTIONS, ast.Lambda, *COMPREHENSIONS)):
            if name in bound(node):
                return node
            direct = direct and isinstance(node, COMPREHENSIONS)
        elif isinstance(node, ast.ClassDef):
            if direct and name in bound(node):
                return node
            direct = False
    return None


class Uses:
    """Where the given names are used in the meaning that they have in `scope`: (start, end, node,
    name). A name that a function or class in between binds for itself is not meant."""

    def __init__(self, file: Python, names: set[str], scope: ast.AST | None = None) -> None:
        self.file, self.names, self.found = file, names, []
        scope = scope or file.tree
        for child in (scope.body if hasattr(scope, "body") else [scope]):
            self._walk(child, frozenset(), frozenset())

    def _add(self, start: int, end: int, node: ast.AST, name: str) -> None:
        self.found.append((start, end, node, name))

    def _means(self, name: str, hidden: frozenset[str], beside: frozenset[str]) -> bool:
        return name in self.names and name not in hidden and name not in beside

    def _all(self, nodes: Iterable[ast.AST | None], *scopes: frozenset[str]) -> None:
        for node in nodes:
            if node is not None:
                self._walk(node, *scopes)

    def _annotation(self, node: ast.AST | None, *scopes: frozenset[str]) -> None:
        if node is None:
            return
        self._walk(node, *scopes)
        for each in ast.walk(node):
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                self._quoted(each, *scopes)

    def _quoted(self, node: ast.Constant, *scopes: frozenset[str]) -> None:
        start, end = self.file.span(node)
        text = self.file.data[start:end].decode()
        if text[1:-1] != node.value:
            return
        try:
            tree = ast.parse(node.value, mode="eval")
        except SyntaxError:
            return
        for each in ast.walk(tree):
            if isinstance(each, ast.Name) and self._means(each.id, *scopes):
                begin = start + 1 + each.col_offset
                self._add(begin, begin + len(each.id.encode()), node, each.id)

    def _defined(self, node: ast.AST, hidden: frozenset[str], beside: frozenset[str]) -> None:
        if self._means(node.name, hidden, beside):
            start, end = self.file.span(node)
            found = re.compile(rb"(?:def|class)\s+(%b)\b" % node.name.encode()).search(
                self.file.data, start, end)
            self._add(found.start(1), found.end(1), node, node.name)

    def _function(self, node: ast.AST, hidden: frozenset[str], beside: frozenset[str]) -> None:
        a = node.args
        self._all((*a.defaults, *a.kw_defaults), hidden, beside)
        if not isinstance(node, ast.Lambda):
            self._defined(node, hidden, beside)
            self._all(node.decorator_list, hidden, beside)
            for each in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg):
                self._annotation(each and each.annotation, hidden, beside)
            self._annotation(node.returns, hidden, beside)
        inner = hidden | bound(node)
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        self._all(body, inner, frozenset())

    def _walk(self, node: ast.AST, hidden: frozenset[str], beside: frozenset[str]) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                self._function(node, hidden, beside)
            case ast.ClassDef():
                self._defined(node, hidden, beside)
                self._all((*node.decorator_list, *node.bases, *node.keywords), hidden, beside)
                self._all(node.body, hidden, frozenset(bound(node)))
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                first, inner = node.generators[0], hidden | bound(node)
                self._walk(first.iter, hidden, beside)
                self._all((first.target, *first.ifs, *node.generators[1:]), inner, beside)
                parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
                self._all(parts, inner, beside)
            case ast.Name(id=name):
                if self._means(name, hidden, beside):
                    for start, end in self.file.places(node, name):
                        self._add(start, end, node, name)
            case ast.Global(names=some):
                start, end = self.file.span(node)
                for name in self.names & set(some):
                    found = re.compile(rb"\b%b\b" % name.encode()).search(self.file.data, start, end)
                    self._add(*found.span(), node, name)
            case ast.AnnAssign():
                self._walk(node.target, hidden, beside)
                self._annotation(node.annotation, hidden, beside)
                self._all([node.value], hidden, beside)
            case ast.Call(func=ast.Name(id="cast"), args=[ast.Constant() as first, *_]):
                self._quoted(first, hidden, beside)
                self._all(ast.iter_child_nodes(node), hidden, beside)
            case ast.Import() | ast.ImportFrom():
                pass
            case _:
                self._all(ast.iter_child_nodes(node), hidden, beside)


# ---------------------------------------------------------------- the project


class Project:
    def __init__(self, root: Path, package: str = "portico") -> None:
        self.root, self.package, self.source = root, package, root / "src"
        self.files: list[Python] = []
        self.modules: dict[str, Python] = {}
        self.packages: set[str] = set()
        for path in self._python():
            module = self._module(path)
            try:
                file = Python(path.read_bytes(), path.relative_to(root).as_posix(), module, path)
            except (SyntaxError, ValueError):
                continue
            self.files.append(file)
            if module:
                self.modules[module] = file
                if path.name == "__init__.py":
                    self.packages.add(module)

    def _python(self) -> Iterator[Path]:
        for top in PYTHON_IN:
            for path in sorted((self.root / top).rglob("*.py")):
                if not SKIPPED & set(path.relative_to(self.root).parts):
                    yield path

    def _module(self, path: Path) -> str:
        if self.source not in path.parents:
            return ""
        parts = path.relative_to(self.source).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def texts(self) -> Iterator[Path]:
        """What is no Python, and may name a module."""
        for path in sorted(self.root.rglob("*")):
            name = path.relative_to(self.root)
            if SKIPPED & set(name.parts) or str(name).startswith(HISTORY) or not path.is_file():
                continue
            if path.suffix in {".md", ".toml", ".cfg", ".ini", ".yml", ".yaml"} or path.name in {
                "justfile", "Dockerfile", "run", "setup"}:
                yield path

    def path_of(self, module: str) -> Path:
        return self.source.joinpath(*module.split(".")).with_suffix(".py")


@dataclass
class Source:
    """A module that is going to be a part of another."""

    file: Python
    row: Row
    own: dict[str, list[ast.stmt]] = field(default_factory=dict)
    """Its own definitions."""
    taken: dict[str, tuple[str, str | None, bool]] = field(default_factory=dict)
    """What it imports, by the name here: module, name there (None: the module itself), aliased."""
    header: list[ast.stmt] = field(default_factory=list)
    final: dict[str, str] = field(default_factory=dict)
    """What each of its names is called in the target."""
    dropped: set[str] = field(default_factory=set)
    locals: list[tuple[int, int, str]] = field(default_factory=list)
    """Local variables that would hide what another part defines."""

    @property
    def module(self) -> str:
        return self.file.module


def defined(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Assign(targets=targets):
            return [each.id for target in targets for each in ast.walk(target)
                    if isinstance(each, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []


def _folder(module: str) -> str:
    return module.rpartition(".")[0]


def spoken(text: str) -> set[str]:
    """The words of a text, roughly without their endings."""
    plain = {"that", "this", "with", "what", "which", "they", "them", "than", "from", "have",
             "been", "into", "only", "each", "else", "also", "were", "when", "where", "there",
             "their", "whether", "does", "made", "make", "more", "most", "whoever", "whatever"}
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text.replace("_", " "))
    return {re.sub(r"(ing|ed|es|s|e)$", "", each) for each in re.findall(r"[a-z]{4,}", text.lower())
            if each not in plain}


# ---------------------------------------------------------------- the plan


class Plan:
    def __init__(self, project: Project, table: list[Row], only: set[str]) -> None:
        self.project, self.table = project, table
        self.refused: dict[str, list[str]] = {}
        self.notes: dict[str, list[str]] = defaultdict(list)
        self.sources: dict[str, Source] = {}
        targets = {row.target: row for row in table}
        self.done = [row for row in table if not self._pending(row, targets)]
        made = {row.target for row in self.done}
        for row in table:  # what another row has made is not its old namesake
            row.sources = [each for each in row.sources
                           if each in project.modules and (each == row.target or each not in made)]
        chosen = [row for row in table
                  if row not in self.done and (row.domain in only or row.target in only or not only)]
        self.rows = self._allowed(chosen)
        self.by_module = {each: row for row in self.rows for each in row.sources}
        self.notes["module as a value"] = [each for each in self.refusals.values
                                           if each.rpartition(": ")[2] in self.by_module]
        self._read()
        self._names()

    # -- which rows

    def _pending(self, row: Row, targets: dict[str, Row]) -> bool:
        """A source that has the name of a target may be that target, already made."""
        here = self.project.modules
        there = [each for each in row.sources if each in here and each != row.target]
        sure = [each for each in there if each not in targets or
                any(one in here and one != each for one in targets[each].sources
                    if one not in targets)]
        return bool(sure)

    def _allowed(self, rows: list[Row]) -> list[Row]:
        here, kept = self.project.modules, []
        self.refusals = Refusals(self.project)
        for row in rows:
            reasons = [f"{each.rpartition('.')[2]}: {why}" for each in row.sources
                       for why in self.refusals.of(each)
                       if "(__file__)" not in why or _folder(each) != _folder(row.target)]
            if reasons:
                self.refused[row.target] = reasons
            else:
                kept.append(row)
        while True:
            moved = {each for row in kept for each in row.sources}
            bad: dict[str, list[str]] = {}
            for row in kept:
                beneath = [each for each in here if each.startswith(row.target + ".")]
                if row.target in self.project.packages:
                    if self._stays(row.target, set(beneath) - moved):
                        bad[row.target] = ["a package of this name is not emptied by this"]
                elif row.target in here and row.target not in moved:
                    bad[row.target] = ["a module of this name is there and is not moved"]
            from circles import module_circles

            graph = {each: row.target for row in kept for each in row.sources}
            merged = {row.target for row in kept}
            for circle in module_circles(self.project, graph):
                for each in merged & set(circle.members):
                    bad.setdefault(each, []).append(f"circle: {circle.short()}")
            if not bad:
                return kept
            self.refused |= bad
            kept = [row for row in kept if row.target not in bad]

    def _stays(self, package: str, left: set[str]) -> bool:
        folder = self.project.path_of(package).with_suffix("")
        others = [each for each in folder.rglob("*") if each.is_file() and each.suffix
                  not in {".py", ".pyc"}]
        return bool(left - self.project.packages) or bool(others)

    # -- what each source has

    def _read(self) -> None:
        for row in self.rows:
            for module in row.sources:
                source = Source(self.project.modules[module], row)
                self.sources[module] = source
                body = source.file.tree.body
                for index, node in enumerate(body):
                    if isinstance(node, ast.Import | ast.ImportFrom) or is_type_checking(node):
                        source.header.append(node)
                        inner = node.body if isinstance(node, ast.If) else [node]
                        for each in inner:
                            self._imported(source, each)
                    elif index == 0 and isinstance(node, ast.Expr):
                        source.header.append(node)
                    elif defined(node) == ["__all__"]:  # importers are led to the definition
                        source.header.append(node)
                        continue
                    for name in defined(node):
                        source.own.setdefault(name, []).append(node)

    def _imported(self, source: Source, node: ast.Import | ast.ImportFrom) -> None:
        for each in node.names:
            local = each.asname or each.name.partition(".")[0]
            if isinstance(node, ast.Import):
                source.taken[local] = (each.name, None, each.asname is not None)
            elif self.is_module(f"{node.module}.{each.name}"):
                source.taken[local] = (f"{node.module}.{each.name}", None, each.asname is not None)
            else:
                source.taken[local] = (node.module, each.name, each.asname is not None)

    def is_module(self, name: str) -> bool:
        return name in self.project.modules

    # -- what everything is called afterwards

    def _names(self) -> None:
        self.wanted = Counter((node.module, each.name) for file in self.project.files
                              for node in file.imports() if isinstance(node, ast.ImportFrom)
                              for each in node.names)
        self.members = {row.target: self._ordered(row) for row in self.rows}
        for target, members in self.members.items():
            self._own_names(target, members)
        self.imports: dict[str, dict[tuple[str, str | None], str]] = {}
        for target, members in self.members.items():
            self._import_names(target, members)

    def _ordered(self, row: Row) -> list[Source]:
        """As in the table, but what is needed at import comes first."""
        left = [self.sources[each] for each in row.sources]
        needs = {each.module: {m for m, n, _ in each.taken.values() if m in row.sources}
                 - {each.module} for each in left}
        done: list[Source] = []
        while left:
            have = {each.module for each in done}
            free = [each for each in left if needs[each.module] <= have]
            if not free:
                raise SystemExit(f"{row.target}: its parts import each other in a circle")
            done.append(free[0])
            left.remove(free[0])
        return done

    def _own_names(self, target: str, members: list[Source]) -> None:
        claims: dict[str, list[Source]] = defaultdict(list)
        used = {name for each in members for name in each.file.identifiers}
        for each in members:
            for name in each.own:
                new = each.row.names.get(f"{each.module}:{name}")
                if new is None:
                    claims[name].append(each)
                elif new in used:
                    raise SystemExit(f"{target}: {new} is taken")
                else:
                    each.final[name] = new
                    used.add(new)
        same = {name: {id(each) for each in some[1:] if self._alike(some[0], each, name)}
                for name, some in claims.items() if len(some) > 1}
        changed = True
        while changed:  # alike only if what they use is alike too
            changed = False
            for name, alike in same.items():
                first = claims[name][0]
                for each in claims[name][1:]:
                    if id(each) in alike and not self._same_uses(first, each, name, same):
                        alike.discard(id(each))
                        changed = True
        for name, some in claims.items():
            alike = same.get(name, set())
            different = [each for each in some if id(each) not in alike]
            foreign = name in BUILTINS and any(
                name in each.file.identifiers and name not in each.own for each in members)
            keeper = max(different, key=lambda each: (self.wanted[each.module, name],
                                                      -members.index(each)))
            for each in some:
                if id(each) in alike:
                    each.dropped.add(name)
                    self.notes["kept once"].append(f"{target}: {name} of {each.module}")
                    continue
                new = name
                if each is not keeper or foreign:
                    new = self._fresh(name, each, members, used)
                    used.add(new)
                    self.notes["renamed"].append(f"{target}: {name} of {each.module} is {new}")
                each.final[name] = new
            for each in some:
                if id(each) in alike:
                    each.final[name] = some[0].final[name]

    def _alike(self, one: Source, other: Source, name: str) -> bool:
        def dumped(source: Source) -> list[str]:
            return [ast.dump(node) for node in source.own[name]]

        def safe(node: ast.stmt) -> bool:
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                return True
            calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
            shared = (ast.List, ast.Dict, ast.Set, *COMPREHENSIONS)
            held = [each for each in ast.walk(node) if isinstance(each, shared)]
            return not held and all(ast.unparse(each.func).rpartition(".")[2] in SAFE_CALLS
                                    for each in calls)

        return dumped(one) == dumped(other) and all(map(safe, one.own[name]))

    def _same_uses(self, one: Source, other: Source, name: str, same: dict) -> bool:
        for node in one.own[name]:
            for each in ast.walk(node):
                if not isinstance(each, ast.Name) or each.id == name:
                    continue
                if each.id in one.own or each.id in other.own:
                    if not (each.id in one.own and each.id in other.own
                            and id(other) in same.get(each.id, ())):
                        return False
                elif one.taken.get(each.id) != other.taken.get(each.id):
                    return False
        return True

    def _fresh(self, name: str, source: Source, members: list[Source], used: set[str]) -> str:
        """A name that says whose it is, by the words that tell its module from the others."""
        stem = source.module.rpartition(".")[2]
        others = {word for each in [*(m.module for m in members if m is not source),
                                    source.row.target]
                  for word in each.rpartition(".")[2].split("_")}
        words = [each for each in stem.split("_") if each not in others
                 and each.rstrip("s") not in others and each + "s" not in others] or stem.split("_")
        for chosen in (words, stem.split("_"), ["the", *stem.split("_")]):
            private, bare = ("_", name[1:]) if name.startswith("_") else ("", name)
            if bare.isupper():
                new = private + "_".join([*map(str.upper, chosen), bare])
            elif bare[:1].isupper():
                new = private + "".join(map(str.capitalize, chosen)) + bare
            else:
                new = private + "_".join([bare, *chosen])
            if new not in used and new not in BUILTINS:
                return new
        raise SystemExit(f"{source.row.target}: no free name for {name} of {source.module}")

    def resolve(self, module: str, name: str | None) -> tuple[str, str | None]:
        """Where something is afterwards: its module, and its name there."""
        source = self.sources.get(module)
        if source is None:
            return module, name
        if name is None or name in source.own:
            return source.row.target, name and source.final[name]
        if name in source.taken:
            there, what, _ = source.taken[name]
            return self.resolve(there, what)
        return source.row.target, name

    def _import_names(self, target: str, members: list[Source]) -> None:
        taken = {new for each in members for new in each.final.values()}
        bound_to: dict[tuple[str, str | None], str] = {}
        used = {name for each in members for name in each.file.identifiers}
        for source in members:
            for local, (module, name, aliased) in source.taken.items():
                if module == "__future__":
                    continue
                key = self.resolve(module, name)
                plainly = name is None and not aliased and not self._from_package(source, local)
                if plainly:  # `import a.b` binds a
                    key = (local, None)
                if key[0] == target:
                    if name is None:
                        source.final[local] = local  # seen to where the text is cut
                        continue
                    if key[1] != local:
                        for _, _, node, _ in Uses(source.file, {local}).found:
                            self._show(source, node, key[1])
                    source.final[local] = key[1]
                    continue
                wish = local if aliased else key[1] or key[0].rpartition(".")[2]
                if name is None and not aliased and self._is_taken_by_all(members, wish, key):
                    bound_to[key] = source.final[local] = wish
                    taken.add(wish)
                    continue
                if name is None and wish != local and wish in used | taken:
                    wish = local
                now = bound_to.get(key)
                if now and (now == local or now not in source.file.identifiers):
                    source.final[local] = now
                    continue
                if wish in taken or (wish != local and wish in used):
                    part = key[0].rpartition(".")[2]
                    if given := source.row.names.get(f"{key[0]}:{key[1]}"):
                        new = given
                    elif wish.isupper():
                        new = f"{part.upper()}_{wish}"
                    elif wish[:1].isupper():
                        new = part.title().replace("_", "") + wish
                    else:
                        new = f"{wish}_of_{part}"
                    if new in used:
                        new += "_2"
                    self.notes["aliased"].append(f"{target}: {wish} of {key[0]} is {new}")
                    wish = new
                bound_to[key] = source.final[local] = wish
                taken.add(wish)
                used.add(wish)
        self.imports[target] = bound_to

    def _is_taken_by_all(self, members: list[Source], wish: str, key: tuple[str, None]) -> bool:
        """Whether the name means that very module wherever a part of the target says it."""
        saying = [each for each in members if wish in each.file.identifiers]
        return bool(saying) and all(
            wish in each.taken and self.resolve(*each.taken[wish][:2]) == key
            and wish not in each.file.locals for each in saying)

    def _from_package(self, source: Source, local: str) -> bool:
        return any(isinstance(node, ast.ImportFrom) and
                   any((each.asname or each.name) == local for each in node.names)
                   for node in source.file.imports())

    def _show(self, source: Source, node: ast.AST, name: str) -> None:
        """A local that would hide `name`, which `node` now is, gets another name."""
        scope = hiding(source.file, node, name)
        if scope is None:
            return
        new = f"local_{name}"
        plain = isinstance(scope, FUNCTIONS) and name not in {
            each.arg for each in ast.walk(scope.args) if isinstance(each, ast.arg)
        } and not any(isinstance(each, ast.ExceptHandler | ast.MatchAs | ast.MatchStar)
                      and each.name == name for each in ast.walk(scope))
        if not plain or new in source.file.identifiers:
            self._refuse_late(source.row.target,
                              f"{source.module}:{node.lineno}: a local name hides {name}")
        self.notes["local variable renamed"].append(
            f"{source.row.target}: {name} in {scope.name} of {source.module} is {new}")
        source.locals += [(a, b, new) for a, b, _, _ in Uses(source.file, {name}, scope).found]

    def _refuse_late(self, target: str, why: str) -> None:
        raise SystemExit(f"{target}: {why}. Leave out this row, or mend it by hand first.")


# ---------------------------------------------------------------- what is refused


class Refusals:
    """Reasons why a module is not touched."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.found: dict[str, list[str]] = defaultdict(list)
        self.values: list[str] = []
        """Where tests hand a module on as a value."""
        for file in project.files:
            self._others(file)
        scripts = tomllib.loads((project.root / "pyproject.toml").read_text()).get("project", {})
        for value in scripts.get("scripts", {}).values():
            self.found[value.partition(":")[0]].append("an entry point names it")

    def of(self, module: str) -> list[str]:
        return [*dict.fromkeys([*self.found.get(module, ()), *self._itself(module)])]

    def _itself(self, module: str) -> Iterator[str]:
        file = self.project.modules[module]
        if module in self.project.packages:
            yield "it is a package"
        for index, node in enumerate(file.tree.body):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    continue
                case ast.AnnAssign(target=ast.Name()) | ast.Assert():
                    continue
                case ast.Assign(targets=targets) if all(
                    isinstance(each, ast.Name | ast.Tuple) for each in targets
                ):
                    if "__getattr__" in defined(node):
                        yield "it has a __getattr__"
                case ast.Expr(value=ast.Constant(value=str())):
                    continue
                case ast.Expr(value=ast.Call(func=function)) if (
                    ast.unparse(function).rpartition(".")[2] in REGISTRATIONS
                ):
                    continue
                case ast.For() if all(
                    ast.unparse(each.func).rpartition(".")[2] in {*REGISTRATIONS, "enumerate"}
                    for each in ast.walk(node) if isinstance(each, ast.Call)
                ):
                    continue
                case ast.ImportFrom(names=[ast.alias(name="*")]):
                    yield "it has a star import"
                case ast.ImportFrom(level=level) if level:
                    yield "it has a relative import"
                case ast.ImportFrom(module="__future__"):
                    yield "it has an import from __future__, which would count for all"
                case ast.Import() | ast.ImportFrom():
                    continue
                case ast.If() if is_type_checking(node) and not node.orelse and all(
                    isinstance(each, ast.Import | ast.ImportFrom) for each in node.body
                ):
                    continue
                case ast.If(test=test) if "__main__" in ast.unparse(test):
                    yield "it is run as a program (__main__)"
                case _:
                    yield f"it does something at import (line {node.lineno})"
        names = file.identifiers
        if "__file__" in names:
            yield "it looks for files beside itself (__file__)"
        if "__getattr__" in {each for node in file.tree.body for each in defined(node)}:
            yield "it has a __getattr__"

    def _others(self, file: Python) -> None:
        """Who names a module in a way that no import says."""
        modules = self.project.modules
        if b"portico" not in file.data:
            return
        objects = {}
        for node in file.imports():
            if isinstance(node, ast.ImportFrom) and node.module:
                for each in node.names:
                    if each.name == "*" and node.module in modules:
                        self.found[node.module].append(f"{file.name} has a star import of it")
                    if (whole := f"{node.module}.{each.name}") in modules:
                        objects[each.asname or each.name] = whole
        self._handed_on(file)
        for node in file.nodes:
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr="__file__" | "__dict__" | "__spec__"):
                    if name in objects:
                        self.found[objects[name]].append(f"{file.name} reads its {node.attr}")
                case ast.Call(func=function, args=[first, *_]):
                    called = ast.unparse(function).rpartition(".")[2]
                    if called == "getsource" and file.name.startswith("tests/"):
                        continue  # the merged module says what its parts said
                    if called in {"import_module", "find_spec", "run_module", "files", "reload",
                                  "__import__", "getsource", "vars"}:
                        self._named(first, objects, f"{file.name} loads it by name ({called})")
                case ast.List(elts=parts) | ast.Tuple(elts=parts):
                    for flag, what in zip(parts, parts[1:], strict=False):
                        if isinstance(flag, ast.Constant) and flag.value == "-m":
                            self._named(what, objects, f"{file.name} starts it with -m")
                case _:
                    pass

    def _handed_on(self, file: Python) -> None:
        """A module that is a value: two of them would be one and the same afterwards."""
        for node in file.imports():
            if not isinstance(node, ast.ImportFrom):
                continue
            taken = {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names
                     if f"{node.module}.{each.name}" in self.project.modules}
            for _, _, use, name in Uses(file, set(taken), file.scope_of(node)).found if taken else ():
                match file.parents.get(use):
                    case ast.Attribute():
                        pass
                    case ast.Call(args=[first, ast.Constant(value=str()), *_]) if first is use:
                        pass  # as in setattr(module, "name", …)
                    case _ if file.name.startswith("tests/"):
                        self.values.append(f"{file.name}:{use.lineno}: {taken[name]}")
                    case _:
                        self.found[taken[name]].append(
                            f"{file.name}:{use.lineno} hands it on as a value")

    def _named(self, node: ast.AST, objects: dict[str, str], why: str) -> None:
        match node:
            case ast.Constant(value=str(name)) if name in self.project.modules:
                self.found[name].append(why)
            case ast.Name(id=name) if name in objects:
                self.found[objects[name]].append(why)
            case ast.JoinedStr(values=[ast.Constant(value=str(start)), *_]):
                for each in self.project.modules:
                    if start.startswith("portico.") and each.startswith(start):
                        self.found[each].append(f"{why}, put together")
            case _:
                pass


# ---------------------------------------------------------------- rewriting


class Writer:
    """The new texts."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.project = plan, plan.project
        self.moved = {module: source.row.target for module, source in plan.sources.items()}
        self.strings: list[str] = []
        package = re.escape(self.project.package)
        self._dotted = re.compile(rf"(?<![\w./~-]){package}((?:\.[A-Za-z_]\w*)+)")
        self._paths = re.compile(r"(?<![\w/.-])((?:src/)?(?:portico/)?)((?:[a-z_0-9]+/)+[a-z_0-9]+)\.py\b")

    # -- files that import

    def importer(self, file: Python) -> bytes:
        if not any(each.encode() in file.data for each in (self.project.package,)):
            return file.data
        edits: list[tuple[int, int, str]] = []
        spans = []
        for node in file.imports():
            spans.append(file.span(node))
            edits += self._import(file, node, None)
        edits += self._named(file, spans)
        return file.spliced(edits)

    def _import(self, file: Python, node: ast.Import | ast.ImportFrom,
                inside: Source | None) -> list[tuple[int, int, str]]:
        """Edits for one import statement, and for what it binds where that changes."""
        edits: list[tuple[int, int, str]] = []
        if isinstance(node, ast.Import):
            if not any(each.name in self.moved for each in node.names):
                return []
            names = [f"{self.moved.get(each.name, each.name)}"
                     + (f" as {each.asname}" if each.asname else "") for each in node.names]
            return [(*file.span(node), "import " + ", ".join(dict.fromkeys(names)))]
        groups: dict[str, list[str]] = {}
        changed = False
        scope = file.scope_of(node)
        for each in node.names:
            whole, local = f"{node.module}.{each.name}", each.asname or each.name
            if whole in self.moved:
                changed = True
                edits += self._module_object(file, scope, whole, local, each.asname, groups, inside)
            elif node.module in self.moved:
                changed = True
                there, new = self.plan.resolve(node.module, each.name)
                if new is None:  # it was a module that was taken from here
                    parent, _, last = there.rpartition(".")
                    groups.setdefault(parent, []).append(_as(last, local))
                elif inside is not None and there == inside.row.target:
                    if new != local:
                        edits += [(s, e, new) for s, e, _, _ in Uses(file, {local}, scope).found]
                elif each.asname or new == each.name:
                    groups.setdefault(there, []).append(_as(new, local))
                elif isinstance(scope, ast.Module) and new not in file.identifiers:
                    groups.setdefault(there, []).append(new)
                    edits += [(s, e, new) for s, e, _, _ in Uses(file, {local}).found]
                else:
                    groups.setdefault(there, []).append(f"{new} as {local}")
            else:
                groups.setdefault(node.module, []).append(_as(each.name, local))
        if not changed:
            return []
        indent = "\n" + " " * node.col_offset
        text = indent.join(f"from {module} import {', '.join(dict.fromkeys(names))}"
                           for module, names in groups.items())
        start, end = file.span(node)
        if not text:
            parent = file.parents[node]
            alone = any(getattr(parent, part, None) == [node]
                        for part in ("body", "orelse", "finalbody"))
            if alone:
                text = "pass"
            else:
                start, end = file.lines(node.lineno, node.end_lineno)
        return [*edits, (start, end, text)]

    def _module_object(self, file: Python, scope: ast.AST, module: str, local: str,
                       alias: str | None, groups: dict[str, list[str]],
                       inside: Source | None) -> list[tuple[int, int, str]]:
        target = self.moved[module]
        source = self.plan.sources[module]
        parent, _, last = target.rpartition(".")
        uses = Uses(file, {local}, scope).found
        edits = []
        here = inside is not None and inside.row.target == target
        if here:
            new = ""
        elif alias or (last in file.identifiers and not self._same_module(file, last, target)):
            new = local
        else:
            new = last if file.objects.setdefault(last, target) == target else local
        if not here:
            groups.setdefault(parent, []).append(_as(last, new))
        for start, end, node, _ in uses:
            above = file.parents.get(node)
            if isinstance(above, ast.Attribute) and above.value is node:
                attr = source.final.get(above.attr, above.attr)
                if here:
                    self.plan._show(inside, node, attr)
                if here and above.attr in source.taken:
                    raise SystemExit(f"{file.module}: {local}.{attr} is an import of {module}")
                for first, stop in file.places(above, f"{local}.{above.attr}"):
                    edits.append((first, stop, attr if here else f"{new}.{attr}"))
                continue
            if here:
                raise SystemExit(f"{file.module} hands {module} on as an object")
            edits.append((start, end, new))
            match above:
                case ast.Call(args=[first, ast.Constant(value=str(name)) as second, *_]) if (
                    first is node and name in source.final and source.final[name] != name
                ):
                    edits.append((*file.span(second), f'"{source.final[name]}"'))
                case _:
                    pass
        return edits

    def _same_module(self, file: Python, last: str, target: str) -> bool:
        """Whether the name means that very module, and nothing else, in this file."""
        for node in file.imports():
            if isinstance(node, ast.ImportFrom):
                for each in node.names:
                    if (each.asname or each.name) == last:
                        whole = f"{node.module}.{each.name}"
                        return (self.moved.get(whole) == target and each.asname is None
                                and last not in file.locals)
        return False

    # -- strings, comments, pages

    def _named(self, file: Python, imports: list[tuple[int, int]]) -> list[tuple[int, int, str]]:
        text = file.data.decode()
        if len(text) != len(file.data):  # positions are bytes
            text = file.data.decode("latin-1")
        edits = []
        for start, end, new in self._mentions(text):
            if any(a <= start < b for a, b in imports) or text[:start].endswith('getLogger("'):
                continue  # loggers keep their names
            line = text.count("\n", 0, start) + 1
            self.strings.append(f"{file.name}:{line}: {text[start:end]} -> {new}")
            edits.append((start, end, new))
        return edits

    def _mentions(self, text: str) -> Iterator[tuple[int, int, str]]:
        for found in self._dotted.finditer(text):
            parts = found[0].split(".")
            for size in range(len(parts), 1, -1):
                module = ".".join(parts[:size])
                if module in self.moved:
                    rest = parts[size:]
                    if rest == ["py"]:
                        break
                    if rest:
                        final = self.plan.sources[module].final
                        rest[0] = final.get(rest[0], rest[0])
                    new, end = ".".join([self.moved[module], *rest]), found.end()
                    inside = re.compile(r":([A-Za-z_]\w*)").match(text, end)
                    if inside and not rest:  # as in `package.module:name`
                        final = self.plan.sources[module].final
                        new += f":{final.get(inside[1], inside[1])}"
                        end = inside.end()
                    if new != text[found.start():end]:
                        yield found.start(), end, new
                    break
        for found in self._paths.finditer(text):
            name = found[2].removesuffix("/__init__")
            module = f"{self.project.package}.{name.replace('/', '.')}"
            if module in self.moved:
                new = self.moved[module].partition(".")[2].replace(".", "/")
                if new != name:
                    yield found.start(), found.end(), f"{found[1]}{new}.py"

    def page(self, path: Path) -> str:
        """A page or a file of settings: Python in blocks, names and paths anywhere."""
        text = path.read_text("utf-8")
        name = path.relative_to(self.project.root).as_posix()
        if path.suffix == ".md":
            text = re.sub(r"(?ms)^([ ]*)(```|~~~)(?:python|py)\b[^\n]*\n(.*?)^\1\2",
                          lambda found: self._block(found, name), text)
        out, done = [], 0
        for start, end, new in sorted(self._mentions(text)):
            if start < done:
                continue
            self.strings.append(f"{name}:{text.count(chr(10), 0, start) + 1}: "
                                f"{text[start:end]} -> {new}")
            out += [text[done:start], new]
            done = end
        text = "".join([*out, text[done:]])
        if name.startswith("src/") and path.suffix == ".md":
            text = self._beside(path, text)
        if name == "pyproject.toml":
            text = re.sub(r'("portico[\w.*]+"), (?=(?:[^\]]*, )?\1)', "", text)
        return text

    def _beside(self, path: Path, text: str) -> str:
        """`declassify.py` on a page in its own package."""
        package = ".".join(path.parent.relative_to(self.project.source).parts)

        def new(found: re.Match[str]) -> str:
            module = f"{package}.{found[1]}"
            if module not in self.moved:
                return found[0]
            target = self.moved[module]
            short = target.removeprefix(package + ".").replace(".", "/")
            return f"`{short}.py`"

        return re.sub(r"`([a-z_]+)\.py`", new, text)

    def _block(self, found: re.Match[str], name: str) -> str:
        body, indent = found[3], found[1]
        plain = "\n".join(line.removeprefix(indent) for line in body.split("\n"))
        try:
            file = Python(plain.encode(), name)
        except SyntaxError:
            return found[0]
        new = self.importer(file).decode()
        if new == plain:
            return found[0]
        new = tidy_block(new, self.project.root)
        new = "\n".join((indent + line if line else line) for line in new.split("\n"))
        return found[0].replace(body, new)

    # -- the merged modules

    def merged(self, target: str) -> str:
        members = self.plan.members[target]
        row = members[0].row
        if len(members) == 1 and row.doc is None:  # it is only moved
            return self.importer(members[0].file).decode()
        stem = target.rpartition(".")[2]
        first = next((each for each in members if each.module.rpartition(".")[2] == stem),
                     self.plan.sources[row.sources[0]])
        doc = row.doc or (ast.get_docstring(first.file.tree) or stem).split("\n\n")[0]
        doc = " ".join(doc.split())
        if len(doc) > 94:
            doc = textwrap.fill(doc, 92) + "\n"
        typing_only, lines = self._imports(target, members)
        parts = [f'"""{doc}"""', "\n".join(lines)]
        if typing_only:
            parts.append("if TYPE_CHECKING:\n" + "\n".join("    " + each for each in typing_only))
        kept_whole = row.doc is None and first
        for source in members:
            parts.append(self._section(source, doc, source is kept_whole))
        return "\n\n".join(each for each in parts if each.strip()) + "\n"

    def _imports(self, target: str, members: list[Source]) -> tuple[list[str], list[str]]:
        runtime: dict[str, str] = {}
        typing_only: dict[str, str] = {}
        for source in members:
            for node in source.header:
                inner = node.body if isinstance(node, ast.If) else [node]
                into = typing_only if isinstance(node, ast.If) else runtime
                for each in inner:
                    if isinstance(each, ast.Import | ast.ImportFrom):
                        for line, comment in self._lines(target, source, each):
                            into[line] = into.get(line) or comment
        typing_only = {k: v for k, v in typing_only.items() if k not in runtime}
        if not typing_only:
            runtime.pop("from typing import TYPE_CHECKING", None)
        return ([k + v for k, v in typing_only.items()], [k + v for k, v in runtime.items()])

    def _lines(self, target: str, source: Source,
               node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
        end = source.file.at(node.end_lineno, node.end_col_offset)
        rest = source.file.data[end:source.file.lines(node.lineno, node.end_lineno)[1]].decode()
        comment = "  " + rest.strip() if "#" in rest else ""
        for each in node.names:
            local = each.asname or each.name.partition(".")[0]
            module, name, _ = source.taken[local]
            there, new = self.plan.resolve(module, name)
            if there == target:
                continue
            final = source.final.get(local, local)
            if isinstance(node, ast.Import) and new is None:
                moved = self.moved.get(each.name, each.name)
                yield f"import {moved}" + (f" as {final}" if each.asname or
                                           final != local else ""), comment
            elif new is None:
                parent, _, last = there.rpartition(".")
                yield f"from {parent} import {_as(last, final)}", comment
            else:
                yield f"from {there} import {_as(new, final)}", comment

    def _section(self, source: Source, said: str, is_first: bool) -> str:
        file = source.file
        edits: list[tuple[int, int, str]] = []
        spans = []
        for node in source.header:
            last = node.end_lineno
            edits.append((*file.lines(node.lineno, last), ""))
            spans.append(file.span(node))
        body = file.tree.body
        for name in source.dropped:
            for node in source.own[name]:
                following = body[body.index(node) + 1:][:1]
                last = node
                if following and isinstance(following[0], ast.Expr) and isinstance(
                    following[0].value, ast.Constant
                ) and not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                    last = following[0]
                top = min([node.lineno, *(each.lineno for each in getattr(
                    node, "decorator_list", ()))])
                edits.append((*file.lines(self._above(file, top), last.end_lineno), ""))
        objects = {local for local, (module, name, _) in source.taken.items()
                   if name is None and module in self.moved}  # seen to by `_objects`
        renames = {old: new for old, new in source.final.items()
                   if old != new and old not in objects}
        for start, end, node, name in Uses(file, set(renames)).found:
            edits.append((start, end, renames[name]))
        edits += self._loops(source)
        for node in file.imports():
            if node in source.header or is_type_checking(file.parents.get(node, node)) and (
                file.parents[node] in source.header
            ):
                if isinstance(node, ast.ImportFrom):
                    edits += self._objects(file, node, source)
                continue
            spans.append(file.span(node))
            edits += self._import(file, node, source)
        edits += source.locals
        edits += self._named(file, spans)
        text = file.spliced(edits).decode().strip("\n")
        for old, new in renames.items():
            if old in source.own:
                text = text.replace(f"`{old}`", f"`{new}`")
        doc = ast.get_docstring(file.tree) or ""
        comment = self._worth(doc, said, text, is_first)
        return f"{comment}\n\n{text}" if comment else text

    def _loops(self, source: Source) -> list[tuple[int, int, str]]:
        """A loop's variable that has the name of something that another part imports."""
        file, edits = source.file, []
        foreign = set(self.plan.imports[source.row.target].values()) - set(source.final.values())
        for node in file.nodes:
            if isinstance(node, ast.For | ast.AsyncFor):
                scope = file.scope_of(node)
                for each in ast.walk(node.target):
                    if isinstance(each, ast.Name) and each.id in foreign - set(source.own):
                        new = f"each_{each.id}"
                        if isinstance(scope, ast.Module) or new in file.identifiers:
                            continue
                        if each.id in {one.arg for one in ast.walk(scope.args)
                                       if isinstance(one, ast.arg)}:
                            continue
                        self.plan.notes["loop variable renamed"].append(
                            f"{source.row.target}: {each.id} in {scope.name} is {new}")
                        edits += [(a, b, new) for a, b, _, _ in Uses(file, {each.id}, scope).found]
        return edits

    def _objects(self, file: Python, node: ast.ImportFrom,
                 source: Source) -> list[tuple[int, int, str]]:
        """Uses of modules that are moved, taken as objects at the top of a source."""
        edits = []
        for each in node.names:
            whole, local = f"{node.module}.{each.name}", each.asname or each.name
            if whole not in self.moved:
                continue
            found = self._module_object(file, file.tree, whole, local, each.asname, {}, source)
            if self.moved[whole] != source.row.target:
                now = source.final[local]
                found = []
                for start, end, name, _ in Uses(file, {local}).found:
                    above = file.parents.get(name)
                    final = self.plan.sources[whole].final
                    if isinstance(above, ast.Attribute) and above.value is name:
                        attr = final.get(above.attr, above.attr)
                        found += [(one, stop, f"{now}.{attr}") for one, stop in
                                  file.places(above, f"{local}.{above.attr}")]
                    else:
                        found.append((start, end, now))
            edits += found
        return edits

    def _above(self, file: Python, line: int) -> int:
        """The first line of the comment that stands right above."""
        rows = file.data.split(b"\n")
        while line > 1 and rows[line - 2].startswith(b"#"):
            line -= 1
        return line

    def _worth(self, doc: str, said: str, text: str, is_first: bool) -> str:
        """An old docstring as a comment, where it says what nothing near it says."""
        paragraphs = doc.split("\n\n")
        if is_first:
            paragraphs = paragraphs[1:]
        near = spoken(said + " " + text)
        words = spoken(" ".join(paragraphs))
        new = words - near
        if len(paragraphs) < 2 and len(new) < 4:
            return ""
        self.plan.notes["old docstring kept as a comment"].append(doc.split("\n")[0])
        lines = []
        for each in paragraphs:
            plain = not re.search(r"(?m)^(?:\s|[-*|>0-9├└])", each)
            lines += [*(textwrap.wrap(each, 98) if plain else each.split("\n")), ""]
        return "\n".join(("# " + line).rstrip() for line in lines[:-1])


def _as(name: str, local: str) -> str:
    return name if name == local else f"{name} as {local}"


def ruff(root: Path) -> list[str]:
    beside = root / ".venv/bin/ruff"
    return [str(beside)] if beside.exists() else ["ruff"]


def tidy_block(text: str, root: Path) -> str:
    done = subprocess.run([*ruff(root), "check", "--quiet", "--select", "I", "--fix", "--isolated",
                           "--line-length", "100", "--stdin-filename", "block.py", "-"],
                          input=text, capture_output=True, text=True, cwd=root, check=False)
    return done.stdout or text


# ---------------------------------------------------------------- all of it


def apply(root: Path, table: Path, only: set[str], *, dry: bool) -> dict:
    begun = time.monotonic()
    project = Project(root)
    plan = Plan(project, read_table(table), only)
    writer = Writer(plan)
    if plan.rows:
        new = {project.path_of(target): writer.merged(target) for target in plan.members}
        gone = [source.file.path for source in plan.sources.values()]
        changed: dict[Path, bytes] = {path: text.encode() for path, text in new.items()}
        for file in project.files:
            if file.module not in plan.sources:
                after = writer.importer(file)
                if after != file.data:
                    changed[file.path] = after
        for path in project.texts():
            try:
                before = path.read_text("utf-8")
            except UnicodeDecodeError:
                continue
            text = writer.page(path)
            if text != before:
                changed[path] = text.encode()
        for path, data in changed.items():
            if path.suffix == ".py":
                ast.parse(data, str(path))  # before anything is written
        if not dry:
            _write(root, project, gone, changed)
    return {
        "seconds": round(time.monotonic() - begun, 1),
        "merged": {target: [each.module for each in some] for target, some in plan.members.items()},
        "nothing to do": [row.target for row in plan.done],
        "refused": plan.refused,
        "strings and paths": sorted(set(writer.strings)),
        **{key: sorted(set(some)) for key, some in plan.notes.items()},
    }


def _write(root: Path, project: Project, gone: list[Path], changed: dict[Path, bytes]) -> None:
    for path in gone:
        path.unlink()
    for path, data in changed.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        for parent in path.parents:
            if parent == project.source or project.source not in parent.parents:
                break
            if not (parent / "__init__.py").exists():
                name = parent.relative_to(project.source).parts[-1]
                (parent / "__init__.py").write_text(f'"""{name.capitalize()}."""\n')
    for folder in sorted({path.parent for path in gone}, key=lambda each: -len(each.parts)):
        while folder != project.source and folder.is_dir():
            left = [each for each in folder.iterdir() if each.name != "__pycache__"]
            if [each.name for each in left] not in (["__init__.py"], []):
                break
            for each in sorted(folder.rglob("*"), reverse=True):
                each.rmdir() if each.is_dir() else each.unlink()
            folder.rmdir()
            folder = folder.parent
    python = [str(path) for path in changed if path.suffix == ".py"]
    for size in range(0, len(python), 400):
        some = python[size:size + 400]
        subprocess.run([*ruff(root), "check", "--quiet", "--select", "I", "--fix", *some], cwd=root,
                       check=False)
        subprocess.run([*ruff(root), "format", "--quiet", *some], cwd=root, check=False)
        subprocess.run([*ruff(root), "check", "--quiet", "--select", "F821,F811,F823,F401", *some],
                       cwd=root, check=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("--root", type=Path, default=Path())
    parser.add_argument("--only", nargs="*", default=[], help="domains or targets; without: all")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--report", type=Path)
    given = parser.parse_args()
    report = apply(given.root.resolve(), given.table, set(given.only), dry=given.dry_run)
    if given.report:
        given.report.write_text(json.dumps(report, indent=1, ensure_ascii=False))
    files = sum(map(len, report["merged"].values()))
    print(f"{files} modules into {len(report['merged'])}; {len(report['refused'])} rows refused; "
          f"{len(report['nothing to do'])} with nothing to do; {report['seconds']} s")
    for target, why in report["refused"].items():
        print(f"refused {target}: {'; '.join(why)}")
    for key, some in report.items():
        if isinstance(some, list) and key != "nothing to do":
            print(f"\n{key}: {len(some)}")
            for each in some:
                print("  ", each)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
