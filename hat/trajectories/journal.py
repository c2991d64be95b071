"""A journal of finished episodes: appended to as they finish, read back by the attempt after a crash."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from hat.errors import BadInput
from hat.files import as_environment_failure
from hat.trajectories.record import Trajectory


class EpisodeJournal:
    """One file, one finished episode a line. Whoever uses it keeps one journal for one plan of episodes."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)

    def read(self) -> dict[str, Trajectory]:
        """Episodes by id. What a crash left half-written at the end is dropped, and the file mended.

        Raises:
            BadInput: a whole line is no trajectory.
        """
        if not self.path.exists():
            return {}
        whole = self.path.read_bytes()
        complete = whole[: whole.rfind(b"\n") + 1]
        if complete != whole:
            with open(self.path, "r+b") as handle:
                handle.truncate(len(complete))
        return {trajectory.id: trajectory for trajectory in self._parse(complete)}

    def append(self, trajectory: Trajectory) -> None:
        """Add one episode and see it on the disk.

        Raises:
            EnvironmentFailure: the disk is full or cannot be written.
        """
        line = json.dumps(trajectory.to_json(), ensure_ascii=False) + "\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "ab") as handle:
                handle.write(line.encode("utf-8"))
                handle.flush()
                os.fsync(handle.fileno())
        except OSError as error:
            raise as_environment_failure(error, self.path) from error

    def remove(self) -> None:
        """Its episodes are kept elsewhere now."""
        self.path.unlink(missing_ok=True)

    def _parse(self, text: bytes) -> Iterator[Trajectory]:
        for number, line in enumerate(text.splitlines(), start=1):
            try:
                yield Trajectory.from_json(json.loads(line))
            except (ValueError, BadInput, AttributeError) as error:
                mend = "Remove the file to play its episodes again."
                raise BadInput(
                    f"not a trajectory: {error}", where=f"{self.path}:{number}", mend=mend
                ) from error
