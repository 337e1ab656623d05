"""Cargo: the whole method as one estimator, with the interface of scikit-learn."""

import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import eventcargo
import eventcargo.cohort
import eventcargo.discovery
import eventcargo.intervention
import eventcargo.oneshot
import eventcargo.prediction
import eventcargo.report
from eventcargo.cohort.config import COHORT, Cohort, read_cohort
from eventcargo.discovery.config import DiscoverConfig
from eventcargo.discovery.data_source import has_source, recall
from eventcargo.discovery.parameters import WithParameters
from eventcargo.discovery.run_folder import RunManifest, knowledge_of_run, write_cohort_of_run
from eventcargo.engines.config import EngineConfig
from eventcargo.errors import ConfigError, argument
from eventcargo.files import check_new_folder
from eventcargo.knowledge import Knowledge
from eventcargo.progress import progress_bars

if TYPE_CHECKING:
    import polars as pl

    from eventcargo.discovery.results import RunResults
    from eventcargo.edges import EdgeTable
    from eventcargo.events import EventDataset
    from eventcargo.intervention import Without
    from eventcargo.models.density import DensityModel
    from eventcargo.oneshot.explain import Explanation
    from eventcargo.sequences import EventSequence
    from eventcargo.vocabulary import Vocabulary


@dataclass(frozen=True)
class _Cut:
    """A data set, with what its cohort counted."""

    data: "EventDataset"
    summary: Mapping[str, Any] = field(default_factory=dict)
    timing: "pl.DataFrame | None" = None


