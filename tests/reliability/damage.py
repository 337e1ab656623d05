"""Damage: what a disk, a network, an editor or an enemy does to a file, drawn from a seed."""

import copy
import json
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Rng = np.random.Generator

LONG_INTEGER = 7 * 10**5_000
"""More digits than Python reads without being told to."""
DEEP = 30_000

ODD_TEXT = (
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\x80",  # a lone surrogate
    b"\xc3",
    b"\r",
    b"\n\n\n",
    b'"',
    b'""',
    b",,,,",
    b"\t",
    b"nan",
    b"inf",
    b"-1e400",
    b"1e308",
    b"9" * 5_000,
    b"0x10",
    b"9999-12-31T23:59:59",
    b"0000-00-00",
    b"2024-02-30",
    b"2024-01-01T99:99:99",
    b"2024-01-01T00:00:00+99:99",
    b"{" * DEEP,
    b"[" * DEEP,
    b'{"a":' * DEEP,
    b"\\ud800",
    b'"\\ud800"',
    b"null",
    b"true",
    b"=1+1",
    b"\xe2\x80\xa8",
    b"\x1a",
    b"x" * 200_000,
)
"""Text that readers stumble over."""

ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    1e308,
    float("nan"),
    float("inf"),
    2**63,
    -(2**70),
    LONG_INTEGER,
    "",
    "x",
    "\x00",
    "\ud800",
    "../../etc/passwd",
    [],
    {},
    [[]],
    [None],
    {"": None},
    ["a", 1],
    {"a": {"b": {"c": []}}},
    "9" * 5_000,
)
"""Values that stand in for another in JSON."""


def flip(content: bytes, rng: Rng) -> bytes:
    """One bit turned."""
    if not content:
        return b"\x01"
    at = int(rng.integers(len(content)))
    return content[:at] + bytes([content[at] ^ (1 << int(rng.integers(8)))]) + content[at + 1 :]


def set_byte(content: bytes, rng: Rng) -> bytes:
    at = int(rng.integers(len(content) + 1))
    return content[:at] + bytes([int(rng.integers(256))]) + content[at + 1 :]


def truncate(content: bytes, rng: Rng) -> bytes:
    return content[: int(rng.integers(len(content) + 1))]


def cut_out(content: bytes, rng: Rng) -> bytes:
    first, last = sorted(rng.integers(len(content) + 1, size=2).tolist())
    return content[:first] + content[last:]


def repeat(content: bytes, rng: Rng) -> bytes:
    first, last = sorted(rng.integers(len(content) + 1, size=2).tolist())
    return content[:last] + content[first:]


def insert_noise(content: bytes, rng: Rng) -> bytes:
    at = int(rng.integers(len(content) + 1))
    return content[:at] + rng.bytes(int(rng.integers(1, 40))) + content[at:]


def insert_text(content: bytes, rng: Rng) -> bytes:
    at = int(rng.integers(len(content) + 1))
    return content[:at] + ODD_TEXT[int(rng.integers(len(ODD_TEXT)))] + content[at:]


def replace_word(content: bytes, rng: Rng) -> bytes:
    """Something between two separators replaced by odd text."""
    marks = [at for at, byte in enumerate(content) if byte in b',;\n:"\t'] or [0]
    at = marks[int(rng.integers(len(marks)))]
    end = next((mark for mark in marks if mark > at + 1), len(content))
    return content[: at + 1] + ODD_TEXT[int(rng.integers(len(ODD_TEXT)))] + content[end:]


def zero_block(content: bytes, rng: Rng) -> bytes:
    first, last = sorted(rng.integers(len(content) + 1, size=2).tolist())
    return content[:first] + bytes(last - first) + content[last:]


def swap_lines(content: bytes, rng: Rng) -> bytes:
    lines = content.splitlines(keepends=True)
    return b"".join(lines[int(at)] for at in rng.permutation(len(lines)))


def append_noise(content: bytes, rng: Rng) -> bytes:
    return content + rng.bytes(int(rng.integers(1, 100)))


def replaced(content: bytes, rng: Rng) -> bytes:
    """Nothing but odd text."""
    return ODD_TEXT[int(rng.integers(len(ODD_TEXT)))]


def as_utf16(content: bytes, rng: Rng) -> bytes:
    text = content.decode("latin-1").encode(["utf-16", "utf-16-le", "utf-32"][int(rng.integers(3))])
    return text[: len(text) - int(rng.integers(3))]


BYTES: tuple[Callable[[bytes, Rng], bytes], ...] = (
    flip,
    flip,
    flip,
    set_byte,
    truncate,
    cut_out,
    repeat,
    insert_noise,
    insert_text,
    replace_word,
    zero_block,
    append_noise,
    replaced,
)
TEXT = (*BYTES, insert_text, replace_word, replace_word, swap_lines, as_utf16)


def change_tree(content: Any, rng: Rng) -> Any:
    """One node of a JSON tree replaced by an odd value, removed, renamed or moved."""
    places = list(_places(content))
    if not places:
        return ODD_VALUES[int(rng.integers(len(ODD_VALUES)))]
    owner, key = places[int(rng.integers(len(places)))]
    what = int(rng.integers(5))
    if what == 0:
        del owner[key]
    elif what == 1 and isinstance(owner, dict):
        owner[f"{key}x"] = owner.pop(key)
    elif what == 2:
        other, other_key = places[int(rng.integers(len(places)))]
        owner[key] = copy.deepcopy(other[other_key]) if _holds(other, other_key) else None
    else:
        owner[key] = ODD_VALUES[int(rng.integers(len(ODD_VALUES)))]
    return content


def _holds(owner: Any, key: Any) -> bool:
    return key in owner if isinstance(owner, dict) else key < len(owner)


def _places(node: Any) -> Any:
    if isinstance(node, dict | list):
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            yield node, key
            yield from _places(node[key])


def damage_json(text: bytes, rng: Rng) -> bytes:
    """A change inside the tree; the checksum, if there is one, stays as it was."""
    return dump(change_tree(json.loads(text), rng))


def forge_json(text: bytes, rng: Rng) -> bytes:
    """A change inside the tree with a checksum that fits, as if another program had written the file."""
    content = change_tree(json.loads(text), rng)
    if isinstance(content, dict) and "checksum" in content:
        content.pop("checksum")
        whole = dump(content, ensure_ascii=False, separators=(",", ":"))
        content["checksum"] = f"{zlib.crc32(whole):08x}"
    return dump(content)


def dump(content: Any, **layout: Any) -> bytes:
    """JSON; an integer may have more digits than Python reads, a text half a character."""
    sys.set_int_max_str_digits(0)
    try:
        return json.dumps(content, **layout).encode("utf-8", "surrogatepass")
    finally:
        sys.set_int_max_str_digits(4_300)


def damage_file(path: Path, rng: Rng, ways: tuple[Callable[[bytes, Rng], bytes], ...]) -> str:
    """Damage a file in one of some ways, or put nothing or a folder in its place; return the way."""
    chance = rng.random()
    if chance < 0.02:
        path.unlink()
        return "gone"
    if chance < 0.03:
        path.unlink()
        path.mkdir()
        return "folder"
    way = ways[int(rng.integers(len(ways)))]
    path.write_bytes(way(path.read_bytes(), rng))
    return way.__name__
