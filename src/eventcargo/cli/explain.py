"""`eventcargo explain RUN`: which events raised or lowered the labels of one sequence, and when."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import eventcargo
from eventcargo.cli.output import AS_JSON, print_json, print_lines, print_table
from eventcargo.cli.source import recall
from eventcargo.discovery.run_folder import GRAPH, MODEL
from eventcargo.errors import ConfigError, counted
from eventcargo.models.loading import load_model
from eventcargo.sequences import EventSequence

if TYPE_CHECKING:
    from eventcargo.events import EventDataset
    from eventcargo.oneshot.explain import Explanation

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

LEAST = 0.01
"""Smallest strength of an event in the table, in nats."""

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
def explain(
    run: Annotated[Path, typer.Argument(help="Folder of a run with model/.")],
    sequence: Annotated[
        str | None, typer.Option(help="Id of a sequence in the run's data, or of a subject.")
    ] = None,
    events: Annotated[str | None, typer.Option(help="Event types in order, such as 'A,B,C'.")] = None,
    times: Annotated[
        str | None, typer.Option(help="Times of the events, such as '0,1.5,4'; default 0, 1, 2, ...")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="Label to explain; repeat for more. Default: labels carried or predicted."),
    ] = None,
    device: Annotated[str, typer.Option(help="Where to compute: cpu, cuda, cuda:1, ...")] = "cpu",
    as_json: AS_JSON = False,
) -> None:
    """Show which events raised or lowered the labels of one sequence, when and by how much."""
    chosen = _chosen(run, sequence, events, times)
    if (run / GRAPH).exists() and not (run / MODEL).exists():
        raise ConfigError(f"{run} had no time to fit a model; run discover with a longer --max-time")
    model = load_model(run / MODEL, device)
    explanation = eventcargo.explain(model, chosen, label or None)
    if as_json:
        print_json(_content(explanation))
        return
    for name in explanation.probabilities:
        _print_label(explanation, name)


def _chosen(run: Path, sequence: str | None, events: str | None, times: str | None) -> EventSequence:
    """The sequence to explain, from the data or from the options."""
    if (sequence is None) == (events is None):
        raise ConfigError("give either --sequence, an id of the data, or --events")
    if sequence is not None:
        if times is not None:
            raise ConfigError(f"--times {times} needs --events, not --sequence")
        return _found(recall(run).data, sequence)
    assert events is not None
    names = tuple(name.strip() for name in events.split(",") if name.strip())
    return EventSequence("given", names, _times(times, len(names)), ())


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


def _content(explanation: "Explanation") -> dict[str, Any]:
    return {
        "sequence": explanation.sequence.id,
        "carries": list(explanation.sequence.labels),
        "probabilities": explanation.probabilities,
        "moves": explanation.moves.to_dicts(),
        "sets": explanation.sets.to_dicts(),
        "in_words": {label: explanation.in_words(label) for label in explanation.probabilities},
    }


def _print_label(explanation: "Explanation", label: str) -> None:
    """Print the table and the drawing of one label."""
    probability, carried = explanation.probabilities[label], label in explanation.sequence.labels
    causes = explanation.causes(label, LEAST)
    counts = {name: explanation.sequence.events.count(name) for name in causes["event"]}
    start = explanation.sequence.times[0]
    rows = [
        [move["event"], counts[move["event"]], move["position"], move["time"] - start]
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
