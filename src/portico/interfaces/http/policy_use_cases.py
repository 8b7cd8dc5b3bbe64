"""What the routes of policy can call."""

from dataclasses import dataclass

from portico.guard.explain import ExplainPolicy
from portico.guard.manage_rules import AddRule, ListRules, RemoveRule


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyUseCases:
    add_rule: AddRule
    list_rules: ListRules
    remove_rule: RemoveRule
    explain: ExplainPolicy
