"""The console, opened in the browser of whoever sits here."""

import tempfile
import webbrowser
from html import escape
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At

_LEADS: Final = """<!doctype html><meta charset="utf-8"><title>Portico</title>
<meta http-equiv="refresh" content="0; url={link}">
<p><a href="{link}">To the console</a>. This link works once, for two minutes.</p>
"""


def ui(*, print_: Annotated[bool, Parameter(name="--print")] = False, at: At) -> None:
    """Open the console in your browser, logged in with your key.

    Parameters
    ----------
    print_
        Only print the link, for a browser elsewhere. It works once, for two minutes.
    """
    made = Server(at.house).post("/console-links")
    link = made["link"]
    shown = link.partition("#")[0].removesuffix("/login")
    if not print_ and webbrowser.open(_file(link).as_uri()):
        at.data({"opened": shown}, f"The console is open in your browser: {shown}")
        return
    at.say("Open this link in a browser; it works once, for two minutes.")
    at.data(made, link)


def _file(link: str) -> Path:
    """That only its owner may read, and that leads to the link: what a program is started with can
    be read by everybody on this machine, and a browser is a program."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="portico-", suffix=".html", delete=False, encoding="utf-8"
    ) as file:
        file.write(_LEADS.format(link=escape(link)))
    return Path(file.name)
