//! The keys of the configuration and what each may hold.

use super::Fields;
use super::Shape::{self, Any, Either, Flag, List, Number, Only, Text, Whole, Word};

const fn closed(known: &'static [(&'static str, Shape)], required: &'static [&'static str]) -> Fields {
    Fields { known, required, open: false }
}

const fn open(known: &'static [(&'static str, Shape)]) -> Fields {
    Fields { known, required: &[], open: true }
}

const TEXTS: Shape = List(&Text);
const TEXT_MAP: Shape = Shape::Map(&Text);
const OBJECT: Shape = Shape::Map(&Any);
const FLAG_MAP: Shape = Shape::Map(&Flag);

const ACTION: Shape = Word(&["allow", "ask", "deny"]);
const PERMISSION: Shape = Either(&[ACTION, Shape::Map(&Either(&[ACTION, Shape::Map(&ACTION)]))]);

static AGENT: Fields = open(&[
    ("model", Text),
    ("variant", Text),
    ("temperature", Number),
    ("top_p", Number),
    ("prompt", Text),
    ("description", Text),
    ("tools", FLAG_MAP),
    ("disable", Flag),
    ("mode", Word(&["primary", "subagent", "all"])),
    ("hidden", Flag),
    ("options", OBJECT),
    ("color", Text),
    ("steps", Whole(1)),
    ("maxSteps", Whole(1)),
    ("permission", PERMISSION),
]);
const AGENTS: Shape = Shape::Map(&Shape::Fields(&AGENT));

static COMMAND: Fields = closed(
    &[
        ("template", Text),
        ("description", Text),
        ("agent", Text),
        ("model", Text),
        ("variant", Text),
        ("subtask", Flag),
    ],
    &["template"],
);

const TIMEOUT: Shape = Either(&[Whole(1), Only(false)]);
static PROVIDER_OPTIONS: Fields = open(&[
    ("apiKey", Text),
    ("baseURL", Text),
    ("enterpriseUrl", Text),
    ("setCacheKey", Flag),
    ("timeout", TIMEOUT),
    ("headerTimeout", TIMEOUT),
    ("chunkTimeout", TIMEOUT),
    ("headers", TEXT_MAP),
]);
static LONG_COST: Fields =
    closed(&[("input", Number), ("output", Number), ("cache_read", Number), ("cache_write", Number)], &[]);
static COST: Fields = closed(
    &[
        ("input", Number),
        ("output", Number),
        ("cache_read", Number),
        ("cache_write", Number),
        ("context_over_200k", Shape::Fields(&LONG_COST)),
    ],
    &[],
);
static LIMIT: Fields = closed(&[("context", Number), ("input", Number), ("output", Number)], &[]);
static MODEL_PROVIDER: Fields = closed(&[("npm", Text), ("api", Text)], &[]);
static MODALITIES: Fields = closed(&[("input", TEXTS), ("output", TEXTS)], &[]);
static MODEL: Fields = closed(
    &[
        ("id", Text),
        ("name", Text),
        ("family", Text),
        ("release_date", Text),
        ("attachment", Flag),
        ("reasoning", Flag),
        ("temperature", Flag),
        ("tool_call", Flag),
        ("interleaved", Either(&[Flag, Text, OBJECT])),
        ("cost", Shape::Fields(&COST)),
        ("limit", Shape::Fields(&LIMIT)),
        ("modalities", Shape::Fields(&MODALITIES)),
        ("experimental", Flag),
        ("status", Word(&["alpha", "beta", "deprecated", "active"])),
        ("provider", Shape::Fields(&MODEL_PROVIDER)),
        ("options", OBJECT),
        ("headers", TEXT_MAP),
        ("variants", Shape::Map(&OBJECT)),
    ],
    &[],
);
static PROVIDER: Fields = closed(
    &[
        ("api", Text),
        ("name", Text),
        ("env", TEXTS),
        ("id", Text),
        ("npm", Text),
        ("whitelist", TEXTS),
        ("blacklist", TEXTS),
        ("options", Shape::Fields(&PROVIDER_OPTIONS)),
        ("models", Shape::Map(&Shape::Fields(&MODEL))),
    ],
    &[],
);

pub(super) static MCP_LOCAL: Fields = closed(
    &[
        ("type", Text),
        ("command", TEXTS),
        ("cwd", Text),
        ("environment", TEXT_MAP),
        ("enabled", Flag),
        ("timeout", Whole(1)),
    ],
    &["command"],
);
static OAUTH: Fields = closed(
    &[
        ("clientId", Text),
        ("clientSecret", Text),
        ("scope", Text),
        ("callbackPort", Whole(1)),
        ("redirectUri", Text),
    ],
    &[],
);
pub(super) static MCP_REMOTE: Fields = closed(
    &[
        ("type", Text),
        ("url", Text),
        ("enabled", Flag),
        ("headers", TEXT_MAP),
        ("oauth", Either(&[Shape::Fields(&OAUTH), Only(false)])),
        ("timeout", Whole(1)),
    ],
    &["url"],
);
/// An entry without a type only switches a server of an earlier layer on or off.
pub(super) static MCP_SWITCH: Fields =
    closed(&[("type", Word(&["local", "remote"])), ("enabled", Flag)], &["enabled"]);

