import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from tokenizers import Tokenizer
from tokenizers.models import BPE, Unigram, WordLevel, WordPiece
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import ByteLevel, Metaspace, WhitespaceSplit

from eventcargo import ConfigError, DataError, Vocabulary
from eventcargo.models.huggingface.config import BackboneConfig
from eventcargo.models.huggingface.token_ids import TokenIds, read_token_ids

from tests.models.huggingface.elsewhere import MARKS, write_tokenizer

IDS = {"pump on": 9, "leak": 7, "P0300": 4}


def _read(
    folder: Path, names: tuple[str, ...] = ("leak", "P0300"), n_ids: int = 10, **settings: Any
) -> TokenIds:
    stated = settings.pop("stated", SimpleNamespace(bos_token_id=None, eos_token_id=None, pad_token_id=None))
    return read_token_ids(folder, stated, names, BackboneConfig(**settings), n_ids)


def _stated(**ids: Any) -> SimpleNamespace:
    return SimpleNamespace(**{f"{mark}_token_id": at for mark, at in ids.items()})


def _mapping(folder: Path, ids: Any) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "ids.json").write_text(json.dumps(ids))
    return str(folder / "ids.json")


def _tokenizer(folder: Path, model: Any, pre: Any = None, normalizer: Any = None) -> Path:
    tokenizer = Tokenizer(model)
    if pre is not None:
        tokenizer.pre_tokenizer = pre
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def _bpe(*tokens: str) -> BPE:
    """A model that can merge each of these tokens from its letters."""
    letters = sorted(set("".join(tokens)))
    pieces, merges = list(letters), []
    for token in tokens:
        for end in range(2, len(token) + 1):
            merges.append((token[: end - 1], token[end - 1]))
            pieces.append(token[:end])
    return BPE({piece: at for at, piece in enumerate(dict.fromkeys(pieces))}, list(dict.fromkeys(merges)))


def test_ids_and_marks_come_from_the_tokenizer(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, IDS)
    found = _read(tmp_path, ("leak", "pump on", "P0300", "never seen"))
    assert found == TokenIds(IDS, bos=3, eos=2, unk=1, pad=0)


def test_our_ids_become_those_of_the_model_and_unknown_event_types_its_unk() -> None:
    ids = TokenIds({"b": 8}, bos=3, eos=2, unk=1, pad=0)
    assert ids.of(Vocabulary(("a", "b"))).tolist() == [-1, 3, 2, 1, 1, 8]


def test_a_mark_that_the_model_lacks_has_no_id() -> None:
    assert TokenIds({"b": 8}).of(Vocabulary(("a", "b"))).tolist() == [-1, -1, -1, -1, -1, 8]


def test_an_event_type_of_several_tokens_is_unknown(tmp_path: Path) -> None:
    _tokenizer(tmp_path, _bpe("leak"))
    assert _read(tmp_path, ("leak", "leakleak")).events.keys() == {"leak"}


def test_a_token_with_the_sign_of_a_space_is_found(tmp_path: Path) -> None:
    _tokenizer(tmp_path, _bpe("Ġleak"), ByteLevel(add_prefix_space=False))
    assert _read(tmp_path, ("leak",), n_ids=20).events == {"leak": 8}


def test_a_token_with_the_sign_of_a_space_of_sentencepiece_is_found(tmp_path: Path) -> None:
    _tokenizer(tmp_path, _bpe("▁leak"), Metaspace())
    assert _read(tmp_path, ("leak",), n_ids=20).events == {"leak": 8}


def test_letters_that_a_tokenizer_writes_in_bytes_are_found(tmp_path: Path) -> None:
    _tokenizer(tmp_path, _bpe("TÃ¼r"), ByteLevel(add_prefix_space=False))
    assert set(_read(tmp_path, ("Tür",), n_ids=20).events) == {"Tür"}


def test_a_token_with_and_one_without_a_space_are_refused_with_both_ids(tmp_path: Path) -> None:
    write = {"leak": 5, "Ġleak": 6, **MARKS}
    (tmp_path / "vocab.json").write_text(json.dumps(write))
    with pytest.raises(DataError, match=r"1 event type, such as \[5, 6\] for 'leak', .* by ids="):
        _read(tmp_path, ("leak",))


def test_a_part_of_a_word_is_no_event_type(tmp_path: Path) -> None:
    model = WordPiece({"[UNK]": 0, "##leak": 1, "P0300": 2}, unk_token="[UNK]")
    _tokenizer(tmp_path, model, WhitespaceSplit())
    found = _read(tmp_path)
    assert (found.events, found.unk) == ({"P0300": 2}, 0)


def test_what_a_tokenizer_makes_of_unknown_text_is_no_event_type(tmp_path: Path) -> None:
    _tokenizer(tmp_path, WordLevel({"?": 0, "leak": 1}, unk_token="?"), WhitespaceSplit())
    assert _read(tmp_path) == TokenIds({"leak": 1}, unk=0)


