"""Rules about files: present, readable as text, parsable."""

from hat.harness.ruleset.rule import Rule

FILES = (
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
        "skill-resource",
        "info",
        "A file that belongs to a skill",
        "The Agent Skills format lets a skill bring scripts/, references/ and assets/. They are part of the version "
        "and of an export; an episode shows the model SKILL.md only, and runs none of them.",
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

SYNTAX = (
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
        "gate-policy",
        "error",
        "A gate.yaml that asks for what it cannot mean",
        "An unknown key, a value of the wrong kind, or a limit that no evidence could ever meet. "
        "docs/how-to/gate-policy.md lists the keys.",
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
