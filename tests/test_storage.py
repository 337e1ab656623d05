import json
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from eventcargo import DataError, EventDataset, EventSequence, events
from eventcargo.files import sealed
from eventcargo.storage import FORMAT, write_columns

from tests.sealed import edit, reseal

HEADER = ("sequences", "events", "time_kind", "event_names", "label_names", "checksums")


def _ids(data: EventDataset) -> list[str]:
    return [sequence.id for sequence in data]


def test_empty_dataset_can_be_saved_and_loaded(tmp_path: Path) -> None:
    EventDataset.from_sequences([]).save(tmp_path / "d")
    assert len(EventDataset.load(tmp_path / "d")) == 0


def test_loaded_dataset_equals_the_saved_one(tiny: EventDataset, tmp_path: Path) -> None:
    tiny.save(tmp_path / "d")
    loaded = EventDataset.load(tmp_path / "d")
    assert list(loaded) == list(tiny)
    assert loaded.time_kind == tiny.time_kind


def test_saved_selection_holds_only_its_sequences(tiny: EventDataset, tmp_path: Path) -> None:
    tiny.select(["car4", "car2"]).save(tmp_path / "d")
    loaded = EventDataset.load(tmp_path / "d")
    assert list(loaded) == [tiny["car4"], tiny["car2"]]
    assert len(loaded.events) == 5


def test_loaded_columns_are_mapped_into_memory(tiny: EventDataset, tmp_path: Path) -> None:
    tiny.save(tmp_path / "d")
    loaded = EventDataset.load(tmp_path / "d")
    for column in (loaded.events, loaded.times, loaded.labels):
        assert isinstance(column.base, np.memmap)


def test_save_refuses_a_filled_folder_by_name(tiny: EventDataset, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(DataError, match=f"{tmp_path.name} exists already"):
        tiny.save(tmp_path)


def test_folder_without_header_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"it has no dataset\.json; use read_events"):
        EventDataset.load(tmp_path)


COLUMN_FILES = ["offsets.npy", "events.npy", "times.npy", "label_offsets.npy", "labels.npy"]


@pytest.mark.parametrize("name", [*COLUMN_FILES, "sequence_ids.arrow"])
def test_missing_file_is_refused_by_name(tiny: EventDataset, tmp_path: Path, name: str) -> None:
    tiny.save(tmp_path / "d")
    (tmp_path / "d" / name).unlink()
    with pytest.raises(DataError, match=f"damaged: .*{name}"):
        EventDataset.load(tmp_path / "d")


@pytest.mark.parametrize("name", [*COLUMN_FILES, "sequence_ids.arrow"])
@pytest.mark.parametrize("kept", [0, 40, -4])
def test_truncated_file_is_refused(tiny: EventDataset, tmp_path: Path, name: str, kept: int) -> None:
    tiny.save(tmp_path / "d")
    path = tmp_path / "d" / name
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match="d is damaged"):
        EventDataset.load(tmp_path / "d")


@pytest.mark.parametrize("name", COLUMN_FILES)
def test_column_of_another_size_is_refused_by_name(tiny: EventDataset, tmp_path: Path, name: str) -> None:
    tiny.save(tmp_path / "d")
    path = tmp_path / "d" / name
    column = np.load(path)
    np.save(path, np.concatenate([column[:1], column]))
    reseal(tmp_path / "d")
    with pytest.raises(DataError, match=rf"{name} does not (hold .* of shape \({len(column)},\)|rise)"):
        EventDataset.load(tmp_path / "d")


def test_column_of_another_kind_is_refused_by_name(tiny: EventDataset, tmp_path: Path) -> None:
    tiny.save(tmp_path / "d")
    np.save(tmp_path / "d" / "events.npy", np.zeros(6))
    reseal(tmp_path / "d")
    with pytest.raises(DataError, match=r"events\.npy does not hold int32"):
        EventDataset.load(tmp_path / "d")


