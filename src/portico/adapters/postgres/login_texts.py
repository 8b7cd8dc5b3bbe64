"""A login as a text to be sealed, and back."""

import json
from dataclasses import asdict
from datetime import datetime
from typing import Any

from portico.guard.core.oauth_logins import Attempt, AuthorizationServer, Known, LoginPlace, Tokens


def tokens_text(tokens: Tokens) -> bytes:
    ends = None if tokens.expires_at is None else tokens.expires_at.isoformat()
    return json.dumps({**asdict(tokens), "expires_at": ends}).encode()


def tokens_from(text: bytes) -> Tokens:
    found: dict[str, Any] = json.loads(text)
    ends = found["expires_at"]
    found["expires_at"] = None if ends is None else datetime.fromisoformat(ends)
    found["known"] = _known(found["known"])
    return Tokens(**found)


def attempt_text(attempt: Attempt) -> bytes:
    whole = {
        "name": attempt.place.name,
        "url": attempt.place.url,
        "verifier": attempt.verifier,
        "redirect_url": attempt.redirect_url,
        "known": asdict(attempt.known),
        "scope": attempt.scope,
        "expires_at": attempt.expires_at.isoformat(),
    }
    return json.dumps(whole).encode()


def attempt_from(text: bytes, place: LoginPlace) -> Attempt:
    """`place` without its name and address, which are in the text."""
    found = json.loads(text)
    return Attempt(
        place=LoginPlace(
            space=place.space,
            principal=place.principal,
            server=place.server,
            name=found["name"],
            url=found["url"],
        ),
        verifier=found["verifier"],
        redirect_url=found["redirect_url"],
        known=_known(found["known"]),
        scope=found["scope"],
        expires_at=datetime.fromisoformat(found["expires_at"]),
    )


def _known(found: dict[str, Any]) -> Known:
    server: dict[str, Any] = dict(found["server"])
    server.update({name: tuple(server[name]) for name in ("methods", "scopes")})
    whole: dict[str, Any] = {**found, "server": AuthorizationServer(**server)}
    return Known(**whole)
