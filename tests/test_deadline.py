"""Deadlines: what every stage does when its time is over, on the same small data set."""

import itertools
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from eventcargo.baselines import find_boundaries
from eventcargo.deadline import NEVER, Deadline, OutOfTime, cut_at, warn_of_left_out
from eventcargo.errors import EventCargoWarning
from eventcargo.rules import find_rules
from eventcargo.simulation import Simulated, simulate
from eventcargo.verdicts.judge import judge
from eventcargo.verification.verify import verify


def after(looks: int) -> Deadline:
    """A deadline that is over after this many looks at it."""
    return Deadline(looks, clock=itertools.count().__next__)


@pytest.fixture(scope="module")
def made() -> Simulated:
    return simulate("short", sequences=600, seed=100)


def first_labels(made: Simulated, n: int) -> set[str]:
    """The most frequent labels."""
    support = made.data.label_support
    return set(sorted(support, key=lambda label: -support[label])[:n])


def test_time_passes() -> None:
    deadline = Deadline.after(0.01)
    assert 0 < deadline.left <= 0.01
    time.sleep(0.02)
    assert deadline.is_over
    with pytest.raises(OutOfTime):
        deadline.check()


def test_a_share_of_the_time_left_ends_before_it() -> None:
    deadline = Deadline.after(100.0)
    assert 49 < deadline.share(0.5).left < 51
    assert NEVER.share(0.5) is NEVER


def spin(seconds: float = 20.0) -> None:
    """Work that looks at no deadline, and ends by itself where nothing cuts it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def test_work_that_looks_at_no_deadline_is_cut() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(OutOfTime), cut_at(Deadline.after(0)):
        spin()
    assert signal.getsignal(signal.SIGALRM) is before


def test_work_that_ends_in_time_is_not_cut_afterwards() -> None:
    with cut_at(Deadline.after(0.02)):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_without_a_deadline_nothing_is_cut() -> None:
    with cut_at(NEVER):
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_threads_other_than_the_first_are_not_cut() -> None:
    def work() -> str:
        with cut_at(Deadline.after(0)):
            return "done"

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() == "done"


def test_the_time_to_allow_is_named_where_it_is_known() -> None:
    with pytest.warns(EventCargoWarning, match=r"1 of 2 labels \(L0\); allow 35s$"):
        warn_of_left_out("nothing was done", ["L0"], 2, "35s")


def test_left_out_labels_are_named_up_to_ten() -> None:
    with pytest.warns(EventCargoWarning, match=r"12 of 20 labels \(L0, L1, .*, L9, \.\.\.\); allow more"):
        warn_of_left_out("nothing was done", [f"L{number}" for number in range(12)], 20)
    warn_of_left_out("nothing was done", [], 20)


def test_the_baseline_leaves_out_labels_it_did_not_reach(made: Simulated) -> None:
    with pytest.warns(EventCargoWarning, match="no boundary was found by iamb of 6 of 6 labels"):
        assert find_boundaries(made.data, deadline=Deadline.after(0)).labels == []


def test_the_baseline_uses_boundaries_that_were_begun_in_time(made: Simulated) -> None:
    assert len(find_boundaries(made.data, deadline=after(2)).labels) == 6


def test_rules_are_those_of_the_most_frequent_labels(made: Simulated) -> None:
    with pytest.warns(EventCargoWarning, match="no rule was looked for of 4 of 6 labels"):
        rules = find_rules(made.data, made.truth, deadline=after(4))
    assert rules.keys() == first_labels(made, 2)


def test_labels_not_judged_in_time_are_doubted(made: Simulated) -> None:
    with pytest.warns(EventCargoWarning, match="no verdict was reached of 4 of 6 labels"):
        verdicts = judge(made.data, made.truth, deadline=after(2))
    told = {label for label, one in verdicts.items() if one.reasons == ("there was no time to judge it",)}
    assert told == set(verdicts) - first_labels(made, 2)
    assert {verdicts[label].level for label in told} == {"doubt"}


@pytest.mark.filterwarnings("ignore:for lack of time, not all missing")
def test_edges_not_tested_in_time_stay_as_they_are(made: Simulated) -> None:
    with pytest.warns(EventCargoWarning, match="edges were not tested on the data of 6 of 6 labels"):
        graph = verify(made.truth, made.data, deadline=Deadline.after(0))
    assert graph.boundaries == made.truth.boundaries
    assert graph.edges["p_value"].is_null().all()


def test_missing_event_types_are_not_looked_for_without_time(made: Simulated) -> None:
    nothing = made.truth.from_boundaries({label: [] for label in made.truth.labels})
    assert len(verify(nothing, made.data)) > 0
    with pytest.warns(EventCargoWarning, match="not all missing event types were looked for of 6 of 6"):
        assert len(verify(nothing, made.data, deadline=Deadline.after(0))) == 0
