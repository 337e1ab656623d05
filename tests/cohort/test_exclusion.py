"""Event types left out of a data set that was read already."""

import pytest

from eventcargo import ConfigError, EventCargoWarning, EventDataset, EventSequence
from eventcargo.cohort import exclude
from eventcargo.event_kinds import EventKinds
from eventcargo.events import TimeKind


def recorded(kinds: EventKinds = EventKinds(), time_kind: TimeKind = "number") -> EventDataset:  # noqa: B008
    data = EventDataset.from_sequences(
        [
            EventSequence("a", ("x", "WS:1", "y"), (0.0, 1.0, 2.0), ("bad",), ((1.0,), (2.0,), (3.0,))),
            EventSequence("b", ("WS:2", "WS:1"), (0.0, 1.0), ("bad",), ((4.0,), (5.0,))),
            EventSequence("c", ("y", "WS:2"), (0.0, 1.0), (), ((6.0,), (7.0,))),
        ],
        time_kind,
        ["km"],
    )
    data.kinds = kinds
    return data.in_groups([7, 8, 9])


def test_excluded_event_types_are_as_if_never_recorded() -> None:
    rest = exclude(recorded(), ["WS:*"])
    assert rest.data.event_names == ("x", "y")
    assert rest.data["a"] == EventSequence("a", ("x", "y"), (0.0, 2.0), ("bad",), ((1.0,), (3.0,)))
    assert rest.data["c"].events == ("y",)
    assert rest.data.groups is not None
    assert rest.data.groups.tolist() == [7, 9]


def test_sequences_without_any_other_event_are_left_out_and_counted() -> None:
    assert exclude(recorded(), ["WS:*"]).notes == [
        "4 events excluded by name",
        "1 sequence without any other event left out",
    ]


def test_where_order_is_time_no_gap_remains() -> None:
    assert exclude(recorded(time_kind="order"), ["WS:*"]).data["a"].times == (0.0, 1.0)


def test_kinds_follow_and_thresholds_go_with_their_event_type() -> None:
    sequence = EventSequence("a", ("lab", "lab >= 2", "x", "y"), (0.0, 0.0, 1.0, 1.0), ())
    data = EventDataset.from_sequences([sequence])
    data.kinds = EventKinds(attributes=("x",), scales=(("lab >= 2",),), measured={"lab": ("lab >= 2",)})
    rest = exclude(data, ["lab", "y"]).data
    assert rest["a"].events == ("x",)
    assert rest.kinds == EventKinds(attributes=("x",))


def test_a_family_that_still_holds_an_excluded_member_is_told() -> None:
    kinds = EventKinds(families={"y": ("WS:1", "x")})
    with pytest.warns(EventCargoWarning, match="1 family such as 'y' still hold excluded event types"):
        exclude(recorded(kinds), ["WS:1"])


def test_a_pattern_without_a_match_is_told() -> None:
    with pytest.warns(EventCargoWarning, match=r"exclude='Z\*': no event type matches"):
        exclude(recorded(), ["Z*"])


def test_no_event_type_left_is_refused() -> None:
    with pytest.raises(ConfigError, match="no event type is left; use narrower patterns"):
        exclude(recorded(), ["*"])
