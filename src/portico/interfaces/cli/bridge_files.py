"""`portico bridge attach` and `fetch`: files that go with what is said."""

import re
import sys
from pathlib import Path
from typing import Final

from portico.interfaces.cli.bridge_names import find_project
from portico.interfaces.cli.bridge_post import attached
from portico.interfaces.cli.bridge_words import raised_in
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.exporting import check_free
from portico.interfaces.cli.labels import LabelOption
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At, human_size
from portico.kernel.json import JsonObject

_DIGEST: Final = re.compile("[0-9a-f]{64}")


def attach(project: str, file: Path, /, *, label: LabelOption = None, at: At) -> None:
    """Give a project a file, known by what is in it. To say something with it at once: portico
    bridge post --attach

    Parameters
    ----------
    project
        Its name or its id.
    file
        At most 25 megabytes.
    label
        How secret it is; as what you have read here, and as the project, if left away.
    """
    server = Server(at.house)
    its = find_project(server, project)
    made = attached(server, its["id"], file, label, at)
    at.data(made, made["digest"])
    at.say(f"{made['name']}, {human_size(made['size'])}, {made['label']}.")
    if raised := raised_in(its, made, label):
        at.say(raised)


def fetch(digest: str, /, *, output: Path | None = None, replace: bool = False, at: At) -> None:
    """Have a file that somebody attached. It is written, and never opened.

    Parameters
    ----------
    digest
        All 64 letters of it, as `portico bridge read --json` shows them.
    output
        The file to write; standard output if left away, unless that is a terminal.
    replace
        Even if there is such a file.
    """
    if not _DIGEST.fullmatch(digest):
        raise BadUsage(
            f"{digest[:80]!r} is no digest: that has 64 letters, of 0 to 9 and a to f.",
            fix="See those of a conversation: portico bridge read CONVERSATION --json",
        )
    if output is None and (at.for_a_person or at.json):
        raise BadUsage("A file goes into a file.", fix="Say which: --output FILE")
    check_free(output, replace=replace)
    with at.working("fetching"):
        found = Server(at.house).download(path_to("attachments", digest))
    if output is None:
        sys.stdout.buffer.write(found.content)
        return
    output.write_bytes(found.content)
    output.chmod(0o600)
    size = len(found.content)
    facts: JsonObject = {"file": str(output), "name": found.name, "size": size}
    at.data({**facts, "label": found.label}, f"{output} ({human_size(size)}, {found.label})")
