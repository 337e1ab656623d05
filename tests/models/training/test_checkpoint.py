from pathlib import Path

import pytest
import torch

from eventcargo import EventDataset, EventSequence
from eventcargo.errors import ConfigError
from eventcargo.models.pretrained import tensors_fingerprint
from eventcargo.models.training.checkpoint import RunFolder, was_cut


def test_a_new_run_has_nothing_to_go_on_from(tmp_path: Path) -> None:
    assert RunFolder(tmp_path / "run", {}, resume=True).read() is None


def test_a_checkpoint_is_read_as_written(tmp_path: Path) -> None:
    run = RunFolder(tmp_path, {"seed": 1}, resume=False)
    run.write({"step": 3}, {"w": torch.ones(2)})
    found = RunFolder(tmp_path, {"seed": 1}, resume=True).read()
    assert found is not None
    assert found[0] == {"step": 3}
    assert torch.equal(found[1]["w"], torch.ones(2))


def test_a_run_is_not_written_over(tmp_path: Path) -> None:
    RunFolder(tmp_path, {}, resume=False).write({}, {})
    with pytest.raises(ConfigError, match=r"checkpoint\.safetensors exists already; resume the run"):
        RunFolder(tmp_path, {}, resume=False)


def test_other_settings_are_refused_with_both_values(tmp_path: Path) -> None:
    RunFolder(tmp_path, {"seed": 1, "width": 8}, resume=False).write({}, {})
    with pytest.raises(ConfigError, match="seed=1, now it is 2"):
        RunFolder(tmp_path, {"seed": 2, "width": 8}, resume=True).read()


def one(event: str = "a", time: float = 0.0, label: str = "x", name: str = "s") -> str:
    return EventDataset.from_sequences([EventSequence(name, (event,), (time,), (label,))]).fingerprint


def test_the_fingerprint_differs_where_the_data_differ() -> None:
    assert one() == one()
    assert len({one(), one(event="b"), one(time=1.0), one(label="y")}) == 4


def test_the_fingerprint_differs_where_ids_differ() -> None:
    """Draws follow from ids, so the same events under other ids are other data."""
    one_id, other_id = (
        EventDataset.from_sequences([EventSequence(name, ("a",), (0.0,), ("x",))]).fingerprint
        for name in "st"
    )
    assert one_id != other_id


def test_the_fingerprint_differs_where_values_or_their_names_differ() -> None:
    found = set()
    for value, name in ((1.0, "mileage"), (2.0, "mileage"), (1.0, "heat")):
        sequence = EventSequence("s", ("a",), (0.0,), ("x",), ((value,),))
        found.add(EventDataset.from_sequences([sequence], value_names=[name]).fingerprint)
    assert len(found | {one()}) == 4


def test_the_fingerprint_of_tensors_differs_where_they_differ() -> None:
    same, other = {"w": torch.ones(2)}, {"w": torch.zeros(2)}
    assert tensors_fingerprint(same) == tensors_fingerprint({"w": torch.ones(2)})
    assert len({tensors_fingerprint(t) for t in (same, other, {"v": torch.ones(2)})}) == 3


def test_a_fit_that_was_cut_is_forgotten_with_what_followed_it_once_there_is_more_time(
    tmp_path: Path,
) -> None:
    def folder(limit: str) -> RunFolder:
        return RunFolder(tmp_path, {"train": {"max_time": limit, "seed": 1}}, resume=True)

    begun = folder("10m")
    begun.write_term(begun.linear, 1.0, {"w": torch.ones(1)})
    begun.write_term(begun.focused, 1.0, {"w": torch.ones(1)}, is_cut=True)
    begun.write({}, {})
    assert was_cut(tmp_path)
    assert folder("10m").read_term(begun.focused) is not None
    with pytest.raises(ConfigError, match=r"train\.max_time='10m', now it is '5m'"):
        folder("5m").read_term(begun.focused)
    assert folder("20m").read_term(begun.linear) is not None
    assert folder("20m").read_term(begun.focused) is None
    assert folder("20m").read() is None
    assert begun.linear.exists()
    assert not was_cut(tmp_path)


def test_a_kill_while_a_cut_fit_is_forgotten_leaves_nothing_that_was_made_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def folder(limit: str) -> RunFolder:
        return RunFolder(tmp_path, {"train": {"max_time": limit}}, resume=True)

    begun = folder("10m")
    begun.write_term(begun.linear, 1.0, {"w": torch.ones(1)}, is_cut=True)
    begun.write_term(begun.focused, 1.0, {"w": torch.ones(1)})
    begun.write({}, {})
    begun.model.mkdir()
    names, unlink = [begun.model, begun.checkpoint, begun.focused, begun.linear], Path.unlink
    left: list[list[bool]] = []

    def watched(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        left.append([one.exists() for one in names])

    monkeypatch.setattr(Path, "unlink", watched)
    assert folder("20m").read_term(begun.linear) is None
    assert left == [[False, False, True, True], [False, False, False, True], [False] * 4]
