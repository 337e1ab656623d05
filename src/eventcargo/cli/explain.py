"""`eventcargo explain RUN`: which events raised or lowered the labels of one sequence, and when.

With a table of new events, of one of its sequences, or of all of them into a file.
"""

import json
import time as clock
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import eventcargo
import eventcargo.prediction
from eventcargo.cli.new_data import NewColumns, allowed_pairs, model_of, read_new
from eventcargo.cli.options import with_options
from eventcargo.cli.output import AS_JSON, print_json, print_lines, print_table
from eventcargo.discovery.data_source import recall
from eventcargo.errors import ConfigError, counted
from eventcargo.io.config import ReadConfig
from eventcargo.prediction.table_paths import check_table_path
from eventcargo.progress import progress_bars
from eventcargo.sequences import EventSequence

if TYPE_CHECKING:
    import polars as pl

    from eventcargo.events import EventDataset
    from eventcargo.models.density import DensityModel
    from eventcargo.oneshot.explain import Explanation

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

LEAST = 0.01
"""Smallest strength of an event in the table, in nats."""

SHOWN_CAUSES = 30
"""Most causes of new sequences on the screen."""

SHOWN_IDS = 5
"""Most sequences of a subject named in a message."""

WIDTH = 72
"""Events per line of the drawing."""

LEVELS = " ▁▂▃▄▅▆▇█"
"""A probability from 0 to 1 as one character."""

UP, DOWN, NOTHING, UNKNOWN = "▲", "▼", "·", "?"
UP_TOGETHER, DOWN_TOGETHER = "△", "▽"
"""Marks of events that change a label only together with others."""


@app.command()
@with_options(NewColumns, ReadConfig)
def explain(
    run: Annotated[Path, typer.Argument(help="Folder of a run with model/.")],
    new: Annotated[
        str | None,
        typer.Argument(metavar="[EVENTS]", help="Table of new events; default: the data of the run."),
    ] = None,
    sequence: Annotated[
        str | None, typer.Option(help="Id of a sequence of the data, or of a subject.")
    ] = None,
    events: Annotated[
        str | None,
        typer.Option(help="Event types in order, such as 'A,B,C'; names with commas as JSON: '[\"A, B\"]'."),
    ] = None,
    times: Annotated[
        str | None, typer.Option(help="Times of the events, such as '0,1.5,4'; default 0, 1, 2, ...")
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(
            "--label", help="Label to explain; repeat for more. Default: labels carried or predicted."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Explain all sequences of EVENTS and write a row per cause: Parquet, CSV, JSONL."),
    ] = None,
    device: Annotated[str, typer.Option(help="Where to compute: cpu, cuda, cuda:1, ...")] = "cpu",
    as_json: AS_JSON = False,
    columns: NewColumns = NewColumns(),  # noqa: B008 (frozen)
    reading: ReadConfig = ReadConfig(),  # noqa: B008 (frozen)
) -> None:
    """Show which events raised or lowered the labels of one sequence, when and by how much."""
    _check(new, sequence, events, times, out)
    model = model_of(run, device)
    if new is not None:
        data = read_new(run, new, columns, reading, model)
        if sequence is None:
            _explain_all(run, model, data, labels, out, as_json)
            return
        chosen, dated = _found(data, sequence), data.time_kind == "datetime"
    elif sequence is not None:
        data = recall(run).data
        chosen, dated = _found(data, sequence), data.time_kind == "datetime"
    else:
        chosen, dated = _given(events, times), False
    explanation = eventcargo.explain(model, chosen, labels or None)
    if as_json:
        print_json(_content(explanation, dated))
        return
    for name in explanation.probabilities:
        _print_label(explanation, name, dated)


def _check(
    new: str | None, sequence: str | None, events: str | None, times: str | None, out: Path | None
) -> None:
    """Refuse options that do not go together."""
    if new is None and (sequence is None) == (events is None):
        raise ConfigError("give either --sequence, an id of the data, or --events, or a table of EVENTS")
    if new is not None and events is not None:
        raise ConfigError("give either a table of EVENTS or --events, not both")
    if times is not None and events is None:
        raise ConfigError(f"--times {times} needs --events")
    if out is not None and (new is None or sequence is not None):
        raise ConfigError(f"--out {out} is for all sequences of a table: give EVENTS, without --sequence")
    if out is not None:
        check_table_path(out)


def _given(events: str | None, times: str | None) -> EventSequence:
    """The sequence that the options spell out."""
    assert events is not None
    names = _names(events)
    return EventSequence("given", names, _times(times, len(names)), ())


def _names(text: str) -> tuple[str, ...]:
    """The event types of `--events`.

    >>> _names("A, B"), _names('["A, B", "C"]')
    (('A', 'B'), ('A, B', 'C'))
    """
    if not text.lstrip().startswith("["):
        return tuple(name.strip() for name in text.split(",") if name.strip())
    try:
        names = json.loads(text)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f'--events {text!r}: use names separated by commas, or JSON such as ["A, B", "C"]')
    return tuple(names)


