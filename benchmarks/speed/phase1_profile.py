"""Where the time of phase 1 on prefixes goes at the paper's size, and what share of the GEMM peak it reaches.

29,100 event types, 474 labels, one label wanted of each sequence, a fixed number of particles, and random
weights without biases, the worst case: bounds rule out no event type. The shapes are `small`, the default,
and `paper`, the 105 M parameters of the paper. One thread; seconds are those of the processor, so that other
work on the machine hardly counts. Operations needed are those of the matrix products and of causal attention
(half of the square) without what is padded; the peak is that of a large square product. Shares by group of
operations are from torch's profiler; what no operation accounts for is Python and numpy.
Run: `.venv/bin/python -m benchmarks.speed.phase1_profile`
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile

from eventcargo.batches import Batch
from eventcargo.models.density import Densities, DensityModel, NextEvents
from eventcargo.models.transformer.model import Transformer
from eventcargo.oneshot.config import PrefixConfig
from eventcargo.oneshot.prefix import PrefixTest
from eventcargo.oneshot.thresholds import RelativeThreshold
from eventcargo.simulation import simulate

from benchmarks.record import provenance, save
from benchmarks.speed.phase1 import EVENT_TYPES, LABELS, SIMULATED, untrained

SEED = 100
PEAK_SIZE = 2048
SHAPES: Mapping[str, tuple[int, int]] = {"small": (32, 16), "paper": (2, 8)}
"""Sequences and particles of each for every shape of a model."""

GROUPS = {
    "matrix products": ("mm", "addmm", "addmm_"),
    "attention": (
        "bmm",
        "exp2_",
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_attention_math",
    ),
    "norms": ("_fused_rms_norm", "rms_norm"),
    "activations": ("silu", "silu_", "gelu"),
    "choosing event types": ("topk", "amax", "exp_", "sort"),
    "lookups": ("index", "index_select", "embedding", "_embedding_bag", "gather", "index_copy", "cumsum"),
    "copies": ("copy_", "cat", "fill_", "constant_pad_nd", "_to_copy", "clone", "contiguous"),
}
"""Operations by what they are for; the others are sums and products of numbers, such as rotations."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES))
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for shape in options.shapes:
        rows.append({"shape": shape, **run(shape, *SHAPES[shape])})
        print(rows[-1], flush=True)
    print(f"written to {save('phase1_profile', {**provenance(SEED), 'rows': rows}, options.out)}")


def run(shape: str, sequences: int, particles: int) -> dict[str, Any]:
    """Share of the peak, and shares of time by group, of one shape of a model."""
    size = {"sequences": SIMULATED, "event_types": EVENT_TYPES, "labels": LABELS, "seed": SEED}
    model, batch = untrained(EVENT_TYPES, LABELS, simulate("fleet", **size).data[:sequences], SEED, shape)
    counted = Counted(model)
    test = PrefixTest(replace(PrefixConfig(), particles=particles, error=0.0), RelativeThreshold())
    wanted, seeds = batch.labels > 0, np.arange(sequences)
    test.score(counted, batch, wanted, seeds)  # warms up
    counted.operations = 0.0
    peaks, seconds = [peak()], cpu_seconds(lambda: test.score(counted, batch, wanted, seeds))
    peaks.append(peak())
    return {
        "sequences": sequences,
        "particles": particles,
        "seconds_a_sequence": seconds / sequences,
        "peak_gigaflops": max(peaks) / 1e9,
        "share_of_peak": float(counted.operations) / seconds / max(peaks),
        "shares": shares(lambda: test.score(model, batch, wanted, seeds)),
    }


