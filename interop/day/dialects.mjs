// A model provider that speaks the four protocols of models. Which one is asked for is told by the path.
//
// What it answers is a value that names no protocol: a thought with its seal, a text, calls. So the same turn can be
// played over each of them.

import { createServer } from 'node:http';

/** @typedef {{ thought?: string, seal?: string, text?: string, calls?: [string, object][], finish?: 'length' }} Said */
/** @typedef {{ dialect: string, path: string, headers: import('node:http').IncomingHttpHeaders, body: any }} Heard */

const frame = (/** @type {any} */ value) => `data: ${JSON.stringify(value)}\n\n`;
const named = (/** @type {any} */ value) => `event: ${value.type}\n${frame(value)}`;

/** How servers that speak chat completions tell a thought. @type {Record<string, (thought: string) => object>} */
const THOUGHTS = {
  content: (reasoning_content) => ({ reasoning_content }),
  field: (reasoning) => ({ reasoning }),
  block: (text) => ({ content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] }),
};

/** Each is told what is said, a number that is not used twice, and the first word of the path. @type {Record<string, (said: Said, at: number, model: string, way: string) => string>} */
const SPOKEN = {
  chat({ thought, text, calls = [], finish }, at, model, way) {
    const chunk = (/** @type {object[]} */ choices, more = {}) => frame({ id: `chatcmpl-${at}`, object: 'chat.completion.chunk', created: 1, model, choices, ...more });
    const delta = (/** @type {object} */ value) => chunk([{ index: 0, delta: value }]);
    let all = '';
    if (thought) all += delta({ role: 'assistant', ...THOUGHTS[way](thought) });
    if (text) all += delta({ role: 'assistant', content: text });
    calls.forEach(([name, input], index) => {
      all += delta({ tool_calls: [{ index, id: `call_${at}_${index}`, type: 'function', function: { name, arguments: JSON.stringify(input) } }] });
    });
    all += chunk([{ index: 0, delta: {}, finish_reason: finish ?? (calls.length > 0 ? 'tool_calls' : 'stop') }]);
    const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120, prompt_tokens_details: { cached_tokens: 40 }, completion_tokens_details: { reasoning_tokens: 5 } };
    return `${all}${chunk([], { usage })}data: [DONE]\n\n`;
  },

  anthropic({ thought, seal, text, calls = [], finish }, at, model) {
    let index = 0;
    const block = (/** @type {object} */ begin, /** @type {object[]} */ deltas) => {
      const place = index++;
      return [
        named({ type: 'content_block_start', index: place, content_block: begin }),
        ...deltas.map((delta) => named({ type: 'content_block_delta', index: place, delta })),
        named({ type: 'content_block_stop', index: place }),
      ].join('');
    };
    const usage = { input_tokens: 40, cache_creation_input_tokens: 20, cache_read_input_tokens: 40, output_tokens: 1 };
    let all = named({ type: 'message_start', message: { id: `msg_${at}`, type: 'message', role: 'assistant', model, content: [], stop_reason: null, stop_sequence: null, usage } });
    if (thought) {
      all += block({ type: 'thinking', thinking: '', signature: '' }, [{ type: 'thinking_delta', thinking: thought }, { type: 'signature_delta', signature: seal ?? 'seal' }]);
    }
    if (text) all += block({ type: 'text', text: '' }, [{ type: 'text_delta', text }]);
    calls.forEach(([name, input], place) => {
      all += block({ type: 'tool_use', id: `toolu_${at}_${place}`, name, input: {} }, [{ type: 'input_json_delta', partial_json: JSON.stringify(input) }]);
    });
    const stop_reason = finish ? 'max_tokens' : calls.length > 0 ? 'tool_use' : 'end_turn';
    return `${all}${named({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } })}${named({ type: 'message_stop' })}`;
  },

  responses({ thought, seal, text, calls = [], finish }, at, model) {
    let output_index = 0;
    let sequence_number = 0;
    const event = (/** @type {any} */ value) => named({ ...value, sequence_number: sequence_number++ });
    const response = { id: `resp_${at}`, object: 'response', created_at: 1, model };
    let all = event({ type: 'response.created', response: { ...response, status: 'in_progress', output: [] } });
    const item = (/** @type {object} */ begin, /** @type {any[]} */ between, /** @type {object} */ end) => {
      all += event({ type: 'response.output_item.added', output_index, item: begin });
      for (const one of between) all += event({ output_index, ...one });
      all += event({ type: 'response.output_item.done', output_index, item: end });
      output_index++;
    };
    if (thought) {
      const id = `rs_${at}`;
      item(
        { id, type: 'reasoning', summary: [], encrypted_content: 'early' },
        [
          { type: 'response.reasoning_summary_part.added', item_id: id, summary_index: 0, part: { type: 'summary_text', text: '' } },
          { type: 'response.reasoning_summary_text.delta', item_id: id, summary_index: 0, delta: thought },
          { type: 'response.reasoning_summary_part.done', item_id: id, summary_index: 0, part: { type: 'summary_text', text: thought } },
        ],
        { id, type: 'reasoning', encrypted_content: seal ?? 'seal', summary: [{ type: 'summary_text', text: thought }] },
      );
    }
    if (text) {
      const id = `out_${at}`;
      const content = [{ type: 'output_text', text, annotations: [] }];
      item(
        { id, type: 'message', role: 'assistant', status: 'in_progress', content: [] },
        [
          { type: 'response.content_part.added', item_id: id, content_index: 0, part: { type: 'output_text', text: '', annotations: [] } },
          { type: 'response.output_text.delta', item_id: id, content_index: 0, delta: text },
        ],
        { id, type: 'message', role: 'assistant', status: 'completed', content },
      );
    }
    calls.forEach(([name, input], place) => {
      const id = `fc_${at}_${place}`;
      const call = { id, type: 'function_call', call_id: `call_${at}_${place}`, name };
      item(
        { ...call, arguments: '', status: 'in_progress' },
        [
          { type: 'response.function_call_arguments.delta', item_id: id, delta: JSON.stringify(input) },
          { type: 'response.function_call_arguments.done', item_id: id, arguments: JSON.stringify(input) },
        ],
        { ...call, arguments: JSON.stringify(input), status: 'completed' },
      );
    });
    const usage = { input_tokens: 100, input_tokens_details: { cached_tokens: 40 }, output_tokens: 20, output_tokens_details: { reasoning_tokens: 5 }, total_tokens: 120 };
    const type = finish ? 'response.incomplete' : 'response.completed';
    const incomplete_details = finish ? { reason: 'max_output_tokens' } : null;
    return all + event({ type, response: { ...response, status: finish ? 'incomplete' : 'completed', output: [], incomplete_details, usage } });
  },

  gemini({ thought, seal, text, calls = [], finish }) {
    const chunk = (/** @type {object[]} */ parts, more = {}) => frame({ candidates: [{ content: { role: 'model', parts }, index: 0, ...more }] });
    let all = '';
    if (thought) all += chunk([{ text: thought, thought: true }]);
    if (text) all += chunk([{ text }]);
    calls.forEach(([name, args], place) => {
      all += chunk([{ functionCall: { name, args }, ...(place === 0 ? { thoughtSignature: seal ?? 'c2VhbA==' } : {}) }]);
    });
    const usageMetadata = { promptTokenCount: 100, cachedContentTokenCount: 40, candidatesTokenCount: 15, thoughtsTokenCount: 5, totalTokenCount: 120 };
    return all + frame({ candidates: [{ content: { role: 'model', parts: [{ text: '' }] }, finishReason: finish ? 'MAX_TOKENS' : 'STOP', index: 0 }], usageMetadata });
  },
};

