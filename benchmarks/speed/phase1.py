"""Speed of phase 1 on prefixes against a plain transcription of the paper's procedure, at the paper's size.

One model (the shape `small`, 29,100 event types, 474 labels, trained for some minutes) and the same
sequences, 100 +- 35 events long, for all: the transcription with 68 particles, ours with 68, ours with as
many as it takes. They take turns; ratios are medians over the turns. Seconds are those of the processor, one
thread, so that other work on the machine hardly counts. What is decided is compared with 1,024 particles, by
the same relative cuts over scored positions: the default one and the paper's, which has hardly a floor. How
time depends on the numbers of event types and labels is measured on untrained models with random label heads
whose next-event biases start at the base rates of the event types, as they do in training, because rare event
types are ruled out by bounds; and without biases, the worst case, in which none can be ruled out.

What the transcription computes follows from the paper's listing of phase 1: sequences of L = 192 positions
with their padding; one pass for the next events, at all positions, although only the first c are redrawn; all
N particles of a sequence in the batch dimension of one pass ("sampling pushed into the batch dimension"); all
labels at all positions, and KL, mean and deviation of all of them. The listing has two modules and reads the
labels alone from the pass over particles; the remark below it says that in practice there is one, which gives
the next events as well. Its forward pass then computes both heads for the particles, too. So there are two
figures: `transcription` is charged with the label head alone, which flatters it, and is what ours is held
against; `both_heads` is the practice of the remark.
Run: `.venv/bin/python -m benchmarks.speed.phase1`
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from eventcargo import EventDataset
from eventcargo.batches import Batch, Batches
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.training.trainer import Training
from eventcargo.models.transformer.config import transformer_size
from eventcargo.models.transformer.model import Transformer
from eventcargo.oneshot.config import PAPER, PrefixConfig
from eventcargo.oneshot.prefix import PrefixTest
from eventcargo.oneshot.scores import EventScores
from eventcargo.oneshot.thresholds import PAPER_THRESHOLD, RelativeThreshold
from eventcargo.simulation import simulate
from eventcargo.vocabulary import UNK, Vocabulary

from benchmarks.record import peak_gigabytes, provenance, save
from tests.reference.paper_phase1 import PaperScores, padded, paper_contexts, paper_phase1

EVENT_TYPES, LABELS, WIDTH = 29_100, 474, 192
EVENT_NAMES = tuple(f"E{number:05}" for number in range(EVENT_TYPES))
SIZES = ((EVENT_TYPES, LABELS), (1_000, LABELS), (EVENT_TYPES, 10))
"""Numbers of event types and labels; the others are compared with the first."""
SIMULATED = 20_000
"""Sequences; four fifths of them are trained on."""
TAKEN = 32
"""Sequences after which the next procedure has its turn."""
REFERENCE = 1_024
ADAPTIVE = replace(PrefixConfig(), nucleus=PAPER.nucleus)
"""The default, with the proposals of the paper, so that all estimate the same."""

CUTS = {"default": RelativeThreshold(), "paper": PAPER_THRESHOLD}
"""Cuts whose decisions are compared; the adaptive number of particles is for the default one."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--sequences", type=int, default=64)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=5.0, help="of training")
    parser.add_argument("--model", type=Path, default=None, help="folder of a trained model, made if missing")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        torch.set_num_threads(1)
        path = options.model or Path(folder) / "model"
        size = {"sequences": SIMULATED, "event_types": EVENT_TYPES, "labels": LABELS, "seed": options.seed}
        train, test = simulate("fleet", **size).data.split(0.8, seed=options.seed)
        model = trained(train, path, options.minutes, options.seed)
    made = Batches(test, model.vocabulary, WIDTH)
    rows = np.arange(options.sequences)
    batches = [made.take(rows[at : at + TAKEN]) for at in range(0, options.sequences, TAKEN)]
    result = {
        **provenance(options.seed),
        "threads": torch.get_num_threads(),
        "sequences": options.sequences,
        "events": [float(test.lengths.mean()), float(test.lengths.std())],
        "labels_of_a_sequence": float(test.label_rows.lengths.mean()),
        **compare(model, batches, options.turns),
        "sizes": sizes(test, options.seed, options.turns),
        "peak_gigabytes": peak_gigabytes(),
    }
    print(f"written to {save('phase1_speed', result, options.out)}")


