"""The personas that are built in, how several become one, and who is dealt which."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from portico.debate.core.errors import BadDebate, PersonaNotFound
from portico.debate.core.persona import Persona
from portico.debate.core.voice import Voice

BUILT_IN: Final[Mapping[str, Persona]] = {
    persona.name: persona
    for persona in (
        Persona(
            name="architect",
            instructions=(
                "You look at the whole: how the parts fit together, what has to change later, and "
                "what each choice makes easy or hard in a year."
            ),
            built_in=True,
        ),
        Persona(
            name="critic",
            instructions=(
                "You look for what is wrong: hidden assumptions, cases that were left out, claims "
                "without evidence. Name the weakest point before you answer."
            ),
            built_in=True,
        ),
        Persona(
            name="pragmatist",
            instructions=(
                "You look at what works now: the smallest thing that does it, what it costs, how "
                "long it takes, and how it is undone if it turns out wrong."
            ),
            built_in=True,
        ),
        Persona(
            name="security",
            instructions=(
                "You look at what could be abused: who gains by it, what they could reach, what "
                "leaks, and what cannot be taken back."
            ),
            specialist=True,
            built_in=True,
        ),
    )
}
_MERGED: Final = "+"


def merged_text(names: Sequence[str], known: Mapping[str, Persona]) -> str:
    """What a voice with all of these is told; a persona that is gone meanwhile says nothing."""
    texts = [known[name].instructions for name in names if name in known]
    if len(texts) < 2:
        return "".join(texts)
    return "You bring several views together.\n" + "\n".join(f"- {text}" for text in texts)


def dealt(
    voices: Sequence[Voice], roles: Sequence[str], known: Mapping[str, Persona]
) -> tuple[Voice, ...]:
    """Each role goes to the next voice; `target=role` to that one. Where there are more roles than
    voices, the voices speak again, each time as another persona.

    Raises `PersonaNotFound`, `BadDebate`.
    """
    aimed = [role for role in roles if "=" in role]
    free = [_names(role, known) for role in roles if "=" not in role]
    seated = list(voices)
    for place, names in enumerate(free):
        if place < len(voices):
            seated[place] = _as(seated[place], names, known)
        else:
            again = replace(voices[place % len(voices)], personas=(), specialist=False)
            seated.append(_as(again, names, known))
    for role in aimed:
        target, _, said = role.rpartition("=")
        places = [place for place, voice in enumerate(seated) if target in _called(voice)]
        if not places:
            raise BadDebate(
                f"The role {role[:80]!r} is for {target[:80]!r}, who takes no part.",
                f"Give it to one of: {', '.join(voice.target for voice in voices)}.",
            )
        for place in places:
            seated[place] = _as(seated[place], _names(said, known), known)
    return _numbered(seated)


def _as(voice: Voice, names: tuple[str, ...], known: Mapping[str, Persona]) -> Voice:
    return replace(voice, personas=names, specialist=any(known[name].specialist for name in names))


def _names(role: str, known: Mapping[str, Persona]) -> tuple[str, ...]:
    """Raises `PersonaNotFound`."""
    names = tuple(dict.fromkeys(each.strip() for each in role.split(_MERGED)))
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise PersonaNotFound(name, sorted(known), near)
    return names


def _called(voice: Voice) -> tuple[str, ...]:
    return voice.name, voice.target, f"{voice.kind}:{voice.target}"


def _numbered(voices: Sequence[Voice]) -> tuple[Voice, ...]:
    """The same voice a second time is `#2`: names are unique in a debate."""
    seen: dict[str, int] = {}
    named = []
    for voice in voices:
        base = voice.name.rpartition("#")[0] or voice.name
        seen[base] = seen.get(base, 0) + 1
        named.append(replace(voice, name=base if seen[base] == 1 else f"{base}#{seen[base]}"))
    return tuple(named)
