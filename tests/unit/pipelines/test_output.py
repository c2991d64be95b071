"""What commands print where there is no terminal."""

import subprocess
import sys

LONG = "word " * 30


def test_a_long_line_stays_one_line_in_a_log() -> None:
    program = f"from pipelines.cli.output import err, out; out().print({LONG!r}); err().print({LONG!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == len(done.stderr.splitlines()) == 1
