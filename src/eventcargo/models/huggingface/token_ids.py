"""TokenIds: which id a model from elsewhere has for each event type and mark, and where that is written.

Names come from the model's tokenizer, from `codes.parquet` of MEDS or from a JSON object. What is out of
range or claimed twice is refused with its name: a model whose ids are mixed up says nothing, silently.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventcargo.errors import ConfigError, DataError, argument, counted, shown_value
from eventcargo.files import read_json
from eventcargo.models.huggingface.config import NONE, BackboneConfig
from eventcargo.vocabulary import BOS, EOS, PAD, UNK, Vocabulary

CODE, INDEX = "code", "code/vocab_index"
"""Columns of `codes.parquet` with the name of a code and its id; MEDS counts ids from 1, and 0 is padding."""

VOCABULARIES = TOKENIZER, VOCAB_JSON, VOCAB_TEXT = "tokenizer.json", "vocab.json", "vocab.txt"
"""Files of a tokenizer in which ids are looked up, the first that exists."""

TOKENIZER_CONFIGS = ("tokenizer_config.json", "special_tokens_map.json")
"""Files of a tokenizer that name its special tokens."""

NO_ID = -1
"""Instead of an id: the model does not have it, so it is left out of what the model reads."""

SHOWN = 5
"""Names in a message."""

LONGEST = 300
"""Characters of what another library says."""

FindIds = Callable[[str], set[int]]
"""From a name to the ids it may have: none, one, or several that cannot be told apart."""


@dataclass(frozen=True)
class TokenIds:
    """The ids of a model from elsewhere; None for a mark that it does not have.

    >>> ids = TokenIds({"a": 9, "b": 7}, bos=1, eos=2)
    >>> ids.of(Vocabulary(("b", "never seen", "a"))).tolist()
    [-1, 1, 2, -1, 7, -1, 9]
    """

    events: Mapping[str, int]
    bos: int | None = None
    eos: int | None = None
    unk: int | None = None
    pad: int | None = None

    def of(self, vocabulary: Vocabulary) -> NDArray[np.int64]:
        """The id of the model for each of ours, (V,): that of UNK for unknown event types, or `NO_ID`."""
        marks = {PAD: None, BOS: self.bos, EOS: self.eos, UNK: self.unk}
        unknown = NO_ID if self.unk is None else self.unk
        own = [NO_ID if marks[at] is None else marks[at] for at in sorted(marks)]
        return np.array(
            [*own, *(self.events.get(name, unknown) for name in vocabulary.event_names)], np.int64
        )

    @classmethod
    def own(cls, vocabulary: Vocabulary) -> "TokenIds":
        """The ids of a model that was trained on those of a vocabulary."""
        names = dict(zip(vocabulary.event_names, range(UNK + 1, len(vocabulary)), strict=True))
        return cls(names, BOS, EOS, UNK, PAD)

    def check(self, n_ids: int, place: str | Path) -> None:
        """Refuse ids that the model does not have and ids with two names."""
        self._check_range(n_ids, place)
        by_id: dict[int, str] = {}
        for name, at in self.events.items():
            if at in by_id:
                raise DataError(
                    f"{place}: event types {by_id[at]!r} and {name!r} both have the id {at}; give each an id "
                    f"of its own by {argument('ids')}"
                )
            by_id[at] = name
        for mark, at in self._marks().items():
            if at in by_id:
                raise DataError(
                    f"{place}: {mark.upper()} and event type {by_id[at]!r} both have the id {at}; "
                    f"{_remedy(mark)}"
                )

    def _check_range(self, n_ids: int, place: str | Path) -> None:
        outside = [(name, at) for name, at in self.events.items() if not 0 <= at < n_ids]
        if outside:
            name, at = outside[0]
            raise DataError(
                f"{place}: {counted(len(outside), 'event type')} outside the model's {n_ids:,} ids, such as "
                f"{name!r} with {at}; give the vocabulary that the model was trained with"
            )
        for mark, at in self._marks().items():
            if not 0 <= at < n_ids:
                raise DataError(
                    f"{place}: the id of {mark.upper()} is {at}, but the model has ids 0 to {n_ids - 1}; "
                    f"{_remedy(mark)}"
                )

    def _marks(self) -> dict[str, int]:
        """The marks that the model has; BOS and EOS may be one token, and padding or UNK one of these."""
        values = {field.name: getattr(self, field.name) for field in fields(self)[1:]}
        return {mark: at for mark, at in values.items() if at is not None}


def _remedy(mark: str) -> str:
    if mark == "pad":
        return "correct pad_token_id in its config.json"
    return f"say which token or id it is by {argument(mark)}, or {argument(mark, NONE)} if the model has none"


def read_token_ids(
    folder: Path, model_config: Any, event_names: Iterable[str], config: BackboneConfig, n_ids: int
) -> TokenIds:
    """The ids of event types and marks of the model in a folder, checked against its number of ids."""
    names = list(event_names)
    if config.codes:
        place, find = Path(config.codes), _in_table(_read_codes(Path(config.codes)))
    elif config.ids:
        place, find = Path(config.ids), _in_table(_read_mapping(Path(config.ids)))
    else:
        place, find = _open_tokenizer(folder)
    marks = _read_marks(folder, model_config, config, find, has_tokenizer=not (config.codes or config.ids))
    known = _find_all(names, find, place)
    result = TokenIds(known, **marks)
    result.check(n_ids, place)
    return result


def _find_all(names: list[str], find: FindIds, place: Path) -> dict[str, int]:
    """The ids of the names that the model knows; several tokens for one name are refused."""
    found = {name: find(name) for name in names}
    unclear = {name: ids for name, ids in found.items() if len(ids) > 1}
    if unclear:
        name, ids = next(iter(unclear.items()))
        raise DataError(
            f"{place} has several tokens for {counted(len(unclear), 'event type')}, such as {sorted(ids)} "
            f"for {name!r}, one of them with the sign of a space before it; say which by {argument('ids')}"
        )
    return {name: next(iter(ids)) for name, ids in found.items() if ids}


def _in_table(ids: Mapping[str, int]) -> FindIds:
    return lambda name: {ids[name]} if name in ids else set()


def _read_mapping(path: Path) -> dict[str, int]:
    """A JSON object of ids by name."""
    return _checked_table(read_json(path, "give a JSON object of ids by name"), path)


def _checked_table(content: Any, path: Path) -> dict[str, int]:
    if not isinstance(content, dict):
        raise DataError(f"{path} holds {shown_value(content, 40)}; give a JSON object of ids by name")
    for name, at in content.items():
        if isinstance(at, bool) or not isinstance(at, int):
            raise DataError(f"{path} gives {name!r} the id {shown_value(at, 40)}; ids are whole numbers")
    return content


def _read_codes(path: Path) -> dict[str, int]:
    """The ids in `codes.parquet`; codes without one are unknown to the model."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from eventcargo.sealed_tables import DAMAGED

    try:
        table = pq.read_table(path, columns=[CODE, INDEX])
        names = table[CODE].to_pylist()
    except DAMAGED as error:
        reason = str(error).splitlines()[0]
        raise DataError(
            f"{path} has no columns {CODE!r} and {INDEX!r} that can be read: {reason}; give the "
            "codes.parquet of the data that the model was trained on"
        ) from None
    if not pa.types.is_integer(table[INDEX].type):
        raise DataError(f"{path} has {INDEX!r} as {table[INDEX].type}; ids are whole numbers")
    ids: dict[str, int] = {}
    for name, at in zip(names, table[INDEX].to_pylist(), strict=True):
        if name is None or at is None:
            continue
        if ids.setdefault(name, int(at)) != int(at):
            raise DataError(f"{path} gives the code {name!r} two ids, {ids[name]} and {int(at)}; keep one")
    return ids


