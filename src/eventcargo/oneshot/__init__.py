"""Phase 1: the events that moved each label of a single sequence, according to a density model."""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.oneshot.extract import allowed_pairs
else:
    __getattr__, __dir__ = lazy_names(__name__, {"extract": "allowed_pairs"})

__all__ = ["allowed_pairs"]
