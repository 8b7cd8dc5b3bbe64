"""Search for tools: the index, the question, the ranking and its reasons."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from portico.gateway.core.search_scoring import (
    ENCODER,
    LEXICAL,
    NAMES,
    SHIPPED,
    STATIC,
    Calibration,
    Evidence,
    Learning,
    NameCoverage,
    ServerTexts,
    Weights,
    confidence,
    logits,
    scored,
    server_texts,
)
from portico.gateway.core.search_text import (
    FIELD_WEIGHTS,
    FIELDS,
    Document,
    Lexicon,
    Stem,
    ToolText,
    dense_text,
    name_words,
    tool_document,
    words,
)
from portico.gateway.core.servers import Server

LONGEST_QUERY: Final = 2_000
_LONGEST_CUT: Final = 1_500
MOST_CLAUSES: Final = 8
_FEWEST_WORDS: Final = 2

_VERB_LIST: Final = """
add analyse analyze apply arrange ask assign book build buy calculate call cancel change check
choose classify close collect compare compile compose compress compute convert copy count create
crop decrypt delete deliver deploy describe design detect determine develop disable download
draft draw edit email enable encrypt estimate evaluate explain export extract fetch fill find
format generate get give identify implement import include insert inspect install invite launch
list load locate look make manage map measure merge modify monitor move notify obtain open
optimize order organize pay perform pick place plan play plot post predict prepare present print
process provide purchase query rate read recommend record register remind remove rename rent
repair replace reply report request reschedule reserve resize retrieve return review run save
scan schedule search select sell send set share show sign simulate sort split start stop store
submit subscribe suggest summarise summarize take tell test track train transfer translate turn
unsubscribe update upload use validate verify view visualize withdraw write
"""
_VERBS: Final = frozenset(_VERB_LIST.split())
_SENTENCE: Final = re.compile(r"(?<=[.!?;\u3002\uff01\uff1f\uff1b])\s+|\n+")
_CONNECTIVE: Final = re.compile(
    r",?\s+(?:and then|then|and also|as well as|after that|afterwards|followed by|before"
    r"|after which|along with|plus|while)\s+"
    r"|;\s*"
    r"|,\s+(?:and\s+)?(?=(?:then|also|finally|next|lastly)\b)",
    re.IGNORECASE,
)
_AND: Final = re.compile(r"(?:,\s*(?:and\s+)?|\s+and\s+)(?=([a-z]+)\b)", re.IGNORECASE)
_COURTESY: Final = re.compile(
    r"^(?:\W*(?:please|kindly|hi|hello|hey|ok|okay|also|then|next|first(?:ly)?|second(?:ly)?"
    r"|third(?:ly)?|finally|lastly|additionally|moreover|furthermore|after that|afterwards|besides"
    r"|in addition|and|so|now|can you|could you|would you|will you|can i|could i"
    r"|i(?: would|'d) like (?:you )?to|i(?: would|'d) like|i want (?:you )?to|i need (?:you )?to"
    r"|i need(?: your)? (?:help|assistance)(?: with| in)?|i need|i want"
    r"|i also (?:need|want)(?: to)?|i am looking for|i'm looking for|i was wondering if"
    r"|help me(?: to)?|help|assist me(?: in| with)?|let me know|tell me|show me|give me"
    r"|provide me with|do you know|i'd love to|we need to|let's|my goal is to|i'm planning to"
    r"|i plan to)\b[\s,:]*)+",
    re.IGNORECASE,
)
_BLANKS: Final = re.compile(r"[^\S\n]+")
_LINES: Final = re.compile(r"\s*\n\s*")


def whole(query: str) -> str:
    """As much of a query as is looked at. A long run of blanks would cost the patterns below
    the square of its length."""
    return _LINES.sub("\n", _BLANKS.sub(" ", query[:LONGEST_QUERY])).strip()


def clauses(query: str) -> list[str]:
    """At least one, at most eight."""
    text = whole(query)[:_LONGEST_CUT]
    found: list[str] = []
    for part in _parts(text):
        clause = _without_courtesy(part.strip(" ,.;:!?"))
        if len(re.findall(r"\w+", clause)) >= _FEWEST_WORDS:
            found.append(clause)
        elif found and clause:
            found[-1] += f" {clause}"
    return found[:MOST_CLAUSES] or [text]


def _parts(text: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(text):
        for piece in _CONNECTIVE.split(sentence):
            yield from _before_verbs(piece)


def _before_verbs(piece: str) -> Iterator[str]:
    """`find a hotel and book it` in two; `bed and breakfast` in one."""
    start = 0
    for joint in _AND.finditer(piece):
        before = piece[start : joint.start()]
        if joint[1].lower() in _VERBS and len(before.split()) >= _FEWEST_WORDS:
            yield before
            start = joint.end()
    yield piece[start:]


def _without_courtesy(clause: str) -> str:
    rest = _COURTESY.sub("", clause).strip()
    return rest if len(rest) > 3 else clause


MOST_QUERIES: Final = 16
_MOST_WORDS: Final = 48
"""Whose nearness to names is looked at: what a search costs grows with them."""
_QUESTION_FEWEST_WORDS: Final = 8
"""Of each step."""


@dataclass(frozen=True, slots=True)
class Question:
    texts: tuple[str, ...]
    """The whole, and then its parts, if it has several."""
    told: tuple[tuple[str, ...], ...]
    """The words of each text, each once."""
    words: tuple[str, ...]
    """Of all texts, those whose nearness to names is looked at."""
    steps: bool = False
    """Whether the parts were told apart by whoever asks, or found by us."""

    @classmethod
    def of(cls, queries: Sequence[str]) -> Self:
        """One query is cut into its clauses; several are taken as the steps that they are."""
        asked = [text for text in map(whole, queries[:MOST_QUERIES]) if text]
        if len(asked) > 1:
            return cls._of([whole(" ".join(asked))], asked, looked_at=asked, steps=True)
        parts = clauses(asked[0]) if asked else []
        return cls._of(asked, parts if len(parts) > 1 else [], looked_at=asked)

    @classmethod
    def _of(
        cls,
        asked: Sequence[str],
        parts: Sequence[str],
        *,
        looked_at: Sequence[str],
        steps: bool = False,
    ) -> Self:
        """An equal share of the words of what is looked at, the first ones."""
        share = max(_MOST_WORDS // max(len(looked_at), 1), _QUESTION_FEWEST_WORDS)
        some = (word for text in looked_at for word in _each_once(text)[:share])
        texts = (*asked, *parts)
        return cls(texts, tuple(map(_each_once, texts)), tuple(dict.fromkeys(some)), steps)

    @classmethod
    def unrelated(cls, texts: Sequence[str]) -> Self:
        """Several at once that have nothing to do with one another, for their evidence only."""
        told = tuple(map(_each_once, texts))
        return cls(tuple(texts), told, tuple(dict.fromkeys(word for each in told for word in each)))

    @property
    def as_a_whole(self) -> "Question":
        """Without its parts."""
        return replace(self, texts=self.texts[:1], told=self.told[:1], steps=False)

    @property
    def groups(self) -> list[list[int]]:
        """Which of its words each of its texts has."""
        place = {word: number for number, word in enumerate(self.words)}
        return [[place[word] for word in each if word in place] for each in self.told]


def texts_to_embed(question: Question) -> Mapping[str, Sequence[str]]:
    """By the kind of model that they are for. The static table also looks up single words, which
    costs it nothing."""
    return {STATIC: [*question.texts, *question.words], ENCODER: question.texts}


def _each_once(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words(text)))


@dataclass(frozen=True, slots=True)
class MatchedWord:
    word: str
    fields: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.word} ({', '.join(self.fields)})"


@dataclass(frozen=True, slots=True)
class Why:
    words: tuple[MatchedWord, ...]
    similarity: float
    """The cosine of the tool and the question, by the best model at hand; 0 without one."""
    lexical_share: float
    """Of what speaks for it, how much is words in common; the rest is nearness in meaning."""
    answers: str
    """The step or clause that it answers best; the whole question if there is but one."""

    def __str__(self) -> str:
        told = [str(each) for each in self.words[:4]]
        if self.similarity > 0:
            told.append(f"meaning {self.similarity:.2f}")
        return ", ".join(told) or "nothing in common"


@dataclass(frozen=True, slots=True)
class Hit:
    ref: str
    score: float
    """A log-probability: comes with its question, not to be compared between questions."""
    probability: float
    why: Why


@dataclass(frozen=True, slots=True)
class Ranking:
    hits: Sequence[Hit]
    fits: bool
    confidence: float
    """From 0 to 1 that anything here fits; below a half `fits` is false."""
    servers: Sequence[str]
    """Those whose tools come into question most, best first."""


Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Reasons:
    question: Question
    evidence: Evidence
    weights: Weights
    log_odds: Floats
    stems: Sequence[Mapping[str, str]]
    """For each text of the question: its stems, each with the word that it is of."""

    @classmethod
    def of(
        cls,
        question: Question,
        evidence: Evidence,
        weights: Weights,
        log_odds: Floats,
        stem: Stem,
    ) -> Self:
        stems = [_first_words(told, stem) for told in question.told]
        return cls(question, evidence, weights, log_odds, stems)

    def why(self, column: int, document: Document) -> Why:
        part = self._best_part(column)
        asked = part if self.question.steps else 0
        return Why(
            words=self._matched(asked, document),
            similarity=self.evidence.similarity(asked, column),
            lexical_share=self._lexical_share(asked, column),
            answers=self.question.texts[part],
        )

    def _best_part(self, column: int) -> int:
        """The whole is no part where there are others."""
        first = min(1, len(self.question.texts) - 1)
        return first + int(self.log_odds[first:, column].argmax())

    def _lexical_share(self, row: int, column: int) -> float:
        parts = {
            name: max(float(self.evidence.rows[name][row, column]) * weight, 0.0)
            for name, weight in self.weights.of.items()
        }
        total = sum(parts.values())
        return parts[LEXICAL] / total if total else 0.0

    def _matched(self, row: int, document: Document) -> tuple[MatchedWord, ...]:
        words = self.stems[row]
        found = document.fields_with(words)
        return tuple(
            MatchedWord(word, tuple(FIELDS[field] for field in found[stem]))
            for stem, word in words.items()
            if stem in found
        )


def _first_words(told: Sequence[str], stem: Stem) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for word in told:
        found.setdefault(stem(word), word)
    return found


# Requests that have nothing to do with one another: most of them fit no tool of any one catalogue.
#
# How well a catalogue's best tool answers these tells what "nothing fits" looks like in it. They
# were written for this list and come from no evaluation set.

REQUESTS: tuple[str, ...] = (
    "Prune the apple trees before the frost and tell me which branches to cut first",
    "Which violin strings suit a beginner with small hands?",
    "Restart the night shift's conveyor belt number four",
    "Explain why my sourdough collapses after proofing",
    "Find a lullaby in Basque with its notes",
    "Has my grandmother's knitting circle moved to Thursdays?",
    "Grade these essays on the French Revolution",
    "Write a limerick about a stubborn goat",
    "Tell me whether oak or ash burns longer in a stove",
    "What did the philosopher mean by the banality of evil?",
    "Tune the carburettor of a 1974 moped",
    "List the kings of Hungary in order",
    "Unlock the back gate of the allotment at seven tomorrow",
    "How many stitches does a child's mitten need?",
    "Show me the tide table for the harbour at Whitby",
    "Should I forgive my brother for selling the piano?",
    "Rewind the clock in the hall and set it five minutes fast",
    "Compose a wedding toast in rhyme for two marine biologists",
    "Which mushrooms in this basket are safe to eat?",
    "Balance the chemical equation of rusting iron",
    "Ask the landlord to fix the damp in the cellar",
    "Paint the fence the same green as the shutters",
    "Where can I swap stamps from the fifties on Sunday?",
    "Work out the load that this roof beam can carry",
    "Give the horse its worming paste and note the date",
    "Who won the chess tournament at Hastings that year?",
    "Name six knots that every sailor should be able to tie blindfold",
    "Arrange the seating so that the two aunts do not meet",
    "Is it rude to leave before the cheese is served?",
    "Diagnose the rattle behind the glove compartment",
    "Set the kiln to cone six and hold for twenty minutes",
    "Recite the second verse of the national anthem of Peru",
    "Dilute the fertiliser for two hundred orchids",
    "Which of these two sonnets is the better, and why?",
    "Order a new gasket for the espresso machine at the station",
    "Count the swifts that nest under the bridge",
    "Teach my parrot to say good morning",
    "Fold a napkin in the shape of a swan",
    "Prove that there are infinitely many primes",
    "Remove the red wine stain from the wool rug",
    "How deep must I dig the footings on clay?",
    "Tell a ghost story that a six year old can bear",
    "Inspect the life jackets and write down those that have expired",
    "Which saint's day falls on the third of February?",
    "Choose a hymn for a funeral in a small chapel",
    "Adjust the derailleur so that the chain stops skipping",
    "Draft the rules of a game for eleven players and one ball of wool",
    "What would Kant say about lying to a thief?",
    "Weigh the newborn lambs and mark the twins",
    "Bring the choir's scores to the vestry before rehearsal",
    "How long does a goose egg take to hatch?",
    "Turn the compost and add straw where it is wet",
    "Explain the offside rule to my mother with cutlery",
    "Match these buttons to the coat from the museum",
    "Warm the greenhouse to eighteen degrees until dawn",
    "Is my dog too old to climb the stairs?",
    "Sharpen the chisels and oil the plane",
    "Pick a name for a barge that used to carry coal",
    "Recommend a paper for watercolours that does not buckle",
    "Interpret my dream of a train without a driver",
    "Change the bandage on the left hand and watch for redness",
    "Which dialect is spoken in the valley behind the glacier?",
    "Make the dough for forty dumplings without eggs",
    "Describe the smell of rain to somebody who has never met it",
    "Flush the radiator on the second floor",
    "When did people stop wearing powdered wigs?",
    "Train the climbing rose over the porch",
    "Settle a bet: is a tomato a berry?",
    "Rehearse the fire drill with the kindergarten",
    "Splice the mooring rope and whip both ends",
    "How do I tell my boss that I am bored?",
    "Carve a spoon from this piece of cherry",
    "Judge the marrow at the village fair",
    "Pour the candles before the wax cools",
    "Put fresh rosin on the bow and retune the lowest string",
    "Who wrote the opera with the statue that comes to dinner?",
    "Check the bees for mites and close the lower entrance",
    "Give three arguments against owning a telescope",
    "Estimate how many bricks the garden wall will need",
    "Read the meter in the basement and knock at number nine",
    "Does the bishop move before or after the bell?",
    "Iron the costumes of the second act",
    "Reassure my daughter that there is no monster",
    "Mix a mortar that a hundred year old chimney can bear",
    "Divide the inheritance fairly between three cousins",
    "Where did the word serendipity come from?",
    "Sow the broad beans in a double row",
    "Polish the brass without scratching the letters",
    "Referee the tug of war between the two schools",
    "Which clouds mean thunder before the evening?",
    "Rosewater or vanilla in the rice pudding?",
    "Help me to decide whether to become a nun",
    "Replace the wick of the lighthouse lamp in the model",
    "Put the lost glove on the railing",
    "Shear the alpacas when the weather turns",
    "Quote something wise about patience",
)

BACKGROUND: Final = Question.unrelated(REQUESTS)


@dataclass(frozen=True, slots=True)
class Parts:
    """The vectors of one kind of model."""

    tools: Floats
    servers: Floats
    background: Floats
    vocabulary: Floats


@dataclass(frozen=True, slots=True)
class IndexTexts:
    tools: Sequence[str]
    servers: Sequence[str]
    names: Sequence[Sequence[str]]
    vocabulary: Sequence[str]

    @classmethod
    def of(cls, tools: Sequence[ToolText]) -> Self:
        names = [name_words(tool) for tool in tools]
        return cls(
            tools=[dense_text(tool) for tool in tools],
            servers=server_texts(tools),
            names=names,
            vocabulary=list(dict.fromkeys(word for name in names for word in name)),
        )

    @property
    def to_embed(self) -> Mapping[str, Sequence[str]]:
        background = texts_to_embed(BACKGROUND)
        return {
            STATIC: [*self.tools, *self.servers, *background[STATIC], *self.vocabulary],
            ENCODER: [*self.tools, *self.servers, *background[ENCODER]],
        }

    def apart(self, model: str, vectors: Floats) -> Parts:
        """`vectors` has a row for each of what was to embed."""
        background = len(texts_to_embed(BACKGROUND)[model])
        ends = np.cumsum([len(self.tools), len(self.servers), background])
        if len(vectors) != len(self.to_embed[model]):
            raise ValueError(f"{len(vectors)} vectors for {len(self.to_embed[model])} texts")
        tools, servers, strangers, vocabulary = np.split(np.nan_to_num(vectors), ends)
        return Parts(tools, servers, strangers, vocabulary)


def texts_to_index(tools: Sequence[ToolText]) -> Mapping[str, Sequence[str]]:
    """By the kind of model that they are for. Most stay the same when a tool changes: whoever
    keeps vectors by their text makes none of them twice."""
    return IndexTexts.of(tools).to_embed


# All that is known of a catalogue's tools, ready to be searched. Immutable: a change of the
# catalogue makes a new one, from what the old one has in common with it.

Allowed = Callable[[str], bool] | NDArray[np.bool_]
"""Which tools a caller may know of: by their ref, or a mark for each in order."""

NOTHING: Final = Ranking((), fits=False, confidence=0.0, servers=())
_SERVERS: Final = 3
_USUAL_SPREAD: Final = 0.065
"""The standard deviation of MiniLM's cosines between the background and tools: the same to a
twentieth in all five sets, and the static table's too."""
_MOST_STRETCH: Final = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchIndex:
    tools: tuple[ToolText, ...]
    lexicon: Lexicon
    vectors: Mapping[str, Floats]
    """By model, one *column* a tool: a few rows times this is twice as fast as the other way."""
    stretch: Mapping[str, float]
    """By model: what makes its cosines as far apart as those that the weights were learnt with."""
    names: NameCoverage | None
    servers: ServerTexts
    calibrations: Mapping[frozenset[str], Calibration]
    learning: Learning
    stem: Stem

    @classmethod
    def build(
        cls,
        tools: Sequence[ToolText],
        vectors: Mapping[str, Floats],
        *,
        stem: Stem,
        learning: Learning = SHIPPED,
        reuse: "SearchIndex | None" = None,
    ) -> Self:
        """`vectors` has, for each kind of model at hand, a row for each of `texts_to_index`."""
        texts = IndexTexts.of(tools)
        parts = {model: texts.apart(model, given) for model, given in vectors.items()}
        lexicon = Lexicon.of(_documents(tools, stem, reuse), FIELD_WEIGHTS)
        bare = cls(
            tools=tuple(tools),
            lexicon=lexicon,
            vectors={m: np.ascontiguousarray(each.tools.T) for m, each in parts.items()},
            stretch={model: _stretch(each) for model, each in parts.items()},
            names=_coverage(texts, parts.get(STATIC), lexicon, stem),
            servers=ServerTexts.of(tools, {m: each.servers for m, each in parts.items()}, stem),
            calibrations={},
            learning=learning,
            stem=stem,
        )
        return replace(bare, calibrations=bare.calibrate(parts) if tools else {})

    def calibrate(self, parts: Mapping[str, Parts]) -> Mapping[frozenset[str], Calibration]:
        """For every choice of models: one of them may fail to answer when a question comes."""
        background = {model: each.background for model, each in parts.items()}
        evidence = self.evidence(BACKGROUND, background)
        choices = [models for models in self.learning if models <= evidence.models]
        return {models: self._calibration(evidence.of_models(models)) for models in choices}

    def evidence(self, question: Question, vectors: Mapping[str, Floats]) -> Evidence:
        """`vectors` has, for each kind of model, a row for each of `texts_to_embed`. What is not
        of the same model as the tools' own vectors is left aside."""
        stems = [[self.stem(word) for word in told] for told in question.told]
        near = {
            model: np.nan_to_num(rows)
            for model, rows in vectors.items()
            if model in self.vectors and rows.shape[1] == len(self.vectors[model])
        }
        count = len(question.texts)
        of_texts = {model: rows[:count] for model, rows in near.items()}
        found: dict[str, Floats] = {
            model: rows @ self.vectors[model] * np.float32(self.stretch[model])
            for model, rows in of_texts.items()
        }
        found[LEXICAL] = np.stack([self.lexicon.scores(each) for each in stems])
        if self.names is not None and STATIC in near:
            found[NAMES] = self.names.scores(near[STATIC][count:], question.groups)
        return Evidence(
            rows=found,
            server=self.servers.scores(stems, of_texts) if self.servers.told else None,
            wanted=np.array([self._rarity(each) for each in stems], np.float32),
            stretch={model: self.stretch[model] for model in near},
        )

    def search(
        self,
        question: Question,
        vectors: Mapping[str, Floats],
        limit: int,
        *,
        allowed: Allowed | None = None,
    ) -> Ranking:
        """Tools that are not allowed do not exist: they change no score of the others."""
        columns = self._columns(allowed)
        if not question.texts or not len(columns):
            return NOTHING
        evidence = self.evidence(question, vectors)
        if len(columns) < len(self.tools):
            evidence = evidence.among(columns)
        return self._ranked(question, evidence, columns, limit)

    def _ranked(
        self, question: Question, evidence: Evidence, columns: NDArray[np.int64], limit: int
    ) -> Ranking:
        weights = self.learning[evidence.models].weights
        log_odds = logits(evidence.rows, evidence.server, weights)
        scores = scored(log_odds, steps=question.steps)
        reasons = Reasons.of(question, evidence, weights, log_odds, self.stem)
        order = _best(scores, limit)
        hits = tuple(
            Hit(
                ref=self.tools[columns[place]].ref,
                score=float(scores[place]),
                probability=float(np.exp(scores[place])),
                why=reasons.why(int(place), self.lexicon.documents[columns[place]]),
            )
            for place in order
        )
        verdict = self._verdict(question, evidence, log_odds)
        everywhere = np.zeros(len(self.tools), np.float32)
        everywhere[columns] = np.exp(scores)
        return Ranking(
            hits,
            fits=verdict >= 0,
            confidence=confidence(verdict),
            servers=tuple(self.servers.best(everywhere, _SERVERS)),
        )

    def _verdict(self, question: Question, evidence: Evidence, log_odds: Floats) -> float:
        """Of the whole question, or of the step that is served best."""
        scores = self.calibrations[evidence.models].scores(evidence.fit_scores(log_odds))
        return float(scores[1:].max() if question.steps else scores[0])

    def _calibration(self, evidence: Evidence) -> Calibration:
        learnt = self.learning[evidence.models]
        log_odds = logits(evidence.rows, evidence.server, learnt.weights)
        return Calibration.of(evidence.fit_scores(log_odds), learnt.judgement)

    def _rarity(self, stems: Sequence[str]) -> float:
        return sum(self.lexicon.rarity_of(stem) for stem in dict.fromkeys(stems))

    def _columns(self, allowed: Allowed | None) -> NDArray[np.int64]:
        if allowed is None:
            return np.arange(len(self.tools))
        if isinstance(allowed, np.ndarray):
            return np.flatnonzero(allowed)
        refs = (tool.ref for tool in self.tools)
        return np.flatnonzero(np.fromiter(map(allowed, refs), np.bool_, len(self.tools)))


