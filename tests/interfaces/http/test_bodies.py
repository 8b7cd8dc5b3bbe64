"""What a request may be made of, looked at over all routes."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

import portico.interfaces.http.app  # noqa: F401 # by which all bodies are imported
from portico.interfaces.http.shapes import Body

OTHERS = {bool: 1, int: "1", float: "1"}
"""What could be taken for one, and is none by the document."""


def bodies(kind: type[BaseModel] = Body) -> Iterator[type[BaseModel]]:
    for each in kind.__subclasses__():
        yield each
        yield from bodies(each)


def fields() -> Iterator[tuple[str, TypeAdapter[Any], object]]:
    for body in bodies():
        for name, field in body.model_fields.items():
            for kind, other in OTHERS.items():
                if _is_one(field.annotation, kind):
                    wanted: Any = Annotated[field.annotation, field]  # ty: ignore[invalid-type-form] # made here
                    wish: TypeAdapter[Any] = TypeAdapter(wanted)
                    yield f"{body.__name__}.{name}", wish, other


def _is_one(annotation: Any, kind: type) -> bool:
    alone = annotation is kind
    return alone or kind in [
        getattr(each, "__origin__", each) for each in getattr(annotation, "__args__", ())
    ]


def test_nothing_is_taken_for_what_it_is_not() -> None:
    every = [*fields()]
    taken = []
    for field, wish, other in every:
        with suppress(ValidationError):
            wish.validate_python(other)
            taken.append(field)

    assert len(every) > 40
    assert taken == []
