"""No link leads nowhere, and every page can be found."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md")), ROOT / "examples/README.md"]

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def links(page: Path) -> list[str]:
    found = _LINK.findall(_FENCE.sub("", page.read_text()))
    return [link for link in found if "://" not in link and not link.startswith("mailto:")]


def anchors(page: Path) -> set[str]:
    """As the site makes them: lower case, words joined by hyphens, other signs left out."""
    headings = _HEADING.findall(_FENCE.sub("", page.read_text()))
    return {
        re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())
        for heading in headings
    }


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return False
    return not anchor or anchor in anchors(target)


def test_every_link_leads_somewhere() -> None:
    broken = {
        str(page.relative_to(ROOT)): link
        for page in PAGES
        for link in links(page)
        if not leads_somewhere(page, link)
    }

    assert broken == {}


@pytest.mark.requirement("first-hour:docs:no-dead-link")
def test_a_page_of_the_site_links_to_nothing_outside_of_it() -> None:
    outside = [
        (page.name, link)
        for page in DOCS.rglob("*.md")
        for link in links(page)
        if DOCS not in (page.parent / link.partition("#")[0]).resolve().parents
    ]

    assert outside == []


def test_every_decision_is_in_the_index() -> None:
    decisions = {page.name for page in (DOCS / "decisions").glob("[0-9]*.md")}

    assert decisions == set(links(DOCS / "decisions/index.md"))


def test_every_page_but_the_decisions_is_in_the_navigation() -> None:
    pages = {
        str(page.relative_to(DOCS))
        for page in DOCS.rglob("*.md")
        if page.parent.name != "decisions" or page.name == "index.md"
    }

    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]

    assert pages == set(re.findall(r": (\S+\.md)$", navigation, re.MULTILINE))
