"""Training: fits a calibrated Transformer with the lowest held-out loss to a data set.

The linear term is fitted first, then the Transformer learns what it leaves over; with `pretrain`, the next
event is trained before the labels. At the end, the held-out sequences calibrate and measure the best model.

All random draws of a step derive from the seed and the number of the step, so that resuming needs no
generator state: a run limited by steps ends with exactly the weights of an uninterrupted one.
"""

import logging
import math
import time
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eventcargo.batches import Batch, Batches, report_cuts
from eventcargo.deadline import NEVER, Deadline
from eventcargo.engines.engine import Engine
from eventcargo.engines.local import engine_or
from eventcargo.errors import ConfigError, DataError, argument, counted
from eventcargo.events import EventDataset
from eventcargo.models import appraisal
from eventcargo.models.appraisal import appraise
from eventcargo.models.base_rates import Rates
from eventcargo.models.focused.term import FocusedTerm
from eventcargo.models.huggingface.backbone import Backbone, read_backbone
from eventcargo.models.huggingface.model import HuggingFace
from eventcargo.models.label_model import LabelModel
from eventcargo.models.linear.fit import LinearConfig
from eventcargo.models.linear.term import Effort, LinearTerm
from eventcargo.models.pretrained import taken, tensors_fingerprint
from eventcargo.models.threads import one_thread
from eventcargo.models.training import validation
from eventcargo.models.training.backbone import describe, on_backbone
from eventcargo.models.training.budget import Clock
from eventcargo.models.training.checkpoint import RunFolder, State
from eventcargo.models.training.config import TrainConfig
from eventcargo.models.training.distributed import ProcessGroup
from eventcargo.models.training.focused_term import run_focused
from eventcargo.models.training.interrupt import Interrupted, Listener
from eventcargo.models.training.linear_term import run_term
from eventcargo.models.training.losses import Sampler, draw_targets, hide_types, joint_loss
from eventcargo.models.training.optimizer import RowAdamW, clip_gradients, make_model, make_optimizer
from eventcargo.models.training.validation import Held, Validation, set_aside
from eventcargo.models.transformer.config import FEW_WEIGHTS, TransformerConfig
from eventcargo.progress import OnProgress
from eventcargo.quality import Quality
from eventcargo.vocabulary import Vocabulary

__all__ = ["TrainConfig", "Training", "train"]

LOG = logging.getLogger(__name__)

ORDER, STEP = 1, 2
"""First number of the seeds of an epoch's order and of a step's draws, so that they differ."""

FREE = ("device",)
"""Settings that change where the result is computed, but not the result."""

PROMISING = 2.0
"""Standard errors by which the network must lower the label loss of the linear term within the trial."""

LEAST_SECONDS = 10.0
"""With less time than this left after the linear term, the network is not begun."""

PROBE, CHECK_COST = 8, 0.02
"""Sequences of the probe that times a check, and largest share of the time limit for one check."""

APPRAISALS_A_CHECK, LAST_SHARE, FEWEST = 3.0, 0.03, 20
"""Time of measuring a sequence at the end, as a multiple of checking it; share of the time limit that this
may take if nothing is left; sequences that are checked and measured at least."""

LEAST_STEPS, STEPS_A_CHECK = 2, 3.0
"""Steps for which there must be time, and the time of a step on a sequence, as a multiple of checking it."""

WARM = 0.5
"""A probe that takes less than these seconds is repeated."""

WARMING = 0.2
"""Share of the trial in which the learning rate rises."""

SMOOTHING = 0.98
"""Weight of the past in the reported loss."""


