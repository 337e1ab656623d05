"""Test the edges of a graph on the data: drop refuted edges, add missing ones."""

from eventcargo.verification.config import VerifyConfig

__all__ = ["VerifyConfig"]
