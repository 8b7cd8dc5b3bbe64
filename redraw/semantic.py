"""What mypy knows of each attribute, keyword and definition: whose it is.

`index(root)` checks the tree once (two to four minutes of one core) and keeps the answer beside
mypy's cache, under a hash of all that was read. Nothing of mypy is needed to read it again.
"""

import ast
import hashlib
import os
import pickle
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

LIBRARY = "?library"
"""Whose a member is that no class of ours defines."""
BY_NAME = {"getattr": 1, "setattr": 1, "hasattr": 1, "delattr": 1, "object": 1}
"""Calls that name a member by a string, and at which place; the object comes first."""
SKIPPED = {
    "node", "info", "original_def", "unanalyzed_type", "unanalyzed_items", "def_var", "names",
    "expanded", "type", "original_first_arg", "deprecated", "alias_deps", "type_annotation",
}


@dataclass(slots=True)
class Use:
    """A name in a file, and whose it may be. No owners: mypy does not say."""

    start: int
    end: int
    name: str
    owners: tuple[str, ...]
    kind: str


@dataclass(slots=True)
class Class:
    name: str
    module: str
    file: str
    line: int
    order: list[str]
    """Itself and its bases, as Python looks through them."""
    members: dict[str, str]
    """Its own: method, property, field or value."""
    is_protocol: bool
    is_wire: bool
    """Its field names are seen outside: a Pydantic model or a TypedDict."""


@dataclass
class Index:
    uses: dict[str, list[Use]] = field(default_factory=lambda: defaultdict(list))
    classes: dict[str, Class] = field(default_factory=dict)
    functions: dict[str, tuple[str, int, list[str]]] = field(default_factory=dict)
    """File, line and parameters, by full name."""
    implementations: list[tuple[str, str]] = field(default_factory=list)
    """A class, and a protocol that mypy has compared it with."""
    misplaced: list[str] = field(default_factory=list)
    blocks: dict[str, bytes] = field(default_factory=dict)
    """Python blocks of pages, by page and number."""
    errors: list[str] = field(default_factory=list)
    seconds: float = 0.0


