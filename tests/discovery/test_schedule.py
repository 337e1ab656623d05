import pytest

from eventcargo.discovery.config import ENDS, TRAINING, DiscoverConfig
from eventcargo.discovery.schedule import (
    LATE,
    LOADING,
    MOST_PACE,
    OF_LABELS,
    START,
    WORTH,
    Schedule,
)
from eventcargo.durations import parse_duration
from eventcargo.engines import Local
from eventcargo.engines.work import Timed
from eventcargo.errors import ConfigError
from eventcargo.events import EventDataset
from eventcargo.simulation import simulate


class Clock:
    """A clock that is set by hand."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def data() -> EventDataset:
    return simulate("chain", sequences=200, labels=2, seed=100).data


def schedule(data: EventDataset, limit: str, now: float = 0.0, pace: float = 1.0, **config: str) -> Schedule:
    """The schedule of a run that began at 0; it is `now`."""
    made = Schedule(data, DiscoverConfig(max_time=limit, **config), 0.0, Clock(now))  # type: ignore[arg-type]
    made.pace = pace
    return made


def test_stages_of_a_long_run_end_at_their_shares(data: EventDataset) -> None:
    ends = {stage: schedule(data, "1000s").end_of(stage).at for stage in ENDS}
    assert ends == {stage: pytest.approx(1000 * share) for stage, share in ENDS.items()}
    assert schedule(data, "1000s").end_of("train").at == pytest.approx(1000 * TRAINING["default"])


def test_a_stage_ends_earlier_where_later_ones_need_the_time(data: EventDataset) -> None:
    for stage in ("train", "extract", "verify"):
        usual, slow = (schedule(data, "3s", pace=pace).end_of(stage).at for pace in (1.0, MOST_PACE))
        assert slow < usual


@pytest.mark.parametrize("stage", LATE)
def test_a_stage_that_begins_late_gets_a_share_of_what_is_left(data: EventDataset, stage: str) -> None:
    assert schedule(data, "100s", now=98.0).end_of(stage).at == pytest.approx(98 + 2 * LATE[stage])


@pytest.mark.parametrize("stage", ["train", "extract", "judge"])
def test_models_and_verdicts_that_begin_late_get_no_time(data: EventDataset, stage: str) -> None:
    assert schedule(data, "100s", now=99.0).end_of(stage).is_over


def test_verdicts_end_early_enough_for_what_follows_the_last_label(data: EventDataset) -> None:
    slow = schedule(data, "1s", pace=MOST_PACE)
    assert slow.end_of("judge").at < 1 - slow._seconds(("report",))


def test_the_whole_run_ends_at_its_limit(data: EventDataset) -> None:
    assert schedule(data, "100s", now=60.0).end.left == 40


def test_a_machine_that_others_use_is_slower(data: EventDataset) -> None:
    made = Schedule(data, DiscoverConfig(), 0.0, Clock())
    with made.measured(Local(1)):
        made._clock.now = 3600.0  # type: ignore[attr-defined]
    assert made.pace == MOST_PACE
    with made.measured(Local(1)):  # no time passes
        sum(range(1000))
    assert made.pace == 1


def test_workers_tell_their_own_pace(data: EventDataset) -> None:
    made, engine = Schedule(data, DiscoverConfig(), 0.0, Clock()), Local(2)
    with made.measured(engine):  # no time of this process passes
        engine.elsewhere += Timed(seconds=6.0, processor=2.0)
    assert made.pace == 3


@pytest.mark.parametrize(
    ("limit", "pace", "expected"), [("1h", 1, True), ("1s", 1, False), ("10s", 10, False)]
)
def test_models_need_time_to_be_loaded_and_fitted(
    data: EventDataset, limit: str, pace: float, expected: bool
) -> None:
    assert schedule(data, limit, pace=pace).has_time_for_models is expected


def test_models_are_begun_if_there_is_time_for_those_of_some_labels() -> None:
    many = simulate("fleet", sequences=500, event_types=2000, labels=60, seed=100).data
    made = schedule(many, "1h")
    of_all, of_labels = made._models_seconds, made._seconds(OF_LABELS)
    assert 0.1 * of_all < of_labels
    some, none = (f"{of_all - (1 - share) * of_labels:.2f}s" for share in (1.05 * WORTH, 0.95 * WORTH))
    assert schedule(many, some).has_time_for_models
    assert not schedule(many, none).has_time_for_models


def test_the_limit_that_is_named_is_enough_for_models(data: EventDataset) -> None:
    short = schedule(data, "3s", now=2.0, pace=2.0)
    assert not short.has_time_for_models
    assert parse_duration(short.enough, "max_time") > 2 + 2 * LOADING
    assert schedule(data, short.enough, now=2.0, pace=2.0).has_time_for_models


def test_a_limit_that_reading_has_used_up_is_refused_with_the_time_needed(data: EventDataset) -> None:
    with pytest.raises(
        ConfigError, match=r"max_time='5s': .* took 4\.9 s, and .* about 0\.\d s more; allow 6s or more"
    ):
        schedule(data, "5s", now=4.9).refuse_too_short()
    schedule(data, "6s", now=4.9).refuse_too_short()


def test_a_limit_is_not_refused_while_it_may_do(data: EventDataset) -> None:
    assert schedule(data, "5s", now=5 - 0.9 * START).end.left > 0
    schedule(data, "5s", now=5 - 0.9 * START).refuse_too_short()  # raises nothing


def test_a_limit_too_short_for_a_large_network_is_refused_with_the_time_needed(data: EventDataset) -> None:
    with pytest.raises(
        ConfigError, match=r"max_time='20s': it leaves 9 s .* takes about (\d+) s here"
    ) as refused:
        schedule(data, "20s", now=1.0, preset="paper").refuse_network()
    enough = str(refused.value).split("allow ")[1].split(" or more")[0]
    assert parse_duration(enough, "max_time") > 20
    schedule(data, enough, now=1.0, preset="paper").refuse_network()


def test_a_limit_that_leaves_no_time_for_phase_1_of_a_large_network_is_refused(data: EventDataset) -> None:
    made = schedule(data, "1h", preset="paper")
    made._network, made._phase_1 = 1.0, 3600.0
    with pytest.raises(
        ConfigError, match=r"1260 s for phase 1, .* and 3600 s to test a block .* allow 2h52m"
    ):
        made.refuse_network()


def test_a_small_network_is_not_refused(data: EventDataset) -> None:
    small, large = (schedule(data, "20s", now=1.0, preset="paper", size=size) for size in ("tiny", "paper"))
    assert small._network < large._network
    small.refuse_network()  # raises nothing


def test_what_another_device_takes_is_not_known(data: EventDataset) -> None:
    elsewhere, here = (
        schedule(data, "20s", now=1.0, preset="paper", device=name) for name in ("cuda", "cpu")
    )
    elsewhere.refuse_network()  # raises nothing
    with pytest.raises(ConfigError):
        here.refuse_network()
