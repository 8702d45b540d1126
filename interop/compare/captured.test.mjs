// The same where what a turn does to files is captured: the trees of steps, patches, summaries, an undo and a redo.
//
// A repository is the place that counts (`interop/run compare@git`, `compare@linked`); in a plain directory the same is
// told, because it is captured too.

import { calls, says } from '../lib/provider.mjs';
import { told } from './told.mjs';

const golden = told({ config: { snapshot: true } });

golden('a captured file is written', [calls('write', { filePath: 'new.txt', content: 'one\n' }), says('Done')]);

golden('a captured command is undone and redone', [
  calls('bash', { command: 'echo two >> a.txt; echo made > made.txt' }),
  says('Done'),
], async ({ id, say, reader, ask }) => {
  const { info } = await say();
  await reader.idle(id);
  await ask('POST', `/session/${id}/revert`, { messageID: info.parentID });
  await ask('POST', `/session/${id}/unrevert`);
});
