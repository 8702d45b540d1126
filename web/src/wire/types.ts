// Shapes of the wire, as far as the page looks into them. Unknown fields are kept and ignored.
//
// Not here: what the page makes of them (`sync/`), how they are asked for (`api.ts`).

export interface Tokens {
  readonly total?: number;
  readonly input: number;
  readonly output: number;
  readonly reasoning: number;
  readonly cache: { readonly read: number; readonly write: number };
}

export interface ModelRef {
  readonly providerID: string;
  readonly modelID: string;
  readonly variant?: string;
}

export interface FileDiff {
  readonly file?: string;
  readonly patch?: string;
  readonly additions: number;
  readonly deletions: number;
  readonly status?: "added" | "deleted" | "modified";
}

export interface Session {
  readonly id: string;
  readonly slug: string;
  readonly projectID: string;
  readonly directory: string;
  readonly path?: string;
  readonly parentID?: string;
  readonly title: string;
  readonly version: string;
  readonly cost: number;
  readonly tokens: Tokens;
  readonly agent?: string;
  readonly model?: { readonly id: string; readonly providerID: string; readonly variant?: string };
  readonly summary?: { readonly additions: number; readonly deletions: number; readonly files: number };
  readonly share?: { readonly url: string };
  /** Where a fork came from; without a message it is a copy of everything. */
  readonly metadata?: { readonly "sturdy.fork"?: { readonly sessionID: string; readonly messageID?: string } };
  readonly time: {
    readonly created: number;
    readonly updated: number;
    readonly compacting?: number;
    readonly archived?: number;
  };
  readonly revert?: {
    readonly messageID: string;
    readonly partID?: string;
    readonly diff?: string;
    /** Files that were left alone, each with the reason. */
    readonly conflicts?: readonly { readonly file: string; readonly why: string }[];
    readonly uncaptured?: readonly Uncaptured[];
  };
}

/** A call whose changes nobody knows: nothing of it goes back. */
export interface Uncaptured {
  readonly partID: string;
  readonly tool: string;
  readonly why: string;
}

/** What an exported page is without. */
export type LeftOut = "outputs" | "files" | "thoughts";

/** What an undo would do to which file. */
export interface RevertPlan {
  readonly messageID?: string;
  readonly files: readonly {
    readonly file: string;
    readonly action: "create" | "change" | "delete" | "nothing" | "conflict";
    readonly why?: string;
  }[];
  readonly uncaptured?: readonly Uncaptured[];
}

export type Status =
  | { readonly type: "idle" }
  | { readonly type: "busy" }
  | {
      readonly type: "retry";
      readonly attempt: number;
      readonly message: string;
      readonly next: number;
      readonly action?: { readonly title: string; readonly message: string; readonly label: string; readonly link?: string };
    };

export interface Failure {
  readonly name: string;
  readonly data: {
    readonly message?: string;
    readonly providerID?: string;
    readonly statusCode?: number;
    readonly isRetryable?: boolean;
    readonly responseBody?: string;
    readonly responseHeaders?: Readonly<Record<string, string>>;
    readonly retries?: number;
    readonly ref?: string;
  };
}

export interface UserMessage {
  readonly id: string;
  readonly sessionID: string;
  readonly role: "user";
  readonly time: { readonly created: number };
  readonly agent: string;
  readonly model: ModelRef;
  readonly summary?: { readonly title?: string; readonly diffs: readonly FileDiff[] };
}

export interface AssistantMessage {
  readonly id: string;
  readonly sessionID: string;
  readonly role: "assistant";
  readonly time: { readonly created: number; readonly completed?: number };
  readonly parentID: string;
  readonly providerID: string;
  readonly modelID: string;
  readonly agent: string;
  readonly error?: Failure;
  readonly summary?: boolean;
  readonly cost: number;
  readonly tokens: Tokens;
  readonly structured?: unknown;
  readonly variant?: string;
  readonly finish?: string;
}

export type Message = UserMessage | AssistantMessage;

/** Stands for a value that is large; what it stands for is asked for when it is looked at. */
export interface LargeLink {
  readonly $blob: string;
  readonly bytes: number;
}

export interface Fields {
  readonly [name: string]: unknown;
}

interface OfMessage {
  readonly id: string;
  readonly sessionID: string;
  readonly messageID: string;
}

export interface Span {
  readonly start: number;
  readonly end?: number;
}

export interface TextPart extends OfMessage {
  readonly type: "text";
  readonly text: string;
  readonly synthetic?: boolean;
  readonly ignored?: boolean;
  readonly time?: Span;
  readonly metadata?: SetAside;
}

/** What was said in an attempt that failed is kept here; the text itself is empty. */
export interface SetAside extends Fields {
  readonly sturdy?: { readonly failedAttempt?: string };
}

export interface ReasoningPart extends OfMessage {
  readonly type: "reasoning";
  readonly text: string;
  readonly time: Span;
  readonly metadata?: SetAside;
}

