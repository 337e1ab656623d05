"""Evidence for the candidates of a network, on sequences that it has not learned from.

A network gives every candidate some weight, also those that the label does not depend on. If a candidate's
events in each sequence are exchanged for those of another sequence, the loss rises where they matter; where
they do not, it is as likely to fall. To hide them instead would also raise it where they occur in every
sequence, because a network has never seen one without them.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri

from eventcargo.models.calibration import lead
from eventcargo.models.focused.network import FocusedNetwork
from eventcargo.models.focused.projection import EMPTY, Projection
from eventcargo.statistics.log_loss import log_losses

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LEVEL = 0.01
"""Probability that any candidate of a label without influence shows evidence."""

AT_ONCE = 1_024
"""Projected sequences that go through a network at once."""


def shows_evidence(
    network: FocusedNetwork, projection: Projection, truth: Flags, groups: Ints, rng: np.random.Generator
) -> Flags:
    """Which candidates the losses of the network, of a single label, depend on: (slots,)."""
    whole = held_losses(network, projection, truth)
    used = np.intersect1d(projection.slots[projection.slots != EMPTY], np.arange(network.n_slots))
    threshold = -ndtri(LEVEL / max(len(used), 1))
    shown = np.zeros(network.n_slots, bool)
    for slot in used.tolist():
        order = rng.permutation(len(truth))
        other = np.empty(len(truth), np.int64)
        other[order] = np.roll(order, 1)
        exchanged = held_losses(network, projection.exchange(slot, other), truth)
        shown[slot] = lead(exchanged[:, None], whole[:, None], groups)[0] > threshold
    return shown


@torch.no_grad()
def held_losses(network: FocusedNetwork, projection: Projection, truth: Flags) -> Floats:
    """Losses of the network of a single label: (sequences,)."""
    parts = np.array_split(np.arange(len(truth)), len(truth) // AT_ONCE + 1)
    logits = np.concatenate([network([projection.rows(part)])[0].double().numpy() for part in parts])
    return log_losses(logits, truth)
