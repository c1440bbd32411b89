"""Runs every line of docs/data.md whose tool is installed, the first command of docs/monitoring.md, and the limits of docs/ci.md."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from importlib.util import find_spec
from pathlib import Path

import natmeter

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
#: Tools by a word of the line that needs them.
MODULES = {"pandas": "pandas", "natmeter.load": "pandas", "duckdb": "duckdb"}
PROGRAMS = {"Rscript": "Rscript", "jq": "jq"}


@unittest.skipUnless(DOCS.exists(), "needs the repository")
class Page(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="natmeter-python-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        program = shutil.which(os.environ.get("NATMETER", "natmeter"))
        (self.folder / "natmeter").symlink_to(Path(program).resolve())
        self.environment = {
            **os.environ,
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "PYTHONPATH": str(Path(natmeter.__file__).parents[1]),
        }
        natmeter.run(HERE / "known.toml", runs=self.folder / "runs", options=["--beside", "--skip-self-test"]).wait()

    def run_line(self, line: str, language: str) -> str:
        shell = [sys.executable, "-c"] if language == "python" else ["sh", "-euc"]
        done = subprocess.run([*shell, line], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_every_line_prints_the_medians_of_the_report(self) -> None:
        lines = re.findall(r"^```(sh|python)\n(.*?)\n```", (DOCS / "data.md").read_text(), re.DOTALL | re.MULTILINE)
        self.assertEqual(len(lines), 6)
        medians = {
            str(row["value"])
            for row in natmeter.rows(self.folder / "runs", stat="median")
            if row["metric"] == "throughput"
        }
        self.assertEqual(len(medians), 3)
        for language, line in lines:
            self.assertNotIn("\n", line)
            modules = [name for word, name in MODULES.items() if word in line and not find_spec(name)]
            programs = [name for word, name in PROGRAMS.items() if word in line and not shutil.which(name)]
            with self.subTest(line=line):
                if modules or programs:
                    self.skipTest(f"needs {', '.join(modules + programs)}")
                printed = self.run_line(line, language)
                if not line.endswith("runs.csv"):
                    self.assertLessEqual(medians, set(re.findall(r"\d+", printed)))

    def test_a_run_is_exported_to_prometheus(self) -> None:
        page = (DOCS / "monitoring.md").read_text()
        block = page.split("```sh\n")[1].split("```")[0]
        self.run_line(block.replace("/var/lib/prometheus/node-exporter", str(self.folder)), "sh")
        samples = (self.folder / "known.prom").read_text().splitlines()
        names = {line.split("{")[0] for line in samples}
        self.assertTrue(all(re.fullmatch(r"natmeter_\w+\{.*\} [-+.e\d]+", line) for line in samples))
        rows = page.split("## A run")[1].split("## A gateway")[0].split("| metric | value |")[1]
        listed = set(re.findall(r"`(natmeter_\w+)`", rows))
        self.assertGreater(len(listed), 5)
        self.assertLessEqual(listed, names)

    def test_limits_of_the_page_are_judged(self) -> None:
        limits = (DOCS / "ci.md").read_text().split("## Limits")[1].split("```toml\n")[1].split("```")[0]
        (self.folder / "limits.toml").write_text(limits)
        # The simulated device is too slow for some of them, and the run has no latency.
        printed = self.run_line("natmeter report runs/known-* --limits limits.toml || [ $? = 8 ]", "sh")
        self.assertLessEqual({"✗ throughput", "✗ max_conn_est_rate", "? latency_typical_forward"}, marks(printed))

    def test_a_job_fails_by_missed_limits_and_warns_of_undecided_ones(self) -> None:
        rows = natmeter.rows(self.folder / "runs", stat="median")
        throughput = next(row["value"] for row in rows if (row["metric"], row["connections"]) == ("throughput", 100_000))
        job = f"{DOCS.parent}/release/ci/measure limited.toml --beside --skip-self-test"
        for rate, strict, code, words in (
            ("1M", "", 0, "✓ throughput >= 1M"),
            ("9M", "", 8, "✗ throughput >= 9M"),
            (throughput, "", 0, "natmeter run: a limit is undecided"),
            (throughput, "yes", 9, "? throughput"),
        ):
            with self.subTest(rate=rate, strict=strict):
                limit = f'\n[limits]\nthroughput = {{ limit = ">= {rate}", connections = "100k" }}\n'
                (self.folder / "limited.toml").write_text((HERE / "known.toml").read_text() + limit)
                shutil.rmtree(self.folder / "natmeter-runs", ignore_errors=True)
                printed = self.run_line(f"code=0; STRICT={strict} {job} || code=$?; [ $code = {code} ]", "sh")
                self.assertIn(words, printed)


def marks(printed: str) -> set[str]:
    return set(re.findall(r"^[✓✗?] \w+", printed, re.MULTILINE))


if __name__ == "__main__":
    unittest.main()
