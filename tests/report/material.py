"""Small contents of reports, by hand."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eventcargo import EdgeTable, EventDataset, EventSequence, LabelGraph
from eventcargo.edges import TABLES
from eventcargo.report import ReportInput
from eventcargo.rules import Rule
from eventcargo.rules.literals import Literal
from eventcargo.verdicts import Verdict

from ..measured import measured

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<img src=x onerror=alert(3)>",
    "\"double\" & 'single' `back` ${1}",
    "🚗💥 \u202eturned",
    "#label=x&sequence=y%20+z",
    "<!--",
    "w" * 300,
)
"""Names that end a script, are markup, change the direction of text, look like an address, or are long."""


def told(label: str, *literals: Literal, falls_short: bool = False) -> Rule:
    """A rule of one group of literals, with figures of held-out sequences."""
    model_f1 = 0.99 if falls_short else None
    return Rule(label, (literals,), 12, 14, 0.9, 0.75, model_f1, falls_short)


Edge = tuple[str, str, str, int, float, float, str, str]
"""sequence, label, event, position, strength, effect, polarity, test."""

Member = tuple[str, str, str, int, float, float, str, str, list[str]]
"""The same, and others."""


def edge_table(edges: Iterable[Edge | Member]) -> EdgeTable:
    names = ("sequence", "label", "event", "position", "strength", "effect", "polarity", "test", "others")
    rows = [dict(zip(names, edge, strict=False)) for edge in edges]
    tables = {name: pl.DataFrame(schema=schema) for name, schema in TABLES.items()}
    return EdgeTable(**{**tables, "edges": pl.DataFrame(rows, schema=TABLES["edges"])})


def dataset(sequences: Sequence[tuple[str, str, str]]) -> EventDataset:
    """Sequences of (id, events, labels), the latter two parted by blanks; an event every hour and a half."""
    return EventDataset.from_sequences(
        [
            EventSequence(
                name,
                tuple(events.split()),
                tuple(1.5 * at for at in range(len(events.split()))),
                tuple(labels.split()),
            )
            for name, events, labels in sequences
        ]
    )


def either() -> ReportInput:
    """A label that either of two brings, and that either of two, or any of three, holds off."""
    sequences = [("car1", "P01 X07 K03", "brake"), ("car2", "U02 P01 U03", ""), ("car3", "U04 U03 U02", "")]
    two, three = ("U02", "U03"), ("U02", "U03", "U04")
    return ReportInput(
        graph=LabelGraph.from_boundaries({"brake": ["P01", "K03", "U02", "U03"]}),
        data=dataset(sequences),
        edges=edge_table(
            [
                ("car1", "brake", "P01", 0, 1.2, 0.9, "present", "total", ["K03"]),
                ("car1", "brake", "K03", 2, 1.2, 0.9, "present", "total", ["P01"]),
                *(_held("car2", event, two) for event in two),
                *(_held("car3", event, three) for event in three),
            ]
        ),
    )


def _held(sequence: str, event: str, all_of_them: tuple[str, ...]) -> Member:
    others = [other for other in all_of_them if other != event]
    return (sequence, "brake", event, 0, 2.0, -0.8, "absent", "total", others)


def garage() -> ReportInput:
    """Three labels: one to trust with two causes, one to be cautious of, one without a cause."""
    data = dataset(
        [
            ("car1", "P01 X07 P01 K03", "brake"),
            ("car2", "X07 P01", "brake fuel"),
            ("car3", "P01 U02 X07", ""),
            ("car4", "K03 X07", "fuel"),
            ("car5", "X07", "horn"),
        ]
    )
    rows = [
        ("brake", "P01", 1, 0.8, 1.2, 0.9, 0.6, 0.95, 0.1, 14.7, 4.23, 1e7),
        ("brake", "U02", -1, 0.3, 0.7, -0.6, 0.1, 0.5, 0.1, 0.207, 1e-5, 0.95),
        ("fuel", "K03", 1, 0.5, 0.4, 0.4, 0.2, 0.8, 0.1, None, None, None),
    ]
    columns = ["label", "event", "sign", "frequency", "strength", "effect", "ci_low", "ci_high", "threshold"]
    columns += ["odds_ratio", "odds_low", "odds_high"]
    return ReportInput(
        graph=LabelGraph.from_edges(pl.DataFrame(rows, schema=columns, orient="row"), {"horn": 1}),
        data=data,
        edges=edge_table(
            [
                ("car1", "brake", "P01", 0, 1.2, 0.9, "present", "total"),
                ("car2", "brake", "P01", 1, 1.1, 0.8, "present", "total"),
                ("car3", "brake", "U02", 1, 0.7, -0.6, "absent", "total"),
                ("car4", "fuel", "K03", 0, 0.4, 0.4, "present", "total"),
            ]
        ),
        quality=measured(
            {"f1_macro": 0.91, "log_loss": 0.02, "base_log_loss": 0.3},
            {"perplexity": 12.0, "unigram_perplexity": 30.0},
            {
                "term_seconds": 3.2,
                "network_seconds": 41.0,
                "steps": 100,
                "helped": ["brake"],
                "focused": ["horn"],
                "ended": "",
                "presence_only": [],
                "not_fitted": ["<b>horn</b>"],
            },
            label="brake",
            f1=0.97,
            auroc=0.99,
            log_loss=0.01,
            held_out=4,
        ),
        rules={
            "brake": told(
                "brake",
                Literal("presence", ("P01",)),
                Literal("presence", ("U02",), negated=True),
                falls_short=True,
            ),
            "fuel": None,
        },
        verdicts={
            "brake": Verdict("brake", "trust", (), ("X07 is not in the boundary", "<i>explains</i> 16%")),
            "fuel": Verdict("fuel", "caution", ("few sequences: 2",)),
            "horn": Verdict("horn", "doubt", ("no better than the base rate",)),
        },
        baseline=LabelGraph.from_boundaries({"brake": ["P01", "X07"], "fuel": ["K03"], "horn": []}),
        about={"data": "a garage", "seed": "7"},
        cohort="12 cases, 36 controls, look-back 30d",
        date="2026-11-18",
        notes=["The data of <b>May</b> differ from those of the run."],
    )


def hostile() -> ReportInput:
    """A content in which every text is hostile."""
    sequences = [
        EventSequence(f"{name}{at}", HOSTILE, tuple(map(float, range(len(HOSTILE)))), (name,))
        for at, name in enumerate(HOSTILE)
    ]
    edges = [
        (sequence.id, label, event, position, 1.0, 0.5 if position % 2 else -0.5, "present", "total")
        for sequence in sequences
        for label in sequence.labels
        for position, event in enumerate(HOSTILE)
    ]
    rows = [(label, event, 1.0, 0.5) for label in HOSTILE for event in HOSTILE]
    graph = pl.DataFrame(rows, schema=["label", "event", "strength", "effect"], orient="row")
    return ReportInput(
        graph=LabelGraph.from_edges(graph),
        data=EventDataset.from_sequences(sequences),
        edges=edge_table(edges),
        rules={name: told(name, Literal("presence", (name,))) for name in HOSTILE},
        verdicts={name: Verdict(name, "caution", HOSTILE, HOSTILE) for name in HOSTILE},
        baseline=LabelGraph.from_boundaries(dict.fromkeys(HOSTILE, HOSTILE[:2])),
        about={name: name for name in HOSTILE},
    )


def clinic() -> ReportInput:
    """One dated patient with a silence of years, and one without the outcome; a curve for each; a family."""
    day = 86_400.0
    start = 17_000 * day  # 2016-07-18
    long = [0, 3, 9, 12, 1500, 1503, 1510]
    sequences = [
        EventSequence("P1", tuple("ABACABD"), tuple(start + day * at for at in long), ("death",)),
        EventSequence("P2", tuple("BAB"), (start, start + day, start + 2 * day), ()),
    ]
    data = EventDataset.from_sequences(sequences, time_kind="datetime")
    rows = [
        ("death", "A", 1, 5.0, 2.0, 12.0),
        ("death", "B", -1, 0.25, 0.1, 0.5),
        ("death", "D", 1, 8.0, 1.2, 2000.0),
    ]
    columns = ["label", "event", "sign", "odds_ratio", "odds_low", "odds_high"]
    graph = LabelGraph.from_edges(pl.DataFrame(rows, schema=columns, orient="row"))
    return ReportInput(
        graph=graph.with_kinds({"A": ("A1", "A2")}),
        data=data,
        edges=edge_table(
            [
                ("P1", "death", "A", 0, 1.2, 0.7, "present", "total"),
                ("P1", "death", "B", 1, 1.2, -0.2, "present", "total"),
                ("P2", "death", "B", 0, 1.0, -0.3, "absent", "total"),
            ]
        ),
        probabilities=_rising,
        cohort="1 case, 1 control",
    )


def _rising(sequences: EventDataset) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Curves that rise evenly from 0.1 to 0.9."""
    for length in sequences.lengths.tolist():
        yield np.arange(length), np.linspace(0.1, 0.9, length + 2)[:, None]


