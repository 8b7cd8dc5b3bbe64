"""Move and merge test modules as `moves.toml` has merged the modules that they are named after.

    python redraw/tests.py redraw/moves.toml --root . --only guard [--dry-run] [--report tests.json]

`tests/<package>/test_<part>.py` becomes a part of `tests/<package>/test_<target>.py`. Text is cut
and named by `merge.py`; here is what only tests have: fixtures, marks, and a limit of size. No test
and no assertion is dropped. A part that cannot be merged safely, or would make the file too long,
stays a file of its own: `test_<target>_<its own words>.py`.
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
from dataclasses import dataclass
from pathlib import Path

from merge import FUNCTIONS, Plan, Project, Python, Refusals, Row, Source, Uses, Writer, defined
from merge import read_table, ruff

LIMIT = 900
"""Lines of a merged file."""
COLLECTED = re.compile(r"test_|Test")
WIDENED = {'pytest.mark.usefixtures("nothing_blocks")', "pytest.mark.anyio"}
"""Marks of a part that may hold for the other parts too: they choose no tests and only watch."""


class Tests(Project):
    """The project, where the modules are those below tests/."""

    def __init__(self, root: Path) -> None:
        self._below = root / "tests"
        self.files_moved: set[tuple[Path, Path]] = set()
        """Folders between which data is moved that tests look for beside themselves."""
        super().__init__(root, "tests")
        self.source = root

    def _module(self, path: Path) -> str:
        if self._below not in path.parents:
            return ""
        return ".".join(path.relative_to(self.root).with_suffix("").parts)

    def texts(self) -> Iterator[Path]:
        yield from super().texts()
        yield from sorted(path for top in ("tests", ".ci") for end in ("txt", "patch", "diff")
                          for path in (self.root / top).rglob(f"*.{end}"))

    def path_of(self, module: str) -> Path:
        return self.root.joinpath(*module.split(".")).with_suffix(".py")


# ---------------------------------------------------------------- which test goes where


def test_of(module: str) -> str:
    """`portico.guard.core.keys` → `tests.guard.core.test_keys`."""
    parent, _, stem = module.removeprefix("portico.").rpartition(".")
    return ".".join(["tests", *filter(None, [parent]), f"test_{stem}"])


def wanted_rows(project: Tests, table: Path, more: dict) -> list[Row]:
    """A row of tests for each row of the table; `more` is for tests that no module names."""
    rows = read_table(table)
    claims: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        for each in dict.fromkeys([row.target, *row.sources]):
            if (test := test_of(each)) in project.modules:
                claims[test].append(row)
    made: dict[str, Row] = {}
    explicit = more.get("rows", {})
    taken = {each for some in explicit.values() for each in some}
    for test, some in claims.items():
        if test in taken:
            continue
        row = some[0] if len(some) == 1 else _nearest(project.modules[test], test, some)
        target = test_of(row.target)
        made.setdefault(target, Row(row.domain, target, [], row.doc)).sources.append(test)
    for target, some in explicit.items():
        here = [each for each in [target, *some] if each in project.modules]
        row = made.setdefault(target, Row(target.split(".")[1], target, []))
        row.sources += [each for each in here if each not in row.sources]
    claimed = {each for row in made.values() for each in row.sources}
    for old, new in more.get("folders", {}).items():
        for each in project.modules:
            if each.startswith(f"{old}.") and each not in claimed:
                target = new + each.removeprefix(old)
                row = made.setdefault(target, Row(target.split(".")[1], target, []))
                row.sources.append(each)
    return [row for row in made.values() if row.sources not in ([], [row.target])]


def _nearest(file: Python, test: str, rows: list[Row]) -> Row:
    """A name that is a part of one row and the target of another: what is imported tells."""
    taken = Counter(node.module for node in file.imports() if isinstance(node, ast.ImportFrom)
                    for _ in node.names)
    return max(rows, key=lambda row: (taken[row.target] + sum(
        taken[each] for each in row.sources if each != row.target),
        test_of(row.target) == test))


# ---------------------------------------------------------------- fixtures


@dataclass
class Fixture:
    name: str
    node: ast.AST
    asks: set[str]
    plain: bool
    """Made for each test anew, asked for by its name, and called as its function."""


def _decorators(node: ast.AST) -> Iterator[tuple[str, ast.Call | None]]:
    for each in node.decorator_list:
        call = each if isinstance(each, ast.Call) else None
        yield ast.unparse(call.func if call else each), call


def arguments(node: ast.AST) -> list[ast.arg]:
    """What pytest gives: no `self`, and nothing that a decorator gives by its name."""
    given = set()
    for name, call in _decorators(node):
        if call is None:
            continue
        given |= {each.arg for each in call.keywords} if name.endswith("given") else set()
        if name.endswith("parametrize") and call.args:
            first = call.args[0]
            for each in getattr(first, "elts", [first]):
                if isinstance(each, ast.Constant):
                    given |= set(re.findall(r"\w+", str(each.value)))
    a = node.args
    plain = [each for each in (*a.posonlyargs, *a.args) if each.arg not in {"self", "cls"}]
    without = len(plain) - len(a.defaults)
    return [each for each in (*plain[:without], *a.kwonlyargs) if each.arg not in given]


def fixtures_of(file: Python) -> dict[str, Fixture]:
    found = {}
    for node in file.tree.body:
        if isinstance(node, FUNCTIONS):
            for name, call in _decorators(node):
                if name in {"pytest.fixture", "fixture"}:
                    options = {each.arg: ast.literal_eval(each.value) for each in call.keywords
                               if each.arg in {"name", "scope", "autouse"}} if call else {}
                    called = options.get("name", node.name)
                    asks = {each.arg for each in arguments(node)}
                    found[called] = Fixture(called, node, asks, not options)
    return found


def collected(file: Python) -> Iterator[ast.AST]:
    """Test functions, those in classes too."""
    for node in file.tree.body:
        for each in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(each, FUNCTIONS) and each.name.startswith("test_"):
                yield each


def asked_by_name(file: Python) -> list[ast.Constant]:
    return [each for node in file.nodes if isinstance(node, ast.Call)
            and ast.unparse(node.func).rpartition(".")[2] in {"usefixtures", "getfixturevalue"}
            for each in node.args if isinstance(each, ast.Constant)]


Identity = tuple[str, str]


class Fixtures:
    """Which fixture a test gets."""

    def __init__(self, project: Tests, rows: list[Row]) -> None:
        moved = {each: row.target for row in rows for each in row.sources}
        every = {module: self._of(module, fixtures_of(file))
                 for module, file in project.modules.items() if module.endswith(".conftest")}
        self.before = {each.rpartition(".")[0]: some for each, some in every.items()}
        self.after = {moved.get(each, each).rpartition(".")[0]: some
                      for each, some in every.items()}

    @staticmethod
    def _of(module: str, some: dict[str, Fixture]) -> dict[str, tuple[Identity, set[str]]]:
        return {name: ((module, name), each.asks) for name, each in some.items()}

    def above(self, module: str, *, after: bool) -> list[dict[str, tuple[Identity, set[str]]]]:
        """The conftest files that count for a module, the nearest first."""
        parts, levels = module.split(".")[:-1], self.after if after else self.before
        return [levels[folder] for size in range(len(parts), 0, -1)
                if (folder := ".".join(parts[:size])) in levels]

    @staticmethod
    def reached(asked: Iterable[str], levels: list[dict[str, tuple[Identity, set[str]]]]
                ) -> set[tuple[Identity, str]]:
        """All that is asked for, and what that asks for. A fixture that asks for its own name gets
        the one further out."""
        todo, seen = [(name, 0) for name in asked], set()
        while todo:
            name, first = todo.pop()
            if (name, first) in seen:
                continue
            seen.add((name, first))
            for place in range(first, len(levels)):
                if name in levels[place]:
                    todo += [(each, place + 1 if each == name else 0)
                             for each in levels[place][name][1]]
                    break
        return {(next((level[name][0] for level in levels[first:] if name in level), ("", name)))
                for name, first in seen}


# ---------------------------------------------------------------- the plan


class TestPlan(Plan):
    """As modules are merged, but for what pytest finds by its name."""

    def __init__(self, project: Tests, rows: list[Row], fixtures: Fixtures) -> None:
        self.fixtures, self.apart, self.reasons = fixtures, set(), defaultdict(list)
        self.marks: dict[str, list[str]] = {}
        self.parts_marks: dict[str, list[str]] = {}
        """Decorators of each test of a part."""
        super().__init__(project, rows, set())

    def _pending(self, row: Row, targets: dict[str, Row]) -> bool:
        return True

    def _allowed(self, rows: list[Row]) -> list[Row]:
        self.refusals = Refusals(self.project)
        for row in rows:
            folder = row.target.rpartition(".")[0]
            for each in row.sources:
                file = self.project.modules[each]
                asked = {arg.arg for node in collected(file) for arg in arguments(node)}
                asked |= {str(one.value) for one in asked_by_name(file)}
                own = Fixtures._of(each, fixtures_of(file))
                kept = each.rpartition(".")[0] == folder or (
                    file.path.parent, self.project.path_of(row.target).parent
                ) in self.project.files_moved
                if "__file__" in file.identifiers and not kept:
                    self.refused[each] = ["it looks for files beside itself (__file__)"]
                elif (self.fixtures.reached(asked, [own, *self.fixtures.above(each, after=False)])
                      != self.fixtures.reached(
                          asked, [own, *self.fixtures.above(row.target, after=True)])):
                    self.refused[each] = ["the conftest of its folder does not count there"]
                elif each != row.target and len(row.sources) == 1 and (
                        row.target in self.project.modules):
                    self.refused[each] = [f"{row.target} is there"]
                if len(row.sources) > 1:
                    why = [one for one in self.refusals.of(each) if "__file__" not in one]
                    why += [f"its fixture {one.name} has a scope, a name or is for all"
                            for one in fixtures_of(file).values() if not one.plain]
                    if why:
                        self._split(each, *why)
        return rows

    def _split(self, module: str, *why: str) -> None:
        self.apart.add(module)
        self.reasons[module] += why

    def _own_names(self, target: str, members: list[Source]) -> None:
        if len(members) > 1:
            self._marks(members)
        super()._own_names(target, members)
        if len(members) > 1 and not self.apart & {each.module for each in members}:
            self._fixture_names(target, members)

    def _marks(self, members: list[Source]) -> None:
        """Alike in all parts: kept once. Else each test gets those of its part."""
        lines = [each.own.pop("pytestmark", []) for each in members]
        marks = [[source.file.data[slice(*source.file.span(each))].decode()
                  for node in some for each in getattr(node.value, "elts", [node.value])]
                 for source, some in zip(members, lines, strict=True)]
        every = [*dict.fromkeys(each for some in marks for each in some)]
        alike = all(set(every) - set(some) <= WIDENED for some in marks)
        if alike and every:
            one = every[0] if len(every) == 1 else f"[{', '.join(every)}]"
            self.marks[members[0].row.target] = [f"pytestmark = {one}"]
        for source, some, own in zip(members, lines, marks, strict=True):
            source.header += some
            names = {each.id for node in some for each in ast.walk(node.value)
                     if isinstance(each, ast.Name)} - {"pytest"}
            if names:
                self._split(source.module, f"its pytestmark uses {', '.join(sorted(names))}")
            if not alike:
                self.parts_marks[source.module] = own

    def _alike(self, one: Source, other: Source, name: str) -> bool:
        if COLLECTED.match(name) or any(isinstance(each, ast.Assert) for node in one.own[name]
                                        for each in ast.walk(node)):
            return False
        own = fixtures_of(one.file)
        if name in own and not own[name].plain:
            return False
        if super()._alike(one, other, name):
            return True
        node = one.own[name][0]
        return (ast.dump(node) == ast.dump(other.own[name][0]) and isinstance(node, ast.Assign)
                and all(ast.unparse(each.func).startswith(("st.", "strategies."))
                        for each in ast.walk(node) if isinstance(each, ast.Call))
                and not isinstance(node.value, ast.List | ast.Dict | ast.Set))

    def _same_uses(self, one: Source, other: Source, name: str, same: dict) -> bool:
        ours, theirs = fixtures_of(one.file), fixtures_of(other.file)
        if name in ours:
            for each in ours[name].asks & {*ours, *theirs} - {name}:
                if not (each in ours and each in theirs and id(other) in same.get(each, ())):
                    return False
        return super()._same_uses(one, other, name, same)

    def _fixture_names(self, target: str, members: list[Source]) -> None:
        """A fixture that another part would now get instead of its own is renamed."""
        used = {name for each in members for name in each.file.identifiers}
        used |= {name for each in members for name in each.final.values()}
        for _ in range(20):
            if not (wrong := self._mistaken(target, members)):
                return
            before = {each.module: dict(each.final) for each in members}
            for name in sorted(wrong):
                for each in members:
                    if name in fixtures_of(each.file) and each.final.get(name) == name:
                        new = next((one.final[name] for one in members if name in each.dropped
                                    and one.final.get(name, name) != name), None)
                        new = new or self._fresh(name, each, members, used)
                        used.add(new)
                        self.notes["renamed"].append(
                            f"{target}: fixture {name} of {each.module} is {new}")
                        each.final[name] = new
            if before == {each.module: dict(each.final) for each in members}:
                break
        for each in members:
            if self._mistaken(target, members, [each]):
                self._split(each.module, "its fixtures stand in for those of a conftest")

    def _mistaken(self, target: str, members: list[Source],
                  some: list[Source] | None = None) -> set[str]:
        keepers = {each.final[name]: (each.module, name) for each in members
                   for name in fixtures_of(each.file) if name not in each.dropped}
        after: dict[str, tuple[Identity, set[str]]] = {}
        for each in members:
            own = fixtures_of(each.file)
            for name, fixture in own.items():
                if name not in each.dropped:
                    asks = {each.final[one] if one in own and one != name else one
                            for one in fixture.asks}
                    if name in fixture.asks:
                        asks.add(name)
                    after[each.final[name]] = ((each.module, name), asks)
        wrong = set()
        for each in some or members:
            own = fixtures_of(each.file)
            asked = {arg.arg for node in collected(each.file) for arg in arguments(node)}
            asked |= {str(one.value) for one in asked_by_name(each.file)}
            before = {name: (keepers[each.final[name]], one.asks) for name, one in own.items()}
            one = self.fixtures.reached(asked, [before, *self.fixtures.above(each.module, after=False)])
            now = {each.final[name] if name in own else name for name in asked}
            other = self.fixtures.reached(now, [after, *self.fixtures.above(target, after=True)])
            wrong |= {name for _, name in one ^ other}
        return wrong


class TestWriter(Writer):
    def __init__(self, plan: TestPlan) -> None:
        super().__init__(plan)
        self._tests = re.compile(r"(?<![\w.-])(tests/)?((?:[a-z_0-9]+/)*[a-z_0-9]+)\.py(?:::(\w+))?")
        self.bare: set[str] = set()

    def merged(self, target: str) -> str:
        members = self.plan.members[target]
        if len(members) == 1:
            return self.importer(members[0].file).decode()
        row = members[0].row
        there = next((each for each in members if each.module == target), None)
        first = there or max(members, key=lambda each: len(each.file.data))
        own = ast.get_docstring(first.file.tree) or row.target
        if there or not row.doc:
            row.doc = " ".join(own.split())
        keeps = row.doc == " ".join(own.split())
        text = super().merged(target)
        body, lines = ast.parse(text).body, text.split("\n")
        for node in body[1:]:
            if not isinstance(node, ast.Import | ast.ImportFrom):
                break
            last = node.end_lineno
        lines[last:last] = ["", *self.plan.marks.get(target, ())]
        start, end = first.file.span(first.file.tree.body[0])
        doc = first.file.data[start:end].decode() if keeps else "\n".join(
            lines[:body[0].end_lineno])
        return "\n".join([doc, *lines[body[0].end_lineno:]])

    def _worth(self, doc: str, said: str, text: str, is_first: bool) -> str:
        if " ".join(doc.split()) == said:
            return ""
        return super()._worth(doc, said, text, is_first)

    def _loops(self, source: Source) -> list[tuple[int, int, str]]:
        """With what only tests have: marks of the whole part, and fixtures that are renamed."""
        file, edits = source.file, super()._loops(source)
        marks = self.plan.parts_marks.get(source.module, ())
        for node in file.tree.body if marks else ():
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and COLLECTED.match(node.name):
                at = file.at(min([node.lineno, *(e.lineno for e in node.decorator_list)]), 0)
                edits.append((at, at, "".join(f"@{each}\n" for each in marks)))
        own = fixtures_of(file)
        renamed = {name: source.final[name] for name in own if source.final[name] != name}
        for each in asked_by_name(file):
            if each.value in renamed:
                edits.append((*file.span(each), f'"{renamed[each.value]}"'))
        for node in [*collected(file), *(each.node for each in own.values())] if renamed else ():
            for arg in arguments(node):
                if arg.arg in renamed and arg.arg != node.name:
                    start, _ = file.span(arg)
                    edits.append((start, start + len(arg.arg.encode()), renamed[arg.arg]))
                    edits += [(a, b, renamed[arg.arg])
                              for a, b, _, _ in Uses(file, {arg.arg}, node).found]
        return edits

    def _mentions(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Paths, from the root or from tests/, and ids of tests."""
        yield from super()._mentions(text)
        for found in self._tests.finditer(text):
            module = "tests." + found[2].replace("/", ".")
            if module in self.moved:
                new = self.moved[module].partition(".")[2].replace(".", "/")
                name = found[3] and self.plan.sources[module].final.get(found[3], found[3])
                new = f"{found[1] or ''}{new}.py" + (f"::{name}" if name else "")
                if new != found[0]:
                    yield found.start(), found.end(), new


