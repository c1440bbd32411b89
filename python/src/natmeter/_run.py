"""A run of natmeter: its events while it measures, its folder and its outcome."""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Dict, Iterator, Mapping, Optional, Sequence, Tuple, Type

from ._program import OUTCOMES, WITH_REPORT, Error, PathName, command, not_started

#: An event, as in `events.jsonl` of the run folder; `natmeter schema event` describes it.
Event = Dict[str, Any]


def run(
    scenario: PathName = "quickstart",
    values: Optional[Mapping[str, object]] = None,
    *,
    runs: PathName = "runs",
    options: Sequence[str] = (),
    program: Optional[PathName] = None,
) -> Run:
    """Starts a run of a scenario: a file, or the name of an installed one.

    `values` override those of the scenario, such as `{"connections": "4M"}`. `options` are further options of
    `natmeter run`, such as `["--full"]`. The run folder is made below `runs`.
    """
    line = command(program, "run", "--json", "--runs", str(runs), *options)
    for key, value in (values or {}).items():
        line += ["--set", f"{key}={value}"]
    return Run([*line, "--", str(scenario)])


class Run:
    """A run that was started. Iterate over it for its events, or call `wait`.

    At the end of its events, `Error` is raised if the run has no report. Otherwise `outcome` is `done`, `tester-limit`,
    `incomplete`, `limit-missed` or `limit-undecided`. As a context manager, it stops the run at the end of the block.
    """

    def __init__(self, line: Sequence[str]) -> None:
        #: The run folder, as soon as the first event has named it.
        self.folder: Optional[Path] = None
        #: The exit code, once the run has ended.
        self.code: Optional[int] = None
        self._refused: Optional[Event] = None
        # A file, because a full pipe would stop the program.
        self._printed = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._printed
            )
        except OSError as error:
            self._printed.close()
            raise not_started(line[0], error) from None

    def __iter__(self) -> Iterator[Event]:
        stream = self._process.stdout
        assert stream is not None
        if stream.closed:
            return
        for line in stream:
            event: Event = json.loads(line)
            if "folder" in event:
                self.folder = Path(event["folder"])
            if event["event"] == "refused":
                self._refused = event
            yield event
        self._end()

    @property
    def outcome(self) -> Optional[str]:
        """The name of the exit code, once the run has ended."""
        return None if self.code is None else OUTCOMES.get(self.code, f"code {self.code}")

    def wait(self) -> Run:
        """Waits for the end of the run."""
        for _ in self:
            pass
        return self

    def stop(self) -> None:
        """Ends the run as Ctrl-C does. `natmeter resume` continues it."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.stop()
        if self.code is None:
            self._close()

    def _close(self) -> Tuple[int, str]:
        """Waits for the end of the program, and returns its code and what it printed on stderr."""
        stream = self._process.stdout
        assert stream is not None
        with stream, self._printed:
            # A full pipe would stop the program.
            stream.read()
            self.code = self._process.wait()
            self._printed.seek(0)
            return self.code, self._printed.read().decode(errors="replace").strip()

    def _end(self) -> None:
        code, message = self._close()
        if code not in WITH_REPORT:
            errors = (self._refused or {}).get("errors", [])
            raise Error(code, "; ".join(error["title"] for error in errors) or message)