class Cargo(WithParameters):
    """For every label, the event types that cause it.

    A given `model` is used as it is; without one, `fit` trains it. A `cohort` cuts the sequences out of what
    was recorded, here and in new tables (`read`, `predict_proba`). The other settings are those of
    `DiscoverConfig`; `n_jobs` is the number of worker processes (None: one per core where that pays),
    `engine="ray"` runs the work on the Ray cluster at `address`, and `show_progress` draws bars on standard
    error. `fit` sets `graph_`, `edges_`, `model_`,
    `quality_`, `rules_`, `verdicts_` and `baseline_`. Where `max_time` is too short for a model, `model_` is
    None and the boundaries rest on the presence of event types.

    >>> from eventcargo.simulation import simulate
    >>> simulated = simulate("chain", sequences=400, labels=2, seed=100)
    >>> cargo = Cargo(preset="fast", max_time="60s", steps=2).fit(simulated.data)
    >>> cargo.graph_.boundary("L000") == simulated.truth.boundary("L000")
    True
    """

    def __init__(
        self,
        model: "DensityModel | None" = None,
        *,
        preset: str = "default",
        max_time: str = "30m",
        test: str = "",
        criterion: str = "",
        size: str = "",
        steps: int = 0,
        max_length: int = 512,
        cohort: Cohort | None = None,
        knowledge: Knowledge | None = None,
        seed: int = 0,
        device: str = "cpu",
        n_jobs: int | None = None,
        max_memory: str = "",
        engine: str = "local",
        address: str = "",
        show_progress: bool = False,
    ) -> None:
        self.model = model
        self.preset = preset
        self.max_time = max_time
        self.test = test
        self.criterion = criterion
        self.size = size
        self.steps = steps
        self.max_length = max_length
        self.cohort = cohort
        self.knowledge = knowledge
        self.seed = seed
        self.device = device
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.engine = engine
        self.address = address
        self.show_progress = show_progress

    def fit(
        self,
        data: Any,
        labels: Any = None,
        *,
        run: str | Path | None = None,
        resume: bool = False,
        **columns: Any,
    ) -> "Cargo":
        """Run all stages; `data` is an `EventDataset`, or tables for `read_events` or the cohort.

        With `run`, all results are kept in that folder, and `resume=True` continues a run that was stopped.
        """
        engine = EngineConfig(self.engine, self.address)  # type: ignore[arg-type]  # it checks the name
        if run is None and self.engine != "local":
            raise ConfigError(
                f"{argument('engine', self.engine)} needs a folder that all nodes see: fit with "
                f"{argument('run')}"
            )
        cut = self._read(data, labels, columns)
        folder = self._temporary_folder() if run is None else Path(run)
        with progress_bars(self.show_progress) as progress:
            discovery = eventcargo.discovery.Discovery(
                cut.data,
                folder,
                self._config(),
                knowledge=self.knowledge,
                model=self.model,
                timing=cut.timing,
                resume=resume,
                progress=progress,
                engine=engine,
            )
            if self.cohort is not None:
                write_cohort_of_run(folder, self.cohort, cut.summary, cut.timing)
            results = discovery.run()
        self._take(results, folder)
        self._data = cut.data
        return self

    def update(
        self,
        events: Any,
        labels: Any = None,
        *,
        data: "EventDataset | None" = None,
        max_time: str = "",
        **columns: Any,
    ) -> "Cargo":
        """Add new sequences, with the model there is; see `eventcargo.update`.

        `events` is an `EventDataset` with labels, or tables as `fit` takes them. `data` are the sequences so
        far, by default those of `fit` or those that the folder of the run remembers. Sets `drift_`, which
        says whether the model is out of date.
        """
        model = self._model()
        is_cut = isinstance(events, eventcargo.EventDataset)
        if not is_cut and labels is None and not (self.cohort and self.cohort.outcomes):
            raise ConfigError(
                f"{argument('labels')} is missing: an update counts which new sequences carry a label"
            )
        cut = _Cut(events) if is_cut else self._read(events, labels, columns, model.vocabulary)
        with progress_bars(self.show_progress) as progress:
            updated = eventcargo.update(
                self._folder,
                cut.data,
                data=self.data_ if data is None else data,
                timing=cut.timing,
                max_time=max_time,
                device=self.device,
                workers=self.n_jobs or 0,
                progress=progress,
                engine=EngineConfig(self.engine, self.address),  # type: ignore[arg-type]  # it checks the name
            )
        self._take(updated.results, self._folder)
        self._data, self.drift_ = updated.data, updated.drift
        return self

    @property
    def data_(self) -> "EventDataset":
        """The sequences of the run: those of `fit`, or those that its folder remembers."""
        self._fitted()
        if not hasattr(self, "_data"):
            if not has_source(self._folder):
                raise ConfigError(
                    f"{self._folder} does not remember its data, which were given in Python; give data="
                )
            self._data = recall(self._folder).data
        return self._data

    def read(self, events: Any, labels: Any = None, **columns: Any) -> "EventDataset":
        """The sequences of new tables, as `fit` made those of its own; give columns and tables as there.

        Thresholds, bands and families are those of the model. Where the cohort takes outcomes from a table of
        `labels` and none is given, each sequence ends with the last event of its subject.
        """
        return self._read(events, labels, columns, self._model().vocabulary).data

    @overload
    def explain(self, data: "EventSequence", labels: "Sequence[str] | None" = None) -> "Explanation": ...
    @overload
    def explain(self, data: Any, labels: "Sequence[str] | None" = None, **columns: Any) -> "pl.DataFrame": ...
    def explain(
        self, data: Any, labels: "Sequence[str] | None" = None, **columns: Any
    ) -> "Explanation | pl.DataFrame":
        """The events that moved the labels of one sequence, or of many.

        Of an `EventSequence` an `Explanation`; of an `EventDataset`, or of tables as `read` takes them, a
        table with the columns of `eventcargo.prediction.EXPLANATIONS`. `labels` are those to explain, by
        default the ones that a sequence carries or that are probable.
        """
        import polars as pl

        model = self._model()
        if isinstance(data, eventcargo.EventSequence):
            return eventcargo.explain(model, data, labels)
        shown = self._shown(data, None, columns)
        known = knowledge_of_run(self._folder)
        allowed = eventcargo.oneshot.allowed_pairs(known, model, shown)
        return pl.concat(list(eventcargo.prediction.explain_all(model, shown, labels, allowed=allowed)))

    def predict_proba(self, data: Any, labels: Any = None, **columns: Any) -> "pl.DataFrame":
        """P(label | whole sequence): one row per sequence, with its id and one column per label.

        `data` is an `EventDataset`, or tables as `read` takes them.
        """
        return eventcargo.prediction.predict(self._model(), self._shown(data, labels, columns))

    def _shown(self, data: Any, labels: Any, columns: Mapping[str, Any]) -> "EventDataset":
        """The sequences of new data as the model reads them; a warning names unknown event types."""
        is_cut = isinstance(data, eventcargo.EventDataset) and (self.cohort is None or self.cohort.cuts)
        shown = data if is_cut else self.read(data, labels, **columns)
        unknown = eventcargo.prediction.unknown_events(self._model(), shown)
        eventcargo.prediction.warn_of_unknown(unknown, shown)
        return shown

    def without(self, events: Any, labels: Any = None, data: "EventDataset | None" = None) -> "list[Without]":
        """How many fewer sequences would carry a label without event types, one or several.

        Without `labels`, they are those whose boundary has an event type.
        """
        shown = self.data_ if data is None else data
        return eventcargo.intervention.without(
            self._fitted().graph_,
            shown,
            events,
            labels,
            verdicts=self.verdicts_,
            n_controls=eventcargo.intervention.sampled_controls(self.cohort),
        )

    def score(self, data: Any, labels: Any = None, **columns: Any) -> float:
        """How well the labels of other sequences are predicted; against a true graph, the macro F1.

        For sequences, as `predict_proba` takes them but with their labels, it is the mean over labels of the
        share of log-loss that the model explains (McFadden's pseudo-R2: 0 is the base rate, 1 perfect), so
        that `cross_val_score` and `GridSearchCV` can choose settings. For a `LabelGraph` of true boundaries,
        it is the macro F1 of the boundaries; `evaluate` gives more scores.
        """
        if isinstance(data, eventcargo.LabelGraph):
            return eventcargo.evaluate(self._fitted().graph_, data).macro.f1
        return eventcargo.prediction.mean_pseudo_r2(self._model(), self._shown(data, labels, columns))

    def write_report(self, path: str | Path, data: "EventDataset | None" = None) -> None:
        """Write one HTML page with all results."""
        shown = self.data_ if data is None else data
        content = eventcargo.discovery.read_report_input(self._folder, shown)
        eventcargo.report.write_report(path, content)

    def save(self, folder: str | Path) -> None:
        """Write all results to a new folder, for `load`."""
        check_new_folder(Path(folder))
        shutil.copytree(self._fitted()._folder, folder, dirs_exist_ok=True)

    @classmethod
    def load(cls, folder: str | Path, device: str = "cpu") -> "Cargo":
        """Load the folder of a run, written by `save`, `fit(run=...)` or the command `discover`."""
        settings = RunManifest.read(Path(folder)).settings
        known = {name: settings[name] for name in cls._defaults() if name in settings}
        path = Path(folder) / COHORT
        cohort = read_cohort(path)[0] if path.exists() else None
        cargo = cls(**{**known, "model": None, "knowledge": None, "device": device, "cohort": cohort})
        model = eventcargo.discovery.load_run_model(Path(folder), device)
        cargo._take(eventcargo.discovery.read_results(Path(folder), model), Path(folder))
        return cargo

    @property
    def edges_(self) -> "EdgeTable":
        """The edges of single sequences (phase 1), read from disk at each access."""
        self._model()  # without one there are none
        return eventcargo.EdgeTable.read(self._fitted()._results.edges)

    def _repr_html_(self) -> str:
        from eventcargo.discovery.notebook import estimator_html

        changed = self._changed()
        parameters = {name: (value, name in changed) for name, value in self.get_params(deep=False).items()}
        return estimator_html(type(self).__name__, parameters, getattr(self, "_results", None))

    def _read(
        self, data: Any, labels: Any, columns: Mapping[str, Any], like: "Vocabulary | None" = None
    ) -> "_Cut":
        """The data set, or the sequences of tables; with `like`, by the event types of a model."""
        is_read = isinstance(data, eventcargo.EventDataset)
        if is_read and (labels is not None or columns):
            raise ConfigError("an EventDataset already has its labels and columns; give nothing else")
        if self.cohort is None or not (self.cohort.cuts or {"static", "parents"} & columns.keys()):
            plain = data if is_read else eventcargo.read_events(data, labels, **columns)
            patterns = () if self.cohort is None else self.cohort.exclude
            return _Cut(eventcargo.cohort.exclude(plain, patterns).data if patterns else plain)
        if is_read:
            raise ConfigError(
                "a cohort is cut from tables, and an EventDataset is cut already; set cohort=None"
            )
        is_open = like is not None and labels is None and bool(self.cohort.label_time)
        cohort = self.cohort.before_outcomes if is_open else self.cohort
        tables = eventcargo.cohort.Tables(data, labels, **columns)
        built = eventcargo.cohort.build_cohort(cohort, tables, like=like)
        return _Cut(built.data, built.summary.to_dict(), built.timing)

    def _take(self, results: "RunResults", folder: Path) -> None:
        self._results, self._folder = results, folder
        self.model_, self.graph_, self.baseline_ = results.model, results.graph, results.baseline
        self.rules_, self.verdicts_, self.quality_ = results.rules, results.verdicts, results.quality

    def _temporary_folder(self) -> Path:
        """A folder that is deleted with the estimator."""
        folder = Path(tempfile.mkdtemp(prefix="eventcargo-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return folder

    def _fitted(self) -> "Cargo":
        if not hasattr(self, "graph_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("this Cargo is not fitted yet; call fit first")
        return self

    def _model(self) -> "DensityModel":
        model = self._fitted().model_
        if model is None:
            raise ConfigError(
                f"this run had no time to fit a model; fit with a longer {argument('max_time')}"
            )
        return model

    def _config(self) -> DiscoverConfig:
        names = DiscoverConfig.__dataclass_fields__
        own = {name: value for name, value in self.get_params(deep=False).items() if name in names}
        return DiscoverConfig(**own, workers=self.n_jobs or 0)
