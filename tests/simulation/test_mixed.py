import re
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from eventcargo.errors import ConfigError
from eventcargo.events import EventSequence
from eventcargo.simulation import Simulated, simulate
from eventcargo.simulation.mixed import MixedConfig

E = r"(E\d+)"


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    return simulate("mixed", sequences=3_000, label_noise=0.0, seed=1)


def at(one: EventSequence, wanted: str) -> list[int]:
    return [place for place, event in enumerate(one.events) if event == wanted]


def is_state(one: EventSequence, a: str, on: str, off: str) -> bool:
    since = [next((e for e in reversed(one.events[:place]) if e in (on, off)), "") for place in at(one, a)]
    return on in since


def is_then(one: EventSequence, a: str, b: str, c: str) -> bool:
    left = iter(one.events)
    return all(event in left for event in (a, b, c))


def is_burst(one: EventSequence, k: str, a: str, limit: str) -> bool:
    times = [one.times[place] for place in at(one, a)]
    return any(end - begin <= float(limit) for begin, end in zip(times, times[int(k) - 1 :], strict=False))


def is_near(one: EventSequence, a: str, b: str, limit: str) -> bool:
    return any(abs(one.times[i] - one.times[j]) < float(limit) for i in at(one, a) for j in at(one, b))


def is_presence(one: EventSequence, text: str) -> bool:
    groups = [part.strip("()").split(" & ") for part in text.split(" | ")]
    return any(all((p.strip("!") in one.events) != p.startswith("!") for p in group) for group in groups)


FORMS: dict[str, Callable[..., bool]] = {
    rf"{E} before {E}": lambda s, a, b: bool(at(s, a) and at(s, b)) and at(s, a)[0] < at(s, b)[0],
    rf"{E} right after {E}": lambda s, b, a: (a, b) in list(pairwise(s.events)),
    rf"{E} at least (\d+) times": lambda s, a, k: s.events.count(a) >= int(k),
    rf"{E} and {E} less than (\S+) apart in time": is_near,
    rf"{E} among the last (\d+) events": lambda s, a, k: a in s.events[-int(k) :],
    rf"{E} after {E} without {E} between": is_state,
    rf"last {E} after last {E}": lambda s, a, b: bool(at(s, a) and at(s, b)) and at(s, a)[-1] > at(s, b)[-1],
    rf"{E} at most (\d+) events after {E}": lambda s, b, n, a: any(
        b in s.events[i + 1 : i + 1 + int(n)] for i in at(s, a)
    ),
    rf"more {E} than {E}": lambda s, a, b: s.events.count(a) > s.events.count(b),
    rf"{E} then {E} then {E}": is_then,
    rf"(\d+) times {E} within (\S+)": is_burst,
    r"([E\d!&|() ]+)": is_presence,
}


def holds(one: EventSequence, text: str) -> bool:
    form, found = next((form, found) for form in FORMS if (found := re.fullmatch(form, text)))
    return FORMS[form](one, *found.groups())


def test_the_label_without_noise_is_its_rule(simulated: Simulated) -> None:
    for label, text in simulated.rules.items():
        expected = [holds(one, text) for one in simulated.data]
        assert [label in one.labels for one in simulated.data] == expected, text


def test_every_kind_of_rule_has_three_or_four_labels(simulated: Simulated) -> None:
    found = [next(form for form in FORMS if re.fullmatch(form, text)) for text in simulated.rules.values()]
    assert {found.count(form) for form in FORMS} == {3, 4}


def test_every_label_is_neither_rare_nor_common(simulated: Simulated) -> None:
    shares = simulated.data.support / len(simulated.data)
    assert shares.min() > 0.02
    assert shares.max() < 0.16


def test_event_types_of_rules_are_common_and_come_without_the_label(simulated: Simulated) -> None:
    present = simulated.data.presence().toarray().astype(bool)
    labels = simulated.data.label_matrix().toarray().astype(bool)
    number = {name: at for at, name in enumerate(simulated.data.event_names)}
    for column, (label, events) in enumerate(simulated.truth.boundaries.items()):
        for event in events:
            has = present[:, number[event]]
            assert 0.15 < has.mean() < 0.6, (label, event)
            assert labels[has, column].mean() < 0.75, simulated.rules[label]


def test_no_event_type_is_in_two_rules(simulated: Simulated) -> None:
    assert simulated.truth.edges["event"].is_unique().all()


def test_other_event_types_have_a_long_tail(simulated: Simulated) -> None:
    background = np.isin(simulated.data.event_names, simulated.truth.edges["event"].to_list(), invert=True)
    counts = np.bincount(simulated.data.events, minlength=len(background))[background]
    assert counts.max() > 10 * np.median(counts)


def test_labels_are_independent_of_each_other(simulated: Simulated) -> None:
    labels = simulated.data.label_matrix().toarray().astype(float)
    off_diagonal = np.corrcoef(labels.T)[~np.eye(labels.shape[1], dtype=bool)]
    assert np.abs(off_diagonal).max() < 4.5 / np.sqrt(len(labels))


def test_noise_drops_its_share_of_true_labels(simulated: Simulated) -> None:
    clean = simulated.data.label_matrix().toarray() > 0
    noisy = simulate("mixed", sequences=3_000, label_noise=0.1, seed=1).data.label_matrix().toarray() > 0
    assert not (noisy & ~clean).any()
    assert noisy.sum() / clean.sum() == pytest.approx(0.9, abs=0.02)


def test_rules_are_the_same_whatever_the_number_of_sequences(simulated: Simulated) -> None:
    assert simulate("mixed", sequences=20, seed=1).rules == simulated.rules


def test_too_few_event_types_are_refused() -> None:
    with pytest.raises(ConfigError, match="event_types=219"):
        MixedConfig(event_types=219)
    assert MixedConfig(event_types=220).labels == 40
