"""Every rule that a harness's files are held to: id, severity, and what to do about a finding.

Errors make a harness unusable, and `hat.harness.load.load_harness` refuses those of format. Warnings are
likely mistakes; infos are facts worth knowing. The ids are stable: JSON reports and
`hat harness lint --explain RULE` use them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Rule:
    """A rule and its documentation."""

    id: str
    severity: Literal["error", "warning", "info"]
    summary: str
    explanation: str
    """Why it matters and how to mend a finding."""


_FILES = (
    Rule(
        "missing-file",
        "error",
        "A file that the format needs is not there",
        "A version folder needs harness.yaml; each block named there needs prompts/<id>.md; each tool "
        "bound there needs tools/<name>.json. Add the file, or take its name out of harness.yaml.",
    ),
    Rule(
        "empty-file",
        "error",
        "A file is empty or holds white space only",
        "An empty file is nearly always an interrupted save. Restore it, or delete it with whatever "
        "names it.",
    ),
    Rule(
        "unused-file",
        "warning",
        "A file that nothing reads",
        "It is part of the version's digest, so it cannot change later, yet the model never sees it. "
        "Delete it, or name it in harness.yaml. Editors' backup files are found this way.",
    ),
    Rule(
        "not-utf8",
        "error",
        "Text that is not UTF-8",
        "All files are UTF-8. Save the file again in that encoding; in JSON and YAML write a "
        "character itself instead of a half \\u escape.",
    ),
    Rule(
        "byte-order-mark",
        "warning",
        "A file begins with a byte-order mark",
        "Some editors put the invisible character U+FEFF first. It is skipped here, but other readers "
        "of the public formats stumble over it. Save as 'UTF-8', not 'UTF-8 with BOM'.",
    ),
    Rule(
        "hidden-character",
        "warning",
        "An invisible character in the text",
        "Zero-width, text-direction and control characters make a text read differently to a person "
        "and to a model. Delete the character and type the word anew.",
    ),
    Rule(
        "chat-marker",
        "error",
        "A marker of the chat format in the text",
        "Markers such as <|im_end|> are single tokens that end or begin a turn: inside a prompt they "
        "would let a text pose as another speaker. Leave the marker out.",
    ),
    Rule(
        "too-large",
        "error",
        "Larger than the limits",
        "A file has at most 1 MiB, a version at most 5000 files and 64 MiB.",
    ),
    Rule(
        "too-deep",
        "error",
        "Nested too deeply",
        "JSON and YAML nest at most 64 levels, folders at most 16. Deeper data is a mistake or an attack.",
    ),
    Rule(
        "symlink",
        "error",
        "A symbolic link",
        "A link's target can change or lie outside the version, so its digest would not protect it. "
        "Copy the file.",
    ),
    Rule(
        "not-a-file",
        "error",
        "Something that is neither a file nor a folder",
        "Pipes, sockets and devices cannot be versioned. Delete it.",
    ),
    Rule(
        "path-name",
        "error",
        "File names that not every system can hold",
        "Two names that differ only in case or in Unicode form are one file on some systems; a name "
        "that is not UTF-8 cannot be named at all. Rename the file.",
    ),
)

_SYNTAX = (
    Rule(
        "json-syntax",
        "error",
        "Not JSON",
        "The line is where the parser gave up; the mistake is there or just before. NaN, Infinity, "
        "comments and trailing commas are not JSON.",
    ),
    Rule(
        "yaml-syntax",
        "error",
        "Not YAML",
        "Most often a value with ': ' or '#' in it lacks quotes: write description: \"Returns: how and "
        'when".',
    ),
    Rule(
        "yaml-alias",
        "error",
        "A YAML anchor or alias",
        "Aliases can multiply a small file into gigabytes. Write the value out where it is used.",
    ),
    Rule(
        "yaml-tag",
        "error",
        "A YAML tag",
        "Only text, numbers, true, false, null, lists and mappings are read.",
    ),
    Rule(
        "yaml-key",
        "error",
        "A YAML key that is not text",
        "Keys such as 1, yes or 2024-01-01 are read as numbers, truth values or dates. Put quotes "
        "around the key.",
    ),
    Rule(
        "duplicate-key",
        "error",
        "A key occurs twice",
        "Readers disagree about which one counts. Delete one of the two.",
    ),
    Rule(
        "front-matter",
        "error",
        "A skill without usable front matter",
        "SKILL.md begins with a line ---, then YAML with name and description, then a line ---.",
    ),
    Rule(
        "document-title",
        "error",
        "A document without a title",
        "Prompt blocks and skill bodies begin with one '# Title', under which list entries or "
        "paragraphs follow.",
    ),
    Rule(
        "document-structure",
        "warning",
        "Markdown beyond a title, lists and paragraphs",
        "Tables, code fences, sub-headings and numbered lists are kept as running text, and their "
        "layout is lost. Write them as list entries.",
    ),
)

_PARTS = (
    Rule(
        "manifest-schema",
        "error",
        "harness.yaml does not have the right keys and values",
        'The message names the key. Quote versions ("1.10" is a number without quotes) and check the '
        "spelling.",
    ),
    Rule(
        "version-folder",
        "error",
        "A version's folder, name or number does not fit",
        "The folder is versions/<version> with a version of three numbers such as 1.4.0, equal to "
        "`version` in harness.yaml; the folder above versions/ is equal to `name`.",
    ),
    Rule(
        "tool-schema",
        "error",
        "A tool file is not an MCP Tool object",
        "It needs name, description and inputSchema, an object schema; the name is that of the file.",
    ),
    Rule(
        "tool-unknown-key",
        "info",
        "A key that MCP's Tool object does not have",
        "It is kept in the file and is part of the digest, but nothing uses it.",
    ),
    Rule(
        "illegal-name",
        "error",
        "A name that models' function formats do not accept",
        "Tools and arguments: 1 to 64 letters, digits, _ and -. Skills: 1 to 64 lower-case letters, "
        "digits and single hyphens. No spaces, no Chinese characters, nothing invisible; the "
        "description may use any language.",
    ),
    Rule(
        "duplicate-name",
        "error",
        "One name for two things",
        "Two tools, two skills, two blocks or two block titles with one name cannot be told apart.",
    ),
    Rule(
        "ambiguous-symbol",
        "warning",
        "A tool, an argument and a skill share a name",
        "A code span with that name could mean either, and a rename may follow the wrong one. Rename "
        "one of them, or write tool.argument.",
    ),
    Rule(
        "schema-invalid",
        "error",
        "An invalid JSON Schema",
        "Schemas follow JSON Schema 2020-12, or draft-07 where $schema says so.",
    ),
    Rule(
        "schema-draft",
        "error",
        "A $schema that is not understood",
        "Leave $schema out for 2020-12, or name 2020-12 or draft-07.",
    ),
    Rule(
        "schema-ref",
        "error",
        "A $ref that leads nowhere",
        "A reference is '#/$defs/Name' or '#anchor' within the same schema.",
    ),
    Rule(
        "schema-ref-remote",
        "error",
        "A $ref that leaves the file",
        "Nothing is fetched from other files or the network. Copy the schema under $defs.",
    ),
    Rule(
        "schema-ref-cycle",
        "error",
        "A $ref that leads back to itself",
        "Following it never reaches a schema, so no value could ever be checked.",
    ),
    Rule(
        "schema-recursive",
        "info",
        "A schema that contains itself",
        "This is legal and kept byte for byte; transforms of arguments leave such a tool's schema as it is.",
    ),
    Rule(
        "required-undeclared",
        "warning",
        "A required argument that is not declared",
        "`required` names an argument that `properties` does not have: the model is not shown its type.",
    ),
    Rule(
        "skill-schema",
        "error",
        "A skill's front matter does not fit the Agent Skills format",
        "name equals the folder's; description has 1 to 1024 characters; our own fields stand under "
        "metadata: kind is reply or strategy, intents is a list of the domain's intents.",
    ),
    Rule(
        "skill-unknown-key",
        "warning",
        "A front-matter key that the Agent Skills format does not have",
        "Known are name, description, license, compatibility, metadata and allowed-tools. Move yours "
        "under metadata.",
    ),
    Rule(
        "hooks-schema",
        "error",
        "hooks.json does not have the public layout",
        "hooks: {event: [{matcher, hooks: [{type, check, message}]}]} with the events PreToolUse, "
        "PostAssistant and PreReply.",
    ),
    Rule(
        "hook-command",
        "error",
        "A hook that runs a command",
        "Commands are off: they would run outside of the episode's control, and differently in "
        "training and serving. Use type builtin with one of the known checks.",
    ),
    Rule(
        "template-syntax",
        "error",
        "A template that cannot be parsed",
        "Session values are written {{ host }}. A literal brace is written {{ '{' }}... or better left out.",
    ),
    Rule(
        "template-expression",
        "error",
        "A template that does more than name a session value",
        "No conditions, loops, filters or arithmetic: the prompt must be the same function of the "
        "session for every run, and cheap to fill.",
    ),
    Rule(
        "template-reach",
        "error",
        "A template that looks inside values or calls something",
        "Attribute access and calls are how templates escape into the program that fills them.",
    ),
)

_MEANING = (
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
        "Two tools or skills with the same description",
        "A model cannot tell when to use which. Describe the difference.",
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

RULES: Mapping[str, Rule] = {rule.id: rule for rule in (*_FILES, *_SYNTAX, *_PARTS, *_MEANING)}
