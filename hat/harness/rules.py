"""Every rule that a harness's files are held to: id, severity, and what to do about a finding.

Errors make a harness unusable, and `hat.harness.load.load_harness` refuses those of format. Warnings are
likely mistakes; infos are facts worth knowing. The ids are stable: JSON reports and
`hat harness lint --explain RULE` use them.
"""

from collections.abc import Mapping

from hat.harness.ruleset.files import FILES, SYNTAX
from hat.harness.ruleset.meaning import MEANING
from hat.harness.ruleset.parts import PARTS
from hat.harness.ruleset.rule import Rule

RULES: Mapping[str, Rule] = {rule.id: rule for rule in (*FILES, *SYNTAX, *PARTS, *MEANING)}
