"""Rules: short Boolean rules over the boundary of a label, for people to read and to test on data."""

from eventcargo.rules.find import RuleConfig, find_rules
from eventcargo.rules.literals import Literal
from eventcargo.rules.rule import Rule, read_rules, write_rules

__all__ = ["Literal", "Rule", "RuleConfig", "find_rules", "read_rules", "write_rules"]
