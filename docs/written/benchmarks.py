"""The page of benchmarks, from what `just bench NAME --json` printed: one file each."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
sys.path.append(str(ROOT))

from cyclopts import App

from benchmarks.command import app
from portico.bench.command import app as shipped

RECORDED: Final = ROOT / "docs" / "benchmarks"
_NOT_FIGURES: Final = frozenset({"benchmark", "corpus", "conditions", "baseline", "recorded"})
_TOLD: Final = frozenset({"cores", "load", "system", "python", "versions", "date"})
_MOST: Final = 40
_LONGEST: Final = 160

_HEAD: Final = """\
# Benchmarks

Every figure that the docs quote comes from a benchmark. Measure them again on your machine: from a clone of the
repository with `just bench NAME` (`benchmarks/requirements.txt` has what some of them need), or with the package alone
with `portico bench NAME`, which has {shipped}.

What follows is written from recorded answers, `docs/benchmarks/NAME.json` in the repository, each as
`just bench NAME --json` printed it. Take proportions, not milliseconds: the machine had **two cores that
others used as well**, and the load while it was measured is told with each. `portico bench search` is another one
than the one below: it searches with what ships, which was learnt from four of the five sets, where `just bench search`
learns anew for each set that it leaves out.

`just benchmarks NAME` measures one anew, replaces its file and writes this page. One that says *quoted* was not
run again for this page: its figures are those of the page that is named, from the day that is told, under names
that stand for rows of that page.

| benchmark | what it measures | recorded |
|---|---|---|
"""


def benchmarks() -> str:
    known = {name: str(app.resolved_commands()[name].help) for name in _names(app)}
    found = {each.stem: json.loads(each.read_text(encoding="utf-8")) for each in _files()}
    strange = sorted(found.keys() - known.keys())
    if strange:
        raise ValueError(f"docs/benchmarks: no such benchmark: {', '.join(strange)}")
    rows = "".join(_row(name, about, found.get(name)) for name, about in known.items())
    sections = "".join(
        _section(name, about, found[name]) for name, about in known.items() if name in found
    )
    alone = [f"`{name}`" for name in _names(shipped)]
    head = _HEAD.format(shipped=f"{', '.join(alone[:-1])} and {alone[-1]}")
    return f"{head}{rows}{sections}"


def _names(commands: App) -> list[str]:
    return [name for name in commands.resolved_commands() if not name.startswith("-")]


def _files() -> list[Path]:
    return sorted(RECORDED.glob("*.json"))


def _row(name: str, about: str, found: Mapping[str, Any] | None) -> str:
    if found is None:
        return f"| `{name}` | {about} | not recorded |\n"
    return f"| [`{name}`](#{name}) | {about} | {_when(found)} |\n"


def _when(found: Mapping[str, Any]) -> str:
    recorded = found.get("recorded", {})
    date = found.get("conditions", {}).get("date", recorded.get("date", "no date"))
    return f"{date}, *quoted*" if "quoted" in recorded else f"{date}"


def _section(name: str, about: str, found: Mapping[str, Any]) -> str:
    conditions = found["conditions"]
    told = [f"**Recorded** {_when(found)}"]
    if quoted := found.get("recorded", {}).get("quoted"):
        told.append(f"from [{quoted}](../{quoted})")
    told += [
        f"{word} {conditions[word]}" for word in ("cores", "load", "python") if word in conditions
    ]
    told += [f"{conditions['system']}"] if "system" in conditions else []
    parts = [f"\n## {name}\n\n{about}\n\n{', '.join(told)}.\n\n**Corpus**: {found['corpus']}.\n"]
    how = {key: each for key, each in conditions.items() if key not in _TOLD}
    if how:
        parts.append("\n" + "".join(f"- {key}: {_shown(each)}\n" for key, each in how.items()))
    figures = {key: each for key, each in found.items() if key not in _NOT_FIGURES}
    parts.append(_table("figure", figures))
    if found["baseline"]:
        parts.append(_table("baseline, in the same run", found["baseline"]))
    return "".join(parts)


def _table(title: str, figures: Mapping[str, Any]) -> str:
    rows = [(name, value) for name, value in _flat(figures) if len(_shown(value)) <= _LONGEST]
    body = "".join(f"| `{name}` | {_shown(value)} |\n" for name, value in rows[:_MOST])
    left = len(list(_flat(figures))) - min(len(rows), _MOST)
    more = f"\n{left} more in the recorded answer.\n" if left else ""
    return f"\n| {title} | |\n|---|---|\n{body}{more}"


def _flat(figures: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    """What is inside by its way there; lists stay in the file."""
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{within}{name}.")
        elif not isinstance(value, list):
            yield f"{within}{name}", value


def _shown(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int | float):
        return f"{value:,}"
    return str(value).replace("|", "\\|")