def trained(data: EventDataset, path: Path, minutes: float, seed: int) -> Transformer:
    """The model in a folder, trained first if there is none."""
    if not path.exists():
        config = TrainConfig(max_time=f"{60 * minutes:.0f}s", seed=seed)
        Training(data, config, transformer_size("small")).run().save_pretrained(path)
    model = Transformer.from_pretrained(path)
    if model.is_term_alone:  # no particle needs a forward pass then, and nothing of interest is timed
        raise SystemExit(f"the network was not trained in {minutes:g} minutes; allow more with --minutes")
    return model


def compare(model: Transformer, batches: Sequence[Batch], turns: int) -> dict[str, Any]:
    """Seconds for each sequence and agreement with many particles; the procedures take turns."""
    turned = {name: Turns() for name in ("transcription", "ours_68", "ours_adaptive", "ours_observed")}
    for at, batch in enumerate(batches):
        reference = ours(model, batch, replace(PAPER, particles=REFERENCE), seed=99)
        runs: dict[str, Callable[[int], EventScores]] = {
            "transcription": partial(transcribed, model, batch, reference),
            "ours_68": partial(ours, model, batch, PAPER),
            "ours_adaptive": partial(ours, model, batch, ADAPTIVE),
            "ours_observed": partial(ours, model, batch, replace(PAPER, particles=0)),
        }
        for turn in range(turns):
            for name, run in runs.items():
                turned[name].add(partial(run, 100 * at + turn), reference, len(batch.ids))
    rows = {name: found.row(name, turned["transcription"]) for name, found in turned.items()}
    seconds = both_heads(model, batches[0])
    ratios = {name: seconds / row["seconds"] for name, row in rows.items()}
    print(f"both heads      {seconds:.3f} {ratios}", flush=True)
    return {**rows, "both_heads": {"seconds": seconds, "ratios": ratios}}


class Turns:
    """Seconds, particles and agreement with the reference of one procedure, turn by turn."""

    def __init__(self) -> None:
        self.seconds, self.particles = list[float](), list[float]()
        self.shared: dict[str, list[int]] = {name: [] for name in CUTS}
        self.either: dict[str, list[int]] = {name: [] for name in CUTS}

    def add(self, run: Callable[[], EventScores], reference: EventScores, n: int) -> None:
        began = time.process_time()
        scores = run()
        self.seconds.append((time.process_time() - began) / n)
        self.particles.append(float(scores.particles[np.unique(scores.rows, return_index=True)[1]].mean()))
        for name, cut in CUTS.items():
            found, expected = cut.keep(scores), cut.keep(reference)
            self.shared[name].append(int((found & expected).sum()))
            self.either[name].append(int((found | expected).sum()))

    def row(self, name: str, whole: "Turns") -> dict[str, Any]:
        """Figures; the ratio is that of the transcription's seconds to these, Jaccard over all turns."""
        ratios = np.divide(whole.seconds, self.seconds)
        found = {
            "seconds": float(np.median(self.seconds)),
            "ratio": float(np.median(ratios)),
            "ratio_range": [float(ratios.min()), float(ratios.max())],
            "particles": float(np.mean(self.particles)),
            "jaccard": {cut: sum(self.shared[cut]) / sum(self.either[cut]) for cut in CUTS},
        }
        print(f"{name:15} {found}", flush=True)
        return found


def ours(model: Transformer, batch: Batch, config: PrefixConfig, seed: int) -> EventScores:
    """Our scores of the labels that the sequences carry."""
    seeds = seed * 1_000_000 + np.arange(len(batch.ids))
    return PrefixTest(config, RelativeThreshold()).score(model, batch, batch.labels > 0, seeds)


def transcribed(model: Transformer, batch: Batch, like: EventScores, seed: int) -> EventScores:
    """The transcription's strengths of the same pairs, one sequence after the other."""
    strength = np.empty(len(like))
    for at in range(len(batch.ids)):
        found = transcribe(model, batch, at, seed)
        of_row = like.rows == at
        strength[of_row] = found.strength[0, like.positions[of_row], like.labels[of_row]].numpy()
    return replace(like, strength=strength, particles=np.full(len(like), PAPER.particles))


