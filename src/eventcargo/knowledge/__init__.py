"""Prior knowledge: which event types may cause a label, which must, and which cannot."""

from eventcargo.knowledge.knowledge import Knowledge, Resolved

__all__ = ["Knowledge", "Resolved"]
