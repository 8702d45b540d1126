// A turn through a client that openapi-typescript made of the server's own document. Types are checked, then it runs.

import createClient from 'openapi-fetch';
import type { paths } from './made/schema.js';

const url = process.argv[2];
if (!url) throw new Error('names the server: turn.js http://127.0.0.1:4096');
const client = createClient<paths>({ baseUrl: url });

const created = await client.POST('/api/session', { body: { model: { providerID: 'demo', id: 'echo' } as never } });
if (!created.data) throw new Error(`not created: ${created.response.status}`);
const { id } = created.data.data;
const path = { sessionID: id };
const admitted = await client.POST('/api/session/{sessionID}/prompt', { params: { path }, body: { prompt: { text: 'generated' } } });
if (admitted.response.status !== 200) throw new Error(`not admitted: ${admitted.response.status}`);
await client.POST('/api/session/{sessionID}/wait', { params: { path } });
const history = await client.GET('/api/session/{sessionID}/history', { params: { path, query: { limit: 100 } } });
const kinds = history.data?.data.map((event) => event.type) ?? [];
const missing = await client.GET('/api/session/{sessionID}/history', { params: { path: { sessionID: 'ses_0123456789abABCDEFGHIJKLMN' } } });
const prompt = { noReply: true, parts: [{ type: 'text' as const, text: 'typed' }, { type: 'agent' as const, name: 'build' }] };
const kept = await client.POST('/session/{sessionID}/message', { params: { path, query: { directory: process.cwd() } }, body: prompt });
const parts = kept.data?.parts.map((part) => part.type);
console.log(JSON.stringify({ parts, kinds, hasMore: history.data?.hasMore, missing: missing.error?._tag }));
