from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

MEDS_ROWS = [
    (10, None, "SEX//F"),
    (10, datetime(2024, 1, 1), "A"),
    (10, datetime(2024, 1, 2), "B"),
    (10, datetime(2024, 1, 3), "C"),
    (9, datetime(2024, 1, 1), "B"),
    (9, datetime(2024, 1, 5), "A"),
    (7, datetime(2024, 1, 1), "D"),
]

HOSTILE = [
    "plain",
    'quo"ted',
    "it's",
    "comma,semi;tab\t",
    "line\nfeed",
    "carriage\rreturn",
    "both\r\n",
    "=cmd|' /C calc'!A0",
    "@sum",
    "-1",
    "<script>alert(1)</script>",
    "&amp;",
    "back\\slash\\",
    "\\n",
    " ",
    " padded ",
    "null",
    "NaN",
    "1",
    "1.0",
    "ünïcödé",
    "e\u0301",
    "\u00e9",
    "\u202eright to left",
    "\u2028line separator",
    "\x85next line",
    "\U0001f600",
    "{}[]",
    "#",
    "x" * 10_000,
]


@pytest.fixture(scope="session")
def hostile_names():
    """Names that formats tend to spoil."""
    return HOSTILE


@pytest.fixture(scope="session")
def assert_equal():
    """Compare two data sets column by column."""

    def check(left, right):
        assert left.sequence_ids.to_pylist() == right.sequence_ids.to_pylist()
        assert left.event_names == right.event_names
        assert left.label_names == right.label_names
        assert left.time_kind == right.time_kind
        for one, other in zip(left.flat(), right.flat(), strict=True):
            np.testing.assert_array_equal(one, other)
        assert left.value_names == right.value_names
        np.testing.assert_array_equal(left.rows.gather(left.values), right.rows.gather(right.values))
        np.testing.assert_array_equal(left.label_rows.offsets, right.label_rows.offsets)
        np.testing.assert_array_equal(
            left.label_rows.gather(left.labels), right.label_rows.gather(right.labels)
        )

    return check


@pytest.fixture(scope="session")
def write_meds():
    """Write rows as Parquet after the standard's own class has checked them."""
    meds = pytest.importorskip("meds")

    def write(path, schema, rows, columns):
        table = pa.Table.from_pylist([dict(zip(columns, row, strict=True)) for row in rows])
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(getattr(meds, schema).align(table), path)

    return write


@pytest.fixture
def meds_rows():
    """Three subjects, one with a static event."""
    return MEDS_ROWS


@pytest.fixture
def write_data(write_meds):
    """Write events as a shard of a MEDS data set."""

    def write(root, rows=MEDS_ROWS, name="data/train/0.parquet"):
        write_meds(root / name, "DataSchema", rows, ("subject_id", "time", "code"))

    return write


@pytest.fixture
def write_task(write_meds):
    """Write labels of one MEDS task."""

    def write(path, rows, value="boolean_value"):
        write_meds(path, "LabelSchema", rows, ("subject_id", "prediction_time", value))

    return write


@pytest.fixture
def root(tmp_path, write_data):
    """A MEDS data set without labels."""
    write_data(tmp_path)
    return tmp_path
