"""What is known before the data are asked: which event types can cause a label, which must, which cannot."""

from eventcargo.knowledge.resolved import Resolved
from eventcargo.knowledge.statements import Knowledge

__all__ = ["Knowledge", "Resolved"]