# ---------------------------------------------------------------- all of it


def apart(row: Row, module: str) -> str:
    """`tests.guard.core.test_danger` of `…test_policy` is `…test_policy_danger`."""
    stem = row.target.rpartition(".")[2].removeprefix("test_").split("_")
    near = {form for each in stem for form in (each, each.rstrip("s"), each + "s")}
    own = module.rpartition(".")[2].removeprefix("test_").split("_")
    words = [each for each in own if each not in near] or own
    return "_".join([row.target, *words])


def laid_out(text: str, root: Path) -> str:
    for command in (["check", "--quiet", "--select", "I", "--fix"], ["format", "--quiet"]):
        done = subprocess.run([*ruff(root), *command, "--stdin-filename", "tests/it.py", "-"],
                              input=text, capture_output=True, text=True, cwd=root, check=False)
        text = done.stdout or text
    return text


def planned(project: Tests, rows: list[Row], limit: int) -> tuple[TestPlan, TestWriter, dict]:
    """Until nothing has to stay apart any more."""
    fixtures, why = Fixtures(project, rows), {}
    refused: dict[str, list[str]] = {}
    while True:
        for file in project.files:
            file.objects.clear()
        plan = TestPlan(project, [Row(row.domain, row.target, list(row.sources), row.doc)
                                  for row in rows],
                        fixtures)
        writer, texts, out = TestWriter(plan), {}, dict(plan.reasons)
        if not plan.refused and not plan.apart:
            for target, members in plan.members.items():
                texts[target] = writer.merged(target)
                if len(members) > 1 and (texts[target].count("\n") > limit):
                    size = laid_out(texts[target], project.root).count("\n")
                    if size > limit:
                        most = max((each for each in members if each.module != target),
                                   key=lambda each: len(each.file.data))
                        out[most.module] = [f"{size} lines with it"]
        refused |= plan.refused
        if not plan.refused and not out:
            plan.refused = refused
            return plan, writer, {"texts": texts, "apart": why}
        why |= out
        new = []
        for row in rows:
            kept = [each for each in row.sources if each not in out and each not in plan.refused]
            if kept:
                new.append(Row(row.domain, row.target, kept, row.doc))
            for each in row.sources:
                if each in out and each != row.target and each not in plan.refused:
                    new.append(Row(row.domain, apart(row, each), [each]))
                elif each in out and len(row.sources) > 1 and each == row.target:
                    others = [one for one in kept if one != each]
                    new = [one for one in new if one.target != row.target]
                    new += [Row(row.domain, apart(row, one), [one]) for one in others]
        rows = [row for row in new if row.sources != [row.target]]