@pytest.mark.parametrize("offsets", [[0, 4, 1, 4, 6], [1, 1, 4, 4, 6], [0, 1, 4, 4, 5]])
def test_offsets_that_do_not_rise_to_the_end_are_refused(
    tiny: EventDataset, tmp_path: Path, offsets: list[int]
) -> None:
    tiny.save(tmp_path / "d")
    np.save(tmp_path / "d" / "offsets.npy", np.array(offsets))
    reseal(tmp_path / "d")
    with pytest.raises(DataError, match=r"offsets\.npy does not rise from 0 to 6"):
        EventDataset.load(tmp_path / "d")


@pytest.mark.parametrize("offsets", [[0, 0, 3, 2, 4], [1, 1, 2, 3, 4]])
def test_label_offsets_that_do_not_rise_are_refused(
    tiny: EventDataset, tmp_path: Path, offsets: list[int]
) -> None:
    tiny.save(tmp_path / "d")
    np.save(tmp_path / "d" / "label_offsets.npy", np.array(offsets))
    reseal(tmp_path / "d")
    with pytest.raises(DataError, match=r"label_offsets\.npy does not rise from 0 to 4"):
        EventDataset.load(tmp_path / "d")


def test_pickled_column_is_refused(tiny: EventDataset, tmp_path: Path) -> None:
    tiny.save(tmp_path / "d")
    np.save(tmp_path / "d" / "events.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(DataError, match="d is damaged"):
        EventDataset.load(tmp_path / "d")


def test_column_that_is_a_pickle_is_refused_and_not_run(tiny: EventDataset, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple:
            return Path.touch, (tmp_path / "sprung",)

    tiny.save(tmp_path / "d")
    (tmp_path / "d" / "events.npy").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(DataError, match="d is damaged"):
        EventDataset.load(tmp_path / "d")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("name", COLUMN_FILES)
def test_column_without_values_is_refused_by_name(tiny: EventDataset, tmp_path: Path, name: str) -> None:
    tiny.save(tmp_path / "d")
    path = tmp_path / "d" / name
    np.save(path, np.load(path)[:0])
    reseal(tmp_path / "d")
    with pytest.raises(DataError, match=rf"{name} does not hold"):
        EventDataset.load(tmp_path / "d")


def _write_ids(path: Path, table: pa.Table) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


@pytest.mark.parametrize("n_ids", [1, 5])
def test_ids_of_another_number_are_refused_with_both(tiny: EventDataset, tmp_path: Path, n_ids: int) -> None:
    tiny.save(tmp_path / "d")
    _write_ids(
        tmp_path / "d" / "sequence_ids.arrow",
        pa.table({"sequence_id": pa.array(["x"] * n_ids, pa.large_string())}),
    )
    reseal(tmp_path / "d")
    with pytest.raises(DataError, match=f"{n_ids} sequence ids? for 4 sequences"):
        EventDataset.load(tmp_path / "d")


def test_ids_without_their_column_are_refused(tiny: EventDataset, tmp_path: Path) -> None:
    tiny.save(tmp_path / "d")
    _write_ids(tmp_path / "d" / "sequence_ids.arrow", pa.table({"other": ["x"]}))
    reseal(tmp_path / "d")
    with pytest.raises(DataError, match=r"damaged: .*sequence_id"):
        EventDataset.load(tmp_path / "d")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "was not written by eventcargo"),
        ('{"format": "other"}', "was not written by eventcargo"),
        (json.dumps({"format": FORMAT, "version": 99}), "version 99 of another release, this one reads 2"),
        (json.dumps({"format": FORMAT, "version": 0}), "version 0 of another release, this one reads 2"),
        (json.dumps({"format": FORMAT}), "version None of another release, this one reads 2"),
        (sealed(FORMAT, 2, {}), "no entry 'sequences'"),
    ],
)
def test_foreign_header_is_refused_with_the_reason(
    tiny: EventDataset, tmp_path: Path, header: str, message: str
) -> None:
    tiny.save(tmp_path / "d")
    (tmp_path / "d" / "dataset.json").write_text(header)
    with pytest.raises(DataError, match=message):
        EventDataset.load(tmp_path / "d")


