"""`llms.txt`: the pages as the navigation has them, each with its first sentence, for programs
that read. Beside the site: every page as text, and all of them in one file."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).parents[1]
_NAVIGATION: Final = DOCS.parent / "mkdocs.yml"
_LINE: Final = re.compile(r"^( +)- (.+?):(?: (\S+\.md))?$", re.MULTILINE)
_COMMENT: Final = re.compile(r"<!--.*?-->\n*", re.DOTALL)
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_SENTENCE: Final = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)

_HEAD: Final = """\
# Portico

> One door for AI agents: to every tool (an MCP gateway), to every model (an agent runner), to each other (a \
bridge and debates), and to the people who answer for them (approvals, traces, a console). Local first: one \
package, one process, its own PostgreSQL.

Each page is there as text under the address below; `llms-full.txt` has all of them.
"""


@dataclass(frozen=True, slots=True)
class Place:
    """A page, or what stands above some."""

    depth: int
    title: str
    page: str | None


def places() -> Iterator[Place]:
    navigation = _NAVIGATION.read_text(encoding="utf-8").partition("\nnav:\n")[2]
    for indent, title, page in _LINE.findall(navigation):
        yield Place(len(indent), title, page or None)


def llms() -> str:
    parts = [_HEAD]
    for place in places():
        if place.page is None:
            heading = "##" if place.depth == 2 else "###"
            parts.append(f"\n{heading} {place.title}\n\n")
        else:
            lead = "\n## Start\n\n" if place.page == "index.md" else ""
            parts.append(f"{lead}- [{place.title}]({twin(place.page)}): {about(place.page)}\n")
    return "".join(parts)


def twin(page: str) -> str:
    """Where the site has the text of a page: beside its HTML."""
    name = page.removesuffix(".md")
    return "index.md" if name == "index" else f"{name.removesuffix('/index')}/index.md"


def about(page: str) -> str:
    """The first sentence of its first paragraph."""
    text = _COMMENT.sub("", (DOCS / page).read_text(encoding="utf-8"))
    body = next(
        part for part in text.split("\n\n") if not part.lstrip().startswith(("#", "|", "```", "!"))
    )
    words = " ".join(_LINK.sub(r"\1", body).split())
    found = _SENTENCE.match(words)
    return found[1] if found else words


def beside(site: Path) -> None:
    """Write the texts into a site that was built: also of what is not in the navigation."""
    for file in sorted(DOCS.rglob("*.md")):
        target = site / twin(str(file.relative_to(DOCS)))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    whole = "\n\n".join(
        _COMMENT.sub("", (DOCS / place.page).read_text(encoding="utf-8")).strip()
        for place in places()
        if place.page is not None
    )
    (site / "llms-full.txt").write_text(f"{whole}\n", encoding="utf-8")
