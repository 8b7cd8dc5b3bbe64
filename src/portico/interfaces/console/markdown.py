"""Markdown as HTML; the only place that makes markup."""

from functools import cache
from typing import Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markupsafe import Markup

_MOST: Final = 200_000
_SCHEMES: Final = frozenset({"http", "https", "mailto"})


def markdown(text: str) -> Markup:
    """Made by the renderer from a parsed text in which no HTML is known: what looks like a tag is
    written out as the letters that it is."""
    return Markup(_parser().render(text[:_MOST]))  # noqa: S704 # html=False, links checked below


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": True})
    parser.enable("table").enable("strikethrough")
    parser.disable("image")
    setattr(parser, "validateLink", _plain)  # noqa: B010 # the library's documented way
    parser.add_render_rule("link_open", _link)
    parser.core.ruler.push("headings", _lower)
    return parser


def _lower(state: StateCore) -> None:
    """A page has one title, and it is ours: what they write begins two below."""
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1:]) + 2, 6)}"


def _plain(address: str) -> bool:
    try:
        return urlsplit(address.strip()).scheme.lower() in _SCHEMES
    except ValueError:
        return False


def _link(self, tokens, number, options, env):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202 # a renderer's rule
    """Opened apart, and told nothing of where it was clicked."""
    tokens[number].attrSet("rel", "noreferrer noopener nofollow")
    tokens[number].attrSet("target", "_blank")
    return self.renderToken(tokens, number, options, env)
