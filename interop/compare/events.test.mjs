// What clients are told, event by event, in the turns that happen every day: every key of every event,
// and their order, compared with the files in `golden/`.
//
// The files say what was found to agree with the reference, or to differ as docs/differences.md says.
// A change that turns one of these tests red changes what every client sees. If it is meant, look at the
// difference, see that it is equal to the reference or written down, and run with GOLDEN=write.

import { calls, says } from '../lib/provider.mjs';
import { asked, told } from './told.mjs';

const golden = told({ config: { permission: { glob: 'ask' } } });

golden('an answer', [says('Hello')]);

golden('thoughts before an answer', [(reply) => reply.reasoning('Hm').text('So').finish()]);

golden('a file is read', [
  calls('read', { filePath: 'a.txt' }),
  says('It says hello'),
]);

golden('a file is written', [calls('write', { filePath: 'new.txt', content: 'one\n' }), says('Done')]);

golden('a file is edited', [
  calls('read', { filePath: 'a.txt' }),
  calls('edit', { filePath: 'a.txt', oldString: 'hello', newString: 'bye' }),
  says('Done'),
]);

golden('a command runs', [calls('bash', { command: 'echo out; exit 3' }), says('Done')]);

golden('a call that cannot be understood', [calls('nosuchtool', { a: 1 }), says('Sorry')]);

golden('a permission is given', [calls('glob', { pattern: '*.txt' }), says('Done')], async ({ reader, say, ask }) => {
  const answer = say();
  await ask('POST', `/permission/${await asked(reader, 'permission')}/reply`, { reply: 'once' });
  await answer;
});

golden('a permission is refused', [calls('glob', { pattern: '*.txt' })], async ({ reader, say, ask }) => {
  const answer = say();
  await ask('POST', `/permission/${await asked(reader, 'permission')}/reply`, { reply: 'reject' });
  await answer;
});

const question = { question: 'Which?', header: 'Pick', options: [{ label: 'Red', description: 'warm' }] };
golden('a question is answered', [calls('question', { questions: [question] }), says('Red it is')], async ({ reader, say, ask }) => {
  const answer = say();
  await ask('POST', `/question/${await asked(reader, 'question')}/reply`, { answers: [['Red']] });
  await answer;
});

golden('a task is delegated', [
  calls('task', { description: 'Look', prompt: 'Look around', subagent_type: 'general' }),
  says('Nothing there'),
  says('Nothing'),
]);

golden('a provider refuses', [(reply) => reply.refuse(400, 'No such thing')]);

golden('a failure passes', [(reply) => reply.refuse(500, 'Busy', { 'retry-after-ms': '1' }), says('Back')]);

golden('a turn is stopped', [(reply) => void reply.text('Half')], async ({ id, reader, say, ask }) => {
  const answer = say();
  await reader.until('it speaks', (frame) => frame.type === 'message.part.delta');
  await ask('POST', `/session/${id}/abort`);
  await answer;
});

golden('a conversation is summarised', [says('First'), says('In short: hello')], async ({ id, reader, say, ask }) => {
  await say();
  // The answer may come before the last events of its turn.
  await reader.idle(id);
  const from = reader.frames.length;
  await ask('POST', `/session/${id}/summarize`, { providerID: 'scripted', modelID: 'main' });
  await reader.idle(id, from);
});

golden('a shell command of the user', [], async ({ id, ask }) => {
  await ask('POST', `/session/${id}/shell`, { agent: 'build', command: 'echo hi' });
});
