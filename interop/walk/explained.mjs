// Every difference between the answers of the two programs that is meant, each with the line of docs/differences.md that says so
// (how that line begins).

/** @type {{ line: string, at: RegExp }[]} */
export const EXPLAINED = [
  { line: '`message` in the bodies of errors names the types of its implementation', at: /› body( › data)? › (message|kind)$/ },
  { line: 'what tools say in their results and errors is its own', at: /^add an MCP server that cannot start › .* › error$|› (state|data) › (content|structured › output)$/ },
  { line: 'a fork does not say where it came from', at: /^fork.* › metadata › sturdy\.fork$/ },
  { line: '`/provider`, `/config`, `/agent`, `/command` and their like send API keys', at: /› options › apiKey$|^v2 a provider › .* › settings$/ },
  { line: 'a catalogue of 226 providers is fetched and bundled', at: /^(providers of the config|v2 models|v2 providers) › / },
  { line: 'OpenAI, GitHub Copilot, GitLab, xAI and others can be logged in to by browser', at: /^ways to log in › / },
  { line: 'a login by browser where there is none: 500', at: /^(log in where there is no way|end of no login) › / },
  { line: 'system texts, titles, reminders and other words to the model are its own', at: /^(agents|commands|v2 agents|v2 commands) › .* › (description|prompt|system|template)$/ },
  { line: '`.git`, `.opencode`, `.claude`, `opencode.json`, `sturdy.json` and `AGENTS.md` are files like others', at: /^(v2 )?agents › .* › permissions?(\[|$)/ },
  { line: '`websearch` and a built-in skill about its own configuration', at: /^(commands|skills|v2 skills|names of tools) › body( › data)?$/ },
  { line: 'workspaces on other machines, mirrored servers, vendor accounts', at: /^adapters of workspaces › body$/ },
  { line: '`/find/file` fills its list with names', at: /^(find files|v2 find) › body( › data)?$/ },
  { line: 'JSON that cannot be read: 500 on most routes', at: /^v2 create with what is no JSON › / },
  { line: 'a path that is not there, is outside of the project, or a pattern that is none: 500', at: /^v2 (files of|read) nothing › / },
  { line: 'texts of a v2 answer are called', at: /› (content\[\d\] › id|data › textID)$/ },
  { line: 'a v2 revert lists its `files`', at: /^v2 revert › body › data › files$/ },
  { line: '`/api/fs/read` tells the kind of a file by its name', at: /^v2 read › type$/ },
];

/** The same for requests outside of a repository. @type {{ line: string, at: RegExp }[]} */
export const EXPLAINED_OUTSIDE = [
  { line: '`message` in the bodies of errors names the types of its implementation', at: /› body( › data)? › message$/ },
  { line: 'trees are captured in git repositories only', at: /^a prompt › .* › snapshot$/ },
];

/** The same for the further requests. @type {{ line: string, at: RegExp }[]} */
export const EXPLAINED_FURTHER = [
  { line: '`message` in the bodies of errors names the types of its implementation', at: /› body( › data)? › (message|kind)$/ },
  { line: 'what tools say in their results and errors is its own', at: /› state › (error|output|input › error)$/ },
  { line: 'system texts, titles, reminders and other words to the model are its own', at: /› parts\[\d\] › text$/ },
  { line: 'the text that is made of an attached file has no `metadata`', at: /› parts\[1\] › metadata$/ },
  { line: 'only some of the user messages that the server writes itself', at: /^what (the commands said|was summarized) › .* › info › summary$/ },
  { line: 'a step of a summary captures the worktree', at: /^what was summarized › .* › snapshot$/ },
  { line: 'a fork does not say where it came from', at: /^(fork|session list by scope|archive) .* › metadata$|^(session list by scope|all sessions by title) › .* › metadata$/ },
  { line: "the session's summary is zero except after a revert", at: /› summary › (additions|files)$/ },
  { line: 'after a revert the session', at: /^revert a part › .* › summary/ },
  { line: '`metadata` of a permission request for a command is the command', at: /› metadata › always$/ },
  { line: '`limit=abc` means no limit on some lists', at: /^(session list|all sessions) with (a wrong|half a) / },
  { line: 'sessions are shared to OpenCode', at: /^share what is disabled › / },
  { line: 'messages of the v2 API (`/api`) and of the v1 API are two stores', at: /^(active while asked|what v2 is asked|the v2 question|v2 in the v1 API|v2 the session while staged › body › data › (title|tokens))/ },
  { line: '`subpath` of `/api/session` filters nothing', at: /^v2 by subpath › / },
  { line: 'a file whose kind the provider', at: /^v2 a prompt with files › .* › mime$/ },
  { line: 'texts of a v2 answer are called', at: /› content\[\d\] › id$/ },
  { line: '`/api/session/{id}/context` has what a staged revert has undone', at: /^v2 the context while staged › / },
  { line: 'a revert that is staged with `"files": false`', at: /^v2 (stage|the session while staged) › .* › (diff|files|snapshot)$/ },
  { line: 'a v2 permission request whose `id` is open already', at: /^v2 ask with the same id › / },
  // The reference makes a request of it, so that the next id is another one.
  { line: 'unknown agent, model or command: 500', at: /^v2 ask for (an agent that is none › |nothing › body › data › id$)/ },
  { line: 'what was allowed for always in one API is not known in the other', at: /^v2 what is saved › body › data$/ },
  { line: '`POST /project/git/init` in a repository answers without', at: /^init what has git › body › (icon|name|sandboxes)$/ },
  { line: '`POST /session/:id/init` leaves `time.initialized` of the project unset', at: /^the project with a worktree › body › time › initialized$/ },
  { line: 'a key for a provider that the catalogue does not list', at: /^v2 (connect by key|connect nobody|the integration|name no credential) › / },
  { line: 'OpenAI, GitHub Copilot, GitLab, xAI and others can be logged in to by browser', at: /^v2 (log in by no method|no attempt|complete no attempt) › / },
  { line: '`/api/fs/read` tells the kind of a file by its name', at: /^v2 read below › type$/ },
  { line: 'a path that is not there, is outside of the project, or a pattern that is none: 500', at: /^(v2 files (outside|of a file)|v2 read (a directory|outside|without a name)|files outside|content (outside|of a directory)) › / },
  { line: 'an unknown route answers 200 with a web page', at: /^v2 what is not there › / },
  { line: 'a connection to a terminal that is refused has no body', at: /^(v2 )?connect (without an upgrade|to nothing) › / },
  { line: 'a terminal that has ended is gone at once', at: /^the terminal that ended › / },
  { line: 'a terminal whose program or directory is not there', at: /^a terminal (that cannot start|in no directory) › / },
  { line: '`/find/file` fills its list with names', at: /^find without directories › body$/ },
  { line: 'workspaces on other machines, mirrored servers, vendor accounts', at: /^(replay to nobody|warp nobody) › / },
  { line: 'a session can be moved to another directory', at: /^(move below|the session that was moved|move to nowhere) › / },
  { line: 'optional fields of errors may be `null`', at: /› forceRequired$/ },
  { line: 'branches of worktrees begin with', at: /^(a worktree with a name › body › branch)$/ },
  { line: 'sessions live in `~/.local/share/opencode`', at: /^(a worktree with a name › body › directory|worktrees with one › body\[0\])$/ },
  { line: 'a worktree that was made is not among', at: /^(the project with|the project without|directories with) .* › (sandboxes|body)$/ },
  { line: 'removing a worktree that is not there', at: /^remove it again › / },
  { line: '`PATCH /config` with a bad value', at: /^a wrong (flag in the settings|setting of the user) › / },
];

/** The same for the edges of single routes. @type {{ line: string, at: RegExp }[]} */
export const EXPLAINED_EDGES = [
  { line: '`message` in the bodies of errors names the types of its implementation', at: /^(?!(the|a) message|.*nobody).* › body( › data)? › message$/ },
  { line: '`limit=abc` means no limit on some lists', at: /^(a negative|an empty) limit › / },
  { line: '`%` and `_` in `search`', at: /^search for a percent sign › / },
  { line: 'a body without a `Content-Type` is read as JSON', at: /^create by a form › / },
  { line: 'unknown agent, model or command: 500', at: /^v2 an unknown (agent|model) › / },
];
