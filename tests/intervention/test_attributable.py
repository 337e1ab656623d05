import numpy as np
import pytest

from eventcargo import Cohort, ConfigError, EventDataset, EventSequence, LabelGraph
from eventcargo.event_kinds import EventKinds
from eventcargo.intervention import ASSUMPTIONS, Without, sampled_controls, without
from eventcargo.simulation import simulate
from eventcargo.verdicts import Verdict

TRUST = {"L000": Verdict("L000", "trust", ("fine",))}


@pytest.fixture(scope="module")
def simulated():  # type: ignore[no-untyped-def]
    return simulate("noisy_or", sequences=3000, labels=2, seed=1)


def test_the_answer_is_near_what_the_simulator_does_without_the_cause(simulated) -> None:  # type: ignore[no-untyped-def]
    cause = simulated.truth.boundary("L000")[0]
    prevented = simulate("noisy_or", sequences=3000, labels=2, seed=1, without=(cause,))
    answer = without(simulated.truth, simulated.data, cause, verdicts=TRUST)[0]
    assert answer.now == simulated.data.label_support["L000"]
    assert answer.without_low <= prevented.data.label_support["L000"] <= answer.without_high
    assert answer.fewer_low > 0
    assert answer.fewer == pytest.approx(answer.now - answer.without)
    assert answer.share == pytest.approx(answer.fewer / answer.now)
    assert (answer.level, answer.warnings) == ("trust", ())


def test_several_event_types_are_absent_together(simulated) -> None:  # type: ignore[no-untyped-def]
    causes = simulated.truth.boundary("L000")[:2]
    prevented = simulate("noisy_or", sequences=3000, labels=2, seed=1, without=tuple(causes))
    answer = without(simulated.truth, simulated.data, causes)[0]
    alone = [without(simulated.truth, simulated.data, cause)[0] for cause in causes]
    assert answer.exposed > max(one.exposed for one in alone)
    assert answer.without_low <= prevented.data.label_support["L000"] <= answer.without_high


def test_a_confounded_companion_is_adjusted_for() -> None:
    """A companion of a cause causes nothing: given the cause, its absence changes nothing."""
    found = simulate("noisy_or", sequences=6000, labels=1, companion_share=1.0, seed=2)
    cause, companion = found.rules["L000"][:6], found.rules["L000"].split("followed by ")[1][:6]
    with_cause = LabelGraph.from_boundaries({"L000": [*found.truth.boundary("L000"), companion]})
    given = without(with_cause, found.data, companion)[0]
    rest = [event for event in found.truth.boundary("L000") if event != cause]
    blind = without(LabelGraph.from_boundaries({"L000": [*rest, companion]}), found.data, companion)[0]
    assert given.fewer_low <= 0 <= given.fewer_high
    assert blind.fewer_low > 0


def test_labels_are_those_whose_boundary_has_the_event_type(simulated) -> None:  # type: ignore[no-untyped-def]
    cause = simulated.truth.boundary("L001")[0]
    assert [answer.label for answer in without(simulated.truth, simulated.data, cause)] == ["L001"]
    named = without(simulated.truth, simulated.data, cause, ["L000", "L001"])
    assert [answer.label for answer in named] == ["L000", "L001"]
    assert "not in the boundary of L000" in " ".join(named[0].warnings)
    assert "not in the boundary" not in " ".join(named[1].warnings)


@pytest.mark.parametrize("level", ["caution", "doubt"])
def test_a_verdict_that_is_no_trust_is_a_warning(simulated, level: str) -> None:  # type: ignore[no-untyped-def]
    cause = simulated.truth.boundary("L000")[0]
    verdicts = {"L000": Verdict("L000", level, ("a hidden cause",))}
    answer = without(simulated.truth, simulated.data, cause, verdicts=verdicts)[0]
    assert answer.level == level
    assert answer.warnings[0].startswith(f"the verdict on the label is {level}")
    assert answer.warnings[0].endswith("a hidden cause")


def test_no_verdict_is_a_warning_too(simulated) -> None:  # type: ignore[no-untyped-def]
    cause = simulated.truth.boundary("L000")[0]
    assert "there is no verdict" in without(simulated.truth, simulated.data, cause)[0].warnings[0]


def test_sampled_controls_are_told(simulated) -> None:  # type: ignore[no-untyped-def]
    cause = simulated.truth.boundary("L000")[0]
    answer = without(simulated.truth, simulated.data, cause, verdicts=TRUST, n_controls=3)[0]
    assert answer.warnings[0].startswith("3 controls sampled for each case")
    assert sampled_controls(Cohort(label_time="when")) == 3
    assert sampled_controls(Cohort(label_time="when", index="windows", lookback="1d")) == 0
    assert sampled_controls(Cohort()) == sampled_controls(None) == 0


def made(rows: list[tuple[str, bool]], kinds: EventKinds | None = None) -> EventDataset:
    data = EventDataset.from_sequences(
        [
            EventSequence(f"{i:04}", tuple(events), tuple(map(float, range(len(events)))), ("bad",) * carries)
            for i, (events, carries) in enumerate(rows)
        ]
    )
    data.kinds = kinds or EventKinds()
    return data


