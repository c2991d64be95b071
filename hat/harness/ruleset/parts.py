"""Rules about the format of each part: manifest, tools, skills, hooks, templates."""

from hat.harness.ruleset.rule import Rule

PARTS = (
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
        "It needs name and inputSchema, an object schema; in a harness, the name is that of the file.",
    ),
    Rule(
        "tool-description",
        "warning",
        "A tool without a description",
        "MCP allows it, but a model then has only the name to choose by. Say what the tool does.",
    ),
    Rule(
        "tools-incomplete",
        "warning",
        "A tools/list result of several pages, of which this is one",
        "nextCursor says that more follow. Ask the server again with that cursor, and put all tools into "
        "one list before you import it.",
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
        "hooks: {event: [{matcher, hooks: [{type, ...}]}]}. type is builtin (with check and message; at "
        "PreToolUse, PostAssistant and PreReply), command (with command), or another public one. Events are those "
        "of `hat.harness.reading.hook_events`, which lists them by version of the public layout.",
    ),
    Rule(
        "hooks-layout",
        "error",
        "Hooks in the layout of another product",
        "camelCase events with commands right below them, or a list of events. Write the public layout: "
        "beforeShellExecution and beforeMCPExecution are PreToolUse with a matcher, afterFileEdit is PostToolUse, "
        "stop is Stop; each command becomes {type: command, command: ...} in the `hooks` of a matcher.",
    ),
    Rule(
        "hook-command",
        "warning",
        "A hook that runs a command",
        "Commands are off unless a profile sets hooks.allow_commands: they cost a process for each call, and a model "
        "trained without them has not met their messages. Where they run, they get a scrubbed environment and limits "
        "on processor time, memory, output and wall-clock time. A built-in check costs none of that.",
    ),
    Rule(
        "hook-kept",
        "info",
        "A hook that never runs here",
        "Events such as SessionStart, and hooks that run in the background or ask a model or a server, have no place "
        "in an episode. The file keeps them byte for byte, so that an export has them.",
    ),
    Rule(
        "mcp-servers",
        "error",
        "A .mcp.json that does not name servers",
        "mcpServers: {name: {command, args, env}} or {name: {type, url, headers}}. No server is started here; export "
        "its tools/list result and import that.",
    ),
    Rule(
        "plugin-schema",
        "error",
        "A plugin.json that is no plugin manifest",
        "name is needed, in lower-case letters, digits and single hyphens.",
    ),
    Rule(
        "plugin-elsewhere",
        "warning",
        "A plugin that keeps parts in unusual places",
        "Skills are read from skills/, hooks from hooks/hooks.json, servers from .mcp.json. What lies elsewhere is "
        "kept for the export, and is no part of the harness.",
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
