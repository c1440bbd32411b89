"""Runs and published results as tidy data: one value a row."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Union

from ._program import PathName, output

#: A value with its run, its point and its bound, by the columns of `natmeter report --format csv-long`.
Row = Dict[str, Union[int, float, str, None]]

#: Columns of text, in which a number stays a text. Axes without numbers, such as `table`, need no mention.
TEXTS = frozenset({"run", "started", "natmeter", "build", "conformance", "verdicts", "device", "technology", "metric", "stat", "how_sure"})
#: Columns that are numbers in a frame, also if every row lacks them.
NUMBERS = ("value", "error", "low", "high", "coverage", "total")


def rows(path: PathName = "runs", *, stat: Optional[str] = "repetition", program: Optional[PathName] = None) -> List[Row]:
    """Returns the values of a run folder, or of all run folders in a folder, as dictionaries.

    `stat` chooses the rows: `repetition` (one row a repetition), `median` (one row a result, with `low` and `high`),
    another name of the column `stat`, or `None` for all. A value that natmeter does not have is `None`.

    Raises `FileNotFoundError` if there is no run folder, and `Error` if the record of a run is damaged.
    """
    return [row for run in _folders(Path(path)) for row in _of_run(run, program) if stat is None or row["stat"] == stat]


def load(path: PathName = "runs", *, stat: Optional[str] = "repetition", program: Optional[PathName] = None) -> Any:
    """Returns what `rows` returns, as a pandas `DataFrame` if pandas is installed.

    In a frame, `started` is a time, and a missing number is NaN.
    """
    return _frame(rows(path, stat=stat, program=program))


def published(name: str, *, program: Optional[PathName] = None) -> Any:
    """Returns a published table or figure, such as `000-fig04` (`natmeter published list`), as `load` returns a run.

    `x` is the position on the axis `x_name`.
    """
    lines = output(program, "published", "show", name, "--json").splitlines()
    values = [event for event in map(json.loads, lines) if event["event"] == "value"]
    return _frame([{key: _parsed(key, v) for key, v in value.items() if key not in _ENVELOPE} for value in values])


_ENVELOPE = frozenset({"format_version", "event"})


def _folders(path: Path) -> List[Path]:
    found = sorted(file.parent for pattern in ("run.json", "*/run.json") for file in path.glob(pattern))
    if not found:
        raise FileNotFoundError(f"{path} has no run; name a run folder, or the folder that `natmeter run` made it in")
    return found


def _of_run(run: Path, program: Optional[PathName]) -> Iterator[Row]:
    text = output(program, "report", "--format", "csv-long", "--", str(run))
    for line in csv.DictReader(text.splitlines()):
        yield {column: _parsed(column, value) for column, value in line.items()}


def _parsed(column: str, value: Any) -> Union[int, float, str, None]:
    if not isinstance(value, str):
        return None if value is None else float(value)
    if value == "":
        return None
    # An apostrophe keeps spreadsheets from taking a text for a formula.
    text = value[1:] if value[0] == "'" and value[1:2] in tuple("=+-@\t\r") else value
    if column in TEXTS:
        return text
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text


def _frame(found: List[Row]) -> Any:
    try:
        import pandas  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return found
    frame = pandas.DataFrame(found)
    for column in NUMBERS:
        if column in frame:
            frame[column] = pandas.to_numeric(frame[column])
    if "started" in frame:
        frame["started"] = pandas.to_datetime(frame["started"], utc=True)
    return frame
