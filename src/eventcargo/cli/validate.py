"""`eventcargo validate EVENTS --labels LABELS`: summarise the tables and list problems."""

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from eventcargo.cli.data import EVENTS, LABELS
from eventcargo.cli.options import with_options
from eventcargo.cli.output import AS_JSON, print_json, print_lines, print_table, show
from eventcargo.cohort.config import Cohort
from eventcargo.discovery.data_source import Columns, DataSource
from eventcargo.errors import EventCargoWarning
from eventcargo.io.config import ReadConfig
from eventcargo.summary import QUANTILES, Summary, summarise

if TYPE_CHECKING:
    from eventcargo.events import EventDataset

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.command()
@with_options(Columns, Cohort, ReadConfig)
def validate(
    events: EVENTS,
    labels: LABELS = None,
    as_json: AS_JSON = False,
    columns: Columns = Columns(),  # noqa: B008 (frozen)
    cohort: Cohort = Cohort(),  # noqa: B008 (frozen)
    reading: ReadConfig = ReadConfig(),  # noqa: B008 (frozen)
) -> None:
    """Read tables of events and labels, summarise them and list problems."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", EventCargoWarning)
        loaded = DataSource.of(events, labels, columns, cohort, reading).build()
    data = loaded.data
    messages = [str(warning.message) for warning in caught if issubclass(warning.category, EventCargoWarning)]
    summary = summarise(data)
    problems = messages + summary.problems + loaded.after_outcome
    not_recorded = _not_recorded(data)
    if as_json:
        shares = {"not_recorded": not_recorded} if not_recorded else {}
        made = {} if loaded.summary is None else {"cohort": dict(loaded.summary)}
        print_json({**summary.to_dict(), **shares, **made, "problems": problems})
        return
    rows = [*_rows(summary), *((f"events without {name}", f"{s:.1%}") for name, s in not_recorded.items())]
    print_lines(loaded.lines)
    print_table(f"{events}", ["quantity", "value"], [list(row) for row in rows])
    print_table("Quantiles", ["quantity", *(f"{q:.0%}" for q in QUANTILES)], list(_quantile_rows(summary)))
    print_lines([f"problem: {problem}" for problem in problems] or ["no problems found"])


def _rows(summary: Summary) -> Iterator[tuple[str, Any]]:
    yield "sequences", show(summary.sequences)
    yield "events", show(summary.events)
    yield "event types", show(summary.event_types)
    yield "labels", show(summary.labels)
    yield "sequences without a label", f"{summary.share_without_label:.1%}"
    yield "labels per sequence", show(summary.labels_per_sequence)
    if 0 < summary.share_known < 1:
        yield "labels known, of sequences and labels", f"{summary.share_known:.1%}"
    yield "events that repeat an earlier event", f"{summary.repeated_share:.1%}"
    yield "times", summary.times


def _not_recorded(data: "EventDataset") -> dict[str, float]:
    """The share of events without a value, for each value column."""
    if not data.value_names:
        return {}
    shares = np.isnan(data.rows.gather(data.values)).mean(0)
    return dict(zip(data.value_names, shares.tolist(), strict=True))


def _quantile_rows(summary: Summary) -> Iterator[list[Any]]:
    yield ["events per sequence", *(round(value) for value in summary.length_quantiles)]
    if summary.support_quantiles:
        yield ["sequences per label", *(round(value) for value in summary.support_quantiles)]
    if summary.time_span_quantiles:
        unit = ", days" if summary.time_kind == "datetime" else ""
        scale = 86400.0 if unit else 1.0
        yield [f"time span of a sequence{unit}", *(value / scale for value in summary.time_span_quantiles)]
