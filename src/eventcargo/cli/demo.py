"""`eventcargo demo`: simulate a small fleet, find its causes and compare them with the truth."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import eventcargo
from eventcargo.cli.boundaries import causes
from eventcargo.cli.discover import print_found, run_stages, write_scores
from eventcargo.cli.output import print_lines, print_table
from eventcargo.cli.simulate import write_simulated
from eventcargo.discovery import DiscoverConfig
from eventcargo.discovery.data_source import DataSource
from eventcargo.errors import counted
from eventcargo.files import atomic_folder, check_new_folder

if TYPE_CHECKING:
    from eventcargo.discovery import RunResults
    from eventcargo.events import EventDataset
    from eventcargo.graphs import LabelGraph

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

SEQUENCES, EVENT_TYPES, LABELS, SEED = 5000, 600, 12, 1


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="New folder for the data and the run.")] = Path("demo-data"),
    max_time: Annotated[str, typer.Option(help="Time limit of the run, such as 90s or 3m.")] = "3m",
    sequences: Annotated[int, typer.Option(help="Number of vehicles to simulate.")] = SEQUENCES,
) -> None:
    """Simulate a small fleet, find its causes and compare them with the truth."""
    check_new_folder(out)
    config = DiscoverConfig(max_time=max_time)
    vehicles = counted(sequences, "vehicle")
    print_lines([f"Simulating {vehicles} with {EVENT_TYPES:,} codes and {LABELS} error patterns."])
    simulated = eventcargo.simulate(
        "fleet", sequences=sequences, event_types=EVENT_TYPES, labels=LABELS, seed=SEED
    )
    with atomic_folder(out) as target:
        write_simulated(simulated, target)
    source = DataSource(str(out / "events.parquet"), (str(out / "labels.parquet"),))
    loaded, truth = source.build(), eventcargo.read_graph(out / "truth.parquet")
    data = loaded.data
    results = run_stages(loaded, out / "run", config, source)
    scores = write_scores(results.graph, truth, data, out / "run")
    print_found(results, data, out / "run", scores)
    _compare(results, truth, data)


def _compare(results: "RunResults", truth: "LabelGraph", data: "EventDataset") -> None:
    """Print found against true causes for each label, and a command that explains one vehicle."""
    rows = []
    for label in results.graph.labels:
        true, found = set(truth.boundary(label)), set(results.graph.boundary(label))
        rows.append(
            [label, causes(truth, label), ", ".join(sorted(true - found)), ", ".join(sorted(found - true))]
        )
    print_table("Found against true causes", ["label", "true causes", "missed", "wrongly found"], rows)
    carrying = next((sequence.id for sequence in data if sequence.labels), None)
    run = results.edges.parent
    if carrying and results.model is not None:
        print_lines([f"Explain one vehicle: eventcargo explain {run} --sequence {carrying}"])
