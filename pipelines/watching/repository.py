"""The Git repository that a watcher reads harnesses from, at a revision; nothing of its working tree counts."""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from hat.errors import BadInput, EnvironmentFailure
from hat.home import hat_home

_SECONDS = 300
_LINK, _FILES = "120000", ("100644", "100755")
_IDENTITY = {
    "GIT_AUTHOR_NAME": "hat watch",
    "GIT_AUTHOR_EMAIL": "hat-watch@localhost",
    "GIT_COMMITTER_NAME": "hat watch",
    "GIT_COMMITTER_EMAIL": "hat-watch@localhost",
}


@dataclass(frozen=True)
class Repository:
    """A clone on this machine."""

    folder: Path

    def commit(self, revision: str) -> str:
        """The commit that a revision names now.

        Raises:
            BadInput: it names none.
        """
        found = self.git(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}", check=False
        )
        if not found:
            raise BadInput(
                f"no revision {revision!r}", where=str(self.folder), mend="Give it with --revision."
            )
        return found

    def export(self, commit: str, path: str, folder: Path) -> None:
        """Write the files below ``path`` at a commit to ``folder``, byte for byte; nothing where there are none.

        (`git archive` would apply the attributes of the repository, and so change digests.)
        """
        listed = self.git("ls-tree", "-r", "-z", commit, "--", f"{path}/")
        for line in filter(None, listed.split("\0")):
            description, _, name = line.partition("\t")
            mode, _, identity = description.split(" ")
            target = folder / PurePosixPath(name).relative_to(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            if mode == _LINK:  # the loader refuses it with a message of its own
                target.symlink_to(self.git("cat-file", "blob", identity))
            elif mode in _FILES:
                target.write_bytes(self.git_bytes("cat-file", "blob", identity))

    def read(self, commit: str, path: str) -> bytes | None:
        """A file's bytes at a commit, or None."""
        if not self.git("ls-tree", commit, "--", path):
            return None
        return self.git_bytes("cat-file", "blob", f"{commit}:{path}")

    def fetch(self) -> None:
        """Take over what the remotes have now, rewritten history included.

        Raises:
            EnvironmentFailure: a remote cannot be reached.
        """
        self.git("fetch", "--quiet", "--all", "--prune", "--force")

    def commit_files(self, parent: str, files: Mapping[str, str], message: str) -> str:
        """A commit on top of ``parent`` with some files' texts replaced; touches neither working tree nor branch."""
        # An index of our own: another watcher may commit in the same clone at the same time.
        with tempfile.TemporaryDirectory(prefix="hat-watch-index-") as place:
            environment = {"GIT_INDEX_FILE": str(Path(place) / "index"), **_IDENTITY}
            self.git("read-tree", parent, environment=environment)
            for path, text in sorted(files.items()):
                blob = self.git("hash-object", "-w", "--stdin", text=text)
                self.git(
                    "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", environment=environment
                )
            tree = self.git("write-tree", environment=environment)
        return self.git("commit-tree", tree, "-p", parent, "-m", message, environment=environment)

    def push(self, commit: str, branch: str) -> bool:
        """Put a commit on a branch of `origin`; False when the branch moved meanwhile. Never forces.

        Raises:
            EnvironmentFailure: the remote cannot be reached or refuses us.
        """
        try:
            self.git("push", "--quiet", "origin", f"{commit}:refs/heads/{branch}")
        except EnvironmentFailure as error:
            if (
                "non-fast-forward" in str(error)
                or "fetch first" in str(error)
                or "cannot lock ref" in str(error)
            ):
                return False
            raise
        return True

    def git(
        self,
        *arguments: str,
        check: bool = True,
        environment: Mapping[str, str] | None = None,
        text: str = "",
    ) -> str:
        """Git's standard output as text, without the last line's end."""
        output = self.git_bytes(*arguments, check=check, environment=environment, data=text.encode("utf-8"))
        return output.decode("utf-8", "surrogateescape").removesuffix("\n")

    def git_bytes(
        self,
        *arguments: str,
        check: bool = True,
        environment: Mapping[str, str] | None = None,
        data: bytes = b"",
    ) -> bytes:
        """Git's standard output.

        Raises:
            EnvironmentFailure: Git cannot be run or fails.
        """
        return run_git(self.folder, *arguments, check=check, environment=environment, data=data)


def open_repository(location: str) -> Repository:
    """The repository at ``location``: a folder is used as it is, an address is cloned once below HAT_HOME.

    Raises:
        BadInput: the folder is no repository.
        EnvironmentFailure: the address cannot be cloned.
    """
    if "://" not in location and not location.startswith("git@"):
        folder = Path(location)
        inside = run_git(folder, "rev-parse", "--show-toplevel", check=False) if folder.is_dir() else b""
        bare = run_git(folder, "rev-parse", "--is-bare-repository", check=False) if folder.is_dir() else b""
        if bare.strip() == b"true":
            return Repository(folder)
        if not inside:
            raise BadInput("no Git repository", where=f"--repository {location}")
        return Repository(Path(inside.decode("utf-8").strip()))
    folder = hat_home() / "repositories" / hashlib.sha256(location.encode("utf-8")).hexdigest()[:16]
    if not (folder / "HEAD").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        run_git(folder, "init", "--quiet", "--bare")
    if not run_git(folder, "config", "remote.origin.url", check=False):
        run_git(folder, "remote", "add", "origin", location)
    return Repository(folder)


def run_git(
    folder: Path,
    *arguments: str,
    check: bool = True,
    environment: Mapping[str, str] | None = None,
    data: bytes = b"",
) -> bytes:
    """Run Git in a folder and return its standard output; see `Repository.git_bytes`."""
    try:
        result = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            input=data,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **(environment or {})},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFailure(f"git cannot be run: {error}", where=str(folder)) from error
    if result.returncode != 0:
        if not check:
            return b""
        said = result.stderr.decode("utf-8", "replace").strip().replace("\n", "; ")
        raise EnvironmentFailure(f"git {arguments[0]}: {said}", where=str(folder))
    return result.stdout
