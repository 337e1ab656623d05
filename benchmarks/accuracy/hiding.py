"""Total conditioning three ways: the event type is hidden, deleted, or replaced by draws of Tf_x.

For some labels of a regime, in sequences with and without them, every event type is taken away in turn, by
one forward pass, or by several where it is redrawn: at each of its places an event is drawn from the event
head given what was observed before; the type itself is not drawn. A draw may complete or break a rule by
itself, so two strengths are told of them: the mean over draws, and that of the mean probability.
Boundaries are the event types with 2 votes and a tenth of the tested sequences, both polarities together;
their F1 is given at several cuts, because what suits one way need not suit another. All ways look at the same
sequences with the same model; seconds are those of the processor, one thread.
Run: `.venv/bin/python -m benchmarks.accuracy.hiding`
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit, logit

from eventcargo import EventDataset
from eventcargo.batches import Batch, Batches, packed
from eventcargo.evaluation import evaluate
from eventcargo.graphs import LabelGraph
from eventcargo.models.density import DensityModel
from eventcargo.models.loading import load_model
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.training.trainer import train
from eventcargo.models.transformer.config import transformer_size
from eventcargo.oneshot.cases import select_cases
from eventcargo.oneshot.config import CasesConfig
from eventcargo.oneshot.score_shard import sequence_seeds
from eventcargo.oneshot.scores import bernoulli_kl
from eventcargo.oneshot.total import Types, end_logits, hidden
from eventcargo.simulation import simulate
from eventcargo.simulation.simulated import Simulated
from eventcargo.vocabulary import PAD, UNK

from benchmarks.record import provenance, save

Ints = NDArray[np.int64]

REGIMES = ("fleet", "ordered", "timing")
CUTS = (0.05, 0.1, 0.2, 0.5, 1.0)
DRAWS, TOKENS = 8, 8_192
MIN_VOTES, LEAST_SHARE = 2, 0.1
SEED = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--regimes", nargs="+", default=REGIMES)
    parser.add_argument("--labels", type=int, default=10, help="most labels of a regime")
    parser.add_argument("--sequences", type=int, default=10, help="of either polarity, for each label")
    parser.add_argument("--among", type=int, default=4_000, help="sequences they are chosen from")
    parser.add_argument("--max-time", default="3m", help="of training, for each regime")
    parser.add_argument("--models", type=Path, default=None, help="folder of trained models, by regime")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    rows = []
    for regime in options.regimes:
        simulated = simulate(regime, seed=SEED)
        model = trained(simulated.data, options.max_time, options.models and options.models / regime)
        data = simulated.data[: options.among]
        found = run(model, data, simulated, options.labels, options.sequences)
        rows += [{"regime": regime, "sequences": options.sequences, **row} for row in found]
    result = {**provenance(SEED), "max_time": options.max_time, "draws": DRAWS, "rows": rows}
    print(f"written to {save('hiding', result, options.out)}")


def trained(data: EventDataset, max_time: str, path: Path | None) -> DensityModel:
    """A model of the data, from a folder if it is there."""
    if path is not None and path.exists():
        return load_model(path)
    return train(data, TrainConfig(max_time=max_time, seed=SEED), transformer_size("small"))


def run(
    model: DensityModel, data: EventDataset, simulated: Simulated, labels: int, sequences: int
) -> list[dict[str, Any]]:
    """One row for each way to take an event type away."""
    columns = np.linspace(0, len(data.label_names) - 1, min(labels, len(data.label_names))).astype(np.int64)
    rows, wanted = tested(model, data, columns, sequences)
    made = Batches(data.select(rows), model.vocabulary, model.max_length)
    found = []
    for name, way in WAYS.items():
        began = time.process_time()
        strengths = [score(model, made.take(part), wanted[part], columns, way) for part in in_parts(made)]
        seconds = (time.process_time() - began) / len(rows)
        for kind in ("mean_strength", "of_mean") if way[1] > 1 else ("mean_strength",):
            scores = Judge(strengths, kind, wanted, columns, model, simulated)
            by_cut = {str(cut): scores.at(cut) for cut in CUTS}
            about = {"labels": len(columns), "tested": len(rows), "seconds_a_sequence": seconds}
            row = {"way": name, "strength": kind, **about}
            print({**row, **{cut: round(part["f1"], 3) for cut, part in by_cut.items()}}, flush=True)
            found.append({**row, "by_cut": by_cut})
    return found


def tested(model: DensityModel, data: EventDataset, columns: Ints, n: int) -> tuple[Ints, NDArray[np.bool_]]:
    """Sequences, and which labels are tested in them: n that carry a label, n that are near to it."""
    chosen = select_cases(model, data, CasesConfig(absent=1e-9, min_absent=n), sequence_seeds(data, SEED))
    wanted = np.zeros((len(data), len(columns)), bool)
    for at, column in enumerate(columns):
        for part in (chosen.present, chosen.absent):
            wanted[part[:, [column]].nonzero()[0][:n], at] = True
    rows = np.flatnonzero(wanted.any(axis=1))
    return rows, wanted[rows]


def in_parts(made: Batches) -> list[Ints]:
    """Batches of similar lengths."""
    return list(packed(np.argsort(made.lengths, kind="stable"), made.lengths, 2_048))


@dataclass(frozen=True)
class Strengths:
    """How far each event type of each sequence moves the tested labels."""

    ids: Ints  # (pairs,)
    labels: Ints  # (pairs,) among those tested
    mean_strength: NDArray[np.float64]  # (pairs,) nats
    of_mean: NDArray[np.float64]  # (pairs,) nats, of the probability that is the mean over draws


Way = Callable[[DensityModel, Batch], Callable[[Types], Batch]]
"""Given a model and a batch: what makes a copy of a sequence for each event type, without it."""


def score(
    model: DensityModel, batch: Batch, wanted: NDArray[np.bool_], columns: Ints, way: "tuple[Way, int]"
) -> Strengths:
    """Strengths by one forward pass for each copy."""
    types, (made, copies) = Types.of(batch), way
    whole, without = end_logits(model, batch, columns), made(model, batch)
    of = np.repeat(np.arange(len(types.rows)), copies)  # the event type of each copy
    strength, chance = (np.zeros((len(types.rows), len(columns))) for _ in range(2))
    for part in packed(np.arange(len(of)), batch.lengths[types.rows[of]], TOKENS):
        taken = types.take(of[part])
        logits = end_logits(model, without(taken), columns)
        np.add.at(strength, of[part], nats(whole[taken.rows], logits) / copies)
        np.add.at(chance, of[part], expit(logits) / copies)
    at, label = np.nonzero(wanted[types.rows])
    of_mean = nats(whole[types.rows[at], label], logit(chance[at, label].clip(1e-15, 1 - 1e-15)))
    return Strengths(types.ids[at], label, strength[at, label], of_mean)


def nats(whole: NDArray[np.float64], without: NDArray[np.float64]) -> NDArray[np.float64]:
    """KL of probabilities given by their logits."""
    found: NDArray[np.float64] = bernoulli_kl(torch.from_numpy(whole), torch.from_numpy(without)).numpy()
    return found


def hiding(_: DensityModel, batch: Batch) -> Callable[[Types], Batch]:
    """The type becomes unknown."""
    return lambda types: hidden(batch, types)


def deleting(_: DensityModel, batch: Batch) -> Callable[[Types], Batch]:
    """The sequence as if the type had never occurred; times count from what is then the first event."""

    def deleted(types: Types) -> Batch:
        ids = batch.ids[types.rows]
        gone = ids == types.ids[:, None]
        lengths = batch.lengths[types.rows] - gone.sum(axis=1)
        order = np.argsort(gone, axis=1, kind="stable")
        real = np.arange(ids.shape[1]) < lengths[:, None]
        ids = np.where(real, np.take_along_axis(ids, order, axis=1), PAD)
        times = np.take_along_axis(batch.times[types.rows], order, axis=1)
        times = np.where(real, np.maximum(times - times[:, 1:2], 0), 0)
        each = np.arange(len(ids))
        times[each, lengths - 1] = times[each, lengths - 2]
        return Batch(ids, times.astype(np.float32), lengths, batch.labels[types.rows])

    return deleted


def redrawing(model: DensityModel, batch: Batch) -> Callable[[Types], Batch]:
    """Each occurrence of the type becomes an event drawn from the event head, given those before it."""
    cumulative = proposals(model, batch)  # (B, L, vocabulary)
    rng = np.random.default_rng([SEED, int(batch.ids.sum())])

    def redrawn(types: Types) -> Batch:
        ids = batch.ids[types.rows]
        copy, position = np.nonzero(ids == types.ids[:, None])
        chances = cumulative[types.rows[copy], position]
        ids[copy, position] = (chances <= rng.random(len(copy))[:, None]).sum(axis=1)
        return replace(
            hidden(batch, types), ids=ids, times=batch.times[types.rows], values=batch.values[types.rows]
        )

    return redrawn


@torch.inference_mode()
def proposals(model: DensityModel, batch: Batch) -> NDArray[np.float64]:
    """Cumulative chances of the event at each position but its own type: (B, L, vocabulary)."""
    B, L = batch.ids.shape
    logits = model.densities(batch, events_at=np.ones((B, L), bool)).events
    assert logits is not None
    chances = torch.softmax(logits.double(), dim=1).cpu().numpy().reshape(B, L, len(model.vocabulary))
    chances = np.concatenate([chances[:, :1], chances[:, :-1]], axis=1)  # at i, given those before i
    chances[..., : UNK + 1] = 0
    np.put_along_axis(chances, batch.ids[..., None], 0.0, axis=2)
    cumulative = chances.cumsum(axis=2)
    shares: NDArray[np.float64] = cumulative / cumulative[..., -1:]
    return shares


WAYS: dict[str, tuple[Way, int]] = {
    "hidden": (hiding, 1),
    "deleted": (deleting, 1),
    "redrawn": (redrawing, DRAWS),
}


@dataclass(frozen=True)
class Judge:
    """Says how good the boundaries are that a plain frequency cut makes of strengths."""

    found: list[Strengths]
    kind: str
    wanted: NDArray[np.bool_]
    columns: Ints
    model: DensityModel
    simulated: Simulated

    def at(self, cut: float) -> dict[str, float]:
        """Macro precision, recall and F1 if strengths above the cut are votes."""
        kept, names = self._kept(cut), [self.simulated.data.label_names[column] for column in self.columns]
        boundaries = {
            name: self.model.vocabulary.decode(np.flatnonzero(row).tolist())
            for name, row in zip(names, kept, strict=True)
        }
        scores = evaluate(LabelGraph.from_boundaries(boundaries), self.simulated.truth, labels=names).macro
        return {name: float(getattr(scores, name)) for name in ("precision", "recall", "f1")}

    def _kept(self, cut: float) -> NDArray[np.bool_]:
        """Which event types are in the boundary of each label: (labels, vocabulary)."""
        votes = np.zeros((len(self.columns), len(self.model.vocabulary)), np.int64)
        for part in self.found:
            strong = getattr(part, self.kind) > cut
            np.add.at(votes, (part.labels[strong], part.ids[strong]), 1)
        support = self.wanted.sum(axis=0)[:, None]
        kept: NDArray[np.bool_] = (votes >= MIN_VOTES) & (votes >= LEAST_SHARE * support)
        return kept


if __name__ == "__main__":
    main()
