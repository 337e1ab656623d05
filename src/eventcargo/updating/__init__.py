"""Updating: a run takes in new sequences, with the model it has."""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.updating.run_update import Updated, update
else:
    __getattr__, __dir__ = lazy_names(__name__, {"run_update": "Updated update"})

__all__ = ["Updated", "update"]
