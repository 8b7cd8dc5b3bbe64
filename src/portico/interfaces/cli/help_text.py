"""The text of --help."""

import re
from typing import TYPE_CHECKING, Any, Final

from cyclopts.help import DefaultFormatter, InlineText
from rich.text import Text

from portico.interfaces.cli.commands import OPTIONS

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

_BROKEN: Final = re.compile(r"(?<=\S)\n(?=[^\s*•-])")
"""Inside a paragraph; what is indented, or in a list, stays as it is."""
_OF_ALL: Final = frozenset(name.split()[0] for name in OPTIONS)


def unbroken(text: str) -> str:
    return _BROKEN.sub(" ", text)


class Paragraphs(DefaultFormatter):
    def __call__(self, console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
        for entry in panel.entries:
            _join(entry.description)
        if panel.format == "parameter":
            panel.entries.sort(key=_is_of_all)
        super().__call__(console, options, panel)

    def render_description(
        self,
        console: "Console",
        options: "ConsoleOptions",
        description: Any,  # noqa: ANN401 # as cyclopts has it
    ) -> None:
        _join(description)
        super().render_description(console, options, description)


def _is_of_all(entry: "HelpEntry") -> bool:
    """What every command takes stands after what only this one does."""
    return not _OF_ALL.isdisjoint(entry.positive_names)


def _join(text: object) -> None:
    if isinstance(text, InlineText) and isinstance(text.primary_renderable, Text):
        text.primary_renderable.plain = unbroken(text.primary_renderable.plain)
