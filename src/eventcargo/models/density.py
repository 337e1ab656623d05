"""DensityModel: what the two phases need from a model, and nothing more.

One pass gives both heads of the paper: Tf_x, the next event given ids 0 to i, and Tf_y, the labels given ids
0 to i (eq:prob_x, eq:prob_y). Heads are computed only at the positions and for the labels asked for; results
are flat, one row for each position asked for, so that padding never costs memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eventcargo.batches import Batch, Batches, report_cuts
from eventcargo.errors import DataError
from eventcargo.events import EventDataset
from eventcargo.vocabulary import Vocabulary

IMPOSSIBLE = -1e4
"""The logit of an id that cannot come: its softmax is exactly 0, and unlike -inf it makes no NaN."""


@dataclass(frozen=True)
class Densities:
    """Logits, one row for each position asked for, in the order of `mask.nonzero()`."""

    events: Tensor | None  # (positions, vocabulary): softmax gives P(id at i + 1 | ids..i)
    labels: Tensor | None  # (positions, labels): sigmoid gives P(label | ids..i)


@runtime_checkable
class DensityModel(Protocol):
    """A model of sequences: trained, counted, exact or from elsewhere."""

    vocabulary: Vocabulary
    label_names: tuple[str, ...]
    max_length: int

    def densities(
        self,
        batch: Batch,
        *,
        events_at: NDArray[np.bool_] | None = None,
        labels_at: NDArray[np.bool_] | None = None,
        label_columns: NDArray[np.int64] | None = None,
    ) -> Densities:
        """Logits at the positions where the masks (B, L) are true; `label_columns` default to all labels."""
        ...


@torch.inference_mode()
def label_probabilities(model: DensityModel, data: EventDataset, tokens: int = 16_384) -> NDArray[np.float32]:
    """P(label | whole sequence) for every sequence and every label of the model: (sequences, labels)."""
    report_cuts(data, model.max_length)
    result = np.empty((len(data), len(model.label_names)), np.float32)
    for rows, batch in walk(model, data, tokens):
        labels = model.densities(batch, labels_at=batch.at_end).labels
        assert labels is not None
        result[rows] = torch.sigmoid(labels.float()).cpu().numpy()
    return result


def walk(
    model: DensityModel, data: EventDataset, tokens: int = 16_384
) -> Iterator[tuple[NDArray[np.int64], Batch]]:
    """Row numbers and batches of a data set, in order, as a trained model needs them."""
    check_labels(model, data)
    check_values(model, data)
    batches = Batches(data, model.vocabulary, model.max_length)
    for rows in batches.in_order(tokens):
        yield rows, batches.take(rows)


def check_labels(model: DensityModel, data: EventDataset) -> None:
    """Refuse data whose labels are not the model's: numbers would be mixed up."""
    if data.label_names and tuple(data.label_names) != tuple(model.label_names):
        odd = sorted(set(data.label_names) ^ set(model.label_names)) or ["their order"]
        raise DataError(
            f"the data have {len(data.label_names):,} labels, the model {len(model.label_names):,}; "
            f"they differ in {odd[:3]}; read the data with the labels the model was trained on"
        )


def check_values(model: DensityModel, data: EventDataset) -> None:
    """Refuse data whose value columns are not the model's; a model without `value_names` ignores them."""
    wanted = getattr(model, "value_names", None)  # no part of the protocol: few models read values
    if wanted is not None and tuple(data.value_names) != tuple(wanted):
        raise DataError(
            f"the data have the value columns {list(data.value_names)}, the model was trained on "
            f"{list(wanted)}; read the data with values={list(wanted)}"
        )