def test_few_cases_and_missing_counterparts_are_told() -> None:
    rows = [("xy", True)] * 4 + [("xy", False)] * 16 + [("x", False)] * 10 + [("z", True), ("z", False)] * 40
    answer = without(LabelGraph.from_boundaries({"bad": ["x", "y"]}), made(rows), "x")[0]
    told = " ".join(answer.warnings)
    assert "of 30 sequences with the event types only 4 carry the label" in told
    assert "67% of the sequences with the event types have other causes in a combination" in told


def test_a_family_is_there_without_its_member_only_by_another_one() -> None:
    """The family f brings the label, by its member x or by its member g; z has nothing to do with it."""
    rows = [("fx", i % 2 == 0) for i in range(60)] + [("fgx", i % 2 == 0) for i in range(20)]
    rows += [("fg", i % 2 == 0) for i in range(60)] + [("z", i % 10 == 0) for i in range(60)]
    graph = LabelGraph.from_boundaries({"bad": ["f"]})
    family = without(graph, made(rows, EventKinds(families={"f": ("g", "x")})), "x", "bad")[0]
    assert family.fewer == pytest.approx(60 * 0.4, abs=1.0)  # 20 sequences keep f by g
    held = without(graph, made(rows), "x", "bad")[0]
    assert held.fewer == pytest.approx(0, abs=1.0)


def test_members_of_an_absent_family_are_absent() -> None:
    rows = [("fx", i % 2 == 0) for i in range(60)] + [("z", i % 10 == 0) for i in range(60)]
    rows += [("x", i % 2 == 0) for i in range(20)]  # as if its family had not been recorded
    graph = LabelGraph.from_boundaries({"bad": ["f", "x"]})
    family = without(graph, made(rows, EventKinds(families={"f": ("x",)})), "f", "bad")[0]
    assert family.fewer == pytest.approx(60 * (0.5 - 16 / 80), abs=0.5)
    assert without(graph, made(rows), "f", "bad")[0].fewer == pytest.approx(0, abs=0.5)


def test_sequences_in_which_a_label_is_unknown_are_left_out() -> None:
    rows = [("x", True)] * 30 + [("x", False)] * 20 + [("y", True)] * 10 + [("y", False)] * 60
    data = made(rows)
    known = np.ones((120, 1), bool)
    known[-20:] = False
    answer = without(LabelGraph.from_boundaries({"bad": ["x"]}), data.knowing(known), "x")[0]
    assert (answer.sequences, answer.exposed) == (100, 50)
    assert answer.fewer == pytest.approx(30 - 50 * 10 / 50, abs=0.5)


def test_unknown_names_are_refused_with_the_nearest(simulated) -> None:  # type: ignore[no-untyped-def]
    cause = simulated.truth.boundary("L000")[0]
    with pytest.raises(ConfigError, match=f"no event type '{cause}x' among the .* did you mean '{cause}'"):
        without(simulated.truth, simulated.data, f"{cause}x")
    with pytest.raises(ConfigError, match="no label 'L0' among the 2 of the data; did you mean 'L0"):
        without(simulated.truth, simulated.data, cause, "L0")


def test_an_event_type_of_no_boundary_is_refused_unless_a_label_is_named(simulated) -> None:  # type: ignore[no-untyped-def]
    other = next(
        name for name in simulated.data.event_names if name not in set(simulated.truth.edges["event"])
    )
    with pytest.raises(ConfigError, match=f"{other}: in the boundary of no label"):
        without(simulated.truth, simulated.data, other)
    answer = without(simulated.truth, simulated.data, other, "L000")[0]
    assert answer.fewer_low <= 0 <= answer.fewer_high


def test_where_all_sequences_have_it_there_is_nothing_to_compare() -> None:
    data = made([("x", True), ("xy", False)] * 20)
    with pytest.raises(ConfigError, match="all 40 sequences in which bad is known have x"):
        without(LabelGraph.from_boundaries({"bad": ["x"]}), data, "x")


def answer(fewer: float, low: float, high: float) -> Without:
    return Without(
        "bad", ("x", "y"), 100, 50, 20, 30, 30 - fewer, 30 - high, 30 - low, fewer, low, high, 0.1, None, ()
    )


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((12, 8, 16), "18 instead of 30 sequences would carry bad: 12 fewer (95 % interval 8 to 16)"),
        ((-12, -16, -8), "42 instead of 30 sequences would carry bad: 12 more (95 % interval 8 to 16)"),
        (
            (2, -3, 7),
            "28 instead of 30 sequences would carry bad: 2 fewer (95 % interval from 7 fewer to 3 more)",
        ),
    ],
)
def test_the_answer_in_words(numbers: tuple[float, float, float], words: str) -> None:
    assert answer(*numbers).in_words == f"Without x and y, {words}"


def test_the_assumptions_are_said() -> None:
    assert any("hidden common cause" in one for one in ASSUMPTIONS)
    assert any("stays as it was" in one for one in ASSUMPTIONS)
