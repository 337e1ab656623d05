import json
import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventcargo.service.problems import Problem
from eventcargo.service.strict_json import parse_strictly

REFUSED = {
    "a name twice": (b'{"a": {"b": 1, "b": 1}}', "the name 'b' occurs twice"),
    "nan": (b'{"a": NaN}', "NaN is no number of JSON"),
    "infinity": (b"[-Infinity]", "-Infinity is no number of JSON"),
    "beyond a float": (b"[1e400]", "the number 1e400 is too large"),
    "many digits": (b"[" + b"1" * 5_000 + b"]", "the number 1111.*\\.\\.\\. is too large or too long"),
    "many decimals": (b"[0." + b"1" * 100 + b"]", "too large or too long"),
    "deep": (b"[" * 100_000, "nested too deeply"),
    "deep objects": (b'{"a":' * 100_000, "nested too deeply"),
    "no json": (b"{'a': 1}", "not JSON: .*column 2"),
    "nothing": (b"", "not JSON"),
    "two values": (b"{} {}", "not JSON: Extra data"),
    "latin-1": (b'["\xfc"]', "not UTF-8 text: .* at byte 2"),
    "utf-16": ('["a"]'.encode("utf-16"), "not UTF-8"),
    "a byte order mark": (b"\xef\xbb\xbf[]", "not JSON"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_programs_may_read_differently_is_refused(name: str) -> None:
    body, said = REFUSED[name]
    with pytest.raises(Problem, match=said) as refusal:
        parse_strictly(body)
    assert refusal.value.status == 422


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.text()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False).filter(math.isfinite),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_plain_json_is_read_as_python_reads_it(value: object) -> None:
    assert parse_strictly(json.dumps(value).encode()) == value


@given(st.binary())
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with suppress(Problem):
        parse_strictly(body)
