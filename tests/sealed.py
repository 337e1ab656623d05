"""Files of ours, changed and given checksums that fit: what is refused then is refused for its content."""

import json
from pathlib import Path
from typing import Any

from eventcargo.checksums import content_checksum, folder_checksums


def edit(path: Path, **entries: Any) -> None:
    """Change entries of a document; None removes one."""
    content = json.loads(path.read_text("utf-8")) | entries
    content = {name: value for name, value in content.items() if value is not None and name != "checksum"}
    path.write_text(json.dumps({**content, "checksum": content_checksum(content)}), "utf-8")


def reseal(folder: Path) -> None:
    """Give the files of a shard, of votes or of a saved data set the checksums that they have now."""
    for name, entry in (
        ("checksums.json", "files"),
        ("plan.json", "checksums"),
        ("dataset.json", "checksums"),
    ):
        if (folder / name).exists():
            sums = {file: code for file, code in folder_checksums(folder).items() if file != name}
            edit(folder / name, **{entry: sums})
