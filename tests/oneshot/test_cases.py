from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from eventcargo import EventDataset
from eventcargo.batches import Batches
from eventcargo.engines.local import Local
from eventcargo.errors import ConfigError, DataError
from eventcargo.models.transformer.model import Transformer
from eventcargo.oneshot.cases import (
    ALL,
    LIMITS,
    NONE,
    CaseLimits,
    Cases,
    _Nearest,
    read_cases,
    select_cases,
    write_cases,
)
from eventcargo.oneshot.config import CasesConfig
from eventcargo.oneshot.score_shard import sequence_seeds
from eventcargo.oneshot.total import reach

from tests.sealed import edit


def chosen(model: Transformer, data: EventDataset, **settings: float) -> Cases:
    config = CasesConfig(**settings)  # type: ignore[arg-type]
    return select_cases(model, data, config, sequence_seeds(data, 0))


def count(part: object) -> list[int]:
    return np.asarray(part.sum(axis=0)).ravel().tolist()  # type: ignore[attr-defined]


def test_explicit_labels_are_tested_wherever_they_are_carried(
    fitted: Transformer, chain: EventDataset
) -> None:
    found = chosen(fitted, chain)
    carried = chain.label_matrix().toarray()
    assert np.array_equal(found.present.toarray()[:, [0, 2]], carried[:, [0, 2]])


def test_costly_labels_are_tested_in_a_limited_number(fitted: Transformer, chain: EventDataset) -> None:
    found = chosen(fitted, chain, max_cases=10)
    support = chain.support.tolist()
    assert count(found.present) == [support[0], 10, support[2]]
    assert count(found.absent)[1] == 10
    assert (found.present.toarray() <= chain.label_matrix().toarray()).all()


def test_an_unknown_label_is_never_nearly_predicted(fitted: Transformer, chain: EventDataset) -> None:
    carried = chain.label_matrix().toarray() > 0
    known = carried | (np.random.default_rng(0).random(carried.shape) < 0.5)
    found = chosen(fitted, chain.knowing(known), absent=100.0)
    assert np.array_equal(found.absent.toarray() > 0, known & ~carried)
    assert np.array_equal(found.present.toarray()[:, [0, 2]] > 0, carried[:, [0, 2]])


def test_no_limit_means_all(fitted: Transformer, chain: EventDataset) -> None:
    assert count(chosen(fitted, chain, max_cases=0).present) == chain.support.tolist()


def test_which_of_many_are_taken_does_not_depend_on_their_order(
    fitted: Transformer, chain: EventDataset
) -> None:
    order = np.random.default_rng(0).permutation(len(chain))
    mixed = chain.select(order)
    first, second = chosen(fitted, chain, max_cases=10), chosen(fitted, mixed, max_cases=10)
    assert np.array_equal(first.present.toarray()[order], second.present.toarray())


def test_as_many_without_a_label_as_carry_it(fitted: Transformer, chain: EventDataset) -> None:
    support = chain.support
    expected = np.minimum(np.maximum(2 * support, 50), len(chain) - support)
    expected[1] = min(expected[1], CasesConfig().max_cases)
    assert count(chosen(fitted, chain, absent=2.0).absent) == expected.tolist()


def test_no_sequence_without_a_label_is_tested_where_none_is_asked_for(
    fitted: Transformer, chain: EventDataset
) -> None:
    assert chosen(fitted, chain, absent=0.0).absent.nnz == 0


def test_a_label_is_never_absent_where_it_is_carried(fitted: Transformer, chain: EventDataset) -> None:
    found = chosen(fitted, chain, absent=100.0, min_absent=10_000, max_cases=0)
    assert np.array_equal(found.absent.toarray() > 0, chain.label_matrix().toarray() == 0)


def test_the_nearest_sequences_are_taken(fitted: Transformer, chain: EventDataset) -> None:
    found = chosen(fitted, chain, absent=0.1, min_absent=5)
    batch = Batches(chain, fitted.vocabulary, fitted.max_length).take(np.arange(len(chain)))
    reached = reach(fitted, batch)
    for label in range(3):
        absent = chain.label_matrix().toarray()[:, label] == 0
        taken = found.absent.toarray()[:, label] > 0
        assert reached[taken, label].min() >= reached[absent & ~taken, label].max()


def test_of_very_many_sequences_the_nearest_are_kept_and_of_equal_ones_the_smallest_seeds() -> None:
    random = np.random.default_rng(0)
    values, seeds = random.integers(0, 300, 5_000).astype(float), random.integers(0, 2**32, 5_000)
    nearest = _Nearest(10)
    for rows in np.array_split(np.arange(5_000), 20):
        nearest.add(rows, values[rows], seeds[rows])
    assert nearest.rows().tolist() == sorted(np.lexsort((seeds, -values))[:10].tolist())


