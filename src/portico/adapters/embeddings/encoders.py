"""Encoders on this machine: their folders and files, and what goes wrong with them."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import file_digest
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from portico.gateway.core.errors import EmbedderUnavailable
from portico.gateway.core.search_text import (
    REMOTE,
    STATIC,
    EmbeddingModel,
    StoredEncoder,
    fingerprint,
)
from portico.kernel.errors import Kind, PorticoError

# What goes wrong before a vector can be made.
#
# PorticoError
# ├── EmbedderUnavailable   gateway.core.errors
# │   ├── EncoderNotFound   no encoder of that name has been pulled
# │   ├── EncoderDamaged    its files are not the ones that were pulled
# │   ├── RuntimeMissing    onnxruntime is not installed
# │   └── RemoteRefused     the server that was to make vectors did not
# ├── InvalidEncoderName
# └── PullFailed            it could not be fetched, or is none that we can run


class EncoderNotFound(EmbedderUnavailable):
    kind = Kind.NOT_FOUND
    code = "encoder_not_found"
    title = "There is no such encoder here"

    def __init__(self, name: str, stored: Iterable[str]) -> None:
        known = ", ".join([STATIC, *stored, REMOTE])
        super().__init__(
            f"No encoder {name[:80]!r} has been pulled; there are: {known}.",
            fix=f"Fetch it: portico embeddings pull {name[:80]}",
        )
        self.name = name


class EncoderDamaged(EmbedderUnavailable):
    code = "encoder_damaged"
    title = "The encoder's files are not right"

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(
            f"The encoder {name!r} cannot be used: {reason}.",
            fix="Fetch it again with portico embeddings pull, or do without: "
            "portico embeddings use static",
        )
        self.name = name


class RuntimeMissing(EmbedderUnavailable):
    code = "onnxruntime_missing"
    title = "onnxruntime is not installed"
    fix = "Run: pip install 'portico[embeddings]', or do without: portico embeddings use static"

    def __init__(self) -> None:
        super().__init__("An encoder of this machine is run by onnxruntime, which is not here.")


class RemoteRefused(EmbedderUnavailable):
    code = "remote_embeddings_refused"
    title = "The server for vectors does not give any"
    fix = "See embeddings.url, embeddings.model and embeddings.key_variable: portico config show"


class InvalidEncoderName(PorticoError):
    kind = Kind.INVALID
    code = "bad_encoder_name"
    type_name = "BadEncoderName"
    title = "Not a name for an encoder"
    fix = f"Use small letters, digits, - and ., at most 64; not {STATIC} or {REMOTE}."

    def __init__(self, name: str) -> None:
        super().__init__(f"{name[:80]!r} cannot be an encoder's name.")


class PullFailed(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "encoder_not_pulled"
    title = "The encoder could not be fetched"
    fix = "What can be fetched, and from where: portico embeddings pull --help"

    def __init__(self, source: str, reason: str, *, fix: str | None = None) -> None:
        super().__init__(f"{source[:200]}: {reason}.", fix=fix)
        self.source = source


MODEL: Final = "model.onnx"
TOKENIZER: Final = "tokenizer.json"
PAGE: Final = "encoder.json"
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}")

Pooling = Literal["graph", "mean", "first"]
"""Whether the model itself makes one vector of many, or we take their mean, or the first."""


class Page(BaseModel):
    """`encoder.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    name: Annotated[str, Field(pattern=rf"^{_NAME.pattern}$")]
    dimensions: Annotated[int, Field(ge=1, le=65_536)]
    max_tokens: Annotated[int, Field(ge=2, le=65_536)]
    pooling: Pooling
    licence: str
    source: str
    adapter: str | None = None
    files: Mapping[str, str]
    """The SHA-256 of each."""

    @property
    def model(self) -> EmbeddingModel:
        told = fingerprint(
            self.files[MODEL], self.files[TOKENIZER], self.pooling, str(self.max_tokens)
        )
        return EmbeddingModel(self.name, self.dimensions, told)


class EncoderFolder:
    def __init__(self, root: Path) -> None:
        self.root = root

    def stored(self) -> list[StoredEncoder]:
        """By name; what is damaged is left out, and told when it is used."""
        return sorted(self._readable(), key=lambda each: each.name)

    def find(self, name: str) -> Path:
        """Raises `EncoderNotFound`."""
        folder = self.root / name
        if not _NAME.fullmatch(name) or not (folder / PAGE).is_file():
            raise EncoderNotFound(name, [each.name for each in self.stored()])
        return folder

    def take_in(self, fresh: Path) -> StoredEncoder:
        """Move a folder that lies on the same disk to its place, whole or not at all."""
        page = read_page(fresh)
        place, old = self.root / page.name, fresh.with_suffix(".old")
        if place.exists():
            place.rename(old)
        fresh.rename(place)
        return _stored(place, page)

    def _readable(self) -> Iterator[StoredEncoder]:
        for file in self.root.glob(f"*/{PAGE}"):
            if not _NAME.fullmatch(file.parent.name):
                continue
            try:
                yield _stored(file.parent, read_page(file.parent))
            except EncoderDamaged:
                continue


def checked_name(name: str) -> str:
    """Raises `InvalidEncoderName`."""
    if not _NAME.fullmatch(name) or name in {STATIC, REMOTE}:
        raise InvalidEncoderName(name)
    return name


def read_page(folder: Path) -> Page:
    """Raises `EncoderDamaged`."""
    try:
        page = Page.model_validate_json((folder / PAGE).read_bytes())
    except (OSError, ValidationError) as error:
        raise EncoderDamaged(folder.name, f"{PAGE} cannot be read") from error
    if not {MODEL, TOKENIZER} <= page.files.keys():
        raise EncoderDamaged(folder.name, f"{PAGE} does not name its files")
    return page


def write_page(folder: Path, page: Page) -> None:
    (folder / PAGE).write_text(page.model_dump_json(indent=2) + "\n", encoding="utf-8")


def check_files(folder: Path, page: Page) -> None:
    """Whether they are byte for byte those that were pulled. Raises `EncoderDamaged`."""
    for name in (MODEL, TOKENIZER):
        try:
            found = digest(folder / name)
        except OSError as error:
            raise EncoderDamaged(page.name, f"{name} cannot be read") from error
        if found != page.files[name]:
            raise EncoderDamaged(page.name, f"{name} is not the file that was pulled")


def digest(file: Path) -> str:
    with file.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def _stored(folder: Path, page: Page) -> StoredEncoder:
    return StoredEncoder(
        name=page.name,
        dimensions=page.dimensions,
        max_tokens=page.max_tokens,
        licence=page.licence,
        source=page.source,
        adapter=page.adapter,
        size=sum(file.stat().st_size for file in folder.iterdir() if file.is_file()),
    )


_KINDS: Final[Mapping[str, str]] = {"F16": "<f2", "F32": "<f4", "I64": "<i8"}
_LONGEST_HEADER: Final = 10_000_000


class NotTensors(Exception):
    """The file is not of this format, or holds a kind of number that we have no use for."""


def read_tensors(file: Path) -> dict[str, NDArray[Any]]:
    """By name; nothing is read from the disk before it is used. Raises `NotTensors`."""
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 2 <= length <= _LONGEST_HEADER:
            raise NotTensors(f"{file.name} has no header")
        header = _header(stream.read(length), file)
    start = 8 + length
    size = file.stat().st_size
    return {
        name: _tensor(file, start, size, name, entry)
        for name, entry in header.items()
        if name != "__metadata__"
    }


def _header(raw: bytes, file: Path) -> dict[str, Any]:
    try:
        header = json.loads(raw)
    except ValueError as error:
        raise NotTensors(f"{file.name} has no header") from error
    if not isinstance(header, dict):
        raise NotTensors(f"{file.name} has no header")
    return header


def _tensor(file: Path, start: int, size: int, name: str, entry: Any) -> NDArray[Any]:  # noqa: ANN401 # JSON
    try:
        kind, shape = _KINDS[entry["dtype"]], tuple(map(int, entry["shape"]))
        first, last = map(int, entry["data_offsets"])
    except (KeyError, TypeError, ValueError) as error:
        raise NotTensors(f"{file.name}: {name} is of a kind that is not read here") from error
    count = int(np.prod(shape, dtype=np.int64))
    if last - first != count * np.dtype(kind).itemsize or first < 0 or start + last > size:
        raise NotTensors(f"{file.name}: {name} is not all there")
    if count == 0:
        return np.zeros(shape, kind)
    return np.memmap(file, kind, "r", start + first, shape)


def readable(text: str, most: int) -> str:
    """At most so many characters, nothing at all if there is no word in it, and with a mark in
    place of half a character, which JSON lets through and no tokenizer takes."""
    return text[:most].strip().encode("utf-8", "replace").decode()
