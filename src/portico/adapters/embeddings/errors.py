"""What goes wrong before a vector can be made.

PorticoError
├── EmbedderUnavailable   gateway.core.errors
│   ├── EncoderNotFound   no encoder of that name has been pulled
│   ├── EncoderDamaged    its files are not the ones that were pulled
│   ├── RuntimeMissing    onnxruntime is not installed
│   └── RemoteRefused     the server that was to make vectors did not
├── BadEncoderName
└── PullFailed            it could not be fetched, or is none that we can run
"""

from collections.abc import Iterable

from portico.gateway.core.errors import EmbedderUnavailable
from portico.gateway.core.search_text import REMOTE, STATIC
from portico.kernel.errors import Kind, PorticoError


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


class BadEncoderName(PorticoError):
    kind = Kind.INVALID
    code = "bad_encoder_name"
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
