"""Test the edges of a graph on the data: drop refuted edges, add missing ones."""

from eventcargo.verification.verify import VerifyConfig, verify

__all__ = ["VerifyConfig", "verify"]
