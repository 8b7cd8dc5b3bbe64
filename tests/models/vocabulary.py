"""SmolLM2's own tokenizer, read out of the file that its weights are in."""

import struct
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from tokenizers import AddedToken, Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

from tests.models.weights import smollm2

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q"} | {
    12: "d"
}
_TEXT, _LIST = 8, 9
_CONTROL = 3


class Vocabulary:
    def __init__(self, file: Path) -> None:
        told = _metadata(file)
        tokens = told["tokenizer.ggml.tokens"]
        kinds = told["tokenizer.ggml.token_type"]
        merges = [tuple(each.split(" ")) for each in told["tokenizer.ggml.merges"]]
        places = {token: place for place, token in enumerate(tokens)}
        self._tokenizer = Tokenizer(BPE(vocab=places, merges=merges))
        self._tokenizer.pre_tokenizer = Sequence(
            [Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]
        )
        special = [
            AddedToken(token, special=True)
            for token, kind in zip(tokens, kinds, strict=True)
            if kind == _CONTROL
        ]
        self._tokenizer.add_special_tokens(special)

    def count(self, text: str) -> int:
        return len(self.tokens(text))

    def tokens(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)


@cache
def vocabulary() -> Vocabulary:
    return Vocabulary(smollm2())


def _metadata(file: Path) -> dict[str, Any]:
    with file.open("rb") as stream:
        assert stream.read(4) == b"GGUF"
        _version, _tensors, pairs = struct.unpack("<IQQ", stream.read(20))
        return {_text(stream): _value(stream, _number(stream, "I")) for _ in range(pairs)}


def _value(stream: BinaryIO, kind: int) -> Any:
    if kind == _TEXT:
        return _text(stream)
    if kind == _LIST:
        inner, count = _number(stream, "I"), _number(stream, "Q")
        return [_value(stream, inner) for _ in range(count)]
    return _number(stream, _NUMBERS[kind])


def _text(stream: BinaryIO) -> str:
    return stream.read(_number(stream, "Q")).decode()


def _number(stream: BinaryIO, form: str) -> Any:
    form = f"<{form}"
    return struct.unpack(form, stream.read(struct.calcsize(form)))[0]
