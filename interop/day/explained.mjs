// Every difference between the two accounts of the day that is meant, each with the line of docs/differences.md that
// says so (how that line begins), or with the reason why the reference cannot do it here.

import { execFileSync } from 'node:child_process';

/** @typedef {import('./account.mjs').Difference} Difference */
/** @typedef {{ line?: string, offline?: string, at: RegExp, if?: (difference: Difference) => boolean }} Explained */

/** Without ripgrep in PATH the reference downloads it, and nothing is downloaded here. */
function hasRipgrep() {
  try {
    execFileSync('rg', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const withoutRipgrep = 'ripgrep execution failed';

/** Tags, paths and numbers of a text, in their order: what a model or a client may hold on to. @param {unknown} text */
const marks = (text) => JSON.stringify(String(text).match(/<\/?\w+[^>]*>|DIR[\w./-]*|\d+/g) ?? []);

/** @type {Explained} */
const RIPGREP = {
  offline: 'the reference searches with ripgrep, which it downloads',
  at: /^(messages|requests) of (glob|grep|skill|task|child 1|apply_patch|read and search at once)\[.* › (status|error|output|metadata|title|content)$/,
};

/** @type {Explained[]} */
export const EXPLAINED = [
  ...(hasRipgrep() ? [] : [RIPGREP]),
  {
    line: 'what tools say in their results and errors is its own',
    at: /› (state › (output|error|title)|content)$/,
    if: ({ reference, sturdy }) => reference !== withoutRipgrep && marks(reference) === marks(sturdy),
  },
  // Our own words about a file that is not there name one that is.
  { line: 'what tools say in their results and errors is its own', at: /^(messages|requests) of (read what is not there|an edit that does not fit|apply_patch)\[.*› (error|content)$/ },
  {
    line: 'what tools say in their results and errors is its own',
    at: /› (state › input › error|state › output|content|arguments)$/,
    if: ({ sturdy }) => String(sturdy).includes('there is no tool named'),
  },
  {
    line: 'system texts, titles, reminders and other words to the model are its own',
    at: /^messages of a command of the person\[0\] › parts\[0\] › text$|^requests of .* › (content|text)$/,
    if: ({ reference, sturdy }) => marks(reference) === marks(sturdy),
  },
  { line: 'system texts, titles, reminders and other words to the model are its own', at: /^requests of a compaction\[0\] › messages\[0\] › content$/ },
  { line: 'an attempt that failed leaves no trace', at: /^messages of a provider that is busy once\[1\] › parts$/ },
  { line: 'a step of a summary captures the worktree', at: /^messages of a compaction\[1\] › parts\[\d\] › snapshot$/ },
  { line: 'trees are captured in git repositories only', at: /^messages of the shed\[[12]\] › parts\[\d\] › snapshot$/ },
  { line: '`apply_patch` counts a line too many', at: /^messages of apply_patch\[1\] › parts\[1\] › state › metadata › files\[2\] › deletions$/ },
  { line: 'what a command left in the background lives on', at: /^messages of a dev server.* › (background|output)$|^requests of a dev server.* › content$|› sturdy.processes$/ },
  { line: 'one idle session sends', at: /^events of (a provider that refuses|stopped by the person) › session\.(idle|status)$/ },
  {
    line: '`session.diff` is sent after every step',
    at: /^events of .* › session\.diff$/,
    if: ({ sturdy }) => sturdy === undefined,
  },
  { line: 'after a revert the session', at: /^session › summary( › (additions|deletions|files))?$/ },
  { line: 'plugins and custom tools in JavaScript run in the server', at: /^events of hello › (plugin\.added|catalog\.updated|integration\.updated|reference\.updated)$|^files › \.opencode\/\.gitignore$/ },
];