def blocks_of(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """The Python blocks of a page, without their indent."""
    for found in re.finditer(
        r"(?ms)^([ ]*)(```|~~~)(?:python|py)\b[^\n]*\n(.*?)^\1\2", text
    ):
        yield found, "\n".join(line.removeprefix(found[1]) for line in found[3].split("\n"))


def index(root: Path, python: list[Path], pages: list[Path]) -> Index:
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in [*python, *pages]:
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    kept = root / ".mypy_cache" / f"redraw-{digest.hexdigest()[:16]}.pickle"
    if kept.exists():
        return pickle.loads(kept.read_bytes())
    made = _Reading(root, python, pages).made
    kept.parent.mkdir(exist_ok=True)
    (kept.parent / ".gitignore").write_text("*\n")
    for old in kept.parent.glob("redraw-*.pickle"):
        old.unlink()
    kept.write_bytes(pickle.dumps(made))
    return made


class _Reading:
    def __init__(self, root: Path, python: list[Path], pages: list[Path]) -> None:
        from mypy import build
        from mypy.main import process_options
        from mypy.modulefinder import BuildSource
        from mypy.typestate import type_state

        begun = time.monotonic()
        self.root, self.made = root, Index()
        self.found = set()
        os.chdir(root)
        sources, options = process_options(["--config-file", "pyproject.toml"])
        sources = [each for each in sources if each.path and Path(each.path).is_file()]
        options.export_types = options.preserve_asts = True
        options.incremental = False
        options.cache_dir = os.devnull
        options.num_workers = 0
        options.show_traceback = True
        known = {Path(each.path).resolve() for each in sources}
        texts: dict[str, tuple[str, bytes]] = {}
        for each in sources:
            texts[each.module] = (Path(each.path).resolve().relative_to(root).as_posix(),
                                  Path(each.path).read_bytes())
        copied: list[str] = []
        for number, path in enumerate(python):
            if path.resolve() not in known:
                name = f"beside_{number}_{path.stem.replace('-', '_')}"
                texts[name] = (path.relative_to(root).as_posix(), path.read_bytes())
                copied.append(name)
        for number, path in enumerate(pages):
            for which, (_, plain) in enumerate(blocks_of(path.read_text("utf-8"))):
                try:
                    ast.parse(plain)
                except SyntaxError:
                    continue
                name, label = f"page_{number}_{which}", f"{path.relative_to(root)}#{which}"
                texts[name] = (label, plain.encode())
                copied.append(name)
                self.made.blocks[label] = plain.encode()
        beside = root / ".mypy_cache" / "redraw"
        beside.mkdir(parents=True, exist_ok=True)
        for name in copied:
            (beside / f"{name}.py").write_bytes(texts[name][1])
            sources.append(BuildSource(str(beside / f"{name}.py"), name))
        result = build.build(sources, options)
        self.made.errors = [each for each in result.errors if ": error: " in each]
        self.types = result.types
        ours = {name for name in result.files if name in texts}
        for name in sorted(ours):
            label, data = texts[name]
            _File(self, name, label, data).read(result.files[name])
        self._classes(result.files, ours, texts)
        compared = type_state._attempted_protocols
        self.made.implementations = sorted(
            (one, protocol) for one, some in compared.items() for protocol in some
            if one in self.made.classes and protocol in self.made.classes)
        self.made.uses = dict(self.made.uses)
        self.made.seconds = round(time.monotonic() - begun, 1)

    def _classes(self, files, ours: set[str], texts) -> None:
        from mypy.nodes import Decorator, FuncDef, OverloadedFuncDef, Var

        left = list(self.found)
        while left:
            info = left.pop()
            if info.fullname in self.made.classes:
                continue
            members = {}
            for name, symbol in info.names.items():
                match symbol.node:
                    case Var(is_property=True) | FuncDef(is_property=True):
                        members[name] = "property"
                    case Decorator(var=Var(is_property=True)):
                        members[name] = "property"
                    case OverloadedFuncDef(is_property=True):
                        members[name] = "property"
                    case FuncDef() | Decorator() | OverloadedFuncDef():
                        if symbol.plugin_generated:
                            continue
                        members[name] = "method"
                    case Var():
                        members[name] = "field"
                    case _:
                        members[name] = "value"
            bases = [each.fullname for each in info.mro]
            label = texts[info.module_name][0] if info.module_name in texts else LIBRARY
            self.made.classes[info.fullname] = Class(
                info.fullname, info.module_name, label, info.line, bases, members,
                bool(info.is_protocol),
                "pydantic.main.BaseModel" in bases or info.typeddict_type is not None)
            left += info.mro

class _File:
    def __init__(self, reading: _Reading, module: str, label: str, data: bytes) -> None:
        self.reading, self.module, self.label, self.data = reading, module, label, data
        self.types = reading.types
        self.lines = data.split(b"\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def read(self, tree) -> None:
        from mypy import nodes
        from mypy.patterns import ClassPattern

        seen: set[int] = set()
        stack = [tree]
        while stack:
            node = stack.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            match node:
                case nodes.MemberExpr():
                    self._member(node)
                case nodes.SuperExpr():
                    self._super(node)
                case nodes.CallExpr():
                    self._call(node)
                case nodes.NameExpr():
                    if node.kind == nodes.MDEF and isinstance(node.node, nodes.SymbolNode):
                        owner = self._info_of(node.node)
                        if owner is not None:
                            self._at_start(node, node.name, self._owners(owner, node.name), "name")
                case nodes.ClassDef():
                    self.reading.found.add(node.info)
                case nodes.FuncDef():
                    self._function(node)
                case ClassPattern():
                    self._pattern(node)
                case _:
                    pass
            stack += reversed([*_children(node)])

    # -- whose

    def _info_of(self, node):
        from mypy.nodes import FakeInfo, TypeInfo

        info = getattr(node, "info", None)
        if info is None:
            info = getattr(getattr(node, "func", None), "info", None)
        return info if isinstance(info, TypeInfo) and not isinstance(info, FakeInfo) else None

    def _owners(self, info, name: str) -> tuple[str, ...]:
        self.reading.found.add(info)
        for each in info.mro:
            symbol = each.names.get(name)
            if symbol is not None and not (symbol.plugin_generated and name.startswith("__")):
                return (each.fullname,)
        return (LIBRARY,)

    def _infos(self, of) -> list | None:
        """The classes that a type stands for, or None where it cannot be said."""
        from mypy import types

        of = types.get_proper_type(of)
        match of:
            case types.Instance():
                return [of.type]
            case types.UnionType():
                found = []
                for each in of.items:
                    if isinstance(types.get_proper_type(each), types.NoneType):
                        continue
                    some = self._infos(each)
                    if some is None:
                        return None
                    found += some
                return found
            case types.TypeVarType():
                if of.values:
                    some = [self._infos(each) for each in of.values]
                    return None if None in some else [one for each in some for one in each]
                return self._infos(of.upper_bound)
            case types.TupleType():
                return [of.partial_fallback.type]
            case types.LiteralType() | types.TypedDictType():
                return [of.fallback.type]
            case types.TypeType():
                return self._infos(of.item)
            case types.CallableType() | types.Overloaded():
                if of.is_type_obj():
                    return [of.type_object()]
                return [of.fallback.type]
            case types.NoneType() | types.UninhabitedType() | types.ParamSpecType():
                return []
            case _:
                return None

    def _owners_of(self, expression, name: str) -> tuple[str, ...]:
        from mypy.nodes import MypyFile, RefExpr, TypeInfo

        if isinstance(expression, RefExpr):
            if isinstance(expression.node, MypyFile):
                return (expression.node.fullname,)
            if isinstance(expression.node, TypeInfo):
                return self._owners(expression.node, name)
        of = self.types.get(expression)
        infos = None if of is None else self._infos(of)
        if infos is None:
            return ()
        return tuple(sorted({one for each in infos for one in self._owners(each, name)})) or (
            LIBRARY,)

    # -- where

    def _add(self, start: int, name: str, owners: tuple[str, ...], kind: str) -> None:
        self.reading.made.uses[self.label].append(
            Use(start, start + len(name.encode()), name, owners, kind))

    def _near(self, line: int, column: int, pattern: bytes) -> int | None:
        """Where the pattern's group is; columns are wrong after letters beyond ASCII."""
        text = self.lines[line - 1]
        found = [each.start(1) for each in re.finditer(pattern, text)]
        if not found:
            return None
        best = min(found, key=lambda each: abs(each - column))
        slack = 4 * sum(each > 127 for each in text)
        return self.starts[line - 1] + best if abs(best - column) <= slack else None

    def _lost(self, node, name: str) -> None:
        self.reading.made.misplaced.append(f"{self.label}:{node.line}: {name}")

    def _at_start(self, node, name: str, owners: tuple[str, ...], kind: str) -> None:
        if node.column is None:
            return
        place = self._near(node.line, node.column, rb"(?<!\w)(%b)(?!\w)" % name.encode())
        if place is None:
            self._lost(node, name)
        else:
            self._add(place, name, owners, kind)

    def _member(self, node) -> None:
        if node.end_column is None or node.end_line is None:
            return  # made by mypy of an f-string
        name = node.name.encode()
        place = self._near(node.end_line, node.end_column - len(name), rb"(?<!\w)(%b)(?!\w)" % name)
        if place is None:
            self._lost(node, node.name)
            return
        self._add(place, node.name, self._owners_of(node.expr, node.name), "attribute")

    def _super(self, node) -> None:
        info = node.info
        if info is None or node.end_column is None:
            return
        name = node.name.encode()
        place = self._near(node.end_line, node.end_column - len(name), rb"(?<!\w)(%b)(?!\w)" % name)
        for each in info.mro[1:]:
            if node.name in each.names:
                if place is not None:
                    self._add(place, node.name, (each.fullname,), "attribute")
                return

    def _before(self, node, name: str) -> int | None:
        """Where `name=` stands before a value."""
        if node.column is None:
            return None
        text = self.lines[node.line - 1]
        column = node.column
        slack = 4 * sum(each > 127 for each in text)
        there = re.compile(rb"(?<!\w)(%b)\s*=\s*(?:\(\s*(?:#[^\n]*\n\s*)*)*$" % name.encode())
        end = self.starts[node.line - 1] + column
        for more in range(slack + 1):
            if found := there.search(self.data[max(0, end + more - 400):end + more]):
                return max(0, end + more - 400) + found.start(1)
        return None

    def _call(self, node) -> None:
        from mypy.nodes import RefExpr, StrExpr

        for name, value in zip(node.arg_names, node.args, strict=True):
            if name is None:
                continue
            place = self._before(value, name)
            if place is None:
                if value.column is not None:
                    self._lost(node, f"{name}=")
                continue
            self._add(place, name, self._callee(node.callee, name, node.args), "keyword")
        last = getattr(node.callee, "name", "")
        if last in BY_NAME and len(node.args) > 1 and isinstance(node.args[1], StrExpr):
            named = node.args[1]
            owners = self._owners_of(node.args[0], named.value)
            text = re.escape(named.value).encode()
            place = named.column is not None and self._near(
                named.line, named.column + 1, rb"(?<=[\"'])(%b)(?=[\"'])" % text)
            if place and isinstance(node.callee, RefExpr):
                self._add(place, named.value, owners, "string")

    def _callee(self, callee, name: str, args) -> tuple[str, ...]:
        """Whose keyword it is: a class (its field), or a function, as `full.name()`."""
        from mypy import nodes, types

        if isinstance(callee, nodes.RefExpr):
            match callee.node:
                case nodes.FuncDef(fullname=full) if full in {"dataclasses.replace"} and args:
                    return self._owners_of(args[0], name)
                case nodes.OverloadedFuncDef(fullname=full) if full == "dataclasses.replace":
                    return self._owners_of(args[0], name)
                case nodes.TypeInfo(fullname="functools.partial") if args:
                    return self._callee(args[0], name, args[1:])
                case nodes.FuncDef() | nodes.Decorator() | nodes.OverloadedFuncDef() as called:
                    info = self._info_of(called)
                    if info is None:
                        return (f"{called.fullname}()",)
                    return tuple(f"{each}.{callee.name}()" for each in
                                 self._owners(info, callee.name))
                case nodes.TypeInfo() as info:
                    return self._construct(info, name)
                case _:
                    pass
        of = types.get_proper_type(self.types.get(callee)) if callee in self.types else None
        return self._called(of, callee, name)

    def _called(self, of, callee, name: str) -> tuple[str, ...]:
        from mypy import nodes, types

        match of:
            case types.CallableType() | types.Overloaded() if of.is_type_obj():
                return self._construct(of.type_object(), name)
            case types.TypeType():
                some = self._infos(of.item)
                return tuple({one for each in some or () for one in self._construct(each, name)})
            case types.UnionType():
                some = [self._called(types.get_proper_type(each), callee, name)
                        for each in of.items]
                return () if () in some else tuple({one for each in some for one in each})
            case types.Instance():
                return tuple(f"{each}.__call__()" for each in self._owners(of.type, "__call__"))
            case _:
                pass
        if isinstance(callee, nodes.MemberExpr):
            owners = self._owners_of(callee.expr, callee.name)
            return tuple(each if each == LIBRARY else f"{each}.{callee.name}()"
                         for each in owners)
        made = getattr(of, "definition", None)
        if made is not None:
            info = self._info_of(made)
            whole = f"{info.fullname}.{made.name}" if info is not None else made.fullname
            return (f"{whole}()",)
        return ()

    def _construct(self, info, name: str) -> tuple[str, ...]:
        self.reading.found.add(info)
        for each in info.mro:
            made = each.names.get("__init__")
            if made is not None:
                if made.plugin_generated or each.fullname in {
                    "builtins.object", "pydantic.main.BaseModel"}:
                    break
                return (f"{each.fullname}.__init__()",)
            if "__new__" in each.names and not each.names["__new__"].plugin_generated:
                if each.fullname.startswith("builtins."):
                    break
                return (f"{each.fullname}.__new__()",)
        return self._owners(info, name)

    def _function(self, node) -> None:
        info = self._info_of(node)
        whole = f"{info.fullname}.{node.name}" if info is not None else node.fullname
        symbol = info.names.get(node.name) if info is not None else None
        if symbol is not None and symbol.plugin_generated:
            return  # made of the fields of a dataclass
        if info is not None and node.column is not None:
            start = self.starts[node.line - 1]
            found = re.compile(rb"def\s+(%b)\b" % node.name.encode()).search(self.data, start)
            if found:
                self._add(found.start(1), node.name, (info.fullname,), "definition")
        names = [each.variable.name for each in node.arguments]
        self.reading.made.functions[whole] = (self.label, node.line, names)

    def _pattern(self, node) -> None:
        from mypy.nodes import TypeInfo
        from mypy.types import get_proper_type

        for name, value in zip(node.keyword_keys, node.keyword_values, strict=True):
            of = node.class_ref.node
            if isinstance(of, TypeInfo):
                owners = self._owners(of, name)
            else:
                of = self.types.get(node.class_ref)
                infos = self._infos(get_proper_type(of)) if of is not None else None
                owners = tuple({one for each in infos or () for one in self._owners(each, name)})
            place = self._before(value, name)
            if place is None:
                self._lost(node, f"{name}=")
            else:
                self._add(place, name, owners, "pattern")


_attributes: dict[type, tuple[str, ...]] = {}


def _children(node) -> Iterator:
    kind = type(node)
    names = _attributes.get(kind)
    if names is None:
        names = _attributes[kind] = tuple(
            each for each in getattr(kind, "__mypyc_attrs__", ())
            if each not in SKIPPED and not each.startswith("__"))
    for each in names:
        yield from _flat(getattr(node, each, None))


def _flat(value) -> Iterator:
    from mypy.nodes import Node, TypeInfo

    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _flat(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _flat(each)
    elif isinstance(value, Node) and not isinstance(value, TypeInfo):
        yield value