def _best(scores: Floats, limit: int) -> NDArray[np.int64]:
    """Ties in the order of the tools."""
    if 0 < limit < len(scores):
        edge = np.partition(scores, -limit)[-limit]
        among = np.flatnonzero(scores >= edge)
    else:
        among = np.arange(len(scores))
    return among[np.argsort(-scores[among], kind="stable")][: max(limit, 0)]


def _stretch(parts: Parts) -> float:
    """By what strangers' requests are to it: some models put everything close together."""
    apart = float((parts.background @ parts.tools.T).std()) if len(parts.tools) else 0.0
    return min(max(_USUAL_SPREAD / max(apart, 1e-6), 1 / _MOST_STRETCH), _MOST_STRETCH)


def _documents(tools: Sequence[ToolText], stem: Stem, reuse: SearchIndex | None) -> list[Document]:
    known = {} if reuse is None else dict(zip(reuse.tools, reuse.lexicon.documents, strict=True))
    return [known.get(tool) or tool_document(tool, stem) for tool in tools]


def _coverage(
    texts: IndexTexts, static: Parts | None, lexicon: Lexicon, stem: Stem
) -> NameCoverage | None:
    if static is None:
        return None
    rarity = [lexicon.rarity_of(stem(word)) for word in texts.vocabulary]
    return NameCoverage.of(texts.names, texts.vocabulary, static.vocabulary, rarity)


@dataclass(frozen=True, slots=True)
class Nearest:
    """In our own words only: nothing that the server says of itself is in it."""

    server: str
    needs: str
    fix: str

    def __str__(self) -> str:
        return f"{self.server} {self.needs} ({self.fix})"


def nearest_servers(
    servers: Mapping[str, Server], candidates: Iterable[str], limit: int
) -> Sequence[Nearest]:
    """Of those that come into question, the first few, best first."""
    names = list(dict.fromkeys(name for name in candidates if name in servers))[:limit]
    return [nearest(servers[name]) for name in names]


def nearest(server: Server) -> Nearest:
    """Of one that has no tool which could be called."""
    name = server.name
    if not server.enabled:
        return Nearest(name, "is switched off", f"portico servers enable {name}")
    if server.approved:
        return Nearest(
            name, "has tools that nobody has approved as they are", f"portico servers diff {name}"
        )
    if server.failure is not None and server.may_start:
        return Nearest(name, "could not be listed", f"portico servers logs {name}")
    return Nearest(name, "waits for approval", f"portico servers approve {name}")
