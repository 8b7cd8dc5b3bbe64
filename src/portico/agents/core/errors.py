"""What is refused of agents and models.

PorticoError
├── InvalidModelRef   not of the form provider:model
├── ProviderNotFound  no such provider here
├── ModelNotFound     the provider is there, and has no such model
├── ModelKeyMissing   the reference to its key leads to nothing
├── ModelUnavailable  it does not answer, or says to come back later
├── ModelRefused      it understood, and says no
├── ModelBroke        its answer broke off, or is none
├── ModelOverflow     the prompt is longer than it can read
├── ModelTruncated    it answered without having read all of the prompt
├── ModelLacksTools   it cannot call tools, and cannot be held to a form either
├── ModelNotCleared   what would be sent to it is more secret than it may know
├── AgentNotCleared   what its starter has read is more secret than it may know
├── AgentNotFound
├── AgentNameTaken
├── NameInRules       a name that rules are about, to be given by whoever may change those
├── InvalidAgent      every flaw of a description of an agent, at once
├── AgentChanged      somebody else has changed it meanwhile
├── AgentVersionNotFound
├── InvalidAgentFile  no file that describes an agent
├── ToolNotAllowed    a tool that is not on the agent's list
├── AgentRunNotFound
├── AgentRunOver      nothing can be said to a run that has ended
├── BudgetSpent       a limit of the run would be passed
├── TurnsSpent        it has had all its turns
└── ContextTooSmall   what must not be left out does not fit into the model's window
"""

from collections.abc import Sequence
from datetime import timedelta

from portico.kernel.errors import FieldError, Kind, PorticoError
from portico.kernel.label import Label


class InvalidModelRef(PorticoError):
    kind = Kind.INVALID
    code = "bad_model"
    type_name = "BadModelRef"
    title = "Not a model"
    fix = "Write it as provider:model, such as ollama:llama3.2; `portico models list` shows them."

    def __init__(self, text: str) -> None:
        super().__init__(f"{text[:200]!r} does not name a model.")
        self.text = text


class ProviderNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "provider_not_found"
    title = "No such provider of models"

    def __init__(self, provider: str, known: Sequence[str]) -> None:
        there = ", ".join(known) or "none"
        super().__init__(
            f"There is no provider of models called {provider[:80]!r}; there is: {there}.",
            fix="Name one that is there; or add it to portico.toml as [models.providers.NAME], "
            "then: portico restart",
        )
        self.provider = provider


class ModelNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "no_such_model"
    title = "No such model"

    def __init__(
        self, model: str, fix: str = "`portico models list` shows those there are."
    ) -> None:
        super().__init__(f"There is no model {model[:200]!r}.", fix=fix)
        self.model = model


