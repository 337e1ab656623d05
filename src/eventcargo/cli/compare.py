"""`eventcargo compare RUN_A RUN_B`: which edges differ between two runs, by the data of both."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import eventcargo
import eventcargo.comparison
from eventcargo.cli.options import with_options
from eventcargo.cli.output import AS_JSON, print_json, print_lines, print_table, show
from eventcargo.cli.run_data import graph_and_data
from eventcargo.comparison.config import CompareConfig
from eventcargo.errors import ConfigError, counted
from eventcargo.progress import progress_bars

if TYPE_CHECKING:
    from eventcargo.comparison import Comparison, Side

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

SHOWN_NAMES = 10
"""Most names listed of what only one run knows; --json has all."""


@app.command()
@with_options(CompareConfig)
def compare(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A", help="Folder of the first run.")],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B", help="Folder of the second run.")],
    events_a: Annotated[str | None, typer.Option(help="Events of RUN_A, if they have moved.")] = None,
    labels_a: Annotated[list[str] | None, typer.Option(help="Table of labels of RUN_A; repeatable.")] = None,
    events_b: Annotated[str | None, typer.Option(help="Events of RUN_B, if they have moved.")] = None,
    labels_b: Annotated[list[str] | None, typer.Option(help="Table of labels of RUN_B; repeatable.")] = None,
    all_edges: Annotated[bool, typer.Option("--all", help="List edges without a change, too.")] = False,
    out: Annotated[Path | None, typer.Option(help="HTML page to write.")] = None,
    as_json: AS_JSON = False,
    config: CompareConfig = CompareConfig(),  # noqa: B008 (frozen)
) -> None:
    """Show which edges differ between two runs: gained, lost, stronger, weaker, reversed or less frequent."""
    if out is not None and out.suffix not in (".html", ".htm"):
        raise ConfigError(f"--out {out}: the page is HTML; use a name that ends in .html")
    with progress_bars() as progress:
        progress("read", 0.0, 1.0, str(run_a))
        first = _side(run_a, events_a, labels_a, "a")
        progress("read", 0.5, 1.0, str(run_b))
        second = _side(run_b, events_b, labels_b, "b")
        progress("read", 1.0, 1.0)
        comparison = eventcargo.compare(first, second, config, progress=progress)
    if out is not None:
        eventcargo.comparison.write_comparison(out, comparison)
    if as_json:
        print_json({**comparison.to_dict(), **({"page": str(out)} if out else {})})
        return
    _print(comparison, all_edges)
    if out is not None:
        print_lines([f"Open {out} in a browser."])


def _side(run: Path, events: str | None, labels: list[str] | None, which: str) -> "Side":
    graph, loaded = graph_and_data(run, events, labels, which, "is compared all the same")
    return eventcargo.comparison.Side(str(run), graph, loaded.data)


def _print(comparison: "Comparison", all_edges: bool) -> None:
    shown = comparison.edges if all_edges else comparison.changed
    print_lines([f"A is {comparison.names[0]}, B is {comparison.names[1]}."])
    if len(shown):
        columns = [
            "label",
            "event",
            "change",
            "graph",
            "odds A",
            "odds B",
            "B / A",
            "p",
            "share A",
            "share B",
        ]
        print_table(
            "Edges" if all_edges else "Changed edges", columns, [_row(row) for row in shown.to_dicts()]
        )
    counts = ", ".join(
        f"{count:,} {change}" for change, count in comparison.counts.items() if change != "none"
    )
    edges = comparison.edges
    n_untested = len(edges) - edges["untested"].null_count()
    print_lines(
        [
            f"{counted(len(comparison.changed), 'edge')} of {len(edges):,} changed: {counts}. At most "
            f"{comparison.alpha:.0%} of changes are expected to be false.",
            *(
                [f"{counted(n_untested, 'effect')} could not be compared; --json says why."]
                if n_untested
                else []
            ),
            *_alone(comparison),
        ]
    )


def _row(row: dict[str, Any]) -> list[Any]:
    change = row["change"] + (
        ", frequency" if row["frequency_changed"] and row["change"] != "frequency" else ""
    )
    graph = {"a": "A", "b": "B"}.get(row["found"], row["found"])
    ratios = [_interval(row, name) for name in ("odds_a", "odds_b", "ratio")]
    shares = ["-" if row[name] is None else f"{row[name]:.1%}" for name in ("frequency_a", "frequency_b")]
    return [row["label"], row["event"], change, graph, *ratios, row["p_value"], *shares]


def _interval(row: dict[str, Any], name: str) -> str:
    """A ratio with its interval, in three significant digits."""
    if row[name] is None:
        return show(None)
    return "{} ({} to {})".format(*(f"{row[name + end]:.3g}" for end in ("", "_low", "_high")))


def _alone(comparison: "Comparison") -> list[str]:
    """What only one run knows."""
    lines = []
    for side, labels, pairs in zip("AB", comparison.labels, comparison.event_types, strict=True):
        names = [f"{event} ({label})" for label, event in pairs]
        lines += [f"Labels only in {side}: {_listed(labels)}."] if labels else []
        lines += [f"Event types only in {side}, with their label: {_listed(names)}."] if names else []
    return lines


def _listed(names: "list[str] | tuple[str, ...]") -> str:
    more = f" and {len(names) - SHOWN_NAMES:,} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(names[:SHOWN_NAMES]) + more
