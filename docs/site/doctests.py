"""Examples in docstrings as blocks of code: as they stand, Markdown takes `>>>` for a quotation."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^(?P<indent> *)>>> .*\n?(?:^(?! *$).*\n?)*", re.MULTILINE)


def fenced(text: str) -> str:
    """A docstring with its examples in fences.

    >>> fenced("Twice.\\n\\n>>> 2 * 2\\n4\\n").splitlines()
    ['Twice.', '', '```python', '>>> 2 * 2', '4', '```']
    """
    fence = "```python\n{}\n```\n\n"
    return EXAMPLE.sub(lambda example: fence.format(example.group().rstrip()), text).rstrip("\n") + "\n"


class Fence(griffe.Extension):
    """Puts the examples of every docstring into fences."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)
