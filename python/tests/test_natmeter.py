"""Runs of a simulated device by the program itself, which `NATMETER` names."""

from __future__ import annotations

import ast
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import natmeter

HERE = Path(__file__).parent
SCENARIO = HERE / "known.toml"
BESIDE = ["--beside", "--skip-self-test"]

try:
    import pandas
except ImportError:
    pandas = None  # type: ignore[assignment]


RUNS: Path
FIRST: Path


def setUpModule() -> None:
    """Makes two runs of the scenario, of which the second has another point."""
    global RUNS, FIRST
    RUNS = Path(tempfile.mkdtemp(prefix="natmeter-python-"))
    unittest.addModuleCleanup(shutil.rmtree, RUNS)
    FIRST = folder_of(natmeter.run(SCENARIO, runs=RUNS, options=BESIDE))
    natmeter.run(SCENARIO, {"connections": "10k", "name": "other"}, runs=RUNS, options=BESIDE).wait()


def folder_of(run: natmeter.Run) -> Path:
    folder = run.wait().folder
    assert folder is not None
    return folder


class Load(unittest.TestCase):
    def test_every_folder_is_loaded_with_one_row_a_repetition(self) -> None:
        rows = natmeter.rows(RUNS)
        points = {(row["run"], row["metric"], row["connections"], row["repetition"]) for row in rows}
        self.assertEqual(len(points), len(rows))
        # Four points, two metrics, five repetitions.
        self.assertEqual(len(rows), 4 * 2 * 5)
        self.assertEqual({row["stat"] for row in rows}, {"repetition"})

    def test_the_median_of_repetitions_is_that_of_the_report(self) -> None:
        medians = natmeter.rows(FIRST, stat="median")
        self.assertEqual(len(medians), 3 * 2)
        for median in medians:
            of_point = [
                row["value"]
                for row in natmeter.rows(FIRST)
                if all(row[key] == median[key] for key in ("metric", "connections"))
            ]
            self.assertEqual(statistics.median(of_point), median["value"])
            self.assertLessEqual(median["low"], median["value"])

    def test_all_statistics_are_loaded_on_request(self) -> None:
        stats = {row["stat"] for row in natmeter.rows(FIRST, stat=None)}
        self.assertLessEqual({"repetition", "median", "min", "max", "p1", "p99"}, stats)

    def test_numbers_are_numbers_and_texts_are_texts(self) -> None:
        row = natmeter.rows(FIRST)[0]
        kinds = {"connections": int, "repetition": int, "value": int, "run": str, "natmeter": str, "bound": str}
        self.assertEqual({key: type(row[key]) for key in kinds}, kinds)
        self.assertIsNone(row["softwires"])

    def test_a_damaged_record_is_an_error(self) -> None:
        copy = RUNS / "copies" / "damaged"
        shutil.copytree(FIRST, copy)
        lines = (copy / "trials.jsonl").read_text().splitlines(keepends=True)
        (copy / "trials.jsonl").write_text("".join(lines[:3] + lines[4:]))
        with self.assertRaises(natmeter.Error) as raised:
            natmeter.load(copy.parent)
        self.assertEqual((raised.exception.code, raised.exception.outcome), (1, "failed"))
        self.assertIn("trial is missing", raised.exception.message)

    def test_a_missing_folder_is_an_error(self) -> None:
        with self.assertRaisesRegex(FileNotFoundError, "nothing has no run"):
            natmeter.load(RUNS / "nothing")

    def test_without_pandas_rows_are_returned(self) -> None:
        with mock.patch.dict(sys.modules, {"pandas": None}):
            self.assertEqual(natmeter.load(RUNS), natmeter.rows(RUNS))

    @unittest.skipUnless(pandas, "needs pandas")
    def test_with_pandas_a_frame_is_returned(self) -> None:
        frame = natmeter.load(FIRST)
        throughput = frame[frame.metric == "throughput"].groupby("connections").value.median()
        self.assertEqual(list(throughput.index), [50_000, 100_000, 400_000])
        # From 100,000 connections on, frames miss the cache.
        self.assertGreater(throughput[100_000], 1.3 * throughput[400_000])
        self.assertEqual(str(frame.value.dtype.kind), "f" if frame.value.isna().any() else "i")
        self.assertEqual(frame.started.dt.year.iloc[0], int(FIRST.name.split("-")[1][:4]))

    def test_published_values_are_loaded(self) -> None:
        with mock.patch.dict(sys.modules, {"pandas": None}):
            figure = natmeter.published("000-fig04")
        rates = {row["x"]: row["value"] for row in figure if (row["metric"], row["stat"]) == ("max_conn_est_rate", "median")}
        self.assertEqual((rates[1_562_500], rates[800_000_000]), (2_406_000, 1_405_000))


