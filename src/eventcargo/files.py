"""Files and folders that appear whole or not at all, and JSON documents with format, version and checksum.

Everything is written to a working folder beside its target, then renamed: a reader never sees half a file,
and an interrupted write leaves the old content in place. A writer holds a lock in its working folder; what a
killed writer left behind is locked by nobody, and `sweep` removes it. Documents that are damaged or of
another format or version are refused by name, and so is resuming work that was begun with other settings.
"""

import errno
import json
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows has no such locks: nothing is swept there
    fcntl = None  # type: ignore[assignment]

from eventcargo.checksums import CHECKSUM, content_checksum
from eventcargo.errors import ConfigError, DataError, WriteError

LOG = logging.getLogger(__name__)

PART, LOCK = ".part", ".lock"
"""Ending of a working folder, and the file in it that its writer has locked."""

SPACE = "free some space, or choose another folder"
RIGHTS = "choose a folder that you may write to"
REMEDIES = {
    errno.ENOSPC: SPACE,
    errno.EDQUOT: SPACE,
    errno.EFBIG: "allow larger files (ulimit -f), or choose another folder",
    errno.EROFS: RIGHTS,
    errno.EACCES: RIGHTS,
    errno.EPERM: RIGHTS,
    errno.EMFILE: "allow more open files (ulimit -n)",
    errno.ENFILE: "close other programs: the system has too many open files",
    errno.EISDIR: "a folder is in its place: move it away",
    errno.EIO: "the disk fails: choose another folder",
}
"""What to do when a write fails."""


@contextmanager
def atomic_file(path: str | Path) -> Iterator[Path]:
    """A temporary path to write to; renamed to `path` when the block ends without an error."""
    path = Path(path)
    with _told(path), _working_folder(path) as working:
        temporary = working / "file"
        temporary.touch()
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # some writers replace the file by one that only its owner reads
        temporary.replace(path)
    LOG.debug("wrote %s", path)


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """A temporary folder to fill; renamed to `path`, which must not exist or be empty, at the end."""
    path = Path(path)
    check_new_folder(path)
    with _told(path), _working_folder(path) as working:
        temporary = working / "folder"
        temporary.mkdir()
        yield temporary
        temporary.replace(path)


@contextmanager
def replacing_folder(path: str | Path) -> Iterator[Path]:
    """As `atomic_folder`, but an existing folder is replaced; for a moment there is neither."""
    path = Path(path)
    with _told(path), _working_folder(path) as working:
        temporary = working / "folder"
        temporary.mkdir()
        yield temporary
        if path.exists():
            path.replace(working / "before")
        temporary.replace(path)


@contextmanager
def _working_folder(path: Path) -> Iterator[Path]:
    """A folder beside a path, locked by this process and removed at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = None
    while lock is None:  # another process may sweep the folder before it is locked
        working = Path(tempfile.mkdtemp(prefix=f".{path.name[:40]}.", suffix=PART, dir=path.parent))
        lock = _locked(working / LOCK, "x")
    try:
        yield working
    finally:
        shutil.rmtree(working, ignore_errors=True)
        lock.close()


def _locked(path: Path, mode: str) -> IO[Any] | None:
    """A file, opened and locked until it is closed; None if another process has it, or it is gone."""
    try:
        file = path.open(mode)
    except FileNotFoundError:
        return None
    is_own = mode == "x"
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_own = path.exists()
    except BlockingIOError:
        is_own = False
    except OSError as error:
        if error.errno not in (errno.ENOTSUP, errno.ENOSYS, errno.ENOLCK):  # a file system without locks
            raise
    if is_own:
        return file
    file.close()
    return None


def sweep(folder: str | Path) -> list[Path]:
    """Remove what killed writers left in a folder and below; working folders of live writers stay.

    >>> with tempfile.TemporaryDirectory() as name, atomic_file(f"{name}/a") as target:
    ...     sweep(name), target.exists()
    ([], True)
    """
    left = [path for path in sorted(Path(folder).rglob(f".*{PART}")) if not path.is_symlink()]
    return [path for path in left if _remove_left(path)]


def _remove_left(path: Path) -> bool:
    if path.is_dir() and (path / LOCK).exists():
        lock = _locked(path / LOCK, "r+")
        if lock is None:
            return False
        lock.close()
    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    return True


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Say in one sentence that a path cannot be written and what to do, whoever noticed it."""
    try:
        yield
    except Exception as error:
        number = _error_number(error)
        if number not in REMEDIES:
            raise
        reason = f"{path} cannot be written: {os.strerror(number)}; {REMEDIES[number]}"
        told = WriteError(f"{reason}; what was there before is unchanged")
        told.errno = number  # a folder that holds the file tells it in its own name
        raise told from None


