"""Attachments over REST: as they are, under the digest of what is in them."""

import re
from datetime import datetime
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Header, Query, Request
from pydantic import BaseModel, StringConstraints
from starlette.responses import Response

from portico.bridge.core.attachments import LARGEST, MOST_LETTERS, Attachment, Digest
from portico.bridge.core.projects import ProjectId
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.bridge_use_cases import Things
from portico.interfaces.http.bridge_words import upto_of
from portico.interfaces.http.problems import documented
from portico.interfaces.http.words import DigestPath, LabelText, OneLine, ProjectIdPath

ADDED: Final = (re.compile("/api/v1/projects/[^/]+/attachments"), LARGEST)
"""Where a request may be as large as an attachment."""
_BYTES: Final = "application/octet-stream"
_BINARY: Final[dict[str, Any]] = {"schema": {"type": "string", "format": "binary"}}
_SENT: Final[dict[str, Any]] = {"requestBody": {"required": False, "content": {_BYTES: _BINARY}}}
"""Without any, it is an empty file."""
_AS_IT_IS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
}
"""Nothing that somebody has sent is a page of ours."""


class AttachmentOut(BaseModel, title="AttachmentOut"):
    digest: str
    """SHA-256 of the content: what messages name it by."""
    label: str
    name: str
    media_type: str
    size: int
    untrusted: bool
    """Whoever added it had read strangers' words in the same task."""
    by: str
    at: datetime


router = APIRouter(tags=["bridge"])


@router.post(
    "/projects/{project}/attachments",
    name="attach",
    status_code=201,
    responses=documented(404),
    openapi_extra=_SENT,
)
async def attach(  # noqa: PLR0913 # what is said of it beside its content
    things: Things,
    caller: Caller,
    request: Request,
    project: ProjectIdPath,
    *,
    name: Annotated[Annotated[OneLine, StringConstraints(max_length=MOST_LETTERS)], Query()],
    label: Annotated[LabelText | None, Query()] = None,
    content_type: Annotated[str, Header(include_in_schema=False)] = _BYTES,
) -> AttachmentOut:
    """The body is the file itself, at most 25 megabytes, and its `Content-Type` what it is. The
    same content again is the same attachment, within a label."""
    media_type = content_type.partition(";")[0].strip().lower()
    content = await request.body()
    added = await things.attach(
        caller, ProjectId.parse(project), name, media_type, content, upto_of(label)
    )
    return attachment_out(added)


@router.get(
    "/attachments/{digest}",
    name="fetch_attachment",
    response_class=Response,
    responses={
        **documented(404),
        200: {"content": {"*/*": _BINARY}, "description": "The file."},
    },
)
async def fetch_attachment(things: Things, caller: Caller, digest: DigestPath) -> Response:
    """As it was added: of the same content under several labels the most secret that you may
    read."""
    attachment, content = await things.fetch_attachment(caller, Digest.parse(digest))
    headers = {
        **_AS_IT_IS,
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(attachment.name, safe='')}",
        "Portico-Label": str(attachment.label),
        "Portico-Untrusted": "true" if attachment.untrusted else "false",
    }
    return Response(content, headers=headers, media_type=attachment.media_type)


def attachment_out(attachment: Attachment) -> AttachmentOut:
    return AttachmentOut(
        digest=str(attachment.digest),
        label=str(attachment.label),
        name=attachment.name,
        media_type=attachment.media_type,
        size=attachment.size,
        untrusted=attachment.untrusted,
        by=str(attachment.by),
        at=attachment.at,
    )
