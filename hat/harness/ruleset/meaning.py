"""Rules about what a version means: references, bindings, limits, its domain, parent and lock."""

from hat.harness.ruleset.rule import Rule

MEANING = (
    Rule(
        "template-unbound",
        "error",
        "A session value that the domain does not have",
        "Every {{ name }} must be one of the domain's session values, or the prompt can never be filled.",
    ),
    Rule(
        "template-outside",
        "warning",
        "A template where nothing is filled",
        "Session values are filled in prompt blocks and skill descriptions only. Here the model would "
        "see the braces. Move the text into a prompt block.",
    ),
    Rule(
        "unknown-symbol",
        "error",
        "A code span names no tool, argument or skill",
        "A code span that looks like a name must be one: after a rename the old name stays behind "
        "this way. Correct the name, or take the backticks away when it is an ordinary word.",
    ),
    Rule(
        "unknown-word",
        "warning",
        "A code span with a word that is no symbol",
        "Code spans refer to tools, arguments and skills. Use quotes for other words.",
    ),
    Rule(
        "pinned-symbol",
        "warning",
        "A symbol in running text",
        "Only code spans are references. A name outside of one is pinned: renaming transforms and "
        "`hat harness diff` do not follow it, and the model sees the old name. Put it in backticks "
        "(titles and descriptions inside schemas take no references: reword them). Names that are one "
        "plain word, such as delivery, are not looked for.",
    ),
    Rule(
        "unknown-domain",
        "error",
        "A domain that does not exist",
        "`domain` in harness.yaml is one of the domains of this installation.",
    ),
    Rule(
        "binding-operation",
        "error",
        "A tool bound to an operation that the domain does not have",
        "The message lists the operations.",
    ),
    Rule(
        "binding-argument",
        "error",
        "A binding's arguments do not fit tool and operation",
        "Left of the colon stands an argument of the tool's inputSchema, right of it one of the "
        "operation's; each operation's argument is given exactly once.",
    ),
    Rule(
        "operation-unbound",
        "warning",
        "No tool does one of the domain's operations",
        "Tasks that need it cannot be solved under this harness. Where that is meant, ignore this.",
    ),
    Rule(
        "operation-twice",
        "warning",
        "Two tools do the same operation",
        "A task's gold names one of them; calls of the other are counted as needless.",
    ),
    Rule(
        "no-skill-loader",
        "error",
        "Skills, but no tool to load them",
        "Bind a tool to the operation load_skill.",
    ),
    Rule(
        "reply-skill-missing",
        "error",
        "No reply skill",
        "Agents answer through a reply skill. Give at least one skill metadata.kind: reply.",
    ),
    Rule(
        "intent-unanswered",
        "error",
        "An intent that no reply skill answers",
        "Each of the domain's intents stands in metadata.intents of a skill of kind reply.",
    ),
    Rule(
        "intent-unknown",
        "warning",
        "An intent that the domain does not have",
        "Mistyped, or left over from another version.",
    ),
    Rule(
        "intent-twice",
        "warning",
        "Two reply skills for one intent",
        "Scoring takes the first, by name, as right. Give the intent to one of them.",
    ),
    Rule(
        "skills-unlisted",
        "error",
        "No block lists the skills",
        "Exactly one block in harness.yaml has kind: skills; without it the model knows no skill.",
    ),
    Rule(
        "hook-check",
        "error",
        "A hook names a check that does not exist",
        "The message lists the checks of the agent and of the domain.",
    ),
    Rule(
        "hook-matcher",
        "error",
        "A hook that matches nothing",
        "matcher is * or the name of one of this version's tools, and only PreToolUse has a tool to match.",
    ),
    Rule(
        "hook-event",
        "warning",
        "A check at an event where it is never asked",
        "calls_well_formed belongs to PostAssistant, and only it does.",
    ),
    Rule(
        "hook-twice",
        "warning",
        "One check in two hooks",
        "The model is always given the first one's message.",
    ),
    Rule(
        "hook-unmatched",
        "warning",
        "A command hook that matches no tool",
        "Its matcher names tools that this version does not have, or is more than names, | between them and .* for "
        "any text: it will never run.",
    ),
    Rule(
        "skill-unreachable",
        "warning",
        "A skill that no task can lead to",
        "A reply skill without an intent of the domain, or whose intents earlier skills answer, is never the right "
        "one. Give it an intent, make it a strategy skill, or delete it.",
    ),
    Rule(
        "secret",
        "error",
        "A secret in a file",
        "Versions are kept for ever and copied to every machine that trains. Revoke the secret, take it out, and let "
        "the environment give it (as in ${TOKEN}).",
    ),
    Rule(
        "prompt-override",
        "warning",
        "An instruction that sets the instructions aside",
        "Texts such as 'ignore all previous instructions' are how a skill or a tool's description takes over the "
        "system prompt. Leave it out; where it is quoted as an example, say so and accept this warning.",
    ),
    Rule(
        "limits",
        "error",
        "Limits that contradict each other or the hooks",
        "For example, a reply skill must be loaded first but there is one turn only: no episode could "
        "succeed.",
    ),
    Rule(
        "limits-unreachable",
        "warning",
        "A limit that can never be reached",
        "Another limit always ends the episode earlier, so this number has no effect.",
    ),
    Rule(
        "indistinct",
        "warning",
        "Two tools or skills that a model cannot tell apart",
        "Their descriptions are the same, or nearly so for tools with the same arguments. Describe the difference: "
        "when to use which.",
    ),
    Rule(
        "token-budget",
        "warning",
        "The prompt is longer than its budget",
        "An estimate from words and characters, made without the model's tokenizer. Beyond 450 "
        "tokens, training and serving get slow on a CPU. Shorten descriptions and rules first.",
    ),
    Rule(
        "version-parent",
        "error",
        "A version that does not follow its parent",
        "parent names an earlier version of the same harness; only the first version has none.",
    ),
    Rule(
        "version-step",
        "warning",
        "A version number that skips",
        "The next number after 1.4.2 is 1.4.3, 1.5.0 or 2.0.0.",
    ),
    Rule(
        "change-untold",
        "warning",
        "A version that does not say what changed",
        "`changed` in harness.yaml is what reviewers and run reports show. Say what changed against the "
        "parent, and why.",
    ),
    Rule(
        "locked-digest",
        "error",
        "A merged version was changed",
        "Its digest is in versions.lock, and models were trained and promoted under exactly these "
        "files. Restore them (git checkout) and make a new version with `hat harness new`.",
    ),
    Rule(
        "lock-file",
        "error",
        "versions.lock cannot be used",
        "One line a version, VERSION DIGEST, for versions that exist. `hat harness lock NAME` writes it.",
    ),
    Rule(
        "not-locked",
        "error",
        "A version is about to be merged without being locked",
        "`hat harness check` wants every version locked, so that no merged version can change later. Run "
        "`hat harness lock NAME` and commit versions.lock with the version.",
    ),
    Rule(
        "unlocked",
        "info",
        "A version that is not locked yet",
        "Its files may still change. `hat harness lock NAME` before merging.",
    ),
)