class ModelKeyMissing(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "model_key_missing"
    title = "No key for the provider of a model"

    def __init__(self, provider: str, reference: str) -> None:
        super().__init__(
            f"The key of {provider!r} is to be found under {reference}, and there is none.",
            fix=f"Put it there, or change models.providers.{provider}.key.",
        )
        self.provider = provider
        self.reference = reference


class ModelUnavailable(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "model_unavailable"
    title = "The model does not answer"

    def __init__(
        self, model: str, why: str, *, retry_after: timedelta | None = None, fix: str | None = None
    ) -> None:
        super().__init__(f"{model} cannot be asked: {why}", fix=fix)
        self.model = model
        self.why = why
        self.retry_after = retry_after
        """What its server said to wait, if it did."""


class ModelRefused(PorticoError):
    """Asking the same again is of no use."""

    kind = Kind.INVALID
    code = "model_refused"
    title = "The model's server says no"

    def __init__(self, model: str, why: str, *, fix: str | None = None) -> None:
        super().__init__(f"{model} refuses this: {why}", fix=fix)
        self.model = model


class ModelBroke(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "model_broke_off"
    title = "The model's answer broke off"

    def __init__(self, model: str, why: str) -> None:
        super().__init__(f"The answer of {model} is not whole: {why}")
        self.model = model


class ModelOverflow(PorticoError):
    kind = Kind.INVALID
    code = "model_overflow"
    title = "Longer than the model can read"

    def __init__(self, model: str, why: str, *, fix: str) -> None:
        super().__init__(f"The prompt is longer than {model} can read: {why}", fix=fix)
        self.model = model


class ModelTruncated(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "model_truncated"
    title = "The model has not read all of it"

    def __init__(self, model: str, sent: int, read: int, *, fix: str) -> None:
        super().__init__(
            f"About {sent:,} tokens were sent to {model}, and its server has read {read:,} of "
            "them: the rest was cut off before the model saw it.",
            fix=fix,
        )
        self.model = model
        self.sent = sent
        self.read = read


class ModelLacksTools(PorticoError):
    kind = Kind.INVALID
    code = "model_lacks_tools"
    title = "The model cannot call tools"

    def __init__(self, model: str) -> None:
        super().__init__(
            f"{model} cannot call tools, and its answers cannot be held to a form either.",
            fix="Choose a model that can, or an agent without tools; `portico models list` says.",
        )
        self.model = model


class ModelNotCleared(PorticoError):
    kind = Kind.DENIED
    code = "model_not_cleared"
    title = "Too secret for this model"

    def __init__(self, model: str, label: str, clearance: str) -> None:
        super().__init__(
            f"What has been read in this run is {label}, and {model} may know at most {clearance}.",
            fix="Use a model of this machine, or raise the clearance of its provider.",
        )
        self.model = model


class AgentNotCleared(PorticoError):
    kind = Kind.DENIED
    code = "agent_not_cleared"
    title = "What was read is not for this agent"

    def __init__(self, agent: str, label: Label, clearance: Label) -> None:
        super().__init__(
            f"What your task has read is {label}, and the agent {agent!r} may know at most "
            f"{clearance}.",
            fix="Ask it from a clean task (portico contexts open), or raise the agent's label.",
        )
        self.agent = agent


class AgentNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "agent_not_found"
    title = "No such agent"
    fix = "`portico agents list` shows those there are."

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no agent {name[:80]!r} in this space.")
        self.name = name


class NameInRules(PorticoError):
    kind = Kind.DENIED
    code = "name_in_rules"
    title = "Rules are about this name"

    def __init__(self, name: str, rule: str) -> None:
        super().__init__(
            f"The rule {rule} is about {name!r}, so that who has this name is not yours to change.",
            fix="Choose another name, or ask somebody who may change rules: portico policy list",
        )


class AgentNameTaken(PorticoError):
    kind = Kind.CONFLICT
    code = "agent_name_taken"
    title = "The name is taken"
    fix = "Choose another name, or change the agent that has it."

    def __init__(self, name: str) -> None:
        super().__init__(f"Somebody or something is called {name!r} in this space already.")
        self.name = name


class InvalidAgent(PorticoError):
    kind = Kind.INVALID
    code = "bad_agent"
    type_name = "BadAgent"
    title = "Not a description of an agent"
    fix = "Mend each of the fields that are named."

    def __init__(self, name: str, flaws: Sequence[FieldError]) -> None:
        told = "; ".join(f"{flaw.field}: {flaw.message}" for flaw in flaws)
        super().__init__(f"The agent {name[:80]!r} cannot be like this: {told}")
        self.field_errors = tuple(flaws)


class AgentChanged(PorticoError):
    kind = Kind.CONFLICT
    code = "agent_changed"
    title = "Changed by somebody else"
    fix = "Read it again, and make your change to what it is now."

    def __init__(self, name: str, version: int) -> None:
        super().__init__(f"The agent {name!r} is at version {version} by now.")
        self.version = version


class AgentVersionNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "agent_version_not_found"
    title = "No such version of the agent"

    def __init__(self, agent: str, number: int) -> None:
        super().__init__(
            f"The agent {agent[:80]!r} has no version {number}.",
            fix=f"See those it has: portico agents versions {agent[:80]}",
        )
        self.number = number


class InvalidAgentFile(PorticoError):
    kind = Kind.INVALID
    code = "bad_agent_file"
    type_name = "BadAgentFile"
    title = "Not a file of an agent"
    fix = "Take one out and change that: portico agents export NAME"

    def __init__(self, why: str) -> None:
        super().__init__(f"This cannot be read as an agent: {why}")


class ToolNotAllowed(PorticoError):
    kind = Kind.DENIED
    code = "tool_not_allowed"
    title = "Not on the agent's list of tools"

    def __init__(self, tool: str, agent: str) -> None:
        super().__init__(
            f"The agent {agent!r} may not use {tool[:200]!r}.",
            fix=f"Add it to the agent's tools if that is meant: portico agents edit {agent}",
        )
        self.tool = tool
        self.agent = agent


class AgentRunNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "agent_run_not_found"
    title = "No such run of an agent"
    fix = "`portico agents runs` shows those there are."

    def __init__(self, run: str) -> None:
        super().__init__(f"There is no run {run[:80]!r} of an agent here.")
        self.run = run


class AgentRunOver(PorticoError):
    kind = Kind.CONFLICT
    code = "agent_run_over"
    title = "The run has ended"
    fix = "Start another one that continues it."

    def __init__(self, run: str, status: str) -> None:
        super().__init__(f"The run {run} is over ({status}): nothing reaches it any more.")
        self.run = run


class BudgetSpent(PorticoError):
    kind = Kind.EXHAUSTED
    code = "agent_budget_spent"
    title = "The budget of the run is spent"

    def __init__(self, dimensions: Sequence[str], told: str) -> None:
        super().__init__(
            f"The next step would pass the limit of {' and '.join(dimensions)}: {told}",
            fix="Raise the agent's limits, or continue the run with another one.",
        )
        self.dimensions = tuple(dimensions)


class TurnsSpent(PorticoError):
    kind = Kind.EXHAUSTED
    code = "agent_turns_spent"
    title = "The run has had all its turns"

    def __init__(self, turns: int) -> None:
        super().__init__(
            f"It was not done after {turns} turns of the model.",
            fix="Continue it, raise the agent's limit of turns, or ask for less at once.",
        )
        self.turns = turns


class ContextTooSmall(PorticoError):
    kind = Kind.INVALID
    code = "context_too_small"
    title = "It does not fit into the model's window"

    def __init__(self, model: str, needed: int, window: int) -> None:
        super().__init__(
            f"The instructions, the tools and what people said are about {needed:,} tokens, and "
            f"{model} has room for {window:,}, its answer included. Nothing of it was cut.",
            fix="Choose a model with a larger window, fewer tools, or say it in fewer words.",
        )
        self.needed = needed
        self.window = window