def apply(root: Path, table: Path, only: set[str], *, limit: int, dry: bool) -> dict:
    begun = time.monotonic()
    project = Tests(root)
    beside = table.with_name("tests.toml")
    more = tomllib.loads(beside.read_text()) if beside.exists() else {}
    files = {root / old: root / new for old, new in more.get("files", {}).items()
             if (root / old).exists() and (not only or new.split("/")[1] in only)}
    project.files_moved = {(old.parent, new.parent) for old, new in files.items()}
    rows = [row for row in wanted_rows(project, table, more)
            if not only or row.domain in only or row.target in only]
    plan, writer, found = planned(project, rows, limit)
    changed = {project.path_of(target): text.encode() for target, text in found["texts"].items()}
    gone = [source.file.path for source in plan.sources.values()]
    for file in project.files:
        if file.module not in plan.sources and (after := writer.importer(file)) != file.data:
            changed[file.path] = after
    bare = re.compile(r"(?<![\w/])(?:%s)\.py\b" % "|".join(sorted(
        {re.escape(each.rpartition(".")[2]) for each in plan.sources}) or ["-"]))
    by_hand = []
    for path in project.texts():
        try:
            before = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        if (text := writer.page(path)) != before:
            changed[path] = text.encode()
        by_hand += [f"{path.relative_to(root)}:{number}: {each[0]}" for number, line in
                    enumerate(text.split("\n"), 1) for each in bare.finditer(line)]
    for path, data in changed.items():
        if path.suffix == ".py":
            ast.parse(data, str(path))
    if not dry:
        for old, new in files.items():
            old.rename(new)
        _write(root, gone, changed)
    return {
        "seconds": round(time.monotonic() - begun, 1),
        "merged": {target: [each.module for each in some] for target, some in plan.members.items()},
        "refused": plan.refused, "apart": found["apart"], "named by hand": by_hand,
        "strings and paths": sorted(set(writer.strings)),
        **{key: sorted(set(some)) for key, some in plan.notes.items()},
    }


