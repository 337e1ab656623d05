import re

import numpy as np
import pyarrow as pa
import pytest

from eventcargo import DataError
from eventcargo.io import columns
from eventcargo.io.columns import NameColumn, collect
from eventcargo.io.sources import Source


def _encode(*arrays):
    column = NameColumn("event")
    for array in arrays:
        parsed, bad = column.parse(array)
        assert bad == []
        column.keep(parsed)
    codes, names = column.finish()
    return [names[int(code)].as_py() for code in codes], names.to_pylist()


def test_names_are_sorted_and_codes_point_at_them():
    values, names = _encode(pa.array(["b", "a"]), pa.array(["c", "a"]))
    assert values == ["b", "a", "c", "a"]
    assert names == ["a", "b", "c"]


def test_names_are_sorted_as_python_sorts_them():
    given = ["é", "Z", "a", "\U0001f600", "\uffee", "z", " "]
    assert _encode(pa.array(given))[1] == sorted(given)


def test_merging_in_between_changes_nothing(monkeypatch):
    monkeypatch.setattr(columns, "SETTLE", 2)
    rng = np.random.default_rng(0)
    given = [rng.integers(0, 50, size=7).astype(str).tolist() for _ in range(20)]
    values, names = _encode(*(pa.array(part) for part in given))
    assert values == [name for part in given for name in part]
    assert names == sorted(set(values))


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["1", "2"], pa.string_view()),
        pa.array(["1", "2"], pa.large_string()),
        pa.array([1, 2], pa.int8()),
        pa.array([1, 2], pa.uint64()),
        pa.array([1, 2]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["2", "1"], pa.string_view())),
    ],
    ids=lambda array: str(array.type),
)
def test_strings_and_integers_of_every_type_become_strings(array):
    assert _encode(array) == (["1", "2"], ["1", "2"])


def test_categories_that_do_not_occur_are_no_names():
    array = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["a", "unused"]))
    assert _encode(array)[1] == ["a"]


@pytest.mark.parametrize(
    ("array", "reason", "offset"),
    [
        (pa.array(["a", None]), "event is null", 1),
        (pa.array(["a", "b", ""]), "event is empty", 2),
        (pa.array(["", "a"]), "event is empty", 0),
        (pa.array([3.0]), "event is 3.0; use strings or integers", 0),
        (pa.array([True]), "event is True; .* not the type bool", 0),
        (pa.array([None, None]), "event is null", 0),
    ],
)
def test_a_value_that_is_no_name_is_refused_with_its_offset(array, reason, offset):
    _, (bad,) = NameColumn("event").parse(array)
    assert re.match(reason, bad.message)
    assert bad.offsets[0] == offset


def test_strings_that_are_not_utf8_are_refused_with_their_row():
    offsets = pa.py_buffer(np.array([0, 1, 2], np.int32))
    array = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"a\xff")])
    source = Source("a table", ["event"], lambda _: iter([pa.record_batch({"event": array})]))
    with pytest.raises(DataError, match=r"a table, row 2: event is b'\\xff'; not valid UTF-8; convert"):
        collect([source], {"event": NameColumn("event")})


def test_collect_names_the_row_within_its_own_source():
    batches = [pa.record_batch({"event": part}) for part in (["a", "b"], ["c", ""])]
    first = Source("first.csv", ["event"], lambda _: iter(batches[:1]))
    second = Source("second.csv", ["event"], lambda _: iter(batches))
    with pytest.raises(DataError, match=r"second\.csv, row 4: event is empty"):
        collect([first, second], {"event": NameColumn("event")})
