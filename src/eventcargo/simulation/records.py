"""Records: raw tables with known truth, as a clinic or a fleet has them before any sequence is cut."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from eventcargo.errors import ConfigError
from eventcargo.files import atomic_folder

if TYPE_CHECKING:
    import polars as pl

    from eventcargo.graphs import LabelGraph

TableFormat = Literal["parquet", "csv", "jsonl"]

THRESHOLD = re.compile(r"(?P<code>.+) (?P<side>>=|<) (?P<limit>-?[\d.]+(e-?\d+)?)")


@dataclass(frozen=True)
class Records:
    """Raw tables of subjects: what was recorded, which outcomes happened, and the truth about their causes.

    `events` has subject_id, time, code and numeric_value; `outcomes` has subject_id, time and label; `static`
    one row per subject; `codes` is MEDS metadata: code, description, parent_codes. Times are in UTC.

    `truth` holds the true boundary of every label, in a cohort's names. Never a cause are `post_outcome`, the
    records that follow an outcome of a label, and `spurious`, codes that depend on a label only through an
    attribute that is to be adjusted for. `confounders` names that attribute, which is found too if it is not
    adjusted for. `read_with` says how to cut sequences; `zones` are the time zones of the sites.
    """

    events: "pl.DataFrame"
    outcomes: "pl.DataFrame"
    static: "pl.DataFrame"
    codes: "pl.DataFrame"
    truth: "LabelGraph"
    rules: Mapping[str, str]
    post_outcome: Mapping[str, tuple[str, ...]]
    spurious: Mapping[str, tuple[str, ...]]
    confounders: Mapping[str, tuple[str, ...]]
    read_with: Mapping[str, Any]
    zones: Mapping[str, str]
    regime: str
    settings: Mapping[str, Any]
    seed: int

    def __repr__(self) -> str:
        return (
            f"Records: {len(self.static):,} subjects, {len(self.events):,} events, "
            f"{len(self.outcomes):,} outcomes of {len(self.truth.labels):,} labels"
        )

    def truth_for(self, names: Iterable[str]) -> "LabelGraph":
        """The truth in the names of a data set: thresholds at its nearest cut, spelt with its capitals.

        A cause that no name matches keeps its own name.
        """
        import polars as pl

        from eventcargo.graphs import LabelGraph

        known = list(names)
        renamed = {event: _nearest(event, known) for event in self.truth.edges["event"].unique().to_list()}
        edges = self.truth.edges.with_columns(pl.col("event").replace(renamed))
        return LabelGraph.from_edges(edges, self.truth.support)

    def write(self, folder: str | Path, format: TableFormat = "parquet") -> None:
        """Write events, outcomes, static, codes and truth.json to a new folder.

        Parquet holds times in UTC. CSV and JSONL hold ISO texts with the offset of the subject's site, which
        changes over the year.
        """
        if format not in get_args(TableFormat):
            raise ConfigError(f"format={format!r}: use {', '.join(get_args(TableFormat))}")
        with atomic_folder(folder) as target:
            for name, table in self.tables(format).items():
                _write_table(table, target / f"{name}.{format}")
            self.write_truth(target)

    def tables(self, format: TableFormat = "parquet") -> dict[str, "pl.DataFrame"]:
        """The four tables by name, with times as `write` writes them."""
        tables = {
            "events": self.events,
            "outcomes": self.outcomes,
            "static": self.static,
            "codes": self.codes,
        }
        if format != "parquet":
            for name in ("events", "outcomes"):
                tables[name] = with_offsets(tables[name], self.static, self.zones)
        return tables

    def describe(self) -> dict[str, Any]:
        """What `truth.json` holds: the truth of every label, how to read the tables, what made them."""
        edges = self.truth.edges.select("label", "event", "sign").rows()
        labels = {
            label: {
                "causes": [{"event": event, "sign": sign} for owner, event, sign in edges if owner == label],
                "rule": self.rules[label],
                "outcomes": support,
                "post_outcome": list(self.post_outcome[label]),
                "spurious": list(self.spurious[label]),
                "confounders": list(self.confounders[label]),
            }
            for label, support in self.truth.support.items()
        }
        made = {"regime": self.regime, "seed": self.seed, "settings": dict(self.settings)}
        return {**made, "read_with": dict(self.read_with), "labels": labels}

    def write_truth(self, folder: Path, **more: Any) -> None:
        """Write truth.json, with further entries."""
        text = json.dumps({**self.describe(), **more}, indent=1, ensure_ascii=False)
        (folder / "truth.json").write_text(text + "\n", "utf-8")


def _nearest(event: str, names: list[str]) -> str:
    """The name that means this event: the same but for capitals, or the nearest cut of the same value."""
    wanted = THRESHOLD.fullmatch(event.casefold())
    if wanted is None:
        return next((name for name in names if name.casefold() == event.casefold()), event)
    cuts = [(name, cut) for name in names if (cut := THRESHOLD.fullmatch(name.casefold()))]
    same = [
        (name, cut) for name, cut in cuts if cut["code"] == wanted["code"] and cut["side"] == wanted["side"]
    ]
    return min(
        same, key=lambda pair: abs(float(pair[1]["limit"]) - float(wanted["limit"])), default=(event,)
    )[0]


def with_offsets(table: "pl.DataFrame", static: "pl.DataFrame", zones: Mapping[str, str]) -> "pl.DataFrame":
    """Times as ISO texts in the time zone of the subject's site; UTC is written as Z."""
    import polars as pl

    sites = table.select("subject_id").join(static, on="subject_id", how="left", maintain_order="left")[
        "site"
    ]
    text = pl.lit(None, pl.String)
    for site, zone in zones.items():
        local = pl.col("time").dt.convert_time_zone(zone).dt.strftime("%Y-%m-%dT%H:%M:%S%:z")
        text = pl.when(pl.lit(sites) == site).then(local).otherwise(text)
    return table.with_columns(time=text.str.replace(r"\+00:00$", "Z"))


def as_text(table: "pl.DataFrame", time_format: str = "") -> "pl.DataFrame":
    """Fit for CSV: lists joined by `|`, times in this format, in UTC."""
    import polars as pl
    import polars.selectors as cs

    lists = [pl.col(name).list.join("|") for name, kind in table.schema.items() if kind == pl.List]
    times = [cs.temporal().dt.strftime(time_format)] if time_format else []
    return table.with_columns(*lists, *times)


def _write_table(table: "pl.DataFrame", path: Path) -> None:
    if path.suffix == ".parquet":
        table.write_parquet(path)
    elif path.suffix == ".jsonl":
        table.write_ndjson(path)
    else:
        as_text(table).write_csv(path)
