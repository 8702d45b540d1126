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