def test_names_that_a_tokenizer_makes_the_same_are_refused_with_both(tmp_path: Path) -> None:
    _tokenizer(tmp_path, WordLevel({"?": 0, "leak": 1}, unk_token="?"), WhitespaceSplit(), Lowercase())
    with pytest.raises(DataError, match=r"event types 'leak' and 'Leak' both have the id 1; .* by ids="):
        _read(tmp_path, ("leak", "Leak"))


def test_a_vocabulary_of_lines_is_read(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[PAD]\nleak\n##leak\nP0300\n")
    assert _read(tmp_path).events == {"leak": 1, "P0300": 3}


def test_a_folder_without_a_tokenizer_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no tokenizer: no tokenizer.json, .* by codes= or ids="):
        _read(tmp_path)


def test_a_damaged_tokenizer_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(DataError, match=r"tokenizer\.json is not a tokenizer"):
        _read(tmp_path)


def test_ids_come_from_the_codes_of_meds(tmp_path: Path) -> None:
    codes = {
        "code": [None, "leak", "P0300", "LAB//X"],
        "code/vocab_index": [1, 2, 3, None],
        "description": "d",
    }
    pl.DataFrame(codes).write_parquet(tmp_path / "codes.parquet")
    found = _read(tmp_path, ("leak", "P0300", "LAB//X"), codes=str(tmp_path / "codes.parquet"))
    assert found == TokenIds({"leak": 2, "P0300": 3})


def test_a_code_with_two_ids_is_refused_with_both(tmp_path: Path) -> None:
    pl.DataFrame({"code": ["leak", "leak"], "code/vocab_index": [1, 2]}).write_parquet(
        tmp_path / "codes.parquet"
    )
    with pytest.raises(DataError, match="gives the code 'leak' two ids, 1 and 2; keep one"):
        _read(tmp_path, codes=str(tmp_path / "codes.parquet"))


def test_codes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "codes.parquet"
    codes = pl.DataFrame({"code": ["leak"], "code/vocab_index": [5]})
    codes.write_parquet(path, compression="uncompressed", use_pyarrow=True)
    path.write_bytes(path.read_bytes().replace(b"leak", b"le\xe5k"))
    with pytest.raises(DataError, match="that can be read: 'utf-8' codec can't decode byte 0xe5"):
        _read(tmp_path, codes=str(path))


def test_codes_without_their_index_are_refused_with_its_column(tmp_path: Path) -> None:
    pl.DataFrame({"code": ["leak"]}).write_parquet(tmp_path / "codes.parquet")
    with pytest.raises(DataError, match="has no columns 'code' and 'code/vocab_index'"):
        _read(tmp_path, codes=str(tmp_path / "codes.parquet"))


def test_ids_come_from_a_json_object(tmp_path: Path) -> None:
    assert _read(tmp_path, ids=_mapping(tmp_path, IDS)).events == {"leak": 7, "P0300": 4}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1], r"holds \[1\]; give a JSON object"),
        ({"leak": "7"}, "gives 'leak' the id '7'; ids are whole numbers"),
        ({"leak": True}, "gives 'leak' the id True; ids are whole numbers"),
        ({"leak": 7, "P0300": 7}, "event types 'leak' and 'P0300' both have the id 7"),
        ({"leak": 10}, r"1 event type outside the model's 10 ids, such as 'leak' with 10"),
        ({"leak": -1}, r"1 event type outside the model's 10 ids, such as 'leak' with -1"),
    ],
)
def test_a_json_object_with_other_ids_is_refused_with_the_name(
    tmp_path: Path, content: Any, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        _read(tmp_path, ids=_mapping(tmp_path, content))


def test_a_missing_json_object_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.json does not exist; give a JSON object of ids"):
        _read(tmp_path, ids=str(tmp_path / "none.json"))


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"bos": 7}, r"BOS and event type 'leak' both have the id 7; say which token or id it is by bos="),
        ({"eos": 4}, r"EOS and event type 'P0300' both have the id 4; .* by eos=, or eos='none'"),
        ({"pad": 4}, r"PAD and event type 'P0300' both have the id 4; correct pad_token_id"),
        ({"bos": 50_256}, r"the id of BOS is 50256, but the model has ids 0 to 9; .* bos='none'"),
        ({"eos": [2, 3]}, r"config.json gives EOS the ids \[2, 3\]; say which .* by eos="),
    ],
)
def test_marks_that_cannot_be_right_are_refused_with_the_remedy(
    tmp_path: Path, stated: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        _read(tmp_path, ids=_mapping(tmp_path, IDS), stated=_stated(**stated))


def test_bos_and_eos_may_be_one_token(tmp_path: Path) -> None:
    found = _read(tmp_path, ids=_mapping(tmp_path, IDS), stated=_stated(bos=0, eos=0))
    assert (found.bos, found.eos) == (0, 0)


def test_a_tokenizer_that_says_another_bos_than_the_config_is_refused_with_both(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, IDS)
    with pytest.raises(
        DataError, match=r"BOS is 3 \('<s>'\) for the tokenizer and 1 in config.json; .* by bos="
    ):
        _read(tmp_path, stated=_stated(bos=1))


def test_a_special_token_that_the_vocabulary_lacks_is_refused_by_name(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, IDS)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"bos_token": {"content": "<begin>"}}))
    with pytest.raises(DataError, match="the tokenizer's BOS is '<begin>', which is not in its vocabulary"):
        _read(tmp_path)