@pytest.mark.parametrize("name", HEADER)
def test_header_that_lacks_a_part_is_refused_by_its_name(
    tiny: EventDataset, tmp_path: Path, name: str
) -> None:
    tiny.save(tmp_path / "d")
    path = tmp_path / "d" / "dataset.json"
    edit(path, **{name: None})
    with pytest.raises(DataError, match=f"no entry '{name}'"):
        EventDataset.load(tmp_path / "d")


def test_hostile_names_survive_save_and_load(tmp_path: Path) -> None:
    name = 'é"\n,\t\U0001f697'
    data = EventDataset.from_sequences([EventSequence(name, (name, ""), (0.0, 1.0), (name,))])
    data.save(tmp_path / "d")
    assert EventDataset.load(tmp_path / "d")[name] == data[0]


def test_columns_saved_in_small_parts_are_the_same_bytes(
    tiny: EventDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.save(tmp_path / "whole")
    monkeypatch.setattr(events, "SAVED_AT_ONCE", 1)
    tiny.save(tmp_path / "parts")
    for path in (tmp_path / "whole").iterdir():
        assert path.read_bytes() == (tmp_path / "parts" / path.name).read_bytes()


def test_parts_of_a_wider_kind_are_written_as_their_column_is(tmp_path: Path) -> None:
    header = {
        "sequences": 1,
        "events": 2,
        "time_kind": "number",
        "event_names": ["a", "b"],
        "label_names": [],
    }
    parts = {name: [np.zeros(2, np.int64)] for name in ("offsets", "events", "times", "label_offsets")}
    parts |= {"offsets": [np.array([0, 2])], "events": [np.array([0, 1])]}
    write_columns(tmp_path / "d", header, {**parts, "labels": []}, 0, pa.array(["s"], pa.large_string()))
    assert EventDataset.load(tmp_path / "d")["s"].events == ("a", "b")


def test_numbers_without_a_name_are_refused_when_used(tiny: EventDataset, tmp_path: Path) -> None:
    tiny.save(tmp_path / "d")
    np.save(tmp_path / "d" / "events.npy", np.full(6, 77, np.int32))
    reseal(tmp_path / "d")
    with pytest.raises(DataError, match="77 for 3 names"):
        EventDataset.load(tmp_path / "d", verify=False).presence()


@pytest.fixture
def driven(tmp_path: Path) -> Path:
    """A saved data set of two sequences with two value columns."""
    sequences = [
        EventSequence("car1", ("a", "b"), (0.0, 1.0), (), ((10.0, np.nan), (30.0, -4.0))),
        EventSequence("car2", ("a",), (0.0,), (), ((700.0, 20.5),)),
    ]
    data = EventDataset.from_sequences(sequences, value_names=("mileage", "température"))
    data.save(tmp_path / "driven")
    return tmp_path / "driven"


def test_loaded_values_are_those_saved(driven: Path) -> None:
    loaded = EventDataset.load(driven)
    assert loaded.value_names == ("mileage", "température")
    np.testing.assert_array_equal(loaded.values, [[10, np.nan], [30, -4], [700, 20.5]])
    assert isinstance(loaded.values.base, np.memmap)


def test_a_saved_selection_holds_only_its_values(driven: Path, tmp_path: Path) -> None:
    EventDataset.load(driven).select(["car2"]).save(tmp_path / "d")
    assert EventDataset.load(tmp_path / "d").values.tolist() == [[700.0, 20.5]]


def test_data_without_value_columns_have_no_file_of_them(tiny: EventDataset, tmp_path: Path) -> None:
    tiny.save(tmp_path / "d")
    assert not (tmp_path / "d" / "values.npy").exists()
    assert "value_names" not in json.loads((tmp_path / "d" / "dataset.json").read_text("utf-8"))
    assert EventDataset.load(tmp_path / "d").values.shape == (6, 0)


def test_a_missing_file_of_values_is_refused_by_name(driven: Path) -> None:
    (driven / "values.npy").unlink()
    with pytest.raises(DataError, match=r"damaged: .*values\.npy"):
        EventDataset.load(driven)


@pytest.mark.parametrize("kept", [0, 40, -4])
def test_a_truncated_file_of_values_is_refused(driven: Path, kept: int) -> None:
    content = (driven / "values.npy").read_bytes()
    (driven / "values.npy").write_bytes(content[:kept])
    with pytest.raises(DataError, match="driven is damaged"):
        EventDataset.load(driven)


@pytest.mark.parametrize("shape", [(3,), (3, 1), (2, 2), (2, 3)])
def test_values_of_another_shape_are_refused(driven: Path, shape: tuple[int, ...]) -> None:
    np.save(driven / "values.npy", np.zeros(shape))
    reseal(driven)
    with pytest.raises(DataError, match=r"values\.npy does not hold float64 of shape \(3, 2\)"):
        EventDataset.load(driven)


def test_values_of_another_kind_are_refused_by_name(driven: Path) -> None:
    np.save(driven / "values.npy", np.zeros((3, 2), np.float32))
    reseal(driven)
    with pytest.raises(DataError, match=r"values\.npy does not hold float64"):
        EventDataset.load(driven)


def test_value_names_that_are_no_list_are_refused(driven: Path) -> None:
    path = driven / "dataset.json"
    edit(path, value_names=7)
    with pytest.raises(DataError, match="value_names is 7, not a list"):
        EventDataset.load(driven)


@pytest.fixture
def half_known(tiny: EventDataset, tmp_path: Path) -> Path:
    tiny.knowing(tiny.label_matrix().toarray() > 0).save(tmp_path / "half")
    return tmp_path / "half"


def test_a_missing_file_of_known_labels_is_refused_by_name(half_known: Path) -> None:
    (half_known / "known.npy").unlink()
    with pytest.raises(DataError, match=r"damaged: .*known\.npy"):
        EventDataset.load(half_known)


def test_offsets_of_known_labels_that_fall_are_refused(half_known: Path) -> None:
    np.save(half_known / "known_offsets.npy", np.array([0, 3, 2, 3, 4]))
    reseal(half_known)
    with pytest.raises(DataError, match=r"known_offsets\.npy does not rise from 0 to 4"):
        EventDataset.load(half_known)


@pytest.mark.parametrize("name", [*COLUMN_FILES, "sequence_ids.arrow"])
def test_a_flipped_bit_is_noticed_when_a_data_set_is_opened(
    tiny: EventDataset, tmp_path: Path, name: str
) -> None:
    tiny.save(tmp_path / "d")
    path = tmp_path / "d" / name
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"d is damaged: {name} has the checksum"):
        EventDataset.load(tmp_path / "d")


def test_a_data_set_is_opened_without_reading_it_if_asked(tiny: EventDataset, tmp_path: Path) -> None:
    tiny.save(tmp_path / "d")
    path = tmp_path / "d" / "times.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    assert len(EventDataset.load(tmp_path / "d", verify=False)) == 4


@pytest.mark.parametrize("name", ["event", "label"])
def test_numbers_without_a_name_are_refused(tiny: EventDataset, tmp_path: Path, name: str) -> None:
    tiny.save(tmp_path / "d")
    names = list(getattr(tiny, f"{name}_names"))
    edit(tmp_path / "d" / "dataset.json", **{f"{name}_names": names[:-1]})
    with pytest.raises(
        DataError, match=f"d is damaged: the {name} numbers 0 to .* have {len(names) - 1} name"
    ):
        EventDataset.load(tmp_path / "d")
