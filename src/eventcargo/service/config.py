"""ServeConfig: where the service listens, and how much it takes from whom."""

from dataclasses import dataclass

from eventcargo.config import Settings, setting
from eventcargo.durations import parse_duration

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class ServeConfig(Settings):
    """Settings of the service.

    >>> ServeConfig(max_request_size=2.5).max_bytes
    2500000
    """

    host: str = "127.0.0.1"
    """address to listen on; the default is heard on this machine alone"""
    port: int = setting(8000, ge=0, le=65_535)
    """port to listen on; 0: any that is free, which is printed"""
    allow_host: tuple[str, ...] = ()
    """name by which clients reach the service, such as that of a proxy; repeat for more; localhost and
    addresses always work"""
    max_request_size: float = setting(10.0, gt=0, le=1_000)
    """largest request, in megabytes"""
    max_sequences: int = setting(1_000, ge=1)
    """most sequences of a request"""
    max_events: int = setting(20_000, ge=1)
    """most events of a sequence"""
    timeout: str = "30s"
    """longest time from the first byte of a request to its answer"""
    max_waiting: int = setting(64, ge=1)
    """most requests at once, the one that is worked on and those that wait; more are told to come back"""
    threads: int = setting(1, ge=1)
    """threads of the model; one is best for small requests"""
    access_log: bool = False
    """write a line for each request to standard error"""

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_duration(self.timeout, "timeout")

    @property
    def max_bytes(self) -> int:
        """The largest request in bytes."""
        return round(self.max_request_size * MEGABYTE)

    @property
    def seconds(self) -> float:
        """The time limit of a request."""
        return parse_duration(self.timeout, "timeout")