def train(
    data: EventDataset,
    config: TrainConfig = TrainConfig(),  # noqa: B008 (frozen)
    transformer: TransformerConfig = TransformerConfig(),  # noqa: B008 (frozen)
    *,
    linear: LinearTerm | LinearConfig = LinearConfig(),  # noqa: B008 (frozen)
    vocabulary: Vocabulary | None = None,
    run: str | Path | None = None,
    resume: bool = False,
    progress: OnProgress | None = None,
    deadline: Deadline = NEVER,
    engine: Engine | None = None,
    from_: Backbone | str | Path | None = None,
) -> LabelModel:
    """Train a Transformer on all but the held-out sequences and return the best model of the run.

    The linear term is fitted with the settings `linear` if `transformer.linear` is set, or passed as `linear`
    itself together with its `vocabulary`, which defaults to all event types of the data. With `run`,
    checkpoints are written to that folder, `resume=True` continues after an interruption, and the result is
    in `run/model`. The run ends before the deadline if that comes before the limit of its settings. The
    `engine` fits the linear term and the focused networks: by default, processes on this machine. With
    `from_`, a causal language model or its folder, that is Tf_x and stays as it is, and only labels are
    trained; of `transformer`, the parts for labels and `max_length` count.

    >>> from eventcargo.simulation import simulate
    >>> data = simulate("chain", sequences=50).data
    >>> model = train(data, TrainConfig(steps=2, checks=1), TransformerConfig(width=16, heads=2, layers=1))
    >>> model.label_names
    ('L000', 'L001', 'L002', 'L003')
    """
    return Training(
        data,
        config,
        transformer,
        linear=linear,
        vocabulary=vocabulary,
        run=run,
        resume=resume,
        progress=progress,
        deadline=deadline,
        engine=engine,
        backbone=read_backbone(from_, data.event_names) if isinstance(from_, str | Path) else from_,
    ).run()


