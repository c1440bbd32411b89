"""Loads the runs of natmeter as tidy data, and starts new runs.

natmeter is a benchmark tester for NAT and IPv4-as-a-service gateways. This package calls the program `natmeter`: the one
that the environment variable `NATMETER` names, else the one in the search path.
"""

from __future__ import annotations

from ._load import Row, load, published, rows
from ._program import OUTCOMES, Error
from ._run import Event, Run, run

__all__ = ["OUTCOMES", "Error", "Event", "Row", "Run", "load", "published", "rows", "run"]
