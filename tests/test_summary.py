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
    assert "1 label in every sequence" in said


def test_rare_labels_are_a_problem() -> None:
    assert "1 label in fewer than 10 sequences" in problems(
        sequence("a", "xyz", ("r",)), sequence("b", "xyz")
    )


def test_short_and_simultaneous_sequences_are_a_problem() -> None:
    said = problems(sequence("a", "xy"), sequence("b", "xyz", step=0.0))
    assert "1 sequence with fewer than 3 events" in said
    assert "1 sequence with all events at the same time" in said


def test_events_in_every_sequence_are_a_problem() -> None:
    assert "1 event type in every sequence" in problems(sequence("a", "xyy"), sequence("b", "xzz"))


def test_an_empty_selection_has_a_summary() -> None:
    data = EventDataset.from_sequences([sequence("a", "xyz")]).select([])
    assert summarise(data).sequences == 0


def sound(n: int = 20) -> list[EventSequence]:
    """Sequences of three events of which every second carries a label; nothing looks wrong."""
    return [sequence(f"{i:02}", ("xyz", "yza", "zab", "xab")[i % 4], ("bad",) * (i % 2)) for i in range(n)]


def test_sound_data_have_no_problems() -> None:
    assert problems(*sound()) == ""


def test_a_label_with_ten_sequences_is_not_rare() -> None:
    assert "label in fewer than 10" not in problems(*sound(20))
    assert "1 label in fewer than 10" in problems(*sound(19))


def test_a_label_that_one_sequence_lacks_is_no_problem() -> None:
    made = [EventSequence(s.id, s.events, s.times, ("bad",) * (i > 0)) for i, s in enumerate(sound())]
    assert problems(*made) == ""


def test_an_event_type_that_one_sequence_lacks_is_no_problem() -> None:
    made = [sequence(f"{i:02}", "xyz" if i else "yza", ("bad",) * (i % 2)) for i in range(20)]
    assert "1 event type in only one sequence" in problems(*made)
    assert "2 event types in every sequence" in problems(*made)


def test_a_label_that_nobody_carries_is_a_problem_but_not_a_rare_one() -> None:
    data = EventDataset.from_sequences([*sound(), sequence("last", "xyz", ("gone",))])
    said = summarise(data.select(range(20))).problems
    assert said == ["1 label in no sequence; no cause can be found"]


def test_an_event_type_that_occurs_nowhere_is_not_one_that_occurs_once() -> None:
    data = EventDataset.from_sequences([*sound(), sequence("last", "new", ("bad",))])
    assert summarise(data.select(range(20))).problems == []


def test_data_without_labels_are_a_problem() -> None:
    assert "there are no labels" in problems(sequence("a", "xyz"), sequence("b", "zab"))


def test_one_event_alone_is_not_out_of_order() -> None:
    said = problems(sequence("a", "x"), sequence("b", ""), sequence("c", "xyz", step=0.0))
    assert "1 sequence with all events at the same time" in said


def test_data_without_times_have_no_spans_and_lack_no_order() -> None:
    rows = [sequence("a", "xyz", step=0.0), sequence("b", "xyz")]
    summary = summarise(EventDataset.from_sequences(rows, time_kind="order"))
    assert summary.time_span_quantiles is None
    assert not any("at the same time" in problem for problem in summary.problems)


def test_dates_have_spans_too() -> None:
    summary = summarise(EventDataset.from_sequences([sequence("a", "xyz")], time_kind="datetime"))
    assert summary.time_span_quantiles == [2.0] * 7


def test_a_sequence_without_events_has_no_span() -> None:
    data = EventDataset.from_sequences([sequence("a", ""), sequence("b", "xyz"), sequence("c", "")])
    assert summarise(data).time_span_quantiles == [2.0] * 7


def test_support_has_the_quantiles_of_the_labels() -> None:
    rows = [sequence("a", "xyz", ("p", "q")), sequence("b", "xyz", ("p",)), sequence("c", "x", ("p",))]
    support = summarise(EventDataset.from_sequences(rows)).support_quantiles
    assert support == pytest.approx([1, 1.1, 1.5, 2, 2.5, 2.9, 3])


def test_the_range_of_times_is_told_in_figures_and_words() -> None:
    summary = summarise(EventDataset.from_sequences([sequence("a", "xyz"), sequence("b", "xy", step=5.0)]))
    assert (summary.time_range, summary.times) == ((0.0, 5.0), "numbers, 0 to 5")


def test_sequences_without_any_event_repeat_nothing() -> None:
    assert summarise(EventDataset.from_sequences([sequence("a", "")])).repeated_share == 0.0


def test_records_of_a_label_are_a_problem() -> None:
    rows = [sequence(f"{i:03}", "xyr" if i < 12 else "xyz", ("bad",) * (i < 12)) for i in range(400)]
    said = problems(*rows)
    assert "r is in 12 of 12 sequences with bad and in 0 of 388 without" in said
    assert "check that it comes first, or leave it out" in said


def test_many_records_are_counted() -> None:
    rows = [
        EventSequence(f"{i:03}", tuple("abcdefgz"), tuple(map(float, range(8))), ("bad",))
        if i < 12
        else sequence(f"{i:03}", "xyz")
        for i in range(400)
    ]
    said = problems(*rows)
    assert said.count("check that it comes first") == 5
    assert "2 further pairs of a label and an event type that may be its record" in said


def test_names_of_labels_within_those_of_events_are_a_problem() -> None:
    rows = [
        EventSequence(
            f"oil {i:02}", ("oil leak seen", "x", "y"), (0.0, 1.0, 2.0), ("oil leak",) * (i % 3 > 0)
        )
        for i in range(20)
    ]
    said = problems(*rows, *sound())
    assert "1 event type with the name of a label within the own, such as 'oil leak seen'" in said
