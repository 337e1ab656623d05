import pytest

from eventcargo.events import EventDataset, EventSequence
from eventcargo.summary import summarise


def sequence(name: str, events: str, labels: tuple[str, ...] = (), step: float = 1.0) -> EventSequence:
    return EventSequence(name, tuple(events), tuple(step * i for i in range(len(events))), labels)


def test_figures_by_hand() -> None:
    data = EventDataset.from_sequences(
        [sequence("a", "xyx", ("bad",)), sequence("b", "xxxx"), sequence("c", "yz")]
    )
    summary = summarise(data)
    assert (summary.sequences, summary.events, summary.event_types, summary.labels) == (3, 9, 3, 1)
    assert summary.length_quantiles[0] == 2
    assert summary.length_quantiles[-1] == 4
    assert summary.share_without_label == pytest.approx(2 / 3)
    assert summary.labels_per_sequence == pytest.approx(1 / 3)
    assert summary.repeated_share == pytest.approx(4 / 9)  # x in a, three x in b
    assert summary.time_span_quantiles == [1, 1.1, 1.5, 2, 2.5, 2.9, 3]
    assert (summary.time_range, summary.times) == ((0.0, 3.0), "numbers, 0 to 3")


def problems(*sequences: EventSequence) -> str:
    return "\n".join(summarise(EventDataset.from_sequences(sequences)).problems)


def test_a_label_on_every_sequence_is_a_problem() -> None:
    said = problems(*(sequence(f"{i:02}", "xyz", ("all",)) for i in range(12)))
    assert "1 labels are carried by every sequence" in said


def test_rare_labels_are_a_problem() -> None:
    assert "1 labels have fewer than 10 sequences" in problems(
        sequence("a", "xyz", ("r",)), sequence("b", "xyz")
    )


def test_short_and_simultaneous_sequences_are_a_problem() -> None:
    said = problems(sequence("a", "xy"), sequence("b", "xyz", step=0.0))
    assert "1 sequences have fewer than 3 events" in said
    assert "1 sequences have all their events at one time" in said


def test_events_in_every_sequence_are_a_problem() -> None:
    assert "1 event types occur in every sequence" in problems(sequence("a", "xyy"), sequence("b", "xzz"))


def test_an_empty_selection_has_a_summary() -> None:
    data = EventDataset.from_sequences([sequence("a", "xyz")]).select([])
    assert summarise(data).sequences == 0
