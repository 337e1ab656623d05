"""Phase 1 of new sequences: their edges, votes and evidence join those of a run.

The shards are written among the works of the run and copied into RUN/edges when all are there. Until
plan.json counts them, they are not part of the run; whoever comes after a kill copies them again.
"""

import shutil
import zlib
from pathlib import Path
from typing import Any

from eventcargo.discovery.run_folder import EDGES, knowledge_of_run
from eventcargo.edges import FORMAT, FORMAT_VERSION, EdgeFolder
from eventcargo.engines.engine import Engine
from eventcargo.errors import ConfigError
from eventcargo.events import EventDataset
from eventcargo.files import replacing_folder, write_document
from eventcargo.fusion.vote_store import VoteStore, run_votes, write_votes
from eventcargo.knowledge import Knowledge
from eventcargo.models.density import DensityModel
from eventcargo.oneshot.config import ExtractConfig
from eventcargo.oneshot.extract import extract
from eventcargo.progress import OnProgress

BEGUN = "update"
"""Beginning of the names of folders, in that of a run's works, with edges of updates that are under way."""


class NewEdges:
    """The edges of new sequences of a run; `data` has the labels and names of the run's."""

    def __init__(self, run: Path, work: Path, data: EventDataset, n_parts: int) -> None:
        self._run, self._data, self._all = run, data, EdgeFolder.open(run / EDGES)
        name = f"{BEGUN}-{zlib.crc32(data.fingerprint.encode()):08x}"
        self._work, self._place = work, work / name
        if not self.are_in and len(self._parts) > n_parts:
            raise ConfigError(
                f"{run} has edges of an update that was not finished; run that update again, then this one"
            )

    @property
    def _parts(self) -> list[str]:
        return parts_of(self._all.plan)

    @property
    def are_in(self) -> bool:
        """Whether the edges of these sequences are among those of the run."""
        return self._data.fingerprint in self._parts

    def check_model(self, model: DensityModel) -> None:
        """Refuse another model than that of the run's edges: their votes cannot be added."""
        if self._all.plan.get("model") != model.fingerprint:
            raise ConfigError(
                f"{self._run / EDGES} was found with another model than {self._run / 'model'}; put that "
                "model back, or start the run again in a new folder"
            )

    def extract(self, model: DensityModel, workers: int, progress: OnProgress | None, engine: Engine) -> None:
        """Find the edges as those of the run were found; a kill loses the shards under way alone."""
        plan = self._all.plan
        names = ExtractConfig.__dataclass_fields__
        config = ExtractConfig(**{name: plan[name] for name in names if name in plan}, workers=workers)
        extract(
            model,
            self._data,
            self._place / EDGES,
            config,
            knowledge=self._knowledge(),
            resume=True,
            progress=progress,
            engine=engine,
            like=self._run / EDGES,
        )

    def _knowledge(self) -> Knowledge | None:
        """The knowledge that the run's edges were found with."""
        known, wanted = knowledge_of_run(self._run), self._all.plan.get("knowledge")
        if wanted is None:
            return None
        if known is None or known.fingerprint != wanted:
            raise ConfigError(
                f"{self._run} has another knowledge now than its edges were found with; fuse it again with "
                "that one, and then update it"
            )
        return known

    def add(self) -> None:
        """Make the edges and votes part of the run."""
        new = EdgeFolder.open(self._place / EDGES)
        joined = VoteStore.join([run_votes(self._run), VoteStore.of_folder(new)])
        first = self._all.n_shards
        for number in range(new.n_shards):
            with replacing_folder(self._all.shard(first + number)) as place:
                shutil.copytree(new.shard(number), place, dirs_exist_ok=True)
        parts = sorted([*self._parts, self._data.fingerprint])
        plan = {**self._all.plan, "shards": first + new.n_shards, "data": parts}
        write_document(self._run / EDGES / "plan.json", FORMAT, FORMAT_VERSION, plan)
        self._all = EdgeFolder.open(self._run / EDGES)
        write_votes(joined, self._run / "votes")

    def discard(self) -> None:
        """Remove what updates have left in the folder of works."""
        for place in self._work.glob(f"{BEGUN}-*"):
            shutil.rmtree(place, ignore_errors=True)


def parts_of(plan: dict[str, Any]) -> list[str]:
    """The fingerprints of the data that edges were found in."""
    data = plan.get("data")
    return list(data) if isinstance(data, list) else [str(data)]
