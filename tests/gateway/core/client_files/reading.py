"""Fixtures: client files as they are found on machines, with every secret called SECRET-…."""

from collections.abc import Mapping
from pathlib import Path

from portico.gateway.core.client_configs import Client, described
from portico.gateway.core.config_documents import ConfigLocation, Described, ServerSpec

HOME = "/home/ana"
_FILES = Path(__file__).parent / "files"


def text_of(file: str) -> str:
    return (_FILES / file).read_text(encoding="utf-8")


def said(client: Client, text: str, path: str, **environment: str) -> Described:
    files = {
        "/srv/shop/.env": "# mine\nexport NOTES_DB='x'\nPORT=1 # one\nnot a line\n",
        "/srv/shop/env.json": "{",
    }
    place = ConfigLocation(path=path, home=HOME, environment=environment, read=files.get)
    return described(client, place, text)


def by_name(told: Described) -> Mapping[str, ServerSpec]:
    return {wish.called: wish for wish in told.wishes}


def left_out(told: Described) -> Mapping[str | None, str]:
    return {each.server: each.reason for each in told.problems if each.left_out}


def notes(told: Described) -> Mapping[str | None, str]:
    return {each.server: each.reason for each in told.problems if not each.left_out}
