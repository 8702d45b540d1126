// Requests of the walk about a directory that is in no repository, which becomes one at the end.

/** @typedef {import('./requests.mjs').Step} Step */

import { says } from '../lib/provider.mjs';

const keepAs = (name, pick) => ({ keep: (known, answer) => (known[name] = pick(answer)) });

/** @type {Step[]} */
export const OUTSIDE = [
  ['path', 'GET', '/path'],
  ['project', 'GET', '/project/current'],
  ['directories', 'GET', '/project/global/directories'],
  ['location', 'GET', '/api/location'],
  ['vcs', 'GET', '/vcs'],
  ['vcs status', 'GET', '/vcs/status'],
  ['vcs diff', 'GET', '/vcs/diff?mode=git'],
  ['vcs diff of a branch', 'GET', '/vcs/diff?mode=branch'],
  ['vcs diff as text', 'GET', '/vcs/diff/raw'],
  ['apply a patch', 'POST', '/vcs/apply', { patch: 'x' }],
  ['worktrees', 'GET', '/experimental/worktree'],
  ['make a worktree', 'POST', '/experimental/worktree', { name: 'x' }],
  ['remove a worktree', 'DELETE', '/experimental/worktree', { directory: '/nowhere' }],
  ['reset a worktree', 'POST', '/experimental/worktree/reset', { directory: '/nowhere' }],
  ['files', 'GET', '/file?path=src'],
  ['a file', 'GET', '/file/content?path=notes.md'],
  ['status of files', 'GET', '/file/status'],
  ['v2 files', 'GET', '/api/fs/list?path=src'],
  ['create', 'POST', '/session', { title: 'Outside' }, keepAs('one', ({ id }) => id)],
  ['v2 create', 'POST', '/api/session', {}],
  ['sessions by path', 'GET', '/session?path='],
  ['sessions of the directory', 'GET', (known) => `/session?directory=${encodeURIComponent(known.project)}`],
  ['v2 sessions', 'GET', '/api/session?project=global'],
  ['a prompt', 'POST', (known) => `/session/${known.one}/message`, { model: { providerID: 'scripted', modelID: 'main' }, parts: [{ type: 'text', text: 'hi' }] }, { scripts: [says('Hi.')], settle: 'one' }],
  ['diff', 'GET', (known) => `/session/${known.one}/diff`],
  ['make a repository', 'POST', '/project/git/init'],
  ['project after it', 'GET', '/project/current'],
  ['vcs after it', 'GET', '/vcs'],
];