class Runs(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="natmeter-python-")
        self.addCleanup(folder.cleanup)
        self.runs = folder.name

    def test_events_are_followed_to_the_end(self) -> None:
        with natmeter.run(SCENARIO, runs=self.runs, options=BESIDE) as run:
            names = [event["event"] for event in run]
        self.assertEqual((names[0], names[-1]), ("run-started", "finished"))
        self.assertEqual(names.count("measurement-done"), 3 * 2 * 5)
        self.assertEqual((run.code, run.outcome), (0, "done"))
        self.assertTrue((run.folder / "report.html").exists())

    def test_a_run_without_a_figure_has_an_outcome(self) -> None:
        values = {"dut.simulated.tester-ceiling": "1M"}
        run = natmeter.run(SCENARIO, values, runs=self.runs, options=BESIDE).wait()
        self.assertEqual((run.code, run.outcome), (3, "tester-limit"))

    def test_a_block_that_is_left_stops_its_run(self) -> None:
        with natmeter.run(SCENARIO, {"repetitions": 300}, runs=self.runs, options=BESIDE) as run:
            next(iter(run))
        self.assertIsNotNone(run._process.returncode)

    def test_a_stopped_run_is_an_error(self) -> None:
        run = natmeter.run(SCENARIO, {"repetitions": 300}, runs=self.runs, options=BESIDE)
        with self.assertRaises(natmeter.Error) as raised:
            next(iter(run))
            run.stop()
            run.wait()
        self.assertEqual((raised.exception.code, raised.exception.outcome), (5, "interrupted"))

    def test_a_refused_scenario_is_an_error(self) -> None:
        with self.assertRaisesRegex(natmeter.Error, "unknown key `foo`") as raised:
            natmeter.run(SCENARIO, {"foo": 3}, runs=self.runs).wait()
        self.assertEqual(raised.exception.outcome, "usage")

    def test_a_missing_program_is_an_error(self) -> None:
        for call in (natmeter.run, lambda program: natmeter.load(RUNS, program=program)):
            with self.assertRaisesRegex(natmeter.Error, "cannot start /nothing: No such file") as raised:
                call(program="/nothing")
            self.assertEqual(raised.exception.code, 127)


class Package(unittest.TestCase):
    def test_every_exit_code_of_the_program_has_its_name(self) -> None:
        program = os.environ.get("NATMETER", "natmeter")
        printed = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
        codes = {int(code): name for code, name in re.findall(r"^ +(\d+) ([a-z-]+)  ", printed, re.MULTILINE)}
        self.assertGreater(len(codes), 5)
        # `compare --bisect` has a code of its own.
        codes.pop(125)
        self.assertLessEqual(codes.items(), natmeter.OUTCOMES.items())

    def test_the_examples_of_the_readme_run(self) -> None:
        text = (HERE.parent / "README.md").read_text()
        examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        self.assertEqual(len(examples), 3)
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(SCENARIO, folder)
            natmeter.run(SCENARIO, runs=Path(folder) / "runs", options=BESIDE).wait()
            for example in examples:
                if "pandas" in example and pandas is None:
                    continue
                ran = subprocess.run(
                    [sys.executable, "-c", example],
                    cwd=folder,
                    env={**os.environ, "PYTHONPATH": str(Path(natmeter.__file__).parents[1])},
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertNotEqual(ran.stdout, "")

    def test_sources_are_those_of_the_oldest_python(self) -> None:
        for source in Path(natmeter.__file__).parent.glob("*.py"):
            ast.parse(source.read_text(), feature_version=(3, 9))


if __name__ == "__main__":
    unittest.main()
