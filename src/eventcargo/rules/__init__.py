"""Rules: short Boolean rules over the boundary of a label, for people to read and to test on data."""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.rules.config import RuleConfig
    from eventcargo.rules.find import find_rules
    from eventcargo.rules.literals import Literal
    from eventcargo.rules.rule import Rule, read_rules, write_rules
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "config": "RuleConfig",
            "find": "find_rules",
            "literals": "Literal",
            "rule": "Rule read_rules write_rules",
        },
    )

__all__ = ["Literal", "Rule", "RuleConfig", "find_rules", "read_rules", "write_rules"]
