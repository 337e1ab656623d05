"""A small run of all stages, each with several units, and the bytes of everything that it finds."""

from pathlib import Path

from eventcargo.discovery import DiscoverConfig, discover
from eventcargo.engines import Engine, EngineConfig
from eventcargo.events import EventDataset
from eventcargo.simulation import simulate

CONFIG = DiscoverConfig(preset="fast", steps=3, max_time="2h", workers=1)

TIMED = ("run.json", "artefacts.json", "report.html", "quality.json")
"""Files that tell how long something took, or the time of day."""

SETTINGS = ("linear.safetensors", "focused.safetensors", "checkpoint.safetensors")
"""Files of training with seconds in their headers; the model that they make has none."""

STAGES = ("baseline", "features", "fits", "focused", "cases", "extract", "verify", "rules")
"""The folders of works, in their order."""


def small() -> EventDataset:
    """Two shards, two blocks of labels; some labels need a network."""
    return simulate("mixed", sequences=2_100, labels=9, event_types=70, seed=103).data


def run(data: EventDataset, folder: Path, engine: EngineConfig | Engine, resume: bool = False) -> None:
    discover(data, folder, CONFIG, resume=resume, engine=engine)


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every file of a run that says what was found."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in paths
        if path.name not in (*TIMED, *SETTINGS)
    }
