"""`eventcargo explain RUN`: which events moved the labels of one sequence, as a table and as a picture."""

from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from eventcargo.cli.output import AS_JSON, print_json, print_lines, print_table
from eventcargo.cli.source import recall
from eventcargo.errors import ConfigError
from eventcargo.events import EventSequence
from eventcargo.models.loading import load_model
from eventcargo.oneshot.explain import Explanation
from eventcargo.oneshot.explain import explain as explain_sequence

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

LEAST = 0.01
"""Nats below which an event is not shown in the table."""

WIDTH = 72
"""Events in a line of the picture."""

LEVELS = " ▁▂▃▄▅▆▇█"
"""A probability from 0 to 1 as one character."""

UP, DOWN, NOTHING, UNKNOWN = "▲", "▼", "·", "?"


@app.command()
def explain(
    run: Annotated[Path, typer.Argument(help="Folder of a run with model/.")],
    sequence: Annotated[str | None, typer.Option(help="Id of a sequence of the run's data.")] = None,
    events: Annotated[str | None, typer.Option(help="Event types in their order: 'A,B,C'.")] = None,
    times: Annotated[str | None, typer.Option(help="Their times: '0,1.5,4'; without, 0, 1, 2, ...")] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="A label to explain; repeat for more. Without, those carried or expected."),
    ] = None,
    device: Annotated[str, typer.Option(help="Where to compute: cpu, cuda, cuda:1, ...")] = "cpu",
    as_json: AS_JSON = False,
) -> None:
    """Say which events moved the labels of one sequence, when, by how much, and what were without them."""
    chosen = _chosen(run, sequence, events, times)
    found = explain_sequence(load_model(run / "model", device), chosen, label or None)
    if as_json:
        print_json(_content(found))
        return
    for name in found.probabilities:
        _print_label(found, name)


def _chosen(run: Path, sequence: str | None, events: str | None, times: str | None) -> EventSequence:
    """The sequence asked for: of the data, or as given."""
    if (sequence is None) == (events is None):
        raise ConfigError("name a sequence of the data with --sequence, or give --events; one of the two")
    if sequence is not None:
        if times is not None:
            raise ConfigError(f"--times {times} goes with --events, not with --sequence")
        data = recall(run)
        try:
            return data[sequence]
        except KeyError:
            raise ConfigError(
                f"no sequence {sequence!r} among the {len(data):,} of the data; the first is {data[0].id!r}"
            ) from None
    assert events is not None
    names = tuple(name.strip() for name in events.split(",") if name.strip())
    return EventSequence("given", names, _times(times, len(names)), ())


def _times(text: str | None, wanted: int) -> tuple[float, ...]:
    """Times as numbers, one for each event.

    >>> _times("0, 1.5", 2), _times(None, 2)
    ((0.0, 1.5), (0.0, 1.0))
    """
    if text is None:
        return tuple(float(at) for at in range(wanted))
    try:
        times = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(f"--times {text!r}: use numbers with commas between them, as 0,1.5,4") from None
    if len(times) != wanted:
        raise ConfigError(f"--times has {len(times):,} numbers for {wanted:,} events; give one each")
    if list(times) != sorted(times):
        raise ConfigError(f"--times {text!r} go back; give events and times in their order")
    return times


def _content(found: Explanation) -> dict[str, Any]:
    return {
        "sequence": found.sequence.id,
        "carries": list(found.sequence.labels),
        "probabilities": found.probabilities,
        "moves": found.moves.to_dicts(),
    }


def _print_label(found: Explanation, label: str) -> None:
    """Table and picture of one label."""
    probability, carried = found.probabilities[label], label in found.sequence.labels
    causes = found.causes(label, LEAST)
    counts = {name: found.sequence.events.count(name) for name in causes["event"]}
    start = found.sequence.times[0]
    rows = [
        [move["event"], counts[move["event"]], move["position"], move["time"] - start]
        + [move[name] for name in ("without", "effect", "strength")]
        for move in causes.iter_rows(named=True)
    ]
    title = f"{label}: {probability:.3f}" + (", carried by the sequence" if carried else "")
    columns = ["event", "times", "first position", "first time", "without it", "effect", "strength (nats)"]
    print_table(title, columns, rows)
    if not rows:
        print_lines(_unmoved(found, label))
    print_lines([*_picture(found, label), ""])


def _unmoved(found: Explanation, label: str) -> list[str]:
    """What is told where no event type changes a label by itself."""
    lines = [f"No event by itself moves {label} by more than {LEAST} nats."]
    expected = found.moves.filter(pl.col("label") == label, pl.col("so_far") >= 0.5)
    if found.probabilities[label] >= 0.5 and len(expected):
        at, event = expected.select("position", "event").row(0)
        lines.append(
            f"It is expected from {event} (position {at}) on; where several events would each be enough, "
            "the label stays without any one of them."
        )
    return lines


def _picture(found: Explanation, label: str) -> list[str]:
    """The events in a row, marked by what they do, over the label's probability after each of them."""
    moves = found.moves.filter(label=label)
    marks = "".join(
        UNKNOWN if strength is None else NOTHING if strength <= LEAST else UP if effect > 0 else DOWN
        for effect, strength in moves.select("effect", "strength").iter_rows()
    )
    heights = "".join(LEVELS[round(value * (len(LEVELS) - 1))] for value in moves["so_far"])
    lines = [
        f"Events in their order ({UP} raises the label, {DOWN} lowers it), below its probability so far:"
    ]
    for at in range(0, len(marks), WIDTH):
        lines += [f"{at:>6} {marks[at : at + WIDTH]}", f"{'':>6} {heights[at : at + WIDTH]}"]
    return lines
