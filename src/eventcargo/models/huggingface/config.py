"""Settings of a model from elsewhere: where its ids come from, and how much of the data it has to know."""

from dataclasses import dataclass
from typing import ClassVar

from eventcargo.config import Settings, setting
from eventcargo.errors import ConfigError, argument

NONE = "none"
"""The value of a mark that the model does not have."""


@dataclass(frozen=True)
class BackboneConfig(Settings):
    """How a model from elsewhere is read; without settings, all comes from its folder."""

    panel: ClassVar[str] = "A model from elsewhere (--from)"

    codes: str = ""
    """file codes.parquet of MEDS with the ids of event types, in its column code/vocab_index; empty: the
    model's tokenizer has them"""
    ids: str = ""
    """JSON object with the ids of event types by name; empty: the model's tokenizer has them"""
    base: str = ""
    """folder of the model that an adapter was made for; empty: as adapter_config.json says"""
    bos: str = ""
    """token or id that begins a sequence, or none; empty: as the tokenizer or config.json says"""
    eos: str = ""
    """token or id that ends a sequence, or none; empty: as the tokenizer or config.json says"""
    unk: str = ""
    """token or id of unknown and hidden event types, or none: these are left out of what the model reads;
    empty: as the tokenizer says"""
    min_coverage: float = setting(0.8, ge=0, le=1)
    """smallest share of events whose type the model must know"""
    reference: bool = False
    """refer to the files of the model instead of copying them: the run then needs them where they are"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.codes and self.ids:
            raise ConfigError(f"{argument('codes', self.codes)} and {argument('ids', self.ids)}: give one")
