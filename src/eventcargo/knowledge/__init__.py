"""What is known before the data are asked: which event types can cause a label, which must, which cannot."""

from eventcargo.knowledge.knowledge import Knowledge, Resolved

__all__ = ["Knowledge", "Resolved"]