def transcribe(model: Transformer, batch: Batch, at: int, seed: int, both_heads: bool = False) -> PaperScores:
    """The paper's procedure on one sequence, padded."""
    one = padded(Batch(*(part[at : at + 1] for part in columns(batch))), WIDTH)
    drawn = paper_contexts(model, one, PAPER.context, PAPER.particles, PAPER.top_k, PAPER.top_p, seed)
    return paper_phase1(model, one, drawn, both_heads=both_heads)


def columns(batch: Batch) -> tuple[NDArray[Any], ...]:
    return batch.ids, batch.times, batch.lengths, batch.labels, batch.values


def both_heads(model: Transformer, batch: Batch, n: int = 4) -> float:
    """Seconds for each sequence if the pass over particles computes the next events as well."""
    began = time.process_time()
    for at in range(n):
        transcribe(model, batch, at, seed=0, both_heads=True)
    return (time.process_time() - began) / n


def sizes(data: EventDataset, seed: int, turns: int) -> list[dict[str, Any]]:
    """Seconds for each sequence by number of event types and labels, at fixed numbers of particles."""
    found = []
    for biases in ("base rates", "none"):
        made = [untrained(*shape, data[:TAKEN], seed) for shape in SIZES]
        if biases == "base rates":
            for (event_types, _), (model, _) in zip(SIZES, made, strict=True):
                start_at_rates(model, event_rates(data, event_types))
        for particles in (12, PAPER.particles):
            rows = timed_sizes(made, particles, turns)
            found += [{**row, "biases": biases, "particles": particles} for row in rows]
    for row in found:
        print(row, flush=True)
    return found


def timed_sizes(
    made: Sequence[tuple[Transformer, Batch]], particles: int, turns: int
) -> list[dict[str, Any]]:
    """Seconds for each sequence with models of these sizes, which take turns; the first is the full size."""
    config = replace(PrefixConfig(), particles=particles, error=0.0)
    seconds = np.empty((turns, len(made)))
    for turn in range(turns):
        for at, (model, batch) in enumerate(made):
            began = time.process_time()
            ours(model, batch, config, turn)
            seconds[turn, at] = (time.process_time() - began) / len(batch.ids)
    ratios = np.median(seconds[:, :1] / seconds, axis=0)
    return [
        {
            "event_types": event_types,
            "labels": labels,
            "seconds": float(np.median(seconds[:, at])),
            "full_size_takes": float(ratios[at]),
        }
        for at, (event_types, labels) in enumerate(SIZES)
    ]


@torch.no_grad()
def start_at_rates(model: Transformer, rates: NDArray[np.float64]) -> None:
    """Start the next-event head at base rates, as training does."""
    model.event_bias.copy_(torch.as_tensor(rates).log())


def event_rates(data: EventDataset, event_types: int) -> NDArray[np.float64]:
    """How often each id comes next, with event types numbered as in `untrained`."""
    ids = Vocabulary(EVENT_NAMES).lookup(data.event_names)[data.flat()[1]]
    counts = np.bincount(folded(ids, event_types), minlength=UNK + 1 + event_types) + 0.5
    return np.asarray(counts / counts.sum())


def folded(ids: NDArray[np.int64], event_types: int) -> NDArray[np.int64]:
    """Ids of a vocabulary of all event types as those of a smaller one."""
    return np.where(ids > UNK, UNK + 1 + ids % event_types, ids)


def untrained(
    event_types: int, labels: int, data: EventDataset, seed: int, shape: str = "small"
) -> tuple[Transformer, Batch]:
    """A model of random weights, its label head too, and sequences for it; one label is wanted of each."""
    label_names = data.label_names[:labels]
    model = Transformer(
        transformer_size(shape), Vocabulary(EVENT_NAMES[:event_types]), label_names, seed=seed
    ).eval()
    torch.nn.init.normal_(model.label_head.weight, std=0.3)
    model.time_scale.fill_(float(np.diff(data.times).clip(0).mean()))
    batch = Batches(data, Vocabulary(EVENT_NAMES), WIDTH).take(np.arange(len(data)))
    ids = folded(batch.ids, event_types)
    wanted = np.eye(labels, dtype=np.float32)[np.random.default_rng(seed).integers(0, labels, len(data))]
    return model, Batch(ids, batch.times, batch.lengths, wanted)


if __name__ == "__main__":
    main()
