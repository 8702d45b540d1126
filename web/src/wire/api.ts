// Calls to the server. A call either answers, or throws a `CallError` that says what a person can do.
//
// Not here: what is kept of an answer (`sync/`), the event stream (`sync/line.ts`).

export interface Answered<T> {
  readonly value: T;
  /** The log's place of the transaction that was read, where the route says it. */
  readonly position: string | null;
  readonly headers: Headers;
}

export class CallError extends Error {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  /** What is in the way of a request that conflicts with it. */
  readonly resource: string | undefined;

  constructor(status: number, message: string, retryAfterMs: number | undefined, resource?: string) {
    super(message);
    this.name = "CallError";
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.resource = resource;
  }

  /** Nobody answered: it is not known whether the server acted. */
  get isLost(): boolean {
    return this.status === 0;
  }
}

export function asCallError(cause: unknown): CallError {
  if (cause instanceof CallError) return cause;
  return new CallError(0, cause instanceof Error ? cause.message : String(cause), undefined);
}

export interface CallOptions {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE" | "PUT";
  readonly body?: unknown;
  readonly directory?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** `user:password`, for the one call that exchanges it for a cookie. */
  readonly basic?: string;
  /** The right to a share, which is asked for in place of a login. */
  readonly right?: string;
}

export type Fetch = (path: string, init: RequestInit) => Promise<Response>;

/** Says that a request comes from this page: another origin cannot send it along with a cookie. */
export const PAGE_HEADER = "x-sturdy-page";

export class Api {
  readonly #fetch: Fetch;
  readonly #onLocked: () => void;

  constructor(fetch: Fetch, onLocked: () => void) {
    this.#fetch = fetch;
    this.#onLocked = onLocked;
  }

  async call<T>(path: string, options: CallOptions = {}): Promise<Answered<T>> {
    const headers: Record<string, string> = { [PAGE_HEADER]: "1", accept: "application/json" };
    const init: RequestInit = { method: options.method ?? "GET", headers };
    if (options.body !== undefined) {
      headers["content-type"] = "application/json";
      init.body = JSON.stringify(options.body);
    }
    if (options.directory !== undefined) headers["x-opencode-directory"] = encodeURIComponent(options.directory);
    if (options.basic !== undefined) headers["authorization"] = `Basic ${base64(options.basic)}`;
    if (options.right !== undefined) headers["authorization"] = `Bearer ${options.right}`;
    if (options.signal) init.signal = options.signal;
    const response = await this.#answer(path, init, options.right !== undefined);
    const text = await response.text();
    const value = (text === "" ? null : JSON.parse(text)) as T;
    return { value, position: response.headers.get("x-sturdy-position"), headers: response.headers };
  }

  /** A large value: a text, or what its JSON says. It is kept nowhere on the device. */
  async large(path: string, signal?: AbortSignal): Promise<unknown> {
    const init: RequestInit = { method: "GET", headers: { [PAGE_HEADER]: "1" }, cache: "no-store", ...(signal ? { signal } : {}) };
    const response = await this.#answer(path, init);
    return (response.headers.get("content-type") ?? "").startsWith("application/json") ? response.json() : response.text();
  }

  async get<T>(path: string, options: CallOptions = {}): Promise<T> {
    return (await this.call<T>(path, options)).value;
  }

  async post<T>(path: string, body?: unknown, options: CallOptions = {}): Promise<T> {
    return (await this.call<T>(path, { ...options, method: "POST", body: body ?? {} })).value;
  }

  async #answer(path: string, init: RequestInit, isByRight = false): Promise<Response> {
    const response = await this.#send(path, init);
    // A right that is refused says nothing about the login.
    if (response.status === 401 && !isByRight) this.#onLocked();
    if (!response.ok) throw await this.#refused(response);
    return response;
  }

  async #send(path: string, init: RequestInit): Promise<Response> {
    try {
      return await this.#fetch(path, init);
    } catch (cause) {
      if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
      throw new CallError(0, "The server cannot be reached", undefined);
    }
  }

  async #refused(response: Response): Promise<CallError> {
    const text = await response.text().catch(() => "");
    return new CallError(response.status, sentence(text, response.status), retryAfter(response.headers), resourceOf(text));
  }
}

/** The server's own sentence, wherever this kind of error keeps it. */
export function sentence(body: string, status: number): string {
  try {
    const value = JSON.parse(body) as { message?: unknown; data?: { message?: unknown }; error?: unknown };
    const inner = value.error !== null && typeof value.error === "object" && "message" in value.error ? value.error.message : value.error;
    for (const said of [value.data?.message, value.message, inner]) {
      if (typeof said === "string" && said !== "") return said;
    }
  } catch {
    if (body !== "" && body.length < 300) return body;
  }
  return `The server answered ${status}`;
}

function resourceOf(body: string): string | undefined {
  try {
    const { resource } = JSON.parse(body) as { resource?: unknown };
    return typeof resource === "string" ? resource : undefined;
  } catch {
    return undefined;
  }
}

export function retryAfter(headers: Headers): number | undefined {
  const said = Number(headers.get("retry-after"));
  return Number.isFinite(said) && said > 0 ? Math.min(said, 3600) * 1000 : undefined;
}

/** Of the UTF-8 bytes. */
function base64(text: string): string {
  return btoa(String.fromCodePoint(...new TextEncoder().encode(text)));
}

export function segment(id: string): string {
  return encodeURIComponent(id);
}
