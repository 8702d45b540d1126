// An MCP server that wants a login, and the authorization server beside it, which gives everybody who registers a
// secret and wants to hear it. What was asked is remembered.

import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

/** @param {import('node:http').IncomingMessage} request */
async function body(request) {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
}

export class OAuth {
  registered = 0;
  /** What the token endpoint was asked for, and by whom. @type {{ grant: string, id: string, secret: string }[]} */
  asked = [];
  /** Challenges by code. */
  #codes = new Map();
  #tokens = new Set();
  #redirects = new Map();

  static async start() {
    const made = new OAuth();
    made.server = createServer((request, response) => {
      made.#answer(request).then(
        ({ status = 200, headers = {}, json }) => {
          response.writeHead(status, { 'content-type': 'application/json', connection: 'close', ...headers });
          response.end(json === undefined ? '' : JSON.stringify(json));
        },
        (error) => response.writeHead(500).end(String(error)),
      );
    });
    await new Promise((resolve) => made.server.listen(0, '127.0.0.1', () => resolve(undefined)));
    made.url = `http://127.0.0.1:${made.server.address().port}`;
    return made;
  }

  stop() {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }

  /** @param {import('node:http').IncomingMessage} request @returns {Promise<{ status?: number, headers?: object, json?: any }>} */
  async #answer(request) {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.url);
    switch (`${request.method} ${pathname}`) {
      case 'GET /.well-known/oauth-protected-resource/mcp':
        return { json: { resource: `${this.url}/mcp`, authorization_servers: [this.url] } };
      case 'GET /.well-known/oauth-authorization-server':
        return {
          json: {
            issuer: this.url,
            authorization_endpoint: `${this.url}/authorize`,
            token_endpoint: `${this.url}/token`,
            registration_endpoint: `${this.url}/register`,
            response_types_supported: ['code'],
            code_challenge_methods_supported: ['S256'],
            token_endpoint_auth_methods_supported: ['client_secret_basic'],
          },
        };
      case 'POST /register':
        return this.#register(JSON.parse(await body(request)));
      case 'GET /authorize':
        return this.#authorize(searchParams);
      case 'POST /token':
        return this.#token(request.headers.authorization ?? '', new URLSearchParams(await body(request)));
      case 'POST /mcp':
        return this.#message(request.headers.authorization ?? '', JSON.parse(await body(request)));
      default:
        return { status: pathname === '/mcp' ? 405 : 404 };
    }
  }

  #register({ redirect_uris, token_endpoint_auth_method }) {
    if (token_endpoint_auth_method !== 'client_secret_basic') {
      return { status: 400, json: { error: 'invalid_client_metadata' } };
    }
    this.registered += 1;
    const id = `client-${this.registered}`;
    this.#redirects.set(id, redirect_uris[0]);
    return { status: 201, json: { client_id: id, client_secret: `hush-${id}`, client_secret_expires_at: 0, redirect_uris } };
  }

  /** @param {URLSearchParams} asked */
  #authorize(asked) {
    const redirect = asked.get('redirect_uri') ?? '';
    if (this.#redirects.get(asked.get('client_id')) !== redirect) return { status: 400, json: { error: 'invalid_client' } };
    const code = `code-${this.#codes.size + 1}`;
    this.#codes.set(code, asked.get('code_challenge'));
    return { status: 302, headers: { location: `${redirect}?${new URLSearchParams({ code, state: asked.get('state') ?? '' })}` } };
  }

  /** @param {string} authorization @param {URLSearchParams} asked */
  #token(authorization, asked) {
    const [id, secret] = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString().split(':');
    const grant = asked.get('grant_type') ?? '';
    this.asked.push({ grant, id, secret });
    if (secret !== `hush-${id}`) return { status: 401, json: { error: 'invalid_client' } };
    const digest = createHash('sha256').update(asked.get('code_verifier') ?? '').digest('base64url');
    const may = grant === 'refresh_token' ? asked.get('refresh_token') === 'again' : this.#codes.get(asked.get('code')) === digest;
    if (!may) return { status: 400, json: { error: 'invalid_grant' } };
    const token = `token-${this.asked.length}`;
    this.#tokens.add(`Bearer ${token}`);
    return { json: { access_token: token, token_type: 'Bearer', expires_in: 3600, refresh_token: 'again' } };
  }

  #message(authorization, { id, method }) {
    if (!this.#tokens.has(authorization)) {
      const place = `${this.url}/.well-known/oauth-protected-resource/mcp`;
      return { status: 401, headers: { 'www-authenticate': `Bearer resource_metadata="${place}"` } };
    }
    if (id === undefined) return { status: 202 };
    const introduction = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'web', version: '1' } };
    const result = { initialize: introduction, 'tools/list': { tools: [] } }[method] ?? {};
    return { json: { jsonrpc: '2.0', id, result } };
  }
}
