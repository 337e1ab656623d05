"""What hiding changes, against the term's own logits of sequences in which the type is really hidden."""

from dataclasses import replace

import numpy as np
import pytest

from eventcargo import EventDataset, Vocabulary
from eventcargo.batches import Batch, Batches
from eventcargo.features import FAMILIES
from eventcargo.models.density import HidingChanges
from eventcargo.models.linear.hiding import Hiding, hiding
from eventcargo.models.linear.term import LinearTerm
from eventcargo.simulation import simulate
from eventcargo.vocabulary import UNK

from .test_term import full_term


@pytest.fixture(scope="module")
def known() -> tuple[LinearTerm, Batch]:
    """A term with a weight for every feature of every family, and the sequences it is about."""
    data: EventDataset = simulate("timing", sequences=12, labels=2, seed=3).data
    vocabulary = Vocabulary.from_dataset(data)
    return full_term(data, vocabulary)[0], Batches(data, vocabulary, 64).take(np.arange(len(data)))


@pytest.fixture(scope="module")
def changes(known: tuple[LinearTerm, Batch]) -> HidingChanges:
    return Hiding(known[0]).changes(known[1])


def test_logits_are_those_of_the_term(known: tuple[LinearTerm, Batch], changes: HidingChanges) -> None:
    term, batch = known
    assert changes.logits == pytest.approx(term.logits(batch, batch.at_end).double().numpy(), abs=1e-4)


@pytest.mark.parametrize("family", [None, *FAMILIES])
def test_hiding_an_event_type_takes_away_what_the_term_loses(
    known: tuple[LinearTerm, Batch], family: str | None
) -> None:
    term, batch = known
    if family is not None:
        starts = np.cumsum([0, *map(len, term.keys.values())])
        at = list(term.keys).index(family)
        rows = slice(int(starts[at]), int(starts[at + 1]))
        term = replace(term, keys={family: term.keys[family]}, weights=term.weights[rows])
    found = Hiding(term).changes(batch)
    whole = term.logits(batch, batch.at_end).double().numpy()
    for kind in np.unique(batch.ids[batch.ids > UNK])[:6]:
        without = replace(batch, ids=np.where(batch.ids == kind, UNK, batch.ids))
        expected = whole - term.logits(without, batch.at_end).double().numpy()
        taken = np.zeros_like(whole)
        mine = found.ids == kind
        taken[found.rows[mine], found.labels[mine]] = found.taken[mine]
        assert taken == pytest.approx(expected, abs=1e-3)


def test_columns_are_sorted_by_row_label_and_id(changes: HidingChanges) -> None:
    order = np.lexsort((changes.ids, changes.labels, changes.rows))
    assert np.array_equal(order, np.arange(len(order)))


def test_answers_are_made_once_for_a_term(known: tuple[LinearTerm, Batch]) -> None:
    assert hiding(known[0]) is hiding(known[0])


def test_a_term_without_weights_changes_nothing(known: tuple[LinearTerm, Batch]) -> None:
    term, batch = known
    found = Hiding(replace(term, weights=term.weights * 0)).changes(batch)
    assert len(found.rows) == 0
    assert found.logits == pytest.approx(np.tile(term.bias.double().numpy(), (len(batch.ids), 1)))
