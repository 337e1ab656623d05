"""Edges tested on the data themselves: refuted ones are dropped, missing ones added."""

from eventcargo.verify.verify import VerifyConfig, verify

__all__ = ["VerifyConfig", "verify"]
