"""Whether the names that templates read are there: no type checker looks into a template.

A template is walked with the kinds of what it was given, through every branch, whatever was drawn
then, and attributes are looked up in annotations: so a branch is checked that nothing was drawn of.
Of what cannot be told what it is (no annotation, a list that was always empty), `unresolved` has
the places where something of it is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import getattr_static
from types import NoneType
from typing import Any, Final

from jinja2 import Environment, nodes
from jinja2.runtime import LoopContext

from tests.snapshots.template_kinds import (
    NUMBER,
    TEXT,
    UNKNOWN,
    Calls,
    Items,
    Keys,
    Kinds,
    Missing,
    Places,
    each_of,
    of_attribute,
    of_result,
    of_value,
    one_of,
)

Scope = dict[str, Kinds]
TOLD_APART_ELSEWHERE: Final = {"graph/_chosen.html", "graph/page.html"}
"""Where another value says which of two kinds something is: one of them has to have a name."""
GIVEN_TO_PAGES: Final[Mapping[str, set[str]]] = {"figures/_now.html": {"series"}}
"""What is not read where it is not given: `polled` says so."""
_LOOP: Final = frozenset({LoopContext})
_SAME: Final = {"sort", "list", "unique", "select", "reject", "selectattr", "rejectattr", "reverse"}
_ONE_OF: Final = {"first", "last", "min", "max", "random"}
_NUMBERS: Final = {"length", "int", "float", "round", "sum", "abs", "wordcount"}


@dataclass(frozen=True, eq=False)
class Macro:
    template: str
    node: nodes.Macro
    around: Scope


@dataclass
class Reading:
    environment: Environment
    wrong: set[str] = field(default_factory=set)
    """Each with its place."""
    told: set[int] = field(default_factory=set)
    """Attributes of which it could be told whether they are there."""
    walked: set[str] = field(default_factory=set)
    _trees: dict[str, nodes.Template] = field(default_factory=dict)
    _under_way: set[tuple[Macro, tuple[tuple[str, Kinds], ...]]] = field(default_factory=set)
    _at: str = ""

    def tree(self, name: str) -> nodes.Template:
        if name not in self._trees:
            assert self.environment.loader is not None
            source, _, _ = self.environment.loader.get_source(self.environment, name)
            self._trees[name] = self.environment.parse(source)
        return self._trees[name]

    @property
    def every(self) -> list[tuple[str, nodes.Getattr]]:
        names = self.environment.list_templates(extensions=["html"])
        return [(name, each) for name in names for each in self.tree(name).find_all(nodes.Getattr)]

    @property
    def unresolved(self) -> list[str]:
        return [
            f"{name}:{each.lineno}: {each.attr}"
            for name, each in self.every
            if id(each) not in self.told
        ]

    def template(
        self, name: str, scope: Scope, blocks: Mapping[str, tuple[str, nodes.Block]] | None = None
    ) -> None:
        tree, before = self.tree(name), self._at
        self.walked.add(name)
        self._at = name
        own = {each.name: (name, each) for each in tree.find_all(nodes.Block)}
        blocks = {**own, **(blocks or {})}
        if (extended := tree.find(nodes.Extends)) is None:
            self._all(tree.body, scope, blocks)
        else:
            kept = (nodes.FromImport, nodes.Assign, nodes.Macro)
            self._all([each for each in tree.body if isinstance(each, kept)], scope, blocks)
            assert isinstance(extended.template, nodes.Const)
            self.template(extended.template.value, scope, blocks)
        self._at = before

    def _all(self, body: Sequence[nodes.Node], scope: Scope, blocks: Any) -> None:
        for node in body:
            self._one(node, scope, blocks)

    def _one(self, node: nodes.Node, scope: Scope, blocks: Any) -> None:  # noqa: C901, PLR0912 # a case each
        match node:
            case nodes.Output():
                for each in node.nodes:
                    self.kinds(each, scope)
            case nodes.If():
                self._branches(node, scope, blocks)
            case nodes.For():
                self._loop(node, scope, blocks)
            case nodes.Assign():
                self._bind(node.target, self.kinds(node.node, scope), scope)
            case nodes.AssignBlock():
                self._all(node.body, dict(scope), blocks)
                self._bind(node.target, TEXT, scope)
            case nodes.With():
                inside = dict(scope)
                for target, value in zip(node.targets, node.values, strict=True):
                    self._bind(target, self.kinds(value, scope), inside)
                self._all(node.body, inside, blocks)
            case nodes.Include(template=nodes.Const(value=str(name))):
                self.template(name, dict(scope))
            case nodes.Include():
                self.kinds(node.template, scope)  # by a name that is put together: not followed
            case nodes.FromImport():
                self._import(node, scope)
            case nodes.Macro():
                scope[node.name] = frozenset({Macro(self._at, node, scope)})
            case nodes.CallBlock():
                self._all(node.body, dict(scope), blocks)
                self._call(node.call, scope, caller=True)
            case nodes.Block():
                before, (self._at, block) = self._at, blocks[node.name]
                self._all(block.body, dict(scope), blocks)
                self._at = before
            case nodes.Scope() | nodes.ScopedEvalContextModifier() | nodes.FilterBlock():
                self._all(node.body, dict(scope), blocks)
            case _:
                raise NotImplementedError(type(node).__name__)

    def _branches(self, node: nodes.If, scope: Scope, blocks: Any) -> None:
        ends, rest = [], dict(scope)
        for each in (node, *node.elif_):
            self.kinds(each.test, rest)
            if not _never(each.test, rest):
                ends.append(self._narrowed(each.test, rest, so=True))
                self._all(each.body, ends[-1], blocks)
            rest = self._narrowed(each.test, rest, so=False)
        self._all(node.else_, rest, blocks)
        for end in ends:
            for name in end.keys() - scope.keys():
                scope[name] = one_of(each.get(name, UNKNOWN) for each in (*ends, rest))

    def _narrowed(self, test: nodes.Node, scope: Scope, *, so: bool) -> Scope:
        """By what tells kinds apart: `item.kind == "mine"`, `value is string`."""
        match test:
            case nodes.Not():
                return self._narrowed(test.node, scope, so=not so)
            case nodes.And() if so:
                return self._narrowed(test.right, self._narrowed(test.left, scope, so=so), so=so)
            case nodes.Test(node=nodes.Name(name=name), name="string") if name in scope:
                kept = (kind for kind in scope[name] if (kind is str) == so)
            case nodes.Compare(
                expr=nodes.Getattr(node=nodes.Name(name=name), attr=attribute),
                ops=[nodes.Operand(op="eq", expr=nodes.Const(value=value))],
            ) if name in scope:
                kept = (it for it in scope[name] if _told_apart(it, attribute, value) in (so, None))
            case _:
                return dict(scope)
        return {**scope, name: frozenset(kept)}

    def _loop(self, node: nodes.For, scope: Scope, blocks: Any) -> None:
        inside = {**scope, "loop": _LOOP}
        self._bind(node.target, each_of(self.kinds(node.iter, scope)), inside)
        if node.test is not None:
            self.kinds(node.test, inside)
        self._all(node.body, inside, blocks)
        self._all(node.else_, dict(scope), blocks)

    def _bind(self, target: nodes.Node, kinds: Kinds, scope: Scope) -> None:
        if isinstance(target, nodes.Name):
            scope[target.name] = kinds
            return
        assert isinstance(target, nodes.Tuple)
        for place, each in enumerate(target.items):
            self._bind(each, one_of(_at(kind, place) for kind in kinds), scope)

    def _import(self, node: nodes.FromImport, scope: Scope) -> None:
        assert isinstance(node.template, nodes.Const)
        name, before = node.template.value, self._at
        made: Scope = dict(scope) if node.with_context else {}
        self.walked.add(name)
        self._at = name
        kept = (nodes.FromImport, nodes.Assign, nodes.Macro)
        self._all([each for each in self.tree(name).body if isinstance(each, kept)], made, {})
        self._at = before
        for each in node.names:
            its, alias = each if isinstance(each, tuple) else (each, each)
            if its not in made:
                self._wrong(node, f"{name} has no {its}")
            scope[alias] = made.get(its, UNKNOWN)

    def kinds(self, node: nodes.Node, scope: Scope) -> Kinds:  # noqa: C901, PLR0911, PLR0912 # a case each
        match node:
            case nodes.TemplateData():
                return TEXT
            case nodes.Const():
                return of_value(node.value)
            case nodes.Name():
                return self._name(node, scope)
            case nodes.Getattr():
                return self._attribute(node, self.kinds(node.node, scope))
            case nodes.Getitem():
                return self._item(node, scope)
            case nodes.Call():
                return self._call(node, scope)
            case nodes.Filter():
                return self._filtered(node, scope)
            case nodes.Test():
                return self._tested(node, scope)
            case nodes.CondExpr():
                return self._either(node, scope)
            case nodes.And() if _never(node.left, scope):
                return UNKNOWN
            case nodes.And() | nodes.Or():
                return one_of([self.kinds(node.left, scope), self.kinds(node.right, scope)])
            case nodes.Tuple():
                return frozenset({Places(tuple(self.kinds(each, scope) for each in node.items))})
            case nodes.List():
                return frozenset({Items(one_of(self.kinds(each, scope) for each in node.items))})
            case nodes.Dict():
                named = ((it.key.as_const(), self.kinds(it.value, scope)) for it in node.items)
                return frozenset({Keys(tuple(named))})
            case nodes.BinExpr():
                return one_of([self.kinds(node.left, scope), self.kinds(node.right, scope)])
            case _:
                for each in node.iter_child_nodes():
                    self.kinds(each, scope)
                return TEXT if isinstance(node, nodes.Concat) else NUMBER

    def _either(self, node: nodes.CondExpr, scope: Scope) -> Kinds:
        self.kinds(node.test, scope)
        found = UNKNOWN
        if not _never(node.test, scope):
            found = self.kinds(node.expr1, self._narrowed(node.test, scope, so=True))
        if node.expr2 is not None:
            other = self.kinds(node.expr2, self._narrowed(node.test, scope, so=False))
            found = one_of([found, other])
        return found

    def _name(self, node: nodes.Name, scope: Scope) -> Kinds:
        if node.name in scope:
            return scope[node.name]
        if node.name in self.environment.globals:
            return of_value(self.environment.globals[node.name])
        if node.name not in GIVEN_TO_PAGES.get(self._at, ()):
            self._wrong(node, f"{node.name} is not given")
        return UNKNOWN

    def _attribute(self, node: nodes.Getattr, kinds: Kinds) -> Kinds:
        known = kinds - {NoneType}
        if known - {Keys()}:
            self.told.add(id(node))
        if self._at in TOLD_APART_ELSEWHERE:
            known = frozenset(kind for kind in known if _has(kind, node.attr)) or known
        return one_of(self._read(node, kind, node.attr) for kind in known)

    def _read(self, node: nodes.Node, kind: Any, name: str) -> Kinds:
        try:
            return of_attribute(kind, name)
        except Missing:
            self._wrong(node, f"{getattr(kind, '__qualname__', kind)} has no {name}")
            return UNKNOWN

    def _item(self, node: nodes.Getitem, scope: Scope) -> Kinds:
        kinds = self.kinds(node.node, scope)
        if isinstance(node.arg, nodes.Slice):
            for each in node.arg.iter_child_nodes():
                self.kinds(each, scope)
            return kinds
        self.kinds(node.arg, scope)
        key = node.arg.value if isinstance(node.arg, nodes.Const) else None
        return one_of(_at(kind, key) for kind in kinds)

    def _call(self, node: nodes.Call, scope: Scope, *, caller: bool = False) -> Kinds:
        given = [self.kinds(each, scope) for each in node.args]
        named = {str(each.key): self.kinds(each.value, scope) for each in node.kwargs}
        found = [UNKNOWN]
        for kind in self.kinds(node.node, scope):
            if isinstance(kind, Macro):
                more = {"caller": frozenset({Calls(TEXT)})} if caller else {}
                self._draw(kind, given, {**named, **more})
                found.append(TEXT)
            elif isinstance(kind, Calls):
                found.append(kind.result)
        return one_of(found)

    def _draw(self, macro: Macro, given: Sequence[Kinds], named: Scope) -> None:
        names = [each.name for each in macro.node.args]
        bound = {**dict(zip(names, given, strict=False)), **named}
        this = (macro, tuple(sorted(bound.items(), key=lambda it: it[0])))
        if this in self._under_way:
            return
        self._under_way.add(this)
        before, self._at = self._at, macro.template
        inside = {**macro.around, **dict.fromkeys(names, UNKNOWN)}
        defaults = macro.node.defaults
        for name, value in zip(names[len(names) - len(defaults) :], defaults, strict=True):
            inside[name] = self.kinds(value, inside)
        self._all(macro.node.body, {**inside, **bound}, {})
        self._at = before

    def _filtered(self, node: nodes.Filter, scope: Scope) -> Kinds:
        assert node.node is not None
        kinds = UNKNOWN if _never(node, scope) else self.kinds(node.node, scope)
        given = [self.kinds(each, scope) for each in node.args]
        named = {str(each.key): each.value for each in node.kwargs}
        for value in named.values():
            self.kinds(value, scope)
        name = named.get("attribute") or (node.args[0] if node.name.endswith("attr") else None)
        if isinstance(name, nodes.Const):
            of_each = [self._read(node, kind, name.value) for kind in each_of(kinds) - {NoneType}]
            if node.name == "map":
                return frozenset({Items(one_of(of_each))})
        if node.name == "default":
            return one_of([kinds, *given[:1]])
        if node.name in _SAME:
            return frozenset({Items(each_of(kinds))})
        if node.name in _ONE_OF:
            return each_of(kinds)
        if node.name in _NUMBERS:
            return NUMBER
        return of_result(self.environment.filters[node.name]) or TEXT

    def _tested(self, node: nodes.Test, scope: Scope) -> Kinds:
        if node.name not in {"defined", "undefined"} or not isinstance(node.node, nodes.Name):
            self.kinds(node.node, scope)
        for each in node.args:
            self.kinds(each, scope)
        return NUMBER

    def _wrong(self, node: nodes.Node, what: str) -> None:
        self.wrong.add(f"{self._at}:{node.lineno}: {what}")


def _never(test: nodes.Node, scope: Scope) -> bool:
    """Whether it asks for what is not there."""
    match test:
        case nodes.And():
            return _never(test.left, scope) or _never(test.right, scope)
        case nodes.Test(node=nodes.Name(name=name), name="defined"):
            return name not in scope
        case nodes.Filter(node=nodes.Name(name=name), name="default"):
            return name not in scope
        case _:
            return False


def _has(kind: Any, name: str) -> bool:
    try:
        of_attribute(kind, name)
    except Missing:
        return False
    return True


def _told_apart(kind: Any, attribute: str, value: str) -> bool | None:
    """Whether all of this class have that value; None if it is not the class that says so."""
    constant = getattr(kind, attribute, None)
    return constant == value if isinstance(constant, str) else None


def _at(kind: Any, place: Any) -> Kinds:
    match kind, place:
        case Places(), int() if place < len(kind.each):
            return kind.each[place]
        case Keys(), str():
            return dict(kind.named).get(place, kind.values)
        case Keys(), _:
            return kind.values
        case type(), _ if hasattr(kind, "__getitem__") and not issubclass(kind, str):
            return of_result(getattr_static(kind, "__getitem__"))
        case _:
            return each_of(frozenset({kind}))