def cpu_seconds(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def peak() -> float:
    """Operations a second of a large matrix product."""
    a, b = torch.rand(2, PEAK_SIZE, PEAK_SIZE)
    return 2.0 * PEAK_SIZE**3 / min(cpu_seconds(lambda: a @ b) for _ in range(4))


class Counted(DensityModel):
    """A model that counts the operations which its answers need; it answers phase 1 as the model does."""

    def __init__(self, model: Transformer) -> None:
        self._model, self.operations = model, 0.0
        self.vocabulary, self.label_names, self.max_length = (
            model.vocabulary,
            model.label_names,
            model.max_length,
        )

    def next_events(self, batch: Batch, where: Any, k: int) -> Iterator[NextEvents]:
        """What the model says; the blocks are needed at all positions, the head of the event types given."""
        self.operations += self._model.config.layers * self._block(batch.lengths)
        for events in self._model.next_events(batch, where, k):
            self.operations += self._map(*events.logits.shape)
            yield events

    def particle_labels(self, batch: Batch, n: int, first: int, label_columns: Any) -> torch.Tensor:
        """What the model says; of what particles share the first attention is needed once, and of EOS
        nothing."""
        c, lengths = self._model.config, batch.lengths - 1
        shared, stacks = lengths[::n] - first, 2 if c.label_layers else 1
        saved = 3 * self._map(shared.sum(), c.width) + self._attention(shared)
        kept = (lengths - first + 1).sum()
        of_others = self._map(lengths.sum() - kept, c.width) + self._feed(lengths.sum() - kept)
        self.operations += (c.layers + c.label_layers) * self._block(lengths)
        self.operations += c.label_layers * (4 * self._map(lengths.sum(), c.width) + self._attention(lengths))
        self.operations -= stacks * (n - 1) * saved + of_others
        for at, own in enumerate(label_columns):
            self.operations += self._map((lengths[at * n : (at + 1) * n] - first + 1).sum(), len(own))
        return self._model.particle_labels(batch, n, first, label_columns)

    def densities(
        self, batch: Batch, *, events_at: Any = None, labels_at: Any = None, label_columns: Any = None
    ) -> Densities:
        """What the model says where nothing is shared between rows."""
        c, lengths = self._model.config, batch.lengths
        self.operations += c.layers * self._block(lengths)
        if labels_at is not None:
            of_memory = 4 * self._map(lengths.sum(), c.width) + self._attention(lengths)
            self.operations += c.label_layers * (self._block(lengths) + of_memory)
            n_labels = len(self.label_names if label_columns is None else label_columns)
            self.operations += self._map(labels_at.sum(), n_labels)
        if events_at is not None:
            self.operations += self._map(events_at.sum(), len(self.vocabulary))
        return self._model.densities(
            batch, events_at=events_at, labels_at=labels_at, label_columns=label_columns
        )

    def _map(self, positions: float, n_out: int) -> float:
        """Operations of a linear map of states."""
        return 2.0 * positions * self._model.config.width * n_out

    def _attention(self, lengths: Any) -> float:
        """Operations of a causal attention: two products, half the square."""
        return float(2.0 * (lengths**2).sum() * self._model.config.width)

    def _feed(self, positions: float) -> float:
        c = self._model.config
        return self._map(positions, (3 if c.activation == "swiglu" else 2) * c.feedforward)

    def _block(self, lengths: Any) -> float:
        """Operations of a block without reading another stack."""
        c, positions = self._model.config, lengths.sum()
        return 4 * self._map(positions, c.width) + self._feed(positions) + self._attention(lengths)


def shares(work: Callable[[], Any]) -> dict[str, float]:
    """Time of each group of operations, as a share of all."""
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        began = time.perf_counter()
        work()
        whole = time.perf_counter() - began
    found: dict[str, float] = {}
    for event in profiled.key_averages():
        group = group_of(event)
        found[group] = found.get(group, 0.0) + event.self_cpu_time_total / 1e6 / whole
    found["Python and numpy"] = 1 - sum(found.values())
    return {group: round(share, 4) for group, share in sorted(found.items(), key=lambda item: -item[1])}


def group_of(event: FunctionEvent) -> str:
    """The group that an operation belongs to."""
    name = event.key.removeprefix("aten::")
    return next((group for group, names in GROUPS.items() if name in names), "sums, products, the rest")


if __name__ == "__main__":
    main()