class Training:
    """One training run: model, optimiser, order of the data and state."""

    def __init__(
        self,
        data: EventDataset,
        config: TrainConfig,
        shape: TransformerConfig,
        *,
        linear: LinearTerm | LinearConfig = LinearConfig(),  # noqa: B008 (frozen)
        vocabulary: Vocabulary | None = None,
        run: str | Path | None = None,
        resume: bool = False,
        progress: OnProgress | None = None,
        deadline: Deadline = NEVER,
        engine: Engine | None = None,
        backbone: Backbone | None = None,
    ) -> None:
        if backbone is not None:
            config, shape = on_backbone(config, shape, data, backbone)
        self._backbone = backbone
        self._config, self._progress, self._group = config, progress, ProcessGroup.present()
        self._clock = Clock(config, config.checks, self._group, deadline)
        vocabulary = vocabulary or Vocabulary.from_dataset(data, config.min_count)
        self._folder = _open_folder(run, _settings(data, config, shape, linear, vocabulary, backbone), resume)
        trained, held = set_aside(data, config.held_out, config.seed)
        held = held.select(held.label_rows.lengths > 0) if config.unlabelled else held
        if trained.n_events == 0:
            n_trained = counted(len(trained), "training sequence")
            raise DataError(f"no events in {n_trained}; give data with events")
        report_cuts(data, shape.max_length, None if backbone is None else backbone.max_length)
        files = None if run is None else Path(run) / "work"
        workers = linear.workers if isinstance(linear, LinearConfig) else 0
        with engine_or(engine, workers, files) as where, where.limited(config.max_time):
            term, focused = self._fit_terms(trained, vocabulary, shape, linear, progress, deadline, where)
        rates = Rates.of(trained, vocabulary, config.unlabelled)
        self.model = make_model(trained, vocabulary, rates, config, shape, term, focused, backbone)
        self._known = describe(self.model, data, rates) if isinstance(self.model, HuggingFace) else {}
        self._trained, self._held_out = trained, held
        self.quality: Quality | None = None
        self._check_seconds_each = 0.0
        self._batches = Batches(trained, vocabulary, shape.max_length)
        self._held = self._validation(held) if len(held) else None
        is_sampled = config.is_sampled(len(vocabulary))
        self._sampler = Sampler(rates.events, config.sampled) if is_sampled else None
        self._scaler = torch.amp.GradScaler("cuda", enabled=config.precision == "float16")
        self._best: dict[str, Tensor] = {}
        self.state = State()
        self._seen = 0
        # the appraisal takes about as long as this many checks
        self._clock.end_checks = 3 + min(len(held), appraisal.MAX_SEQUENCES) / validation.MAX_SEQUENCES
        self._restore()
        self._clock.begin(self.state.elapsed)

    def _fit_terms(
        self,
        trained: EventDataset,
        vocabulary: Vocabulary,
        shape: TransformerConfig,
        linear: LinearTerm | LinearConfig,
        progress: OnProgress | None,
        deadline: Deadline,
        engine: Engine,
    ) -> tuple[LinearTerm | None, FocusedTerm | None]:
        """The linear term and the focused networks, as far as the model has them."""
        term = linear if isinstance(linear, LinearTerm) else None
        config, folder, group = self._config, self._folder, self._group
        if isinstance(linear, LinearConfig) and shape.linear and trained.label_names:
            term, self._clock.term_seconds = run_term(
                trained,
                vocabulary,
                shape.max_length,
                config,
                linear,
                folder,
                group,
                progress,
                deadline,
                engine,
            )
        if term is None or not shape.focused or not trained.label_names:
            return term, None
        focused, seconds = run_focused(
            trained,
            vocabulary,
            shape.max_length,
            config,
            term,
            folder,
            group,
            progress,
            deadline,
            engine,
        )
        self._clock.term_seconds += seconds
        return term, focused

    @cached_property
    def _optimizer(self) -> RowAdamW:
        """Made when the first step needs it."""
        return make_optimizer(self.model, self._config)

    def _validation(self, held: EventDataset) -> Validation:
        """Held-out sequences to check: as many as a share of the time limit allows, by a probe."""
        most = validation.MAX_SEQUENCES
        if math.isfinite(self._clock.limit):
            self._probe(held)
            share = CHECK_COST * self._clock.limit
            most = int(np.clip(share / self._check_seconds_each, FEWEST, most))
        return Validation(held[:most], self.model, self._config, self._config.tokens)

    def _probe(self, held: EventDataset) -> None:
        """Time a check of a few sequences; refuse a limit that leaves a network alone no time to learn."""
        probe = Validation(held[:PROBE], self.model, self._config, self._config.tokens)
        taken = self._seconds_of(probe)
        if taken < WARM:
            taken = self._seconds_of(probe)  # the first one warms the caches up
        self._check_seconds_each = max(taken / len(probe), 1e-9)
        left, needed = self._group.broadcast(self._clock.seconds_left)[0], self._network_seconds
        if self.model.linear is None and needed > left:
            raise ConfigError(
                f"the time limit leaves {max(left, 0):.0f} s for training, but to check, train and measure "
                f"this Transformer at all takes about {needed:.0f} s here; allow "
                f"{math.ceil(needed / max(left, 1))} times as much time, or use a smaller size"
            )

    def _seconds_of(self, probe: Validation) -> float:
        """Seconds of a check, the same in all processes."""
        began = time.monotonic()
        with one_thread(self._is_small):
            probe.check(self.model)
        return self._group.broadcast(time.monotonic() - began)[0]

    @property
    def _network_seconds(self) -> float:
        """Least seconds for which a network is worth beginning: two checks, some steps, the measurement."""
        per_step = STEPS_A_CHECK * self._config.tokens / max(float(self._trained.lengths.mean()), 1.0)
        sequences = 2 * FEWEST + LEAST_STEPS * per_step + APPRAISALS_A_CHECK * FEWEST
        return self._check_seconds_each * sequences

    @property
    def is_main(self) -> bool:
        """Whether this process writes and reports; true for a single process."""
        return self._group.is_main

    def run(self) -> LabelModel:
        """Train until the budget is used up, the model stops improving, or a signal arrives."""
        with one_thread(self._is_small):
            return self._run()

    @cached_property
    def _is_small(self) -> bool:
        return self.model.n_block_weights < FEW_WEIGHTS

    def _run(self) -> LabelModel:
        on = [self.model.device] if self.model.device.type == "cuda" else []
        with Listener(self._folder is not None) as listener, torch.random.fork_rng(devices=on):
            if not self.state.finished:
                self._begin_labels()
            if self._held is not None and self.state.step == 0:
                self._begin(self._held)
            for rows in self._order():
                self._begin_labels()
                self._step(rows)
                self._look()
                if self.state.finished:
                    break
                self._save_or_stop(listener)
        self._load_best()
        if self.state.ended:
            self.model.use_term_at_end()
        if self._held is not None and self.model.label_names:
            predicts_events = self.state.step > 0 or self._backbone is not None
            measured = appraise(
                self.model, self._trained, self._shown(), self._config.unlabelled, events=predicts_events
            )
            self.quality = replace(measured, training=self._account())
        self._save_model()
        self._write()
        return self.model

    def _begin(self, held: Validation) -> None:
        """Check the initial model, which is a candidate too; end if the network cannot help."""
        if self._config.trial and self.model.linear is not None:
            if not held.has_room:
                self._end("the linear term leaves no label a hundredth of its base rate's loss to learn")
            elif self.model.focused is not None:
                self._end(
                    f"focused networks of {counted(len(self.model.focused.labels), 'label')} learned what "
                    "the linear term leaves over"
                )
            elif self._group.broadcast(self._clock.seconds_left)[0] < max(
                LEAST_SECONDS, self._network_seconds
            ):
                self._end("the linear term left no time for the network")
        if not self.state.finished:
            self._check(held)

    def _try(self) -> None:
        """At the end of the trial, end if the network does not help."""
        lead = self.state.history[-1]["lead"]
        if self.model.linear is not None and lead < PROMISING:
            self._end(
                f"after {counted(self.state.step, 'step')} the network did not lower the held-out label loss "
                f"of the linear term ({lead:+.1f} standard errors)"
            )

    def _shown(self) -> EventDataset:
        """The held-out sequences on which the model is measured: as many as there is time for."""
        if self._held is None or not math.isfinite(self._clock.limit):
            return self._held_out
        each = APPRAISALS_A_CHECK * (self._clock.check_seconds / len(self._held) or self._check_seconds_each)
        room = max(self._clock.seconds_left, LAST_SHARE * self._clock.limit)
        return self._held_out[: int(np.clip(room / each, FEWEST, appraisal.MAX_SEQUENCES))]

    def _end(self, reason: str) -> None:
        LOG.info("training: %s", reason)
        self.state.finished, self.state.ended = True, reason

    def _account(self) -> dict[str, Any]:
        """What the linear term and the network cost, and what the network brought."""
        term = self.model.linear
        efforts = [] if term is None or term.effort is None else term.effort.tolist()
        named = list(zip(self.model.label_names, efforts, strict=False))
        return {
            "term_seconds": round(self._clock.term_seconds, 3),
            "network_seconds": round(self._clock.elapsed - self._clock.term_seconds, 3),
            "steps": self.state.step,
            "helped": [] if term is None else self._helped(),
            "focused": self._names(self._is_focused),
            "ended": self.state.ended,
            "presence_only": [name for name, effort in named if effort == Effort.PRESENCE],
            "not_fitted": [name for name, effort in named if effort == Effort.NONE],
            **self._known,
        }

    def _helped(self) -> list[str]:
        """Labels whose logit at the end of a sequence uses the Transformer."""
        return self._names(~self.model.linear_labels & ~self._is_focused)

    @property
    def _is_focused(self) -> NDArray[np.bool_]:
        """Labels whose logit at the end of a sequence is that of a focused network."""
        focused = self.model.focused
        labels = np.zeros(0, np.int64) if focused is None else focused.labels
        return np.isin(np.arange(len(self.model.label_names)), labels) & ~self.model.linear_labels

    def _names(self, which: NDArray[np.bool_]) -> list[str]:
        return [name for name, chosen in zip(self.model.label_names, which, strict=True) if chosen]

    def _begin_labels(self) -> None:
        """Once pretraining is over, compare models by their labels too, and freeze Tf_x if set."""
        used = self._used(self.state.step + 1)
        if not self.state.labels_begun and used >= self._config.pretrain:
            self.state.labels_begun, self.state.best, self.state.worse = True, math.inf, 0
            self._best = {}
        if self.state.labels_begun and self._config.freeze:
            self.model.freeze_events()

    def _order(self) -> Iterator[NDArray[np.int64]]:
        """Batches from the current state on, epoch after epoch; none if the run is finished."""
        self.model.train()
        while not self.state.finished:
            rng = np.random.default_rng([ORDER, self._config.seed, self.state.epoch])
            for at, rows in enumerate(self._batches.shuffled(self._config.tokens, rng)):
                if at >= self.state.batch:
                    self.state.batch = at + 1
                    yield rows
            self.state.epoch, self.state.batch = self.state.epoch + 1, 0

    def _step(self, rows: NDArray[np.int64]) -> None:
        rng = np.random.default_rng([STEP, self._config.seed, self.state.step])
        torch.manual_seed(int(rng.integers(2**62)) + self._group.rank)
        for group in self._optimizer.param_groups:
            group["lr"] = self._rate()
        batch = self._batches.take(rows)
        loss = self._backward(batch, rng)
        self._group.sum_gradients(self.model.parameters())
        self._scaler.unscale_(self._optimizer)  # type: ignore[arg-type]  # after the sum, so that all processes see an overflow in one
        norm = clip_gradients(self.model.parameters(), self._config.clip)
        self._refuse_nan(loss, float(norm))
        self._scaler.step(self._optimizer)  # type: ignore[arg-type]
        self._scaler.update()
        self.state.step += 1
        self._seen += int(batch.lengths.sum())
        past = self.state.loss
        self.state.loss = loss if math.isnan(past) else SMOOTHING * past + (1 - SMOOTHING) * loss

    def _rate(self) -> float:
        """The learning rate of the next step; a trial has its own warm-up, in steps."""
        step, trial = self.state.step + 1, self._config.trial
        used = self._used(step)
        if not trial or used >= self._config.warmup or used < self._config.pretrain:
            return self._config.rate(used)
        return self._config.learning_rate * min(1.0, step / (WARMING * trial))

    def _backward(self, batch: Batch, rng: np.random.Generator) -> float:
        """Compute the gradients of this process's share of the batch; returns the loss of the whole batch."""
        begun = self.state.labels_begun
        events = not (begun and self._config.freeze)
        targets = draw_targets(batch, self._config, rng, events=events, labels=begun)
        drawn = self._sampler.draw(rng) if self._sampler else np.zeros(0, np.int64)
        batch = hide_types(batch, self._config.hidden_share, rng)
        self._optimizer.zero_grad()
        total = torch.zeros((), device=self.model.device)
        n_parts = self._config.accumulate * self._group.size
        for first in range(self._group.rank, n_parts, self._group.size):
            which = slice(first, None, n_parts)
            if len(batch.ids[which]) == 0:
                continue
            with self._autocast():
                loss = joint_loss(
                    self.model, batch.rows(which), targets.rows(which), self._config, self._sampler, drawn
                )
            if loss.requires_grad:
                self._scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            total += loss.detach()
        return float(self._group.sum(total))

    def _autocast(self) -> torch.autocast:
        precision = self._config.precision
        kind = None if precision == "float32" else getattr(torch, precision)
        return torch.autocast("cuda", dtype=kind, enabled=kind is not None)

    def _refuse_nan(self, loss: float, norm: float) -> None:
        """Raise `ConfigError` if loss or gradient is not finite; the scaler of float16 skips overflows."""
        if math.isfinite(loss) and (math.isfinite(norm) or self._scaler.is_enabled()):
            return
        raise ConfigError(
            f"the loss became {loss} (gradient {norm}) at step {self.state.step}; lower "
            f"{argument('learning_rate')}"
            f"{self._config.learning_rate}, or check the data for times that are not finite"
        )

    def _used(self, step: int) -> float:
        self.state.elapsed = self._clock.elapsed
        return self._clock.used(step)

    def _look(self) -> None:
        """Report the step, and check the held-out sequences when it is due and at the end."""
        used = self._used(self.state.step)
        self._report(used)
        self.state.finished = used >= 1
        number, is_tried = math.floor(used * self._clock.checks()), self.state.step == self._config.trial
        if self._held is None or (number <= self.state.checked and used < 1 and not is_tried):
            return
        self.state.checked = number
        self._check(self._held)
        if is_tried:
            self._try()

    def _check(self, held: Validation) -> None:
        """Check the model on the held-out sequences, and record the time that takes."""
        began = time.monotonic()
        self._judge(held.check(self.model))
        self._clock.note_check(began)

    def _judge(self, held: Held) -> None:
        self.state.history.append({"step": self.state.step, **asdict(held)})
        loss = held.loss if self.state.labels_begun else held.event_loss
        LOG.debug("step %d: loss on held-out sequences %.4f", self.state.step, loss)
        if loss < self.state.best:
            self.state.best, self.state.worse = loss, 0
            self._best = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
        else:
            self.state.worse += 1
        if self.state.labels_begun:
            self.state.finished |= 0 < self._config.patience <= self.state.worse

    def _report(self, used: float) -> None:
        if self._progress is None or not self._group.is_main:
            return
        history = self.state.history
        f1 = history[-1]["label_f1"] if history else None
        rate, left = self._seen / self._clock.stepping, self._clock.left(used)
        message = status(self.state.step, self.state.loss, f1, rate, left)
        self._progress("training", used, 1.0, message)

    def _save_or_stop(self, listener: Listener) -> None:
        heard = int(self._group.broadcast(listener.heard)[0]) if self._folder else 0
        if not heard and self.state.step % self._config.save_every:
            return
        self._write()
        if heard:
            self._load_best()
            self._save_model()
            raise Interrupted(f"stopped at step {self.state.step:,}; the run can be resumed", heard)

    def _write(self) -> None:
        if self._folder is None or not self._group.is_main:
            return
        tensors = {f"best.{name}": value for name, value in self._best.items()}
        if not self.state.finished:  # a finished run needs only its result
            tensors |= {f"model.{name}": value for name, value in self.model.state_dict().items()}
            tensors |= {f"optimizer.{k}": v for k, v in self._optimizer.to_tensors().items()}
        self._folder.write({**asdict(self.state), "scaler": self._scaler.state_dict()}, tensors)

    def _restore(self) -> None:
        checkpoint = self._folder.read() if self._folder else None
        if checkpoint is None:
            return
        state, tensors = checkpoint
        self._scaler.load_state_dict(state.pop("scaler"))
        self.state = State(**state)
        self._best = taken(tensors, "best.")
        if not self.state.finished:
            self.model.load_state_dict(taken(tensors, "model."))
            self._optimizer.load_tensors(taken(tensors, "optimizer."))

    def _load_best(self) -> None:
        """Load the best model so far, or keep the last one if none was compared."""
        self._best = self._best or dict(self.model.state_dict())
        self.model.load_state_dict(self._best)
        self.model.eval()

    def _save_model(self) -> None:
        if self._folder is None or not self._group.is_main:
            return
        self.model.save_pretrained(self._folder.model)
        if self.quality is not None:
            self.quality.write(self._folder.model / "quality.json")


