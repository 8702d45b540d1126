// Processes of this machine, found by what stands on their command lines.

import { readFile, readdir } from 'node:fs/promises';

/** Ids of processes whose command line has this word. @param {string} word */
export async function processesWith(word) {
  const found = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (line.split('\0').includes(word)) found.push(Number(pid));
  }
  return found;
}
