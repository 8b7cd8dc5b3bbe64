"""Find out how near answers are to each other, without asking anybody."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.debate.core.alike import near_name
from portico.debate.core.debate import Debate
from portico.debate.core.merging import nearness
from portico.debate.core.said import Said
from portico.debate.ports import Meaning
from portico.kernel.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareAnswers:
    meaning: Meaning

    async def __call__(
        self, debate: Debate, pairs: Sequence[tuple[Said, Said]]
    ) -> Sequence[tuple[str, JsonObject]]:
        """The names and bodies of the notes on it. Where nothing here can tell, that is noted too:
        only a judge could say."""
        texts = list(dict.fromkeys(each.shown for pair in pairs for each in pair))
        near = await self.meaning.alike(texts)
        place = {text: number for number, text in enumerate(texts)}
        found = []
        for one, other in pairs:
            same: bool | None = None
            if near:
                how = near[place[one.shown]][place[other.shown]]
                same = nearness(one.shown, other.shown, how)
            body: JsonObject = {"one": one.key, "other": other.key, "same": same, "by": "meaning"}
            found.append((near_name(debate, one, other), body))
        return found