def _explain_all(
    run: Path,
    model: "DensityModel",
    data: "EventDataset",
    labels: list[str] | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Explain every sequence of a table, into a file or to the screen."""
    import polars as pl

    began = clock.perf_counter()
    with progress_bars() as progress:
        allowed = allowed_pairs(run, model, data)
        parts = eventcargo.prediction.explain_all(
            model, data, labels or None, allowed=allowed, progress=progress
        )
        kept = [] if out is None else [len(part) for part in eventcargo.prediction.write_tables(out, parts)]
        table = pl.concat(list(parts)) if out is None else None
    seconds = clock.perf_counter() - began
    n_rows = sum(kept) if table is None else len(table)
    if as_json:
        written = {"out": str(out)} if table is None else {"causes": table.to_dicts()}
        print_json({"sequences": len(data), "rows": n_rows, **written})
        return
    if table is not None:
        _print_causes(table)
    where = "" if out is None else f" Written to {out}."
    print_lines(
        [
            f"{counted(n_rows, 'cause')} of {counted(len(data), 'sequence')} in {seconds:,.1f} s, "
            f"{len(data) / max(seconds, 1e-9):,.0f} sequences a second.{where}"
        ]
    )


def _print_causes(table: "pl.DataFrame") -> None:
    """The first causes of a table."""
    columns = ["sequence_id", "label", "probability", "event", "count", "first_time", "without", "strength"]
    titles = ["sequence", "label", "probability", "event", "count", "first time", "without it", "strength"]
    rows = [list(row) for row in table.head(SHOWN_CAUSES).select(columns).iter_rows()]
    for row, others in zip(rows, table["others"].head(SHOWN_CAUSES).to_list(), strict=True):
        row[3] = " or ".join([row[3], *others])
    print_table("What moved the labels that are expected", titles, rows)
    if len(table) > SHOWN_CAUSES:
        print_lines([f"... and {len(table) - SHOWN_CAUSES:,} more; --out FILE writes all."])


def _found(data: "EventDataset", name: str) -> EventSequence:
    """The sequence of this id; of a subject that was cut into several, the one with an outcome."""
    ids = data.sequence_ids.to_pylist()
    own = [name] if name in ids else [one for one in ids if one.startswith(f"{name}@")]
    if not own:
        raise ConfigError(f"no sequence {name!r} in the data ({len(data):,}); the first is {data[0].id!r}")
    carrying = [one for one in own if len(own) == 1 or data[one].labels]
    if len(carrying) != 1:
        some = ", ".join(own[:SHOWN_IDS]) + (", ..." if len(own) > SHOWN_IDS else "")
        raise ConfigError(f"--sequence {name} has {counted(len(own), 'sequence')}; name one: {some}")
    return data[carrying[0]]


def _times(text: str | None, wanted: int) -> tuple[float, ...]:
    """Parse the times, one number for each event.

    >>> _times("0, 1.5", 2), _times(None, 2)
    ((0.0, 1.5), (0.0, 1.0))
    """
    if text is None:
        return tuple(float(at) for at in range(wanted))
    try:
        times = tuple(float(number) for number in text.split(","))
    except ValueError:
        raise ConfigError(f"--times {text!r}: use numbers separated by commas, such as 0,1.5,4") from None
    if len(times) != wanted:
        raise ConfigError(
            f"--times has {counted(len(times), 'number')} for {counted(wanted, 'event')}; give one for each"
        )
    if list(times) != sorted(times):
        raise ConfigError(f"--times {text!r} are not sorted; give events and times in order")
    return times


def _moment(seconds: float) -> datetime:
    """The date of a time of data with dates."""
    return datetime.fromtimestamp(seconds, UTC)


def _content(explanation: "Explanation", dated: bool) -> dict[str, Any]:
    moves = explanation.moves.to_dicts()
    for move in moves if dated else ():
        move["time"] = _moment(move["time"])
    return {
        "sequence": explanation.sequence.id,
        "carries": list(explanation.sequence.labels),
        "probabilities": explanation.probabilities,
        "moves": moves,
        "sets": explanation.sets.to_dicts(),
        "in_words": {label: explanation.in_words(label) for label in explanation.probabilities},
    }


def _print_label(explanation: "Explanation", label: str, dated: bool) -> None:
    """Print the table and the drawing of one label."""
    probability, carried = explanation.probabilities[label], label in explanation.sequence.labels
    causes = explanation.causes(label, LEAST)
    counts = {name: explanation.sequence.events.count(name) for name in causes["event"]}
    start = explanation.sequence.times[0]
    rows = [
        [move["event"], counts[move["event"]], move["position"]]
        + [f"{_moment(move['time']):%Y-%m-%d %H:%M:%S}" if dated else move["time"] - start]
        + [move[name] for name in ("without", "effect", "strength")]
        for move in causes.iter_rows(named=True)
    ]
    title = f"{label}: {probability:.3f}" + (", carried by the sequence" if carried else "")
    columns = ["event", "count", "first position", "first time", "without it", "effect", "strength (nats)"]
    if rows:
        print_table(title, columns, rows)
    else:
        print_lines([title, *_unmoved(explanation, label)])
    print_lines([*explanation.in_words(label, min_size=2), *_picture(explanation, label), ""])


def _unmoved(explanation: "Explanation", label: str) -> list[str]:
    """The lines for a label that no single event type changes."""
    lines = [f"No single event changes {label} by more than {LEAST} nats."]
    moves = explanation.moves.filter(label=label).select("so_far", "position", "event").iter_rows()
    first = next((move for move in moves if move[0] >= 0.5), None)
    if explanation.probabilities[label] >= 0.5 and first and not explanation.in_words(label):
        _, at, event = first
        lines.append(
            f"The label is predicted from {event} (position {at}) on. If each of several events is enough, "
            "removing one does not change it."
        )
    return lines


def _picture(explanation: "Explanation", label: str) -> list[str]:
    """Draw the events in order, marked by their effect, above the label's probability after each event."""
    moves = explanation.moves.filter(label=label)
    together = _together(explanation, label)
    rows = moves.select("event", "effect", "strength").iter_rows()
    marks = "".join(together.get(event) or _mark(effect, strength) for event, effect, strength in rows)
    heights = "".join(LEVELS[round(value * (len(LEVELS) - 1))] for value in moves["so_far"])
    legend = f"{UP} raises the label, {DOWN} lowers it"
    if together:
        legend += f"; {UP_TOGETHER} {DOWN_TOGETHER} only together with others"
    lines = [f"Events in order ({legend}); below, the probability after each event:"]
    for at in range(0, len(marks), WIDTH):
        lines += [f"{at:>6} {marks[at : at + WIDTH]}", f"{'':>6} {heights[at : at + WIDTH]}"]
    return lines


def _mark(effect: float | None, strength: float | None) -> str:
    if effect is None or strength is None:
        return UNKNOWN
    if strength <= LEAST:
        return NOTHING
    return UP if effect > 0 else DOWN


def _together(explanation: "Explanation", label: str) -> dict[str, str]:
    """The marks of event types that are in a set of several."""
    sets = explanation.sets.filter(label=label).select("events", "effect").iter_rows()
    mark = {True: UP_TOGETHER, False: DOWN_TOGETHER}
    return {event: mark[effect > 0] for events, effect in sets if len(events) > 1 for event in events}
