"""One member of an object in a file of JSON with comments: put in, changed, taken out.

Only its own bytes change, with the comma that it needs and the space before it.
"""

import re
from collections.abc import Sequence
from typing import Final

from portico.gateway.core.client_files.document import line_comment_at
from portico.gateway.core.connecting.json_places import SPACE, Braces, JsonPlaces, Member
from portico.gateway.core.connecting.json_style import Style, indent_of_line, style_in
from portico.gateway.core.connecting.trace import Cut, Edited, Trace, cut
from portico.kernel.json import JsonValue

_LINE_ENDS: Final = re.compile(r"[ \t]*,?[ \t]*(?:\r?\n|\Z)")


def put_in(text: str, names: Sequence[str], value: JsonValue) -> Edited:
    """`names` lead to it: what is missing of them is made, what is there is an object."""
    if not text.strip():
        for name in reversed(names[1:]):
            value = {name: value}
        body = Style("\n", "  ", "").written({names[0]: value})
        return Edited(f"{body}\n", Trace(len(names), text))
    places = JsonPlaces(text)
    there = places.at(names[:-1])
    depth = len(there) - 1
    for name in reversed(names[depth + 1 :]):
        value = {name: value}
    made = len(names) - len(there)
    return _added(places, there[-1], names[depth], value, made)


def change(text: str, names: Sequence[str], value: JsonValue) -> str:
    """With `value` instead of what is there under `names`; as it is if nothing is."""
    places = JsonPlaces(text)
    found = places.member(names)
    if found is None:
        return text
    braces, member = found
    return cut(text, [(member.value, member.end, style_in(places, braces).written(value))])


def take_out(text: str, names: Sequence[str], trace: Trace) -> str:
    """As it is if there is no such thing."""
    for above in range(len(names)):
        outermost = above == trace.made
        below = names[: len(names) - above]
        text = _without(text, below, trace.inside if outermost else "")
        if outermost or not _blank(text, below[:-1]):
            return text
    return trace.inside


def _added(places: JsonPlaces, braces: Braces, name: str, value: JsonValue, made: int) -> Edited:
    text, style = places.text, style_in(places, braces)
    member = style.member(name, value)
    if places.blank(braces):
        inside = text[braces.open + 1 : braces.close]
        ends = "" if style.indent is None else style.newline + indent_of_line(text, braces.open)
        lead = "" if style.indent is None else style.lead
        whole = (braces.open + 1, braces.close, lead + member + ends)
        return Edited(cut(text, [whole]), Trace(made, inside))
    place = len(text[: braces.close].rstrip(SPACE))
    cuts: list[Cut] = []
    if braces.members:
        end = braces.members[-1].end
        if places.comma(end, braces.close) is None:
            cuts.append((end, end, ","))
        else:
            member += ","
    after = style.lead + member
    if cuts and place == cuts[0][0]:  # both at one place: in this order
        after, cuts = f",{after}", []
    return Edited(cut(text, [*cuts, (place, place, after)]), Trace(made))


def _without(text: str, names: Sequence[str], inside: str) -> str:
    places = JsonPlaces(text)
    found = places.member(names)
    return text if found is None else _taken(places, *found, inside)


def _blank(text: str, names: Sequence[str]) -> bool:
    places = JsonPlaces(text)
    there = places.at(names)
    return len(there) > len(names) and places.blank(there[-1])


def _taken(places: JsonPlaces, braces: Braces, member: Member, inside: str) -> str:
    text, number = places.text, braces.members.index(member)
    before = braces.members[number - 1].end if number else None
    after = braces.members[number + 1].key if member != braces.members[-1] else None
    comma = places.comma(member.end, braces.close if after is None else after)
    if before is None and after is not None and comma is not None:
        gap = len(text) - len(text[comma + 1 :].lstrip(SPACE))
        return cut(text, [(member.key, member.end, ""), (comma, gap, "")])
    if comma is None and before is not None:
        comma = places.comma(before, member.key)
    cuts = [(_gap_before(text, member), member.end, "")]
    if comma is not None:
        cuts.append((comma, comma + 1, ""))
    return _rid_of(cut(text, cuts), braces, inside) if len(braces.members) == 1 else cut(text, cuts)


def _rid_of(text: str, braces: Braces, inside: str) -> str:
    """Nothing is left in it: then it looks as it did."""
    left = JsonPlaces(text).braces(braces.open)
    held = text[left.open + 1 : left.close]
    return text if held.strip(SPACE) else cut(text, [(left.open + 1, left.close, inside)])


def _gap_before(text: str, member: Member) -> int:
    """Where the space before it begins; it stays if a comment would swallow what comes next."""
    start = len(text[: member.key].rstrip(SPACE))
    goes_on = _LINE_ENDS.match(text, member.end) is None
    return member.key if goes_on and line_comment_at(text, start - 1) else start
