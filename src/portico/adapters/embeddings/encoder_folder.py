"""Encoders that were pulled: a folder each, with its files and a page that says what they are."""

import re
from collections.abc import Iterator, Mapping
from hashlib import file_digest
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from portico.adapters.embeddings.errors import BadEncoderName, EncoderDamaged, EncoderNotFound
from portico.gateway.core.search_text import (
    REMOTE,
    STATIC,
    EmbeddingModel,
    StoredEncoder,
    fingerprint,
)

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
    """Raises `BadEncoderName`."""
    if not _NAME.fullmatch(name) or name in {STATIC, REMOTE}:
        raise BadEncoderName(name)
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
