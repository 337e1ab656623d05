"""What `run.py` finds out of the paper's test and fusion on a simulated fleet, figure by figure."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray

from eventcargo import EdgeTable, EventDataset, LabelGraph, evaluate
from eventcargo.batches import Batch
from eventcargo.evaluation import Scores, count_support, evaluate_oneshot
from eventcargo.fusion import FuseConfig
from eventcargo.fusion.criteria import adaptive
from eventcargo.fusion.fuse import fuse
from eventcargo.models.density import DensityModel, label_probabilities, walk
from eventcargo.models.loading import load_model
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.training.trainer import train
from eventcargo.models.transformer.config import transformer_size
from eventcargo.oneshot.cases import select_cases
from eventcargo.oneshot.config import PAPER, CasesConfig
from eventcargo.oneshot.prefix import PrefixTest
from eventcargo.oneshot.score_shard import ConfiguredTest, score_shard, sequence_seeds
from eventcargo.oneshot.scores import EventScores, OneshotTest
from eventcargo.oneshot.thresholds import PAPER_THRESHOLD, RelativeThreshold
from eventcargo.simulation import simulate
from eventcargo.simulation.simulated import Simulated

from benchmarks.accuracy.linear_term import f1_scores

CONTEXTS = (4, 12, 15, 20, 30)
NUMBERS = (1, 2, 4, 8, 16, 32, 68, 128)
Z_CUTS = tuple(float(z) for z in np.arange(0.5, 5.01, 0.25))
RUNS = 3
"""Draws of particles by which their number is judged; the paper has eight."""
FOLDS = 6
SHARES = {"quarter": 0.25, "all": 1.0}
"""Amounts of training data, as shares of the sequences."""
MODELS = {"tiny": ("tiny", False), "small": ("small", False), "explicit": ("small", True)}
"""Kinds of models: two sizes of Transformers as the paper's, and the larger with our explicit term."""
RULE = FuseConfig(criterion="adaptive", test="prefix")
"""The paper's phase 2."""
PICTURED, SHOWN = 4, 7
"""Single sequences and event types of the picture of fusion."""


