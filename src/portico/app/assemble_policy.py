"""The gate, and the rules that it goes by, put on their doors."""

from dataclasses import dataclass

from portico.guard.policy import Decide, ExplainPolicy
from portico.guard.policy_gate import Gate
from portico.guard.ports import (
    Aims,
    Audit,
    CallLimits,
    Contexts,
    Keys,
    Principals,
    Rules,
    Together,
)
from portico.guard.rules import AddRule, ListRules, RemoveRule
from portico.interfaces.http.use_cases import PolicyUseCases
from portico.kernel.clock import Clock, Entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDoors:
    rules: Rules
    contexts: Contexts
    limits: CallLimits
    journal: Audit
    principals: Principals
    keys: Keys
    together: Together
    clock: Clock
    entropy: Entropy

    def gate(self) -> Gate:
        return Gate(
            decide=Decide(rules=self.rules, contexts=self.contexts, clock=self.clock),
            limits=self.limits,
            contexts=self.contexts,
            journal=self.journal,
        )

    def use_cases(self, aims: Aims) -> PolicyUseCases:
        rules, journal, together = self.rules, self.journal, self.together
        return PolicyUseCases(
            add_rule=AddRule(
                rules=rules,
                journal=journal,
                together=together,
                clock=self.clock,
                entropy=self.entropy,
            ),
            list_rules=ListRules(rules=rules),
            remove_rule=RemoveRule(rules=rules, journal=journal, together=together),
            explain=ExplainPolicy(
                principals=self.principals,
                keys=self.keys,
                rules=rules,
                contexts=self.contexts,
                aims=aims,
                clock=self.clock,
            ),
        )