static FORMATTER: Fields =
    closed(&[("disabled", Flag), ("command", TEXTS), ("environment", TEXT_MAP), ("extensions", TEXTS)], &[]);
static LSP: Fields = closed(
    &[
        ("disabled", Flag),
        ("command", TEXTS),
        ("extensions", TEXTS),
        ("env", TEXT_MAP),
        ("initialization", OBJECT),
    ],
    &[],
);

static IMAGE: Fields = closed(
    &[
        ("auto_resize", Flag),
        ("max_width", Whole(1)),
        ("max_height", Whole(1)),
        ("max_base64_bytes", Whole(1)),
    ],
    &[],
);
static ATTACHMENT: Fields = closed(&[("image", Shape::Fields(&IMAGE))], &[]);
static SKILLS: Fields = closed(&[("paths", TEXTS), ("urls", TEXTS)], &[]);
static WATCHER: Fields = closed(&[("ignore", TEXTS)], &[]);
static TOOL_OUTPUT: Fields = closed(&[("max_lines", Whole(1)), ("max_bytes", Whole(1))], &[]);
static COMPACTION: Fields = closed(
    &[
        ("auto", Flag),
        ("prune", Flag),
        ("tail_turns", Whole(0)),
        ("preserve_recent_tokens", Whole(0)),
        ("reserved", Whole(0)),
    ],
    &[],
);
static ENTERPRISE: Fields = closed(&[("url", Text)], &[]);
static SANDBOX: Fields = closed(&[("enabled", Flag), ("network", Flag), ("writable", TEXTS)], &["enabled"]);
static EXPERIMENTAL: Fields = closed(
    &[
        ("disable_paste_summary", Flag),
        ("batch_tool", Flag),
        ("openTelemetry", Flag),
        ("primary_tools", TEXTS),
        ("continue_loop_on_deny", Flag),
        ("hidden_variables", TEXTS),
        ("visible_variables", TEXTS),
        ("sandbox", Shape::Fields(&SANDBOX)),
        ("mcp_timeout", Whole(1)),
        ("read_before_write", Flag),
        // Of the reference, without effect here.
        ("policies", Any),
        ("hook", Any),
        ("chatMaxRetries", Any),
    ],
    &[],
);

/// The whole document.
pub(super) static ROOT: Fields = closed(
    &[
        ("$schema", Text),
        ("shell", Text),
        ("logLevel", Text),
        ("server", OBJECT),
        ("command", Shape::Map(&Shape::Fields(&COMMAND))),
        ("skills", Shape::Fields(&SKILLS)),
        ("references", OBJECT),
        ("reference", OBJECT),
        ("watcher", Shape::Fields(&WATCHER)),
        ("snapshot", Flag),
        ("plugin", List(&Any)),
        ("share", Word(&["manual", "auto", "disabled"])),
        ("autoshare", Flag),
        ("autoupdate", Either(&[Flag, Word(&["notify"])])),
        ("disabled_providers", TEXTS),
        ("enabled_providers", TEXTS),
        ("model", Text),
        ("small_model", Text),
        ("default_agent", Text),
        ("subagent_depth", Whole(0)),
        ("username", Text),
        ("mode", AGENTS),
        ("agent", AGENTS),
        ("provider", Shape::Map(&Shape::Fields(&PROVIDER))),
        ("mcp", Shape::Map(&Shape::Mcp)),
        ("formatter", Either(&[Flag, Shape::Map(&Shape::Fields(&FORMATTER))])),
        ("lsp", Either(&[Flag, Shape::Map(&Shape::Fields(&LSP))])),
        ("instructions", TEXTS),
        ("layout", Text),
        ("permission", PERMISSION),
        ("tools", FLAG_MAP),
        ("attachment", Shape::Fields(&ATTACHMENT)),
        ("enterprise", Shape::Fields(&ENTERPRISE)),
        ("tool_output", Shape::Fields(&TOOL_OUTPUT)),
        ("compaction", Shape::Fields(&COMPACTION)),
        ("experimental", Shape::Fields(&EXPERIMENTAL)),
        // Of the terminal program; it reads them from the same file.
        ("theme", Any),
        ("keybinds", Any),
        ("tui", Any),
    ],
    &[],
);
