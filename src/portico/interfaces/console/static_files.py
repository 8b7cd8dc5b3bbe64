"""What pages are drawn with: our own files, held in memory, named by what is in them."""

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_KINDS: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".woff2": "font/woff2",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_SHEET: Final = "app.css"
_FOR_EVER: Final = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class File:
    content: bytes
    packed: bytes | None
    kind: str
    mark: str
    """Of what is in it: another content has another address."""


async def show(request: Request) -> Response:
    file = _files().get(request.path_params["path"])
    if file is None:
        raise HTTPException(404)
    named = request.query_params.get("v") == file.mark
    headers = {
        "Cache-Control": _FOR_EVER if named else "no-cache",
        "ETag": f'"{file.mark}"',
        "Vary": "Accept-Encoding",
    }
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    if file.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(file.packed, headers=headers, media_type=file.kind)
    return Response(file.content, headers=headers, media_type=file.kind)


def address(path: str) -> str:
    return f"/static/{path}?v={_files()[path].mark}"


@cache
def _files() -> dict[str, File]:
    root = files("portico.interfaces.console").joinpath("static")
    found = {path: each.read_bytes() for path, each in _below(root, "")}
    # One sheet for all pages: the shell's first, since the others build on its tokens.
    sheets = sorted(path for path in found if path.startswith("styles/"))
    found[_SHEET] = b"\n".join(found.pop(path) for path in sheets)
    return {path: _file(path, content) for path, content in found.items()}


def _below(folder: Traversable, path: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for each in folder.iterdir():
        name = f"{path}{each.name}"
        if each.is_dir():
            found += _below(each, f"{name}/")
        elif any(name.endswith(end) for end in _KINDS):
            found.append((name, each))
    return found


def _file(path: str, content: bytes) -> File:
    kind = next(kind for end, kind in _KINDS.items() if path.endswith(end))
    packed = None if path.endswith(".woff2") else gzip.compress(content, 6, mtime=0)
    return File(content, packed, kind, hashlib.sha256(content).hexdigest()[:16])


routes: Final = [Route("/static/{path:path}", show, methods=["GET"])]