export interface FilePart extends OfMessage {
  readonly type: "file";
  readonly mime: string;
  readonly filename?: string;
  readonly url: string | LargeLink;
  readonly source?: { readonly type: string; readonly path?: string; readonly name?: string; readonly uri?: string; readonly text?: { readonly value?: string } };
}

export type ToolState =
  | { readonly status: "pending"; readonly input: Fields; readonly raw: string }
  | { readonly status: "running"; readonly input: Fields; readonly title?: string; readonly metadata?: Fields; readonly time: Span }
  | {
      readonly status: "completed";
      readonly input: Fields;
      readonly output: string | LargeLink;
      readonly title: string;
      readonly metadata: Fields;
      readonly time: { readonly start: number; readonly end: number; readonly compacted?: number };
      readonly attachments?: readonly FilePart[];
    }
  | {
      readonly status: "error";
      readonly input: Fields;
      readonly error: string | LargeLink;
      readonly metadata?: Fields;
      readonly time: { readonly start: number; readonly end: number };
    };

export interface ToolPart extends OfMessage {
  readonly type: "tool";
  readonly callID: string;
  readonly tool: string;
  readonly state: ToolState;
}

export type Part =
  | TextPart
  | ReasoningPart
  | FilePart
  | ToolPart
  | (OfMessage & { readonly type: "step-start"; readonly snapshot?: string })
  | (OfMessage & { readonly type: "step-finish"; readonly reason: string; readonly cost: number; readonly tokens: Tokens; readonly snapshot?: string })
  | (OfMessage & { readonly type: "snapshot"; readonly snapshot: string })
  | (OfMessage & { readonly type: "patch"; readonly hash: string; readonly files: readonly string[] })
  | (OfMessage & { readonly type: "agent"; readonly name: string; readonly source?: Fields })
  | (OfMessage & { readonly type: "retry"; readonly attempt: number; readonly error: Failure; readonly time: { readonly created: number } })
  | (OfMessage & { readonly type: "compaction"; readonly auto: boolean; readonly overflow?: boolean; readonly tail_start_id?: string })
  | (OfMessage & { readonly type: "subtask"; readonly prompt: string; readonly description: string; readonly agent: string; readonly command?: string });

export type PartOf<Type extends Part["type"]> = Extract<Part, { type: Type }>;

export interface MessageWithParts {
  readonly info: Message;
  readonly parts: readonly Part[];
}

export interface PermissionRequest {
  readonly id: string;
  readonly sessionID: string;
  readonly permission: string;
  readonly patterns: readonly string[];
  readonly metadata: Fields;
  readonly always: readonly string[];
  readonly tool?: { readonly messageID: string; readonly callID: string };
}

export interface Question {
  readonly question: string;
  readonly header: string;
  readonly options: readonly { readonly label: string; readonly description: string }[];
  readonly multiple?: boolean;
  readonly custom?: boolean;
}

export interface QuestionRequest {
  readonly id: string;
  readonly sessionID: string;
  readonly questions: readonly Question[];
  readonly tool?: { readonly messageID: string; readonly callID: string };
}

export type Ask =
  | { readonly kind: "permission"; readonly request: PermissionRequest }
  | { readonly kind: "question"; readonly request: QuestionRequest };

export interface Todo {
  readonly content: string;
  readonly status: string;
  readonly priority: string;
}

/** A prompt that is stored and that nobody has begun to answer. */
export interface Waiting {
  readonly messageID: string;
}

/** What a command left running. */
export interface BackgroundProcess {
  readonly id: string;
  readonly sessionID: string;
  readonly command: string;
  readonly cwd: string;
  readonly pids: readonly number[];
  /** It was a person's own command. */
  readonly user: boolean;
  readonly time: number;
}

export interface Project {
  readonly id: string;
  readonly worktree: string;
  readonly name?: string;
}

/** What `GET /sturdy/overview` answers. */
export interface Overview {
  readonly position: string;
  readonly sessions: readonly OverviewRow[];
  readonly projects: readonly Project[];
  readonly asks: readonly Ask[];
  readonly cursor?: string;
  readonly features: { readonly [name: string]: boolean };
  readonly server: { readonly version: string; readonly directory: string; readonly now: number; readonly boot: string; readonly page?: string };
}

export interface OverviewRow {
  readonly info: Session;
  readonly status: Status;
  readonly waiting: number;
}

/** What `GET /sturdy/session/{id}` answers. */
export interface Opening {
  readonly position: string;
  readonly session: Session;
  readonly status: Status;
  readonly messages: readonly MessageWithParts[];
  /** For `before=` on the message list; absent when these are all. */
  readonly cursor?: string;
  readonly todos: readonly Todo[];
  readonly asks: readonly Ask[];
  readonly queue: readonly string[];
  readonly family: readonly OverviewRow[];
}

/** An event of the stream with its place; events that are not stored have none. */
export interface Entry {
  readonly place: Place | undefined;
  readonly type: string;
  readonly properties: Fields;
  readonly directory?: string;
}

import type { Place } from "./place.ts";
