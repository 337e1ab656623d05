from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

from eventcargo import ConfigError, EventDataset, explain, read_events
from eventcargo.errors import EventCargoWarning
from eventcargo.models.transformer.model import Transformer
from eventcargo.prediction import EXPLANATIONS, explain_all

pytestmark = pytest.mark.filterwarnings("ignore:.*longer than:eventcargo.errors.EventCargoWarning")


def table_of(model: Transformer, data: EventDataset, **options: object) -> pl.DataFrame:
    return pl.concat(list(explain_all(model, data, **options)))  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore::eventcargo.errors.EventCargoWarning")
def test_the_figures_are_those_of_each_sequence_explained_alone(
    either: Transformer, letters: EventDataset
) -> None:
    table, n_causes, n_sets = table_of(either, letters), 0, 0
    for sequence in letters:
        alone = explain(either, sequence)
        for label, probability in alone.probabilities.items():
            own = table.filter(sequence_id=sequence.id, label=label)
            if probability < 0.5:
                assert not len(own)
                continue
            single = own.filter(pl.col("others").list.len() == 0)
            causes = alone.causes(label, 0.01)
            assert single["event"].to_list() == causes["event"].to_list()
            assert single["first_position"].to_list() == causes["position"].to_list()
            assert single["first_time"].to_list() == causes["time"].to_list()
            for column in ("without", "effect", "strength"):
                assert single[column].to_list() == pytest.approx(causes[column].to_list(), abs=1e-9)
            sets = alone.sets.filter(pl.col("events").list.len() > 1, label=label)
            rows = own.filter(pl.col("others").list.len() > 0)
            assert [[row["event"], *row["others"]] for row in rows.iter_rows(named=True)] == sets[
                "events"
            ].to_list()
            assert rows["without"].to_list() == pytest.approx(sets["without"].to_list(), abs=1e-9)
            n_causes, n_sets = n_causes + len(single), n_sets + len(rows)
    assert min(n_causes, n_sets) > 20
    assert len(table) == n_causes + n_sets


@pytest.mark.filterwarnings("ignore::eventcargo.errors.EventCargoWarning")
def test_counts_and_positions_are_those_of_the_sequence(either: Transformer, letters: EventDataset) -> None:
    row = table_of(either, letters[299:], labels=["L0"]).row(0, named=True)
    assert (row["event"], row["count"], row["first_position"], row["first_time"]) == ("a", 1, 10, 29910.0)


def test_named_labels_are_explained_however_improbable(either: Transformer) -> None:
    data = read_events(pl.DataFrame({"sequence_id": ["v", "v"], "time": [0, 1], "event": ["c", "d"]}))
    assert len(table_of(either, data)) == 0
    found = table_of(either, data, labels=["L1"])
    assert found["event"].to_list() == ["d"]
    assert found["effect"].item() < 0


def test_an_unknown_label_is_refused_with_the_one_that_was_meant(either: Transformer) -> None:
    data = read_events(pl.DataFrame({"sequence_id": ["v"], "time": [0], "event": ["c"]}))
    with pytest.raises(ConfigError, match=r"'l1' is not among the model's 2 labels; did you mean 'L1'\?"):
        table_of(either, data, labels=["l1"])


def test_pairs_that_are_not_allowed_are_no_causes(either: Transformer) -> None:
    data = read_events(pl.DataFrame({"sequence_id": ["v", "v"], "time": [0, 1], "event": ["a", "c"]}))
    allowed = np.ones((2, len(either.vocabulary)), bool)
    allowed[0, either.vocabulary.encode(["a"])] = False
    assert table_of(either, data)["label"].to_list() == ["L0", "L1"]
    assert table_of(either, data, allowed=allowed)["label"].to_list() == ["L1"]


def test_dates_come_out_as_dates(either: Transformer) -> None:
    moment = datetime(2026, 3, 1, 12, 30, 0, 250_000, tzinfo=UTC)
    data = read_events(pl.DataFrame({"sequence_id": ["v"], "time": [moment], "event": ["a"]}))
    assert table_of(either, data)["first_time"].to_list() == [moment]


def test_data_in_order_alone_have_no_times(either: Transformer) -> None:
    data = read_events(pl.DataFrame({"sequence_id": ["v"], "event": ["a"]}))
    assert table_of(either, data)["first_time"].to_list() == [None]


def test_no_sequence_gives_an_empty_table(either: Transformer, letters: EventDataset) -> None:
    parts = list(explain_all(either, letters[:1], labels=[]))
    assert parts[0].schema == pl.DataFrame(schema=EXPLANATIONS).schema


def test_a_cut_sequence_is_told(either: Transformer, letters: EventDataset) -> None:
    with pytest.warns(EventCargoWarning, match="1 sequence"):
        table_of(either, letters[299:])