def _open_tokenizer(folder: Path) -> tuple[Path, FindIds]:
    """The tokenizer's file and a search in it."""
    if (folder / TOKENIZER).exists():
        return folder / TOKENIZER, _in_tokenizer(folder / TOKENIZER)
    if (folder / VOCAB_JSON).exists():
        return folder / VOCAB_JSON, _in_vocabulary(_read_mapping(folder / VOCAB_JSON))
    if (folder / VOCAB_TEXT).exists():
        return folder / VOCAB_TEXT, _in_vocabulary(_read_lines(folder / VOCAB_TEXT))
    raise DataError(
        f"{folder} holds no tokenizer: no {TOKENIZER}, {VOCAB_JSON} or {VOCAB_TEXT}; give the ids of event "
        f"types by {argument('codes')} or {argument('ids')}"
    )


def _read_lines(path: Path) -> dict[str, int]:
    """The ids of a vocabulary with a token in each line; a token in two lines is refused."""
    try:
        lines = path.read_text("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: {error.reason}; copy the tokenizer again") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}; copy the tokenizer again") from None
    ids: dict[str, int] = {}
    for at, line in enumerate(lines[:-1] if lines[-1] == "" else lines):
        if ids.setdefault(line, at) != at and line.strip():
            raise DataError(
                f"{path} has {shown_value(line, 40)} in lines {ids[line] + 1:,} and {at + 1:,}; copy the "
                "tokenizer again"
            )
    return ids


def _in_vocabulary(ids: Mapping[str, int]) -> FindIds:
    """Tokens as they are or with the sign of a space before them; `##` marks parts of words, not names."""
    return lambda name: {ids[token] for token in (name, f"Ġ{name}", f"▁{name}") if token in ids}


