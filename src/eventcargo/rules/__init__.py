"""Rules: the boundary of a label as a short Boolean rule that people read and data are tested by."""

from eventcargo.rules.find import RuleConfig, find_rules
from eventcargo.rules.literals import Literal
from eventcargo.rules.rule import Rule, read_rules, write_rules

__all__ = ["Literal", "Rule", "RuleConfig", "find_rules", "read_rules", "write_rules"]
