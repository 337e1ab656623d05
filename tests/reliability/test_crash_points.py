from pathlib import Path

import pytest

from eventcargo import EventDataset
from eventcargo.edges import EdgeFolder
from eventcargo.files import read_document, sweep

from tests.reliability.crash_points import WRITES, write

MOST_POINTS = 200


def content(what: str, path: Path) -> object:
    """What a write left: the number it was given, or None if there is nothing."""
    if not path.exists():
        return None
    if what == "document":
        return read_document(path, "example", 1)["number"]
    if what == "new folder":
        return int(EventDataset.load(path)[0].id)
    if what == "shard":
        return 2 if len(EdgeFolder(path, {"shards": 1}).read(0).edges) == 0 else 0
    numbers = {int((path / name).read_text()) for name in "ab"}
    assert len(numbers) == 1
    return numbers.pop()


@pytest.mark.slow
@pytest.mark.parametrize("what", WRITES)
def test_a_write_killed_at_any_point_is_whole_or_not_there(what: str, tmp_path: Path) -> None:
    for point in range(1, MOST_POINTS):
        folder = tmp_path / str(point)
        folder.mkdir()
        before = {"document": 1, "replaced folder": 1}.get(what)
        if before is not None:
            assert write(what, before, 0, folder) == 0
        code = write(what, 2, point, folder)
        path = folder / "x"
        shards = path / "shard-00000" if what == "shard" else path
        assert content(what, path) if shards.exists() else True
        if what != "replaced folder":  # there is a moment with neither, and votes are counted again
            assert (content(what, path) if shards.exists() else None) in (before, 2)
        sweep(folder)
        assert [one.name for one in folder.rglob(".*")] == []
        if code == 0:
            assert point > 5
            return
        assert code == -9
    raise AssertionError("the write never came to its end")
