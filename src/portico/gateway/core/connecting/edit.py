"""One entry of a client's file put in or taken out, whichever form the file has."""

from collections.abc import Mapping, Sequence
from typing import Final

from portico.gateway.core.client_files.document import MARK, Lines, Unreadable, parsed, pointer_to
from portico.gateway.core.connecting import json_edit, toml_edit
from portico.gateway.core.connecting.errors import ClientFileMalformed, EditUnsafe
from portico.gateway.core.connecting.trace import Edited, Trace
from portico.kernel.json import JsonObject, JsonValue

_NOTHING: Final = Trace()


def entry_in(file: str, text: str, names: Sequence[str]) -> JsonValue:
    """What stands there under `names`; None if nothing does. Raises `ClientFileMalformed`, also
    if what leads to it holds no entries."""
    return _found(file, text, names)[1]


def _found(file: str, text: str, names: Sequence[str]) -> tuple[bool, JsonValue]:
    """Whether it is there at all, be it null, and what it is."""
    found: JsonValue = _document(file, text)
    for number, name in enumerate(names):
        if not isinstance(found, Mapping):
            line = Lines(file, text).of(pointer_to(*names[:number]))
            reason = f"{'.'.join(names[:number])} is not an object of servers"
            raise ClientFileMalformed(file, reason, line)
        if name not in found:
            return False, None
        found = found[name]
    return True, found


def with_entry(file: str, text: str, names: Sequence[str], value: JsonObject) -> Edited:
    """With `value` under `names`, instead of what is there. Raises `ClientFileMalformed`,
    `EditUnsafe`."""
    there, _ = _found(file, text, names)
    mark, body = _without_mark(text)
    if file.endswith(".toml"):
        rest = toml_edit.take_out(body, names, _NOTHING) if there else body
        edited = toml_edit.put_in(rest, names, value)
    elif there:
        edited = Edited(json_edit.change(body, names, value), _NOTHING)
    else:
        edited = json_edit.put_in(body, names, value)
    after = mark + edited.text
    _check(file, text, after, names, value)
    return Edited(after, edited.trace)


def without_entry(file: str, text: str, names: Sequence[str], trace: Trace = _NOTHING) -> str:
    """Raises `ClientFileMalformed`, `EditUnsafe`."""
    if not _found(file, text, names)[0]:
        return text
    mark, body = _without_mark(text)
    take_out = toml_edit.take_out if file.endswith(".toml") else json_edit.take_out
    after = mark + take_out(body, names, trace)
    _check(file, text, after, names, None)
    return after


def _check(
    file: str, before: str, after: str, names: Sequence[str], value: JsonObject | None
) -> None:
    """That all the rest means what it did: whatever our editing has overlooked, nobody is to lose
    a server by it."""
    try:
        found = parsed(file, after)
    except Unreadable as error:
        raise EditUnsafe(file) from error
    # When it is taken out, one of the same name that stands before it may come to light.
    as_wanted = value is None or entry_in(file, after, names) == value
    # By their texts: what is no number is not even equal to itself.
    if not as_wanted or repr(_rest(found, names)) != repr(_rest(parsed(file, before), names)):
        raise EditUnsafe(file)


def _rest(document: JsonObject, names: Sequence[str]) -> JsonObject:
    """Without the entry, and without what would be empty then."""
    first, below = names[0], names[1:]
    rest = {name: each for name, each in document.items() if name != first}
    inner = document.get(first)
    if below and isinstance(inner, Mapping) and (left := _rest(inner, below)):
        return {**rest, first: left}
    return rest


def _document(file: str, text: str) -> JsonObject:
    try:
        return parsed(file, text)
    except Unreadable as error:
        raise ClientFileMalformed(file, str(error), error.line, error.column) from error


def _without_mark(text: str) -> tuple[str, str]:
    return (MARK, text[1:]) if text.startswith(MARK) else ("", text)