def test_where_none_are_wanted_none_are_near() -> None:
    nearest = _Nearest(0)
    nearest.add(np.arange(5), np.ones(5), np.arange(5))
    assert nearest.rows().tolist() == []
    assert nearest.end == (np.inf, NONE)


def test_a_search_that_was_stopped_goes_on_by_the_same_thresholds_only(
    fitted: Transformer, chain: EventDataset, tmp_path: Path
) -> None:
    class StopError(Exception):
        pass

    def stop(*_: object) -> None:
        raise StopError  # the unit is done

    config, seeds, n = CasesConfig(), sequence_seeds(chain, 0), len(chain.label_names)
    none = CaseLimits(np.full(n, ALL), np.full(n, 1e9), np.full(n, NONE))
    every = CaseLimits(np.full(n, ALL), np.full(n, -np.inf), np.full(n, NONE))
    with Local(1, tmp_path) as engine:
        with pytest.raises(StopError):
            select_cases(fitted, chain, config, seeds, stop, limits=none, engine=engine)
        found = select_cases(fitted, chain, config, seeds, limits=every, engine=engine)
    assert np.array_equal(found.absent.toarray() > 0, chain.label_matrix().toarray() == 0)


def test_progress_counts_sequences(fitted: Transformer, chain: EventDataset) -> None:
    told: list[tuple[float, float]] = []
    select_cases(
        fitted,
        chain,
        CasesConfig(),
        sequence_seeds(chain, 0),
        lambda *report: told.append(report[1:3]),
    )
    assert told[-1] == (600, 600)


@pytest.mark.parametrize("name", ["absent", "min_absent", "max_cases"])
def test_negative_settings_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}=-1"):
        CasesConfig(**{name: -1})


def test_thresholds_of_some_sequences_choose_the_same_in_any_data(
    fitted: Transformer, chain: EventDataset
) -> None:
    config = CasesConfig(max_cases=10, min_absent=20)
    first, second = chain.select(np.arange(0, 600, 2)), chain.select(np.arange(1, 600, 2))
    begun = select_cases(fitted, first, config, sequence_seeds(first, 0))
    parts = [
        select_cases(fitted, part, config, sequence_seeds(part, 0), limits=begun.limits)
        for part in (first, second, chain)
    ]
    for polarity in ("present", "absent"):
        of_first, of_second, at_once = (getattr(part, polarity).toarray() for part in parts)
        assert np.array_equal(of_first, getattr(begun, polarity).toarray())
        assert np.array_equal(at_once[0::2], of_first)
        assert np.array_equal(at_once[1::2], of_second)
        assert of_second.sum() > 0


def test_a_folder_without_thresholds_or_with_those_of_other_labels_is_refused(
    tmp_path: Path, fitted: Transformer, chain: EventDataset
) -> None:
    limits = chosen(fitted, chain).limits
    assert limits is not None
    with pytest.raises(DataError, match=f"has no {LIMITS}, so it was written by an earlier release"):
        CaseLimits.read(tmp_path, fitted.label_names)
    limits.write(tmp_path, fitted.label_names)
    with pytest.raises(DataError, match="is of other labels than the model"):
        CaseLimits.read(tmp_path, ["L000"])


def test_a_threshold_that_is_no_number_is_refused_with_it(
    tmp_path: Path, fitted: Transformer, chain: EventDataset
) -> None:
    limits = chosen(fitted, chain).limits
    assert limits is not None
    limits.write(tmp_path, fitted.label_names)
    edit(tmp_path / LIMITS, least=["much"] * len(fitted.label_names))
    with pytest.raises(
        DataError, match=r"limits\.json: least is \['much', .*, not a list of numbers as text"
    ):
        CaseLimits.read(tmp_path, fitted.label_names)


@pytest.mark.parametrize("shape", [(2, 3), (3, 2)])
def test_cases_of_other_data_are_refused(tmp_path: Path, shape: tuple[int, int]) -> None:
    some = sp.csr_array(np.eye(3, dtype=np.int8))
    write_cases(tmp_path / "cases.parquet", Cases(some, some))
    assert (read_cases(tmp_path / "cases.parquet", (3, 3)).present != some).nnz == 0
    with pytest.raises(DataError, match=r"cases\.parquet has cases of other sequences or labels"):
        read_cases(tmp_path / "cases.parquet", shape)


def test_damaged_cases_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "cases.parquet"
    write_cases(path, Cases(sp.csr_array((3, 3)), sp.csr_array((3, 3))))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"cases\.parquet is damaged.*; extract the edges again"):
        read_cases(path, (3, 3))
