"""A Dockerfile as far as ours goes: its stages, and what each does one after another."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"


@dataclass(frozen=True)
class Step:
    word: str
    rest: str

    @property
    def words(self) -> list[str]:
        """Of the form that needs no shell."""
        found: list[str] = json.loads(self.rest)
        return found


@dataclass
class Stage:
    image: str
    name: str
    steps: list[Step] = field(default_factory=list)

    def last(self, word: str) -> Step:
        return [step for step in self.steps if step.word == word][-1]

    def environment(self, path: str) -> Mapping[str, str]:
        made = {"PATH": path}
        for step in self.steps:
            if step.word == "ENV":
                for each in shlex.split(step.rest):
                    name, _, value = each.partition("=")
                    made[name] = Template(value).substitute(made)
        return made

    @property
    def health(self) -> Sequence[str]:
        found: list[str] = json.loads(self.last("HEALTHCHECK").rest.partition("CMD")[2])
        return found


def stages(text: str) -> Sequence[Stage]:
    found: list[Stage] = []
    for step in _steps(text):
        if step.word == "FROM":
            image, _, name = step.rest.partition(" AS ")
            found.append(Stage(image, name))
        else:
            found[-1].steps.append(step)
    return found


def _steps(text: str) -> Iterator[Step]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        if line.strip():
            word, _, rest = line.partition(" ")
            yield Step(word, rest.strip())
