"""FocusedTerm: the focused networks of a model, and the labels and event types they are for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eventcargo.batches import Batch
from eventcargo.errors import DataError
from eventcargo.models.focused.network import FocusedNetwork
from eventcargo.models.focused.projection import EMPTY, Projection, project
from eventcargo.models.linear.folds import N_FOLDS
from eventcargo.models.tensors import ANY, check_ids, check_tensors

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

HELD_FOLD = N_FOLDS - 1
"""The fold that networks do not learn from."""

NETWORKS = "the focused networks"
"""What errors are about."""

PIECEWISE = ("counts", "places", "times")
"""What networks see in pieces."""

AT_ONCE = 1_024
"""Projected sequences of a label that go through its network at once."""


@dataclass(frozen=True, eq=False)
class FocusedTerm:
    """Networks of some labels; row i of `candidates` has the ids that the network of `labels[i]` sees."""

    size: int  # of the vocabulary
    max_events: int
    labels: Ints  # (G,) columns of the model, ascending
    candidates: Ints  # (G, K) ids; 0 where a label has fewer
    network: FocusedNetwork

    def to(self, device: torch.device | str) -> "FocusedTerm":
        """The same term with its weights on another device."""
        network = self.network.take(range(len(self.labels))).to(device)
        return FocusedTerm(self.size, self.max_events, self.labels, self.candidates, network)

    def slots(self, place: int) -> Ints:
        """The slot of every id for one of the labels."""
        return slots_of(self.candidates[place], self.size)

    def logits(self, batch: Batch, place: int, rows: Ints, ends: Ints) -> Floats:
        """Logits of a label for some rows of a batch, up to some ends: (rows,)."""
        return self.projected(place, self.project(batch.rows(rows), place, ends))

    def project(self, batch: Batch, place: int, ends: Ints | None = None) -> Projection:
        """The sequences of a batch, projected for a label."""
        return project(batch, self.slots(place), self.candidates.shape[1], self.max_events, ends)

    @torch.no_grad()
    def projected(self, place: int, projection: Projection) -> Floats:
        """Logits of a label for projected sequences: (rows,)."""
        network, result = self._networks[place], np.empty(len(projection.slots))
        order = np.argsort((projection.slots != EMPTY).sum(axis=1), kind="stable")
        for at in range(0, len(order), AT_ONCE):
            part = order[at : at + AT_ONCE]
            result[part] = network([projection.rows(part)])[0].float().cpu().numpy()
        return result

    @cached_property
    def _networks(self) -> list[FocusedNetwork]:
        """The networks one by one, with numbers of twice the length.

        The last digits of a sum depend on which other sequences are computed with a sequence. So they are
        computed and rounded off: a sequence has the same logits in whatever company.
        """
        device = self.network.bias.device
        return [self.network.take([place]).to(device).double().eval() for place in range(len(self.labels))]

    def without(self, batch: Batch, place: int, rows: Ints, ids: Ints) -> Floats:
        """Logits of whole sequences with the event types of each row, (n, any number), hidden: (n,)."""
        slots = np.where(ids >= 0, self.slots(place)[ids], EMPTY)
        return self.projected(place, self.project(batch, place).rows(rows).hide(slots))

    def changes(self, batch: Batch, place: int) -> tuple[Floats, Ints, Ints, Floats]:
        """Logits of whole sequences (B,), and rows, ids and changes of hiding each candidate."""
        projection = self.project(batch, place)
        whole = self.projected(place, projection)
        rows, slots = _present(projection, self.candidates.shape[1])
        without = self.projected(place, projection.rows(rows).hide(slots[:, None]))
        return whole, rows, self.candidates[place][slots], whole[rows] - without

    def to_tensors(self) -> dict[str, Tensor]:
        """All parts as named tensors, for a safetensors file."""
        numbers = {"labels": self.labels, "candidates": self.candidates}
        shape = torch.tensor([self.size, self.max_events])
        return {
            "shape": shape,
            **{name: torch.from_numpy(each.copy()) for name, each in numbers.items()},
            **{f"network.{name}": value for name, value in self.network.state_dict().items()},
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> "FocusedTerm":
        """The term restored from `to_tensors`."""
        missing = sorted({"shape", "labels", "candidates", "network.enter"} - set(tensors))
        if missing:
            raise DataError(
                f"no focused network: the tensor {missing[0]!r} is missing among {sorted(tensors)}"
            )
        _check_kinds(tensors)
        size, max_events = tensors["shape"].tolist()
        weights = {
            name.removeprefix("network."): value
            for name, value in tensors.items()
            if name.startswith("network.")
        }
        edges = [weights[f"edges_{name}"] for name in PIECEWISE]
        width, labels = weights["enter"].shape[2], tensors["labels"].cpu().numpy()
        network = FocusedNetwork(edges, width, [0] * len(labels))
        expected = {name: (own.dtype, tuple(own.shape)) for name, own in network.state_dict().items()}
        check_tensors(weights, expected, NETWORKS)
        network.load_state_dict({name: weights[name] for name in expected})
        return cls(size, max_events, labels, tensors["candidates"].cpu().numpy(), network.eval())


def _check_kinds(tensors: Mapping[str, Tensor]) -> None:
    """Refuse tensors of other types and shapes than those of networks, and candidates without an id."""
    pieces = {f"network.edges_{name}": (torch.float32, (ANY, ANY, ANY)) for name in PIECEWISE}
    pairs = {"labels": (torch.int64, (ANY,)), "candidates": (torch.int64, (ANY, ANY))}
    check_tensors(tensors, {"shape": (torch.int64, (2,)), **pairs, **pieces}, NETWORKS)
    shape = tuple(tensors["candidates"].shape)
    same = {"labels": (torch.int64, shape[:1]), "network.enter": (torch.float32, (shape[0], ANY, ANY))}
    same |= dict.fromkeys(pieces, (torch.float32, (*shape, ANY)))
    check_tensors(tensors, same, NETWORKS)
    check_ids(tensors["candidates"].reshape(-1), int(tensors["shape"][0]), f"{NETWORKS}: their candidates")


def slots_of(candidates: Ints, size: int) -> Ints:
    """The slot of every id: (size,); `EMPTY` for all but the candidates."""
    slots = np.full(size, EMPTY, np.int64)
    used = np.flatnonzero(candidates > 0)
    slots[candidates[used]] = used
    return slots


def _present(projection: Projection, n_slots: int) -> tuple[Ints, Ints]:
    """Rows and slots of the candidates that each sequence has, sorted."""
    rows, entries = np.nonzero((projection.slots != EMPTY) & (projection.slots < n_slots))
    codes = np.unique(rows * n_slots + projection.slots[rows, entries])
    return codes // n_slots, codes % n_slots


def places_of(term: "FocusedTerm | None", columns: Sequence[int] | Ints) -> list[tuple[int, int]]:
    """Positions in `columns` and places in the term of the labels that have a focused network."""
    if term is None:
        return []
    place = {label: at for at, label in enumerate(term.labels.tolist())}
    return [(at, place[label]) for at, label in enumerate(np.asarray(columns).tolist()) if label in place]
