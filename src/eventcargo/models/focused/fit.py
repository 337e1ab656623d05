"""Fitting focused networks: which labels need one, on which event types, and how it is trained.

A network is trained for a label only if the linear term leaves something to learn: it must be unsure of some
sequences (`unsure_share`), and some input of the network must go with its errors (`left_over`). Networks
learn from four of five folds. Candidates that the losses of the fifth do not depend on are dropped, and the
network is fitted again without them. It is kept if it clearly lowers the loss of the fifth fold.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own short form)
from numpy.typing import NDArray
from scipy.special import expit, xlog1py, xlogy

from eventcargo.batches import Batch, Batches
from eventcargo.config import Settings, setting
from eventcargo.deadline import NEVER, Deadline
from eventcargo.engines.engine import Engine
from eventcargo.engines.local import engine_or
from eventcargo.engines.work import Work, moment, read_unit, write_unit
from eventcargo.events import EventDataset
from eventcargo.models.calibration import MATTERS, base_losses, lead
from eventcargo.models.focused.evidence import held_losses, shows_evidence
from eventcargo.models.focused.network import FocusedNetwork, measured, quantile_edges
from eventcargo.models.focused.pairs import pair_scores
from eventcargo.models.focused.projection import Projection, project
from eventcargo.models.focused.rhythm import rhythm_p_values
from eventcargo.models.focused.term import HELD_FOLD, FocusedTerm, slots_of
from eventcargo.models.linear.folds import N_FOLDS, fold_numbers
from eventcargo.models.linear.hiding import hiding
from eventcargo.models.linear.term import LinearTerm
from eventcargo.models.pretrained import read_tensors, tensors_fingerprint, write_tensors
from eventcargo.models.threads import one_thread
from eventcargo.progress import OnProgress
from eventcargo.shared_data import share_data, shared_data
from eventcargo.statistics.log_loss import log_losses
from eventcargo.vocabulary import Vocabulary

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MIN_POSITIVES = 50
"""A label with fewer positives has no network."""

MAX_SEQUENCES = 40_000
"""Most sequences that are looked at to choose labels and candidates."""

MAX_ROWS = 8_000
"""Most sequences that a network learns from."""

SCREENED = 2_400
"""Most sequences that tell whether anything is left to learn."""

SURE, UNSURE = 0.05, 0.08
"""A prediction below the first, or as near to 1, is sure; unsure ones must hold the second share of a label's
entropy for a network to be worth trying."""

LEFT_OVER = 4.5
"""Standard deviations of the strongest of a few thousand inputs, if the linear term leaves something over."""

LEAST_NORM = 0.5
"""Inputs that vary less, in standard deviations of the label, are left out: their scores are not normal."""

MAX_RHYTHM = 20_000
"""Most sequences whose rhythms are looked at."""

MAX_PAIRED = 5_000
"""Most sequences whose pairs of event types are looked at."""

ALPHA = 0.01
"""Level at which rhythms and pairs are tested, over all labels and event types."""

LABELS_AT_ONCE = 8
"""Labels whose networks are trained side by side."""

GAIN = 3.0
"""Standard errors by which a network must lower the held-out loss."""

ROUNDS = 3
"""Times that a network is fitted again without candidates, at most."""

WORSE = 2.0
"""Standard errors by which a network without some candidates may have a higher held-out loss, and by which a
network may be behind the linear term to be fitted again without some."""

PIECES = (12, 6, 6)
"""Pieces into which counts, distances and times are cut."""


@dataclass(frozen=True)
class FocusedConfig(Settings):
    """Settings of the focused networks."""

    candidates: int = setting(8, ge=2, le=64)
    """event types that the network of a label sees"""
    width: int = setting(32, ge=4)
    """units of a network"""
    max_events: int = setting(48, ge=4)
    """most events of the candidates in a sequence, the last ones, that a network reads"""
    epochs: int = setting(8, ge=1)
    """passes over the sequences"""
    batch: int = setting(64, ge=8)
    """sequences of each label in a step"""
    rate: float = setting(0.01, gt=0)
    """learning rate, after a warm-up and before it falls to 0"""


def fit_focused(
    data: EventDataset,
    vocabulary: Vocabulary,
    max_length: int,
    term: LinearTerm,
    config: FocusedConfig | None = None,
    seed: int = 0,
    progress: OnProgress | None = None,
    deadline: Deadline = NEVER,
    engine: Engine | None = None,
) -> FocusedTerm | None:
    """The focused networks of the labels that they clearly help; None if there are none."""
    config = config or FocusedConfig()
    if not term.folds:
        return None
    with engine_or(engine) as where:
        plan = {
            **asdict(config),
            "seed": seed,
            "data": data.fingerprint,
            "term": tensors_fingerprint(term.to_tensors()),
        }
        with one_thread(True), where.workspace("focused", plan) as place:
            work = FocusedWork(place, data.fingerprint, max_length, config, seed, ends=moment(deadline))
            state = work.prepared(
                lambda: _Fitting(
                    data, vocabulary, Survey.of(data, vocabulary, max_length, term, config, seed)
                )
            )
            with work.held(state, deadline):
                kept = _kept(work, state.survey, where, progress, deadline)
    return _joined(kept, len(vocabulary), config)


@dataclass(frozen=True)
class _Kept:
    """A label with its candidates and its network."""

    label: int
    candidates: Ints
    network: FocusedNetwork


@dataclass(frozen=True)
class _Fitted(_Kept):
    """The same with what the held-out fold says of the network and of its candidates."""

    losses: Floats  # (sequences of the fold,)
    groups: Ints
    ahead: float  # standard errors by which the network lowers the loss of the linear term
    matters: bool  # whether it lowers it by enough
    shown: NDArray[np.bool_]  # (candidates,) whether there is evidence for them

    @property
    def helps(self) -> bool:
        return self.ahead > GAIN and self.matters

    @property
    def may_do_with_fewer(self) -> bool:
        """Whether it is worth fitting again without the candidates that show no evidence."""
        is_doubtful = ~self.shown & (self.candidates > 0)
        return bool(is_doubtful.any() and self.shown.any()) and self.ahead > -WORSE

    def is_clearly_better_than(self, other: "_Fitted") -> bool:
        return float(lead(other.losses[:, None], self.losses[:, None], self.groups)[0]) > WORSE


def fit_labels(
    survey: "Survey", labels: Sequence[int], config: FocusedConfig, deadline: Deadline = NEVER
) -> list[_Fitted]:
    """The networks of a few labels that help, with the candidates for which there is evidence."""
    fitted = {one.label: one for one in _Trained(survey, labels, config).run(deadline)}
    doubtful = list(fitted.values())
    for _ in range(ROUNDS):
        doubtful = [one for one in doubtful if one.may_do_with_fewer]
        if not doubtful or deadline.is_over:
            break
        fewer = survey.with_candidates({one.label: one.candidates * one.shown for one in doubtful})
        again = _Trained(fewer, [one.label for one in doubtful], config).run(deadline)
        doubtful = [one for one in again if not fitted[one.label].is_clearly_better_than(one)]
        fitted |= {one.label: one for one in doubtful}
    return [one for one in fitted.values() if one.helps and one.shown.any()]


def _joined(kept: Sequence[_Kept], size: int, config: FocusedConfig) -> FocusedTerm | None:
    if not kept:
        return None
    kept = sorted(kept, key=lambda one: one.label)
    state = [one.network.state_dict() for one in kept]
    edges = [torch.cat([one.network.edges[at] for one in kept]) for at in range(3)]
    network = FocusedNetwork(edges, config.width, [0] * len(kept))
    network.load_state_dict({name: torch.cat([one[name] for one in state]) for name in state[0]})
    labels = np.array([one.label for one in kept])
    return FocusedTerm(
        size, config.max_events, labels, np.stack([one.candidates for one in kept]), network.eval()
    )


@dataclass(frozen=True)
class Survey:
    """What the linear term knows of some sequences, by weights that have not seen them."""

    batches: Batches
    rows: Ints  # of the batches
    truth: NDArray[np.bool_]  # (rows, labels)
    known: NDArray[np.bool_] | None
    linear: NDArray[np.float32]  # (rows, labels)
    unsure: Ints  # labels of which the linear term is unsure enough
    candidates: Ints  # (labels, K)
    fold: Ints
    groups: Ints
    config: FocusedConfig
    size: int
    seed: int

    @classmethod
    def of(
        cls,
        data: EventDataset,
        vocabulary: Vocabulary,
        max_length: int,
        term: LinearTerm,
        config: FocusedConfig,
        seed: int,
    ) -> "Survey":
        rows = np.arange(len(data))
        if len(rows) > MAX_SEQUENCES:
            rows = np.sort(np.random.default_rng(seed).permutation(len(data))[:MAX_SEQUENCES])
        batches, fold = Batches(data, vocabulary, max_length), fold_numbers(data)[rows]
        linear = np.full((len(rows), len(data.label_names)), np.nan, np.float32)
        worth = np.zeros((len(data.label_names), len(vocabulary)), np.float32)
        for number in range(N_FOLDS):
            own = np.flatnonzero(fold == number)
            for part in np.array_split(own, max(1, len(own) // 2_000)):
                changes = hiding(term, number).changes(batches.take(rows[part]))
                linear[part] = changes.logits
                np.add.at(worth, (changes.labels, changes.ids), changes.taken**2)
        truth, known = data.label_matrix()[rows].toarray() > 0, data.known_matrix()
        known = None if known is None else known[rows]
        unsure = _unsure_labels(truth, linear, known)
        unexplained = _Unexplained(batches, rows, len(vocabulary), truth, linear, known, unsure)
        rhythm, pairs = unexplained.by_rhythm(), unexplained.by_pairs()
        candidates = _candidates(worth, rhythm, pairs, config.candidates)
        groups = data.group_numbers[rows]
        return cls(
            batches,
            rows,
            truth,
            known,
            linear,
            unsure,
            candidates,
            fold,
            groups,
            config,
            len(vocabulary),
            seed,
        )

    def with_candidates(self, candidates: Mapping[int, Ints]) -> "Survey":
        """The same with other candidates of some labels."""
        changed = self.candidates.copy()
        for label, own in candidates.items():
            changed[label] = own
        return replace(self, candidates=changed)

    def usable(self, label: int) -> Ints:
        """The rows for which a label is known and predicted."""
        usable = ~np.isnan(self.linear[:, label])
        if self.known is not None:
            usable &= self.known[:, label]
        return np.flatnonzero(usable)

    def unsure_first(self) -> list[int]:
        """The labels of which the linear term is unsure enough, the most frequent first."""
        order = np.argsort(-self.truth.sum(axis=0)[self.unsure], kind="stable")
        return [int(label) for label in self.unsure[order]]

    def is_left_over(self, label: int) -> bool:
        """Whether the arrangement of the candidates explains some of what the linear term is unsure of."""
        rows = self.usable(label)
        if not (self.candidates[label] > 0).any():
            return False
        rows, shift = self._screened(label, rows)
        y, logits = self.truth[rows, label], self.linear[rows, label] + shift
        projection = self.project(label, rows)
        network = self.network([label], [projection])
        return left_over(network.largest_inputs(projection), y, logits) > LEFT_OVER

    def _screened(self, label: int, rows: Ints) -> tuple[Ints, float]:
        """Some of the rows, a third of them positives if there are enough, and what that adds to logits."""
        rows, is_positive = self.rng(label, 0).permutation(rows), self.truth[:, label]
        parts = [rows[is_positive[rows]], rows[~is_positive[rows]]]
        kept = [parts[0][: SCREENED // 3], parts[1][: SCREENED - SCREENED // 3]]
        shares = [len(some) / max(len(part), 1) for some, part in zip(kept, parts, strict=True)]
        return np.concatenate(kept), float(np.log(shares[0] / shares[1]))

    def project(self, label: int, rows: Ints) -> Projection:
        batch = self.batches.take(self.rows[rows])
        slots = slots_of(self.candidates[label], self.size)
        return project(batch, slots, self.config.candidates, self.config.max_events)

    def network(self, labels: Sequence[int], projections: Sequence[Projection]) -> FocusedNetwork:
        """New networks for these labels, with pieces by these sequences."""
        edges = [
            [
                quantile_edges(each, n)
                for each, n in zip(measured(one, self.config.candidates), PIECES, strict=True)
            ]
            for one in projections
        ]
        seeds = [zlib.crc32(f"{self.seed}/{label}".encode()) for label in labels]
        stacked = [torch.from_numpy(np.stack([own[at] for own in edges])) for at in range(3)]
        network = FocusedNetwork(stacked, self.config.width, seeds)
        rates = [self.truth[self.usable(label), label].mean() for label in labels]
        network.start_at(torch.tensor(rates, dtype=torch.float32))
        return network

    def rng(self, label: int, what: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, label, what])


def _unsure_labels(
    truth: NDArray[np.bool_], linear: NDArray[np.float32], known: NDArray[np.bool_] | None
) -> Ints:
    """The labels of which the linear term is unsure enough."""
    usable = ~np.isnan(linear) if known is None else ~np.isnan(linear) & known
    return np.array(
        [
            label
            for label, own in enumerate(usable.T)
            if MIN_POSITIVES <= truth[own, label].sum() < own.sum()
            and unsure_share(linear[own, label].astype(np.float64), truth[own, label]) >= UNSURE
        ],
        np.int64,
    )


@dataclass(frozen=True)
class _Unexplained:
    """The errors of the linear term on labels of which it is unsure, and which ids go with them."""

    batches: Batches
    rows: Ints  # of the batches
    size: int  # of the vocabulary
    truth: NDArray[np.bool_]  # (rows, all labels)
    linear: NDArray[np.float32]  # (rows, all labels)
    known: NDArray[np.bool_] | None
    labels: Ints  # those of which it is unsure

    def by_rhythm(self) -> Floats:
        """How surely the rhythm of each id goes with the errors: (all labels, size)."""
        return self._surely(MAX_RHYTHM, _rhythm_scores)

    def by_pairs(self) -> Floats:
        """How surely each id goes with the errors together with another: (all labels, size)."""
        return self._surely(MAX_PAIRED, _pair_scores)

    def _surely(self, most: int, scores: "_Scores") -> Floats:
        surely = np.zeros((self.truth.shape[1], self.size))
        if len(self.labels):
            errors, variances = self._errors(most)
            batch = self.batches.take(self.rows[: len(errors)])
            surely[self.labels] = scores(batch, self.size, errors, variances)
        return surely

    def _errors(self, most: int) -> tuple[Floats, Floats]:
        """Errors and their variances, 0 where a label is unknown: (rows, labels) each."""
        p = expit(self.linear[:most, self.labels].astype(np.float64))
        is_used = ~np.isnan(p)
        if self.known is not None:
            is_used &= self.known[:most, self.labels]
        errors, variances = self.truth[:most, self.labels] - p, p * (1 - p)
        return np.where(is_used, errors, 0.0), np.where(is_used, variances, 0.0)


_Scores = Callable[[Batch, int, Floats, Floats], Floats]
"""From a batch, the size of the vocabulary, errors and variances to scores: (labels, size)."""


def _rhythm_scores(batch: Batch, size: int, errors: Floats, variances: Floats) -> Floats:
    p_values = rhythm_p_values(batch, size, errors, variances)
    return np.where(p_values < ALPHA / p_values.size, -np.log(np.maximum(p_values, 1e-300)), 0.0)


def _pair_scores(batch: Batch, size: int, errors: Floats, variances: Floats) -> Floats:
    return pair_scores(batch, size, errors, variances, ALPHA)


def _candidates(worth: NDArray[np.float32], rhythm: Floats, pairs: Floats, n: int) -> Ints:
    """The candidates of each label: (labels, n), 0 where there are fewer.

    A quarter are event types with the surest rhythm, and a quarter those of the surest pairs, if there are
    any; the others are those whose hiding changes the linear term most.
    """
    found = [
        list(dict.fromkeys([*_largest(alone, n // 4), *_largest(paired, n // 4), *_largest(row, n)]))[:n]
        for alone, paired, row in zip(rhythm, pairs, worth, strict=True)
    ]
    return np.array([[*row, *[0] * (n - len(row))] for row in found], np.int64).reshape(-1, n)


def _largest(values: NDArray[np.float32] | Floats, n: int) -> list[int]:
    """The places of the largest positive values."""
    order = np.argsort(-values, kind="stable")[:n]
    return [int(at) for at in order if values[at] > 0]


def unsure_share(logits: Floats, y: NDArray[np.bool_]) -> float:
    """The entropy of predictions that are neither nearly 0 nor nearly 1, as a share of the base rate's.

    Errors of a model that is sure are noise of the labels, which no network can learn.
    """
    p = expit(logits)
    is_unsure = (p > SURE) & (p < 1 - SURE)
    entropy = -(xlogy(p, p) + xlog1py(1 - p, -p))
    return float(entropy[is_unsure].sum() / base_losses(y[:, None])[0])


def left_over(features: Floats, y: NDArray[np.bool_], logits: Floats) -> float:
    """The largest score, in standard deviations, of features given logits whose scale may be wrong."""
    p = expit(logits)
    roots = np.sqrt(np.maximum(p * (1 - p), 1e-4))
    given = np.linalg.qr(np.column_stack([np.ones(len(y)), logits]) * roots[:, None])[0]
    scaled, residual = features * roots[:, None], (y - p) / roots
    scaled, residual = (each - given @ (given.T @ each) for each in (scaled, residual))
    norms = np.sqrt((scaled**2).sum(axis=0))
    scores = np.abs(scaled.T @ residual) / np.maximum(norms, 1e-9)
    return float(scores[norms > LEAST_NORM].max(initial=0.0))


class _Trained:
    """The networks of a few labels, trained side by side."""

    def __init__(self, survey: Survey, labels: Sequence[int], config: FocusedConfig) -> None:
        self._survey, self._labels, self._config = survey, labels, config
        self._learn, self._held = [], []
        for label in labels:
            rows = survey.usable(label)
            is_held = survey.fold[rows] == HELD_FOLD
            self._learn.append(_sampled(rows[~is_held], survey.rng(label, 1), MAX_ROWS))
            self._held.append(_sampled(rows[is_held], survey.rng(label, 2), MAX_ROWS // 4))
        self._projected = [survey.project(*each) for each in zip(labels, self._learn, strict=True)]
        self._projected_held = [survey.project(*each) for each in zip(labels, self._held, strict=True)]
        few = [one.rows(np.arange(min(1_000, len(one.slots)))) for one in self._projected]
        self._network = survey.network(labels, few)

    def run(self, deadline: Deadline) -> list[_Fitted]:
        """Train; the networks, and what the held-out fold says of them."""
        n_steps = self._config.epochs * max(1, max(map(len, self._learn)) // self._config.batch)
        optimizer = torch.optim.AdamW(self._network.parameters(), lr=self._config.rate, weight_decay=1e-3)
        for step in range(n_steps):
            if deadline.is_over:
                break
            for group in optimizer.param_groups:
                group["lr"] = self._config.rate * min(1.0, (step + 1) / 20) * (1 - step / n_steps)
            optimizer.zero_grad()
            self._loss(step).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        return [self._judged(at) for at in range(len(self._labels))]

    def _loss(self, step: int) -> torch.Tensor:
        chosen = [self._rows(at, step) for at in range(len(self._labels))]
        projections = [one.rows(rows) for one, rows in zip(self._projected, chosen, strict=True)]
        y = torch.stack([self._truth(at, self._learn[at][rows]) for at, rows in enumerate(chosen)])
        losses = F.binary_cross_entropy_with_logits(self._network(projections), y, reduction="none")
        return losses.mean(dim=1).sum()

    def _rows(self, at: int, step: int) -> Ints:
        """The sequences of a step, epoch by epoch in random order."""
        n, size = len(self._learn[at]), self._config.batch
        epochs = range(step * size // n, (step * size + size - 1) // n + 1)
        order = np.concatenate(
            [self._survey.rng(self._labels[at], 10 + epoch).permutation(n) for epoch in epochs]
        )
        first = step * size - epochs[0] * n
        return order[first : first + size]

    def _truth(self, at: int, rows: Ints) -> torch.Tensor:
        return torch.from_numpy(self._survey.truth[rows, self._labels[at]].astype(np.float32))

    def _judged(self, at: int) -> _Fitted:
        label, rows, projection = self._labels[at], self._held[at], self._projected_held[at]
        network, groups = self._network.take([at]).eval(), self._survey.groups[rows]
        truth = self._survey.truth[rows, label]
        own = held_losses(network, projection, truth)
        term = log_losses(self._survey.linear[rows, label].astype(np.float64), truth)
        ahead = float(lead(term[:, None], own[:, None], groups)[0])
        matters = bool((term - own).sum() > MATTERS * base_losses(truth[:, None])[0])
        shown = shows_evidence(network, projection, truth, groups, self._survey.rng(label, 3))
        return _Fitted(label, self._survey.candidates[label], network, own, groups, ahead, matters, shown)


def _sampled(rows: Ints, rng: np.random.Generator, most: int) -> Ints:
    """At most `most` of the rows, at random."""
    return rows if len(rows) <= most else np.sort(rng.permutation(rows)[:most])


ARRAYS = ("rows", "truth", "linear", "unsure", "candidates", "fold", "groups")
"""The arrays of a survey that are always there."""


@dataclass(frozen=True)
class _Fitting:
    """A survey, and the data set that it is of."""

    data: EventDataset
    vocabulary: Vocabulary
    survey: Survey


@dataclass(frozen=True)
class FocusedWork(Work[_Fitting]):
    """Ask of each unsure label whether something is left over (first pass), then train blocks of `labels`."""

    data: str
    """the fingerprint of the data"""
    max_length: int
    config: FocusedConfig
    seed: int
    labels: tuple[int, ...] | None = None
    """the labels to learn; None: this is yet to be asked"""

    def save(self, state: _Fitting, folder: Path) -> None:
        share_data(state.data, self.folder.parent)
        state.vocabulary.to_json(folder / "vocabulary.json")
        survey = state.survey
        for name in (*ARRAYS, *(["known"] if survey.known is not None else [])):
            np.save(folder / f"{name}.npy", getattr(survey, name))

    def open(self, folder: Path) -> _Fitting:
        data = shared_data(self.data, self.folder.parent)
        vocabulary = Vocabulary.from_json(folder / "vocabulary.json")
        arrays = {path.stem: np.load(path, allow_pickle=False) for path in sorted(folder.glob("*.npy"))}
        survey = Survey(
            batches=Batches(data, vocabulary, self.max_length),
            config=self.config,
            size=len(vocabulary),
            seed=self.seed,
            **{"known": None, **arrays},
        )
        return _Fitting(data, vocabulary, survey)

    def do(self, state: _Fitting, unit: int) -> None:
        deadline = self.deadline
        if deadline.is_over:
            return
        with one_thread(True):
            if self.labels is None:
                label = state.survey.unsure_first()[unit]
                write_unit(self.path(unit), {"left_over": bool(state.survey.is_left_over(label))})
                return
            kept = fit_labels(state.survey, self.block(unit), self.config, deadline)
            term = _joined(kept, state.survey.size, self.config)
            write_tensors(self.path(unit), {} if term is None else term.to_tensors(), {})

    def block(self, unit: int) -> list[int]:
        """The labels whose networks are trained side by side in a unit."""
        assert self.labels is not None
        return list(self.labels[unit * LABELS_AT_ONCE : (unit + 1) * LABELS_AT_ONCE])

    def path(self, unit: int) -> Path:
        name = f"label-{unit:05}.json" if self.labels is None else f"block-{unit:05}.safetensors"
        return self.folder / name

    def read(self, unit: int) -> list[_Kept]:
        """The networks of a block that clearly help."""
        tensors = read_tensors(self.path(unit))[1]
        if not tensors:
            return []
        term = FocusedTerm.from_tensors(tensors)
        return [
            _Kept(int(label), term.candidates[at], term.network.take([at]).eval())
            for at, label in enumerate(term.labels)
        ]


def _kept(
    work: FocusedWork, survey: Survey, engine: Engine, progress: OnProgress | None, deadline: Deadline
) -> list[_Kept]:
    """The networks of labels of which something is left over, as far as there is time."""
    unsure = survey.unsure_first()
    for _ in engine.run(work, range(len(unsure))):
        if deadline.is_over:
            break
    asked = [(label, work.path(unit)) for unit, label in enumerate(unsure) if work.is_done(unit)]
    labels = tuple(label for label, path in asked if read_unit(path)["left_over"])
    training, n_blocks = replace(work, labels=labels), -(-len(labels) // LABELS_AT_ONCE)
    done = len(labels) - sum(len(training.block(unit)) for unit in training.missing(range(n_blocks)))
    for unit in engine.run(training, range(n_blocks)):
        done += len(training.block(unit))
        if deadline.is_over:
            break
        if progress is not None:
            progress("focused networks", done, len(labels), "labels")
    finished = [unit for unit in range(n_blocks) if training.is_done(unit)]
    return [one for unit in finished for one in training.read(unit)]