def large() -> ReportInput:
    """474 labels, each with up to nine causes of 29,100 event types, a few of them shared by many."""
    rng = np.random.default_rng(11)
    types = np.array([f"E{at:05}" for at in range(29_100)])
    boundaries = {f"L{at:03}": np.unique(_drawn(rng, 1 + at % 9)) for at in range(474)}
    rows = [
        (label, types[event], int(rng.choice([-1, 1])), *sorted(np.exp(rng.normal(1, 2, 3))))
        for label, events in boundaries.items()
        for event in events
    ]
    columns = ["label", "event", "sign", "odds_low", "odds_ratio", "odds_high"]
    sequences = [
        EventSequence(
            f"s{at:03}",
            tuple(types[at * 50 : at * 50 + 50]),
            tuple(map(float, range(50))),
            (f"L{at % 474:03}",),
        )
        for at in range(582)
    ]
    graph = LabelGraph.from_edges(pl.DataFrame(rows, schema=columns, orient="row"))
    return ReportInput(graph=graph, data=EventDataset.from_sequences(sequences))


def _drawn(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    """Numbers of event types, a third of them among the first hundred."""
    shared = rng.random(n) < 1 / 3
    return np.where(shared, rng.integers(0, 100, n), rng.integers(100, 29_100, n))


FORMULAS = ("+1", "-1+2", "@SUM(A1)", "\t=1", 'plain, "quoted"')


def formulas() -> ReportInput:
    """Names that a spreadsheet would compute."""
    label = "=cmd|' /C calc'!A0"
    data = EventDataset.from_sequences([EventSequence("s1", FORMULAS, tuple(map(float, range(5))), (label,))])
    return ReportInput(LabelGraph.from_boundaries({label: FORMULAS}), data)