def _error_number(error: Exception) -> int:
    """The system's number of an error; other libraries have it in the text of errors of their own."""
    number = getattr(error, "errno", None)
    match = re.search(r"\(os error (\d+)\)", str(error))
    return number if isinstance(number, int) else int(match[1]) if match else 0


def check_new_folder(path: Path) -> None:
    """Refuse a folder that holds something, before the work that would fill it."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise DataError(f"{path} exists already; choose a new folder, or delete it first")


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def write_document(path: str | Path, form: str, version: int, content: Mapping[str, Any]) -> None:
    """Write JSON with its format, version and checksum, whole or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_document(f"{folder}/a.json", "eventcargo-example", 1, {"answer": 42})
    ...     read_document(f"{folder}/a.json", "eventcargo-example", 1)
    {'answer': 42}
    """
    text = sealed(form, version, content)
    with atomic_file(path) as target:
        target.write_text(text, "utf-8")


def sealed(form: str, version: int, content: Mapping[str, Any]) -> str:
    """The text of a document; its checksum is that of everything else in it."""
    whole = {"format": form, "version": version, **content}
    return json.dumps({**whole, CHECKSUM: content_checksum(whole)}, ensure_ascii=False, indent=1) + "\n"


def read_document(path: str | Path, form: str, version: int, advice: str = "") -> dict[str, Any]:
    """The content of a document of this format and version; a refusal ends with `advice`."""
    return parse_document(_bytes_of(path, advice), path, form, version, advice)


def read_json(path: str | Path, advice: str = "") -> Any:
    """What a file of JSON says, whoever wrote it; a refusal ends with `advice`."""
    return parse_json(_bytes_of(path, advice), path, advice)


def _bytes_of(path: str | Path, advice: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path} does not exist{_ending(advice)}") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}{_ending(advice)}") from None


def parse_document(
    text: str | bytes, place: str | Path, form: str, version: int, advice: str = "", is_sealed: bool = True
) -> dict[str, Any]:
    """The content of a document's text; `place` is where it was read from.

    One that is not `is_sealed` may lack its checksum, because people write it, too.
    """
    content = parse_json(text, place, advice)
    if not isinstance(content, dict) or content.get("format") != form:
        raise DataError(f"{place} was not written by eventcargo as {form}{_ending(advice)}")
    given = content.get("version")
    if type(given) is not int or given != version:
        raise DataError(
            f"{place} has version {given!r:.20} of another release, this one reads {version}{_ending(advice)}"
        )
    seal = content.pop(CHECKSUM, None)
    if seal is None and is_sealed:
        raise DataError(f"{place} has no checksum: it was edited, or is of another release{_ending(advice)}")
    if seal is not None and seal != content_checksum(content):
        raise DataError(f"{place} is damaged or was edited: its checksum does not fit{_ending(advice)}")
    return {name: value for name, value in content.items() if name not in ("format", "version")}


def parse_json(text: str | bytes, place: str | Path, advice: str = "") -> Any:
    """What a text of JSON says; refuses what is none, too deep or too long a number."""
    try:
        return json.loads(text)
    except UnicodeDecodeError as error:
        raise DataError(f"{place} is not UTF-8 text: {error.reason}{_ending(advice)}") from None
    except json.JSONDecodeError as error:
        raise DataError(f"{place} is not JSON: {error}{_ending(advice)}") from None
    except RecursionError:
        raise DataError(f"{place} is not JSON of ours: it is nested too deeply{_ending(advice)}") from None
    except ValueError:
        raise DataError(
            f"{place} is not JSON of ours: a number has thousands of digits{_ending(advice)}"
        ) from None


def _ending(advice: str) -> str:
    return f"; {advice}" if advice else ""


def check_same_settings(place: str | Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to resume work that was begun with other settings or data; settings may be nested.

    >>> check_same_settings("RUN", {"train": {"seed": 0}}, {"train": {"seed": 1}})
    Traceback (most recent call last):
    eventcargo.errors.ConfigError: RUN was begun with train.seed=0, now it is 1; resume with the same settings
    and data, or choose a new folder
    """
    old, new = _flat(before), _flat(now)
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            raise ConfigError(
                f"{place} was begun with {name}={old.get(name)!r}, now it is {new.get(name)!r}; resume with "
                "the same settings and data, or choose a new folder"
            )


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings with the names of their levels joined by dots, as JSON holds their values."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = list(value) if isinstance(value, tuple) else value
    return flat