def test_settings_say_more_than_files(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, IDS)
    found = _read(tmp_path, bos="</s>", eos="6", unk="none", stated=_stated(bos=1, eos=1))
    assert (found.bos, found.eos, found.unk) == (2, 6, None)


def test_what_a_unigram_tokenizer_makes_of_unknown_text_is_no_event_type(tmp_path: Path) -> None:
    model = Unigram([("?", 0.0), ("leak", -1.0)], unk_id=0)
    _tokenizer(tmp_path, model, WhitespaceSplit())
    assert _read(tmp_path) == TokenIds({"leak": 1}, unk=0)


def test_beside_ids_that_are_given_marks_come_from_the_config_alone(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, IDS)
    found = _read(tmp_path, ids=_mapping(tmp_path, IDS), stated=_stated(bos=1, eos=None, pad=None))
    assert found == TokenIds({"leak": 7, "P0300": 4}, bos=1)


def test_digits_are_an_id_also_where_a_token_has_the_same_digits(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, IDS | {"2": 5})
    assert _read(tmp_path, eos="2").eos == 2


def test_a_tokenizer_that_pads_finds_the_same_ids(tmp_path: Path) -> None:
    _tokenizer(tmp_path, _bpe("Ġleak"), ByteLevel(add_prefix_space=False))
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    tokenizer.enable_padding(length=8)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert _read(tmp_path, ("leak",), n_ids=20).events == {"leak": 8}


def test_a_token_that_does_not_exist_is_refused_with_its_option(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, IDS)
    with pytest.raises(ConfigError, match=r"bos='<begin>': the vocabulary has no such token"):
        _read(tmp_path, bos="<begin>")


def test_a_token_that_ends_sequences_does_not_mean_unknown(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, IDS)
    named = {"bos_token": "</s>", "eos_token": "</s>", "unk_token": "</s>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(named))
    assert _read(tmp_path).unk is None


def test_codes_and_a_json_object_together_are_refused_with_both() -> None:
    with pytest.raises(ConfigError, match=r"codes='a' and ids='b': give one"):
        BackboneConfig(codes="a", ids="b")


def test_a_vocabulary_of_lines_that_is_no_text_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_bytes("leak\nTür\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"vocab\.txt is not UTF-8 text: .*; copy the tokenizer again"):
        _read(tmp_path, ("leak",))


def test_a_token_in_two_lines_is_refused_with_both(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("leak\nP0300\nleak\n")
    with pytest.raises(DataError, match=r"vocab\.txt has 'leak' in lines 1 and 3"):
        _read(tmp_path, ("leak",))


def test_lines_end_at_line_feeds_alone(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("a\u2028b\nleak\n", "utf-8")
    assert _read(tmp_path, ("leak", "a\u2028b")).events == {"leak": 1, "a\u2028b": 0}


@pytest.mark.parametrize("odd", ["7", 1.5, True])
def test_an_id_in_the_config_that_is_no_whole_number_is_refused(tmp_path: Path, odd: Any) -> None:
    stated = _stated(bos=odd, eos=None, pad=None)
    with pytest.raises(DataError, match=r"config.json gives BOS the id .*, which is no whole number"):
        _read(tmp_path, ids=_mapping(tmp_path, {"leak": 7}), stated=stated)


def test_codes_whose_ids_are_no_whole_numbers_are_refused(tmp_path: Path) -> None:
    codes = pl.DataFrame({"code": ["leak"], "code/vocab_index": [7.5]})
    codes.write_parquet(tmp_path / "codes.parquet")
    with pytest.raises(DataError, match="has 'code/vocab_index' as double; ids are whole numbers"):
        _read(tmp_path, codes=str(tmp_path / "codes.parquet"))


def test_a_tokenizer_that_fails_at_a_name_is_refused_with_the_name(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, IDS)
    text = (tmp_path / "tokenizer.json").read_text().replace('"unk_token":"<unk>"', '"unk_token":"none"')
    (tmp_path / "tokenizer.json").write_text(text.replace('"unk_token": "<unk>"', '"unk_token": "none"'))
    with pytest.raises(DataError, match=r"tokenizer\.json cannot look up 'never seen': .*UNK"):
        _read(tmp_path, ("never seen",))
