"""What no harness should hold: secrets, and instructions that try to override the system prompt."""

import re
from pathlib import Path

from hat.harness.linting.subject import Subject
from hat.harness.problems import Problems
from hat.harness.reading.bundle import list_files, read_source

_SECRETS = {
    "a private key": re.compile(r"-----BEGIN (?:[A-Z]{2,12} ){0,3}PRIVATE KEY-----"),
    "an AWS access key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "a GitHub token": re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b|\bgithub_pat_[A-Za-z0-9_]{60,255}\b"),
    "a Slack token": re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{20,255}"),
    "an API key": re.compile(
        r"\b(?:sk|rk)[-_](?=[A-Za-z_-]{0,255}[0-9])(?=[a-z0-9_-]{0,255}[A-Z])[A-Za-z0-9_-]{20,255}"
    ),
    "a Google API key": re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b"),
    "a signed token": re.compile(
        r"\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,2000}"
    ),
    "a password in an address": re.compile(
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@${}<]{1,100}:([^\s/@${}<]{6,200})@"
    ),
}
"""Formats that their issuers document, so that a hit is hardly ever chance."""
_ASSIGNED = re.compile(
    r"(?i)(?:api[_-]?key|secret|token|passw(?:or)?d)[\"']?\s{0,3}[:=]\s{0,3}[\"']?([A-Za-z0-9+/_=-]{24,255})"
)
_PLACEHOLDER = re.compile(r"(?i)your|example|placeholder|xxx|changeme|dummy|sample|redacted|test|\$\{|_here")
_OVERRIDES = re.compile(
    r"(?i)\b(?:ignore|disregard|forget|override|bypass)\s+(?:all\s+|any\s+|the\s+|your\s+|of\s+|these\s+){0,4}"
    r"(?:previous|prior|above|earlier|preceding|former|system|existing|original)\s+"
    r"(?:\w+\s+)?(?:instructions?|prompts?|rules?|guidelines|directives|messages?)"
    r"|\b(?:you are no longer|pretend (?:that )?you (?:are|have) no (?:rules|restrictions|instructions))"
    r"|\b(?:do not|never)\s+(?:tell|inform|mention\s+(?:this|it)\s+to|reveal\s+(?:this|it)\s+to)"
    r"\s+the\s+(?:user|viewer|operator)"
    r"|(?:忽略|无视|忘记)[^\n。]{0,8}(?:之前|以上|先前|前面|系统)[^\n。]{0,6}(?:指令|提示|规则|要求)"
)
MAX_FINDINGS = 20


def check_text(text: str, path: Path, problems: Problems) -> None:
    """Note secrets and overriding instructions of one file at their lines; secrets are never repeated."""
    found = 0
    for line_number, line in enumerate(text.split("\n"), start=1):
        # A minified file has one line: what follows is bounded per line, not per file.
        what = _secret(line)
        if what:
            message = f"looks like {what}: every copy of this version, and its model's training data, would carry it"
            problems.add("secret", path, message, line_number)
            found += 1
        override = _OVERRIDES.search(line)
        if override:
            message = f"tells the model to set its instructions aside: {override.group()[:60]!r}"
            problems.add("prompt-override", path, message, line_number)
            found += 1
        if found >= MAX_FINDINGS:
            return


def check_content(subject: Subject, problems: Problems) -> None:
    """Every text file of a version, what an import has kept included."""
    folder = subject.reading.folder
    if not folder.is_dir():
        return
    for path in list_files(folder, Problems()):
        # Whatever is wrong with a file as text was noted when it was read.
        text = read_source(path, Problems())
        if text is not None:
            check_text(text, path, problems)


def _secret(line: str) -> str:
    for what, pattern in _SECRETS.items():
        match = pattern.search(line)
        if match and not _PLACEHOLDER.search(match.group()):
            return what
    for match in _ASSIGNED.finditer(line):
        value = match.group(1)
        mixed = re.search(r"[0-9]", value) and re.search(r"[A-Z]", value) and re.search(r"[a-z]", value)
        if mixed and not _PLACEHOLDER.search(value):
            return "a secret that is assigned"
    return ""