def status(
    step: int, loss: float, label_f1: float | None, tokens_per_second: float, seconds_left: float
) -> str:
    """One line with the step, smoothed training loss, held-out label F1, speed and time left.

    >>> status(12, 1.25, None, 20_000.0, 90.0)
    'step 12, loss 1.250, label F1 -, 20,000 tokens/s, 1:30 left'
    """
    minutes, seconds = divmod(round(seconds_left), 60)
    f1 = "-" if label_f1 is None else f"{label_f1:.3f}"
    speed = f"{tokens_per_second:,.0f} tokens/s"
    return f"step {step:,}, loss {loss:.3f}, label F1 {f1}, {speed}, {minutes}:{seconds:02} left"


def _open_folder(run: str | Path | None, settings: Mapping[str, Any], resume: bool) -> RunFolder | None:
    """The run's folder, if it has one."""
    if run is not None:
        return RunFolder(Path(run), settings, resume)
    if resume:
        raise ConfigError(f"{argument('resume', True)} without a run; give the folder of the run to resume")
    return None


def _settings(
    data: EventDataset,
    config: TrainConfig,
    shape: TransformerConfig,
    linear: LinearTerm | LinearConfig,
    vocabulary: Vocabulary,
    backbone: Backbone | None,
) -> dict[str, Any]:
    """Everything a run's weights depend on."""
    return {
        **({} if backbone is None else {"from": backbone.fingerprint}),
        "train": {name: value for name, value in asdict(config).items() if name not in FREE},
        "transformer": asdict(shape),
        "data": data.fingerprint,
        "linear": _linear_settings(linear),
        "vocabulary": zlib.crc32("\n".join(vocabulary.event_names).encode()),
    }


def _linear_settings(linear: LinearTerm | LinearConfig) -> dict[str, Any] | str:
    """How the linear term is fitted, or which one is given."""
    if isinstance(linear, LinearTerm):
        return tensors_fingerprint(linear.to_tensors())
    return {name: value for name, value in asdict(linear).items() if name != "workers"}
