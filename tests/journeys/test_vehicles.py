"""The files of the vehicles are messy in the ways promised, and hold their truth."""

from pathlib import Path

import polars as pl
import pytest

from .journey import Journey
from .vehicles import TIME_FORMAT, write_vehicles


@pytest.fixture(scope="module")
def vehicles(tmp_path_factory: pytest.TempPathFactory) -> Journey:
    return write_vehicles(tmp_path_factory.mktemp("vehicles"), vehicles=400)


def read(path: Path) -> pl.DataFrame:
    return pl.read_csv(path.read_bytes().decode("cp1252").encode(), separator=";")


@pytest.fixture(scope="module")
def joined(vehicles: Journey) -> pl.DataFrame:
    """Every code of a vehicle beside every failure of it, with the days from the code to the failure."""
    tables = [
        read(vehicles.files[name]).with_columns(pl.col("Datum").str.to_datetime(TIME_FORMAT))
        for name in ("codes", "failures")
    ]
    codes = tables[0].with_columns(pl.col("Code").str.strip_chars().str.to_lowercase())
    failures = tables[1].with_row_index("case").join(read(vehicles.files["vehicles"]), on="VIN")
    days = (pl.col("Datum_failed") - pl.col("Datum")).dt.total_minutes() / 1440
    return codes.join(failures, on="VIN", suffix="_failed").with_columns(days=days)


def test_codes_are_messy(vehicles: Journey) -> None:
    codes = read(vehicles.files["codes"])
    assert codes.is_duplicated().any()
    assert (codes["Code"] != codes["Code"].str.strip_chars()).any()
    assert "Zündung".encode("cp1252") in vehicles.files["codes"].read_bytes()


def test_causes_come_before_nearly_every_failure(vehicles: Journey, joined: pl.DataFrame) -> None:
    for label, causes in vehicles.causes.items():
        cases = joined.filter(pl.col("Schaden") == label)
        recent = cases.filter(pl.col("days").is_between(0, 30, closed="right"))
        for cause in causes:
            is_model = pl.lit(cause) == pl.format("Modell={}", pl.col("Modell"))
            held = recent.filter(is_model | (pl.col("Code") == cause.lower()))["case"].n_unique()
            assert held > 0.75 * cases["case"].n_unique()


def test_workshop_codes_come_after_the_failure(vehicles: Journey, joined: pl.DataFrame) -> None:
    for label, records in vehicles.post_outcome.items():
        written = joined.filter((pl.col("Schaden") == label) & pl.col("Code").is_in(records))
        nearest = written.group_by("case").agg(pl.col("days").filter(pl.col("days") <= 0).max())
        assert nearest["days"].null_count() == 0
        assert nearest["days"].min() > -5  # type: ignore[operator]