def _in_tokenizer(path: Path) -> FindIds:
    """A token of exactly this text, or the only one that the tokenizer makes of it, after a space or not."""
    try:
        tokenizer = import_module("tokenizers").Tokenizer.from_file(str(path))
    except ImportError:
        raise ConfigError("this model needs `transformers`; pip install 'eventcargo[hf]'") from None
    except Exception as error:  # tokenizers raises plain exceptions
        raise DataError(f"{path} is not a tokenizer: {error!s:.{LONGEST}}") from None
    tokenizer.no_padding()  # a tokenizer may pad all texts to one length, so that none is a single token
    token = _unknown_token(path)
    unknown = None if token is None else tokenizer.token_to_id(token)

    def find(name: str) -> set[int]:
        try:
            made = [tokenizer.encode(text, add_special_tokens=False) for text in (name, f" {name}")]
            exact = tokenizer.token_to_id(name)
        except Exception as error:  # tokenizers raises plain exceptions
            raise DataError(f"{path} cannot look up {shown_value(name, 40)}: {error}") from None
        ids = {one.ids[0] for one in made if len(one.ids) == 1 and one.ids[0] != unknown}
        return ids if exact is None else ids | {exact}

    return find


def _unknown_token(path: Path) -> str | None:
    """What a tokenizer makes of text that it does not know."""
    model = read_json(path).get("model", {})
    at = model.get("unk_id")  # of a Unigram model, whose vocabulary is a list of tokens and scores
    return model.get("unk_token") if at is None else model["vocab"][at][0]


def _read_marks(
    folder: Path, model_config: Any, config: BackboneConfig, find: FindIds, *, has_tokenizer: bool
) -> dict[str, int | None]:
    """The ids of the marks: as the settings say, else as the tokenizer and the model's config agree."""
    declared = _declared_tokens(folder) if has_tokenizer else {}
    marks = {}
    for mark in ("bos", "eos", "unk", "pad"):
        wanted = getattr(config, mark, "")
        if wanted:
            marks[mark] = None if wanted == NONE else _mark_id(mark, wanted, find)
        else:
            marks[mark] = _agreed(
                mark, declared.get(mark), getattr(model_config, f"{mark}_token_id", None), find
            )
    if not config.unk and marks["unk"] in (marks["bos"], marks["eos"], marks["pad"]):
        marks["unk"] = None  # a token that also ends sequences does not say that an event is unknown
    return marks


def _mark_id(mark: str, wanted: str, find: FindIds) -> int:
    """An id that a setting gives, or that of the token that it names; digits are an id, not a token."""
    if wanted.isdecimal():
        return int(wanted)
    found = find(wanted)
    if len(found) != 1:
        raise ConfigError(
            f"{argument(mark, wanted)}: the vocabulary has no such token; give one, an id or none"
        )
    return found.pop()


def _agreed(mark: str, token: str | None, stated: Any, find: FindIds) -> int | None:
    """The id of a mark as the tokenizer names it and as the model's config states it, which must agree."""
    if isinstance(stated, list | tuple):
        if len(stated) > 1 and token is None:
            raise DataError(f"config.json gives {mark.upper()} the ids {list(stated)}; {_remedy(mark)}")
        stated = stated[0] if len(stated) == 1 else None
    if stated is not None and (isinstance(stated, bool) or not isinstance(stated, int)):
        raise DataError(
            f"config.json gives {mark.upper()} the id {shown_value(stated, 40)}, which is no whole number; "
            f"{_remedy(mark)}"
        )
    if token is None:
        return stated
    found = find(token)
    if len(found) != 1:
        raise DataError(
            f"the tokenizer's {mark.upper()} is {shown_value(token, 40)}, which is not in its vocabulary; "
            f"{_remedy(mark)}"
        )
    at = found.pop()
    if stated is not None and stated != at and mark != "pad":
        raise DataError(
            f"{mark.upper()} is {at} ({shown_value(token, 40)}) for the tokenizer and {stated} in "
            f"config.json; {_remedy(mark)}"
        )
    return at


def _declared_tokens(folder: Path) -> dict[str, str]:
    """The special tokens that a tokenizer names: text by mark."""
    declared: dict[str, str] = {}
    unknown = _unknown_token(folder / TOKENIZER) if (folder / TOKENIZER).exists() else None
    for name in TOKENIZER_CONFIGS:
        path = folder / name
        content = read_json(path) if path.exists() else {}
        for mark in ("bos", "eos", "unk", "pad"):
            token = content.get(f"{mark}_token") if isinstance(content, dict) else None
            text = token.get("content") if isinstance(token, dict) else token
            if isinstance(text, str):
                declared.setdefault(mark, text)
    return declared if unknown is None else {"unk": unknown, **declared}