/** Which protocol a path belongs to. @param {string} path */
function dialectOf(path) {
  if (path.endsWith('/chat/completions')) return 'chat';
  if (path.endsWith('/messages')) return 'anthropic';
  if (path.endsWith('/responses')) return 'responses';
  if (path.includes(':streamGenerateContent')) return 'gemini';
  return undefined;
}

export class Speaker {
  constructor() {
    /** What is said next. @type {Said[]} */
    this.next = [];
    /** @type {Heard[]} */
    this.heard = [];
    this.server = createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (more) => (text += more));
      request.on('end', () => this.#answer(request, text, response));
    });
  }

  static async start() {
    const speaker = new Speaker();
    await new Promise((resolve) => speaker.server.listen(0, '127.0.0.1', () => resolve(undefined)));
    return speaker;
  }

  get origin() {
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.server.address());
    return `http://127.0.0.1:${port}`;
  }

  /** @param {import('node:http').IncomingMessage} request @param {string} text @param {import('node:http').ServerResponse} response */
  #answer(request, text, response) {
    const path = request.url ?? '';
    const dialect = dialectOf(path.split('?')[0]);
    const body = JSON.parse(text || '{}');
    this.heard.push({ dialect: dialect ?? 'unknown', path, headers: request.headers, body });
    if (!dialect) return response.writeHead(404).end();
    const said = this.next.shift() ?? { text: 'Nothing more is known.' };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const way = path.split('/')[1];
    response.end(SPOKEN[dialect](said, this.heard.length, body.model ?? 'main', way in THOUGHTS ? way : 'content'));
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(() => resolve(undefined)));
  }
}
