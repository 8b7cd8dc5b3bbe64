"""`portico debate`: have a question debated, and look at what was."""

from typing import Annotated

from cyclopts import App, Parameter

from portico.interfaces.cli.debate_after import outcome, promote, remove, replay, share, stop
from portico.interfaces.cli.debate_budget import budget
from portico.interfaces.cli.debate_look import list_, log, show, voices
from portico.interfaces.cli.debate_personas import app as personas
from portico.interfaces.cli.debate_wish import Kind, Preset, Wish
from portico.interfaces.cli.labels import LabelOption
from portico.interfaces.cli.terminal import PLAIN, At

app = App(
    name="debate",
    usage='Usage: portico debate "QUESTION" [OPTIONS]\n       portico debate COMMAND [OPTIONS]',
    help="""Ask several voices, and get the likeliest answer, or none.

Whatever is none of the commands below is a question: put it in quotes.

portico debate "Is 91 a prime number?" --budget 20k
portico debate "Which store?" --choice PostgreSQL --choice SQLite --roles architect,critic

Ends with 0 if it was decided, with 9 if it was not, with 7 if the budget is too small.""",
    help_format="plaintext",
    default_parameter=PLAIN,
)
app.command(list_, name="list", sort_key=1)
app.command(show, name="show", sort_key=2)
app.command(log, name="log", sort_key=3)
app.command(stop, name="stop", sort_key=4)
app.command(outcome, name="outcome", sort_key=5)
app.command(replay, name="replay", sort_key=6)
app.command(voices, name="voices", sort_key=7)
app.command(personas)
app.command(share, name="share", sort_key=9)
app.command(promote, name="promote", sort_key=10)
app.command(budget, name="budget", sort_key=11)
app.command(remove, name="remove", sort_key=12)

_File = Annotated[str | None, Parameter(allow_leading_hyphen=True)]


@app.default
def debate(  # noqa: PLR0913 # an option each
    question: str | None = None,
    /,
    *,
    choice: list[str] | None = None,
    kind: Kind | None = None,
    topic: str | None = None,
    voice: list[str] | None = None,
    roles: list[str] | None = None,
    preset: Preset | None = None,
    thoroughness: float | None = None,
    budget: str | None = None,
    budget_usd: str | None = None,
    deadline: str | None = None,
    guests: int | None = None,
    project: str | None = None,
    memory: list[str] | None = None,
    material: _File = None,
    label: LabelOption = None,
    shared: bool = False,
    analyze: bool = False,
    unbounded: bool = False,
    estimate: bool = False,
    force: bool = False,
    no_follow: bool = False,
    at: At,
) -> int | None:
    """Ask several voices blindly, weigh what they answer, and stop as soon as it is clear.

    Parameters
    ----------
    question
        What is asked.
    choice
        One of the answers to choose from; given at least twice.
    kind
        What is asked for; without this it is found by the words of the question.
    topic
        What it is about, in a word: track records are kept by topic.
    voice
        Whom to ask: provider:model, agent:NAME or program:NAME; several times, or with commas.
        Without this those of the setting debate.voices.
    roles
        Personas for the voices, in turn: architect,critic; two in one: security+critic; for one
        of them: openai:gpt-5=critic.
    preset
        vote: blind answers, weighed. debate: and one critique round if they are split. quorum: two
        thirds of the weight, two families, vetoes. Without this by the kind of the question.
    thoroughness
        From 0 to 1: how sure it is to be, with how many voices at most, 3 to 9, in how many rounds.
    budget
        Tokens that it may spend at most, such as 20k. It is never passed. What it may cost in money
        stays as the setting debate.cap_dollars has it.
    budget_usd
        US dollars that it may spend at most. Its tokens stay as debate.cap_tokens has them.
    deadline
        How long it may take, such as 90s or 5m. Then it is decided by the answers in hand.
    guests
        Seats for agents of others, who join by MCP.
    project
        The project of the bridge that it is part of, by its name or its id.
    memory
        A key of the project's memory that every voice reads; may be given several times.
    material
        A file that every voice reads, or - for standard input.
    label
        How secret the question is, if it is more than its project and its memory are. Each debate
        is a task of its own: what you know from another one counts only if you say it here.
    shared
        With the project from the beginning; else only you read it.
    analyze
        Cut it into questions first, have each debated, and put the answers together.
    unbounded
        Also ask voices that cannot be held to a maximum, such as programs.
    estimate
        Only say what it would cost.
    force
        Do not ask whether that is all right.
    no_follow
        Only start it, and print its id.
    """
    from portico.interfaces.cli.debate_hold import estimated, held

    if question is None:
        app.help_print()
        return None
    wish = Wish(
        question=question,
        choice=choice,
        kind=kind,
        topic=topic,
        voice=voice,
        roles=roles,
        preset=preset,
        thoroughness=thoroughness,
        budget=budget,
        budget_usd=budget_usd,
        deadline=deadline,
        guests=guests,
        project=project,
        memory=memory,
        material=material,
        label=label,
        shared=shared,
        unbounded=unbounded,
        analyze=analyze,
    )
    if estimate:
        return estimated(wish, at)
    return held(wish, at, force=force, follow=not no_follow)
