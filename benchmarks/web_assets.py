"""What a page loads, by its own links: scripts, sheets, and the fonts that these name."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urljoin

_SHEETS: Final = frozenset({"stylesheet"})
_AHEAD: Final = frozenset({"preload", "modulepreload"})
_URL: Final = re.compile(r"""url\(\s*['"]?([^'")]+)['"]?\s*\)""")
_FONTS: Final = (".woff2", ".woff", ".ttf", ".otf")


@dataclass(slots=True)
class Links(HTMLParser):
    scripts: list[str] = field(default_factory=list)
    sheets: list[str] = field(default_factory=list)
    fonts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        HTMLParser.__init__(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        address = given.get("href" if tag == "link" else "src")
        relations = frozenset((given.get("rel") or "").lower().split())
        if not address:
            return
        if tag == "script" or (
            tag == "link" and relations & _AHEAD and given.get("as") == "script"
        ):
            self._add(self.scripts, address)
        elif tag == "link" and relations & _SHEETS:
            self._add(self.sheets, address)
        elif tag == "link" and relations & _AHEAD and given.get("as") == "font":
            self._add(self.fonts, address)

    def _add(self, among: list[str], address: str) -> None:
        if address not in among:
            among.append(address)


def links_of(html: str) -> Links:
    links = Links()
    links.feed(html)
    links.close()
    return links


def fonts_of(sheet: str, address: str) -> Sequence[str]:
    """Whatever the sheet at this address names as a font, once each."""
    named = (urljoin(address, each.strip()) for each in _URL.findall(sheet))
    return list(dict.fromkeys(each for each in named if each.partition("?")[0].endswith(_FONTS)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """Bytes, decoded."""

    html: int
    scripts: int
    sheets: int
    fonts: int

    @property
    def without_fonts(self) -> int:
        return self.html + self.scripts + self.sheets

    @property
    def all(self) -> int:
        return self.without_fonts + self.fonts


def weight_of(html: bytes, fetched: Callable[[str], bytes]) -> Weight:
    links = links_of(html.decode())
    sheets = {address: fetched(address) for address in links.sheets}
    fonts = dict.fromkeys(links.fonts)
    for address, sheet in sheets.items():
        fonts |= dict.fromkeys(fonts_of(sheet.decode(), address))
    return Weight(
        html=len(html),
        scripts=sum(len(fetched(address)) for address in links.scripts),
        sheets=sum(map(len, sheets.values())),
        fonts=sum(len(fetched(address)) for address in fonts),
    )
