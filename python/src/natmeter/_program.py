"""The program natmeter, its exit codes, and the error that a failed call raises."""

from __future__ import annotations

import os
import subprocess
from typing import Optional, Union

PathName = Union[str, "os.PathLike[str]"]

#: Names of the exit codes.
OUTCOMES = {
    0: "done",
    1: "failed",
    2: "usage",
    3: "tester-limit",
    4: "dut-unreachable",
    5: "interrupted",
    6: "incomplete",
    7: "interface-lost",
    8: "limit-missed",
    9: "limit-undecided",
}

#: Runs that end with one of these have a report: done, tester-limit, incomplete, limit-missed, limit-undecided.
WITH_REPORT = frozenset({0, 3, 6, 8, 9})


class Error(Exception):
    """natmeter failed, or cannot be started.

    `code` is its exit code, `outcome` the name of this code, and `message` what it printed. A program that cannot be
    started has the code 127 of shells.
    """

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        self.outcome = OUTCOMES.get(code, "not-started" if code == 127 else f"code {code}")
        self.message = message
        super().__init__(f"{message} [{self.outcome}]")


def command(program: Optional[PathName], *arguments: str) -> list[str]:
    """Returns the command line that calls natmeter."""
    return [os.fspath(program or os.environ.get("NATMETER", "natmeter")), *arguments]


def not_started(name: str, error: OSError) -> Error:
    return Error(
        127, f"cannot start {name}: {error.strerror}; install natmeter, or set NATMETER to the path of its program"
    )


def output(program: Optional[PathName], *arguments: str) -> str:
    """Returns what a call of natmeter prints."""
    line = command(program, *arguments)
    try:
        done = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    except OSError as error:
        raise not_started(line[0], error) from None
    if done.returncode not in WITH_REPORT:
        raise Error(done.returncode, done.stderr.decode(errors="replace").strip())
    return done.stdout.decode()
