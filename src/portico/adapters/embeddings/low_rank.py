"""A small change to an encoder's weights, learnt: for each matrix two narrow ones to add to it.

The file is numpy's `.npz`: `NAME.down` and `NAME.up` of eight bits, and `NAME.scale`, what their
product is multiplied with, a number for each of the narrow lines between them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from portico.adapters.embeddings.bert_graph import Weights


class DoesNotFit(Exception):
    """The change was learnt for other weights than these."""


def adapted(weights: Weights, change: Path) -> dict[str, NDArray[Any]]:
    """`weights` with the change added to them. Raises `DoesNotFit`."""
    found = dict(weights)
    with np.load(change, allow_pickle=False) as parts:
        for name in {key.rpartition(".")[0] for key in parts.files}:
            down, up, scale = (parts[f"{name}.{part}"] for part in ("down", "up", "scale"))
            added = (up.astype(np.float32) * scale.astype(np.float32)) @ down.astype(np.float32)
            if name not in found or found[name].shape != added.shape:
                raise DoesNotFit(f"there is no matrix {name} of {added.shape}")
            found[name] = found[name].astype(np.float32) + added
    return found


def write_change(
    file: Path, changes: Mapping[str, tuple[NDArray[np.float32], NDArray[np.float32]]]
) -> None:
    """Of pairs (up, down), by the name of the weight that their product is added to."""
    parts: dict[str, Any] = {}
    for name, (up, down) in changes.items():
        up_scale = np.abs(up).max(axis=0) / 127
        down_scale = np.abs(down).max(axis=1) / 127
        parts[f"{name}.up"] = _bits(up, up_scale[None, :])
        parts[f"{name}.down"] = _bits(down, down_scale[:, None])
        parts[f"{name}.scale"] = (up_scale * down_scale).astype(np.float32)
    np.savez_compressed(file, **parts)


def _bits(matrix: NDArray[np.float32], scale: NDArray[np.float32]) -> NDArray[np.int8]:
    return np.rint(matrix / np.where(scale > 0, scale, 1)).astype(np.int8)