def _write(root: Path, gone: list[Path], changed: dict[Path, bytes]) -> None:
    for path in gone:
        path.unlink()
    for path, data in changed.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for folder in {path.parent for path in gone}:
        if folder.is_dir() and not [each for each in folder.iterdir()
                                    if each.name != "__pycache__"]:
            for each in sorted(folder.rglob("*"), reverse=True):
                each.rmdir() if each.is_dir() else each.unlink()
            folder.rmdir()
    python = [str(path) for path in changed if path.suffix == ".py"]
    for command in (["check", "--quiet", "--select", "I", "--fix"], ["format", "--quiet"],
                    ["check", "--quiet"]):
        if python:
            subprocess.run([*ruff(root), *command, *python], cwd=root, check=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("--root", type=Path, default=Path())
    parser.add_argument("--only", nargs="*", default=[], help="domains or targets; without: all")
    parser.add_argument("--limit", type=int, default=LIMIT, help="lines of a merged file")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--report", type=Path)
    given = parser.parse_args()
    report = apply(given.root.resolve(), given.table, set(given.only), limit=given.limit,
                   dry=given.dry_run)
    if given.report:
        given.report.write_text(json.dumps(report, indent=1, ensure_ascii=False))
    files = sum(map(len, report["merged"].values()))
    print(f"{files} test modules into {len(report['merged'])}; {report['seconds']} s")
    for target, some in report["merged"].items():
        print(f"  {target} <- {', '.join(each.removeprefix('tests.') for each in some)}")
    for title in ("refused", "apart"):
        for module, why in report[title].items():
            print(f"{title} {module}: {'; '.join(why)}")
    for key, some in report.items():
        if isinstance(some, list) and some:
            print(f"\n{key}: {len(some)}")
            for each in some:
                print("  ", each)


if __name__ == "__main__":
    main()
