"""What the routes of policy can call."""

from dataclasses import dataclass

from portico.guard.policy import ExplainPolicy
from portico.guard.rules import AddRule, ListRules, RemoveRule


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyUseCases:
    add_rule: AddRule
    list_rules: ListRules
    remove_rule: RemoveRule
    explain: ExplainPolicy