@dataclass(frozen=True)
class Setup:
    """The data of one run of the script, and how long things may take."""

    sequences: int
    event_types: int
    labels: int
    tested: int
    steps: int
    minutes: float
    seed: int
    parts: Path

    @property
    def home(self) -> Path:
        """The folder of the parts; other settings have another one."""
        size = f"{self.sequences}x{self.event_types}x{self.labels}"
        time = f"{self.steps}steps_{self.minutes:g}min"
        return self.parts / f"seed{self.seed}_{size}_{self.tested}tested_{time}"

    @cached_property
    def fleet(self) -> Simulated:
        more = max(self.sequences // 5, 4 * self.tested)
        sizes = {"event_types": self.event_types, "labels": self.labels}
        return simulate("fleet", sequences=self.sequences + more, seed=self.seed, **sizes)

    @cached_property
    def split(self) -> tuple[EventDataset, EventDataset]:
        """The sequences of training and of Table 1, and others that no model has seen."""
        seen, unseen = self.fleet.data.split(self.sequences / len(self.fleet.data), seed=self.seed)
        return seen, unseen

    @property
    def examined(self) -> EventDataset:
        """Unseen sequences that carry a label, for the paper's test."""
        rest = self.split[1]
        return rest.select(rest.label_rows.lengths > 0)[: self.tested]

    def model(self, kind: str, amount: str) -> DensityModel:
        """A trained model, kept in the folder of the parts."""
        path = self.home / "models" / f"{kind}_{amount}"
        if not path.exists():
            (size, linear), n = MODELS[kind], int(self.sequences * SHARES[amount])
            time = "" if self.steps else f"{60 * self.minutes:.0f}s"
            settings = TrainConfig(max_time=time, steps=self.steps, seed=self.seed)
            train(self.split[0][:n], settings, transformer_size(size, linear=linear)).save_pretrained(path)
        return load_model(path)


def plain(scores: Scores) -> dict[str, dict[str, float]]:
    """Precision, recall and F1 of every average."""
    found = {name: scores.average(name) for name in ("micro", "macro", "weighted")}
    return {
        name: {part: getattr(average, part) for part in ("precision", "recall", "f1")}
        for name, average in found.items()
    }


def global_scores(graph: LabelGraph, data: EventDataset, setup: Setup) -> dict[str, Any]:
    """Scores of boundaries, on the labels that the data have."""
    truth = count_support(setup.fleet.truth, data)
    labels = [label for label in truth.labels if truth.support[label]]
    return {"edges": len(graph), "labels": len(labels), **plain(evaluate(graph, truth, labels=labels))}


class Remembered:
    """A test that scores every batch once, so that many cuts can be made of its scores."""

    def __init__(self, test: OneshotTest) -> None:
        self.test, self.name, self._known = test, test.name, dict[bytes, EventScores]()

    def score(
        self, model: DensityModel, batch: Batch, wanted: NDArray[np.bool_], seeds: NDArray[np.int64]
    ) -> EventScores:
        key = seeds.tobytes()
        if key not in self._known:
            self._known[key] = self.test.score(model, batch, wanted, seeds)
        return self._known[key]


def edges_of(
    model: DensityModel,
    data: EventDataset,
    test: OneshotTest,
    cut: RelativeThreshold = PAPER_THRESHOLD,
    seed: int = 0,
) -> EdgeTable:
    """The edges of all sequences for the labels that they carry."""
    seeds = sequence_seeds(data, seed)
    cases = select_cases(model, data, CasesConfig(absent=0.0, max_cases=0), seeds)
    return score_shard(model, data, cases, [ConfiguredTest(test, cut, ("present",))], seeds)


def judged(table: EdgeTable, data: EventDataset, setup: Setup) -> dict[str, Any]:
    """Scores of the edges in single sequences, and of the boundaries they are fused to."""
    oneshot = plain(evaluate_oneshot(table.edges, data, setup.fleet.truth))
    return {"oneshot": oneshot, "boundary": global_scores(fuse(table, RULE), data, setup)}


def nade(setup: Setup, kind: str, amount: str) -> dict[str, Any]:
    """The paper's test by the length of its context, beside how well the model knows the labels."""
    model, data, rest = setup.model(kind, amount), setup.examined, setup.split[1]
    trained = setup.split[0][: int(setup.sequences * SHARES[amount])]
    early = dict(early_f1(model, data))
    rows = []
    for context in CONTEXTS:
        table = edges_of(model, data, PrefixTest(replace(PAPER, context=context), PAPER_THRESHOLD))
        folds = [_fold_f1(table, data, setup, number) for number in range(FOLDS)]
        rows.append({"context": context, "early_f1": early[context], **judged(table, data, setup)})
        rows[-1]["oneshot_sd"] = float(np.std(folds, ddof=1))
    assert isinstance(model, torch.nn.Module)
    return {
        "model": kind,
        "amount": amount,
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "events": int(trained.lengths.sum()),
        "label_f1": f1_scores(rest.label_matrix().toarray(), label_probabilities(model, rest) > 0.5),
        "rows": rows,
    }


def _fold_f1(table: EdgeTable, data: EventDataset, setup: Setup, number: int) -> float:
    """Weighted F1 of one fold of the sequences."""
    fold = data.select(np.arange(number, len(data), FOLDS))
    found = evaluate_oneshot(table.edges, fold, setup.fleet.truth).weighted
    assert found is not None
    return found.f1


@torch.inference_mode()
def early_f1(model: DensityModel, data: EventDataset) -> Iterator[tuple[int, float]]:
    """Weighted F1 of the labels told after each event, from the end of each context on."""
    told, true, positions = [], [], []
    for _, batch in walk(model, data):
        at = np.arange(batch.ids.shape[1])
        where = (at > 0) & (at < batch.lengths[:, None] - 1)
        logits = model.densities(batch, labels_at=where).labels
        assert logits is not None
        row, position = where.nonzero()
        told.append((logits > 0).cpu().numpy())
        true.append(batch.labels[row] > 0)
        positions.append(position)
    y, guess, position = np.concatenate(true), np.concatenate(told), np.concatenate(positions)
    for context in CONTEXTS:
        later = position > context
        yield context, f1_scores(y[later].astype(np.int32), guess[later])["f1_weighted"]


def particles(setup: Setup, kind: str) -> list[dict[str, Any]]:
    """Scores and time by the number of particles, over several draws."""
    model, data = setup.model(kind, "all"), setup.examined[: max(setup.tested // 3, 1)]
    rows = []
    for number in NUMBERS:
        for draw in range(RUNS):
            began = time.process_time()
            table = edges_of(
                model, data, PrefixTest(replace(PAPER, particles=number), PAPER_THRESHOLD), seed=draw
            )
            seconds = (time.process_time() - began) / len(data)
            rows.append({"model": kind, "particles": number, "draw": draw, "seconds_a_sequence": seconds})
            rows[-1] |= judged(table, data, setup)
    return rows


def cuts(setup: Setup, kind: str) -> list[dict[str, Any]]:
    """Scores by the paper's k, the standard deviations of the relative cut."""
    model, data = setup.model(kind, "all"), setup.examined
    test, rows = Remembered(PrefixTest(PAPER, PAPER_THRESHOLD)), []
    for z_threshold in Z_CUTS:
        table = edges_of(model, data, test, RelativeThreshold(z_threshold, PAPER_THRESHOLD.floor))
        rows.append({"model": kind, "z_threshold": z_threshold, **judged(table, data, setup)})
    return rows


def threshold(setup: Setup) -> dict[str, Any]:
    """The adaptive threshold of every label, by the supports in the sequences of Table 1."""
    data = setup.split[0]
    support = dict(zip(data.label_names, data.support.tolist(), strict=True))
    return {"support": support, "threshold": adaptive(support, RULE.tau_max, RULE.tau_min)}


def picture(setup: Setup) -> dict[str, Any]:
    """The edges of single sequences that carry one label, and what fusion makes of all of them.

    The label is the most common of those with three to five causes.
    """
    model, data, truth = setup.model("explicit", "all"), setup.examined, setup.fleet.truth
    table = edges_of(model, data, PrefixTest(PAPER, PAPER_THRESHOLD))
    sizes = {label: len(truth.boundary(label)) for label in truth.labels}
    support = dict(zip(data.label_names, data.support.tolist(), strict=True))
    fitting = [label for label in truth.labels if 3 <= sizes[label] <= 5] or list(truth.labels)
    graph = fuse(table, RULE)
    label = max(fitting, key=lambda name: support[name])
    edges = table.edges.filter(label=label).unique(["sequence", "event"], maintain_order=True)
    votes = edges.group_by("event").len("votes").sort(["votes", "event"], descending=[True, False])
    return {
        "label": label,
        "support": support[label],
        "threshold": adaptive(support, RULE.tau_max, RULE.tau_min)[label],
        "true": truth.boundary(label),
        "kept": graph.boundary(label),
        "events": votes.head(SHOWN).to_dicts(),
        "other_events": max(len(votes) - SHOWN, 0),
        "sequences": _differing(edges),
    }


def _differing(edges: pl.DataFrame) -> list[dict[str, Any]]:
    """The first sequences with edges, and of those with the same edges only one."""
    sets = edges.group_by("sequence", maintain_order=True).agg("event")
    sets = sets.with_columns(pl.col("event").list.sort()).unique("event", keep="first", maintain_order=True)
    return [{"sequence": row["sequence"], "events": row["event"]} for row in sets.head(PICTURED).to_dicts()]
