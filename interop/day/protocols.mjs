// The same turns over each protocol of models, on one program: what it asked the models, without what differs from
// run to run.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { masker } from '../lib/mask.mjs';
import { until } from '../lib/wait.mjs';
import { World } from '../lib/world.mjs';
import { Speaker } from './dialects.mjs';

const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

/** Providers by name: the package that names the protocol, the path of its address, and a model of a known family. */
export const PROVIDERS = {
  compatible: ['@ai-sdk/openai-compatible', '/content/v1', 'main'],
  'claude behind a compatible server': ['@ai-sdk/openai-compatible', '/content/v1', 'claude-sonnet-4-5'],
  'a deepseek': ['@ai-sdk/openai-compatible', '/content/v1', 'deepseek-reasoner'],
  'a kimi': ['@ai-sdk/openai-compatible', '/content/v1', 'kimi-k2.6'],
  'gemini behind openrouter': ['@openrouter/ai-sdk-provider', '/field/v1', 'google/gemini-3-pro'],
  'a server of groq': ['@ai-sdk/groq', '/field/v1', 'llama-4'],
  claude: ['@ai-sdk/anthropic', '/v1', 'claude-sonnet-4-5'],
  'claude that decides how long it thinks': ['@ai-sdk/anthropic', '/v1', 'claude-opus-4-7'],
  gpt: ['@ai-sdk/openai', '/v1', 'gpt-5.1'],
  'gpt without reasoning': ['@ai-sdk/openai', '/v1', 'gpt-4.1'],
  gemini: ['@ai-sdk/google', '/v1beta', 'gemini-3-pro-preview'],
  'an older gemini': ['@ai-sdk/google', '/v1beta', 'gemini-2.5-flash'],
};

/** @param {Speaker} speaker */
function settings(speaker) {
  const provider = Object.fromEntries(
    Object.entries(PROVIDERS).map(([id, [npm, path, model]]) => {
      const entry = {
        reasoning: id !== 'gpt without reasoning',
        temperature: true,
        attachment: true,
        tool_call: true,
        modalities: { input: ['text', 'image', 'pdf'], output: ['text'] },
        limit: { context: 200_000, output: 64_000 },
        cost: { input: 1, output: 2 },
      };
      return [id, { npm, options: { baseURL: `${speaker.origin}${path}`, apiKey: 'key-of-the-test' }, models: { [model]: entry, small: { tool_call: true } } }];
    }),
  );
  return {
    $schema: 'https://opencode.ai/config.json',
    share: 'disabled',
    lsp: false,
    formatter: false,
    permission: 'allow',
    agent: { short: { mode: 'primary', steps: 1, temperature: 0.3, top_p: 0.8, prompt: 'Be short.' } },
    provider,
  };
}

/**
 * Plays the turns, and tells what was heard by provider.
 * @param {(world: World) => Promise<import('../lib/server.mjs').Server>} serve
 * @param {string[]} [only]
 */
export async function speak(serve, only = Object.keys(PROVIDERS)) {
  const world = await World.make('git');
  const speaker = await Speaker.start();
  await world.configure(settings(speaker));
  await mkdir(join(world.project, 'src'), { recursive: true });
  await writeFile(join(world.project, 'a.txt'), 'first\n');
  await writeFile(join(world.project, 'b.txt'), 'second\n');
  await writeFile(join(world.project, 'dot.png'), Buffer.from(DOT, 'base64'));
  world.git(['add', '.']);
  world.git(['commit', '--quiet', '--message', 'Files']);
  const server = await serve(world);
  const mask = masker({ [speaker.origin]: 'PROVIDER', [world.project]: 'DIR', [world.home]: 'HOME', [world.root]: 'ROOT' });
  const at = (/** @type {string} */ path) => join(world.project, path);
  /** @type {Record<string, any>} */
  const told = {};
  try {
    const listed = await server.tell('GET', '/config/providers');
    for (const id of only) {
      const [, , modelID] = PROVIDERS[/** @type {keyof typeof PROVIDERS} */ (id)];
      const model = { providerID: id, modelID };
      const info = listed.providers.find((/** @type {any} */ one) => one.id === id)?.models?.[modelID];
      told[`variants of ${id}`] = info?.variants;
      const variants = Object.keys(info?.variants ?? {});
      const { id: session } = await server.tell('POST', '/session', { title: 'Protocols' });
      const from = speaker.heard.length;
      const ask = async (/** @type {object} */ body) => {
        await server.tell('POST', `/session/${session}/message`, { model, ...body });
        await until('nothing runs', async () => Object.keys(await server.tell('GET', '/session/status')).length === 0);
      };
      speaker.next = [
        { thought: 'Let me look.', seal: 'c2VhbDE=', text: 'I read both.', calls: [['read', { filePath: at('a.txt') }], ['read', { filePath: at('b.txt') }]] },
        { thought: 'They differ.', seal: 'c2VhbDI=', text: 'They differ.' },
      ];
      await ask({ parts: [{ type: 'text', text: 'Compare them' }] });
      speaker.next = [{ calls: [['read', { filePath: at('dot.png') }]] }, { text: 'A dot.' }];
      await ask({
        variant: variants.at(-1),
        parts: [{ type: 'text', text: 'And this?' }, { type: 'file', mime: 'image/png', filename: 'dot.png', url: `data:image/png;base64,${DOT}` }],
      });
      speaker.next = [{ calls: [['read', { filePath: at('missing.txt') }]] }, { text: 'It is missing.' }];
      await ask({ variant: variants[0], parts: [{ type: 'text', text: 'A file that is not there' }] });
      speaker.next = [{ text: 'Short.' }];
      await ask({ agent: 'short', parts: [{ type: 'text', text: 'The last step' }] });
      told[`requests to ${id}`] = speaker.heard.slice(from).map((heard) => mask(plain(heard)));
      const { tokens, cost } = await server.tell('GET', `/session/${session}`);
      told[`usage of ${id}`] = { tokens, cost };
    }
  } finally {
    await server.kill();
    await speaker.stop();
    await world.remove();
  }
  return told;
}

/** Headers that say who asks, and for which session. */
const HEADERS = ['authorization', 'x-api-key', 'x-goog-api-key', 'anthropic-version', 'x-session-affinity', 'x-session-id', 'content-type'];

/** What was said in these turns; all other texts are each program's own. */
const SAID = ['Compare them', 'Let me look.', 'I read both.', 'They differ.', 'And this?', 'A dot.', 'A file that is not there', 'It is missing.', 'The last step', 'Short.', ''];

/** Without the words of each program to the model. @param {import('./dialects.mjs').Heard} heard */
function plain({ path, headers, body }) {
  const kept = Object.fromEntries(HEADERS.filter((name) => headers[name] !== undefined).map((name) => [name, headers[name]]));
  const tools = (body.tools ?? []).flatMap((/** @type {any} */ tool) => tool.functionDeclarations ?? [tool.function ?? tool]);
  return { path, headers: kept, tools: tools.map((/** @type {any} */ tool) => tool.name).sort(), body: wordless({ ...body, tools: undefined }) };
}

/** @param {any} value @param {string} [key] @returns {any} */
function wordless(value, key = '') {
  if (Array.isArray(value)) return value.map((one) => wordless(one, key));
  if (typeof value === 'object' && value !== null) return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, wordless(one, name)]));
  const isText = ['text', 'content', 'output', 'error'].includes(key) && typeof value === 'string';
  return isText && !SAID.includes(value) ? 'WORDS' : value;
}
