// Markdown as elements. No HTML string ever reaches the document: HTML in a text is shown as text, links
// open only where `links.ts` allows, and an image from elsewhere is a link until somebody clicks it.

import type { Token, Tokens } from "marked";
import { For, type JSX, Match, Show, Switch, createMemo, createSignal } from "solid-js";
import { Dynamic } from "solid-js/web";
import { Icon } from "../kit/icon.tsx";
import { copyText } from "../kit/copy.ts";
import { words } from "../words/en.ts";
import { BlockCutter, type Blocks, wholeBlocks } from "./blocks.ts";
import { Code } from "./code.tsx";
import { safeHref } from "./links.ts";

/** A text that may still grow. */
export function Markdown(props: { text: string; isOpen: boolean }) {
  const cutter = new BlockCutter();
  const blocks = createMemo((): Blocks => (props.isOpen ? cutter.cut(props.text) : { done: cutter.end(props.text), open: [] }));
  // The same array object grows; a copy lets `For` see which blocks are new.
  const done = createMemo(() => [...blocks().done]);
  const open = createMemo(() => blocks().open.map(closed));
  const places = createMemo(() => open().map((_, at) => at), [], { equals: (a, b) => a.length === b.length });
  return (
    <div class="prose" classList={{ "is-open": props.isOpen }}>
      <For each={done()}>{(token) => <Block token={token} depth={0} />}</For>
      <For each={places()}>{(at) => <Show when={open()[at]}>{(token) => <OpenBlock token={token()} />}</Show>}</For>
    </div>
  );
}

/** A block that grows. Code and lists go on where they are; what else there is is short, and made anew. */
function OpenBlock(props: { token: Token }) {
  return (
    <Switch fallback={<Show when={props.token} keyed>{(token) => <Block token={token} depth={0} />}</Show>}>
      <Match when={props.token.type === "code"}>
        <Code text={(props.token as Tokens.Code).text} language={(props.token as Tokens.Code).lang} isOpen />
      </Match>
      <Match when={props.token.type === "list"}><List token={props.token as Tokens.List} depth={1} /></Match>
    </Switch>
  );
}

/** Closes what is begun. Loaded with the first text that grows: most are whole when they come. */
const [mend, setMend] = createSignal<(text: string) => string>();
let isMendAsked = false;
function askForMend(): void {
  if (isMendAsked) return;
  isMendAsked = true;
  // Without it a begun **word** shows its stars until it is whole; nothing else is missing.
  import("remend").then((file) => setMend(() => file.default), () => {});
}

/** What is begun in the last block (bold, code, a link) is closed, so that it does not flicker. */
function closed(token: Token): Token {
  if (token.type !== "paragraph" && token.type !== "heading" && token.type !== "list") return token;
  askForMend();
  const mended = mend()?.(token.raw) ?? token.raw;
  if (mended === token.raw) return token;
  const whole = wholeBlocks(mended)[0];
  if (whole?.type !== "list" || token.type !== "list") return whole ?? token;
  // Only its last item has something open.
  const items = (token as Tokens.List).items;
  const last = (whole as Tokens.List).items.at(-1);
  return last && (whole as Tokens.List).items.length === items.length ? ({ ...token, items: [...items.slice(0, -1), last] } as Token) : whole;
}

/** Deeper than anybody writes, and far from where the browser gives up: below, a text is shown as it was written. */
const DEPTH_MAX = 32;

function Block(props: { token: Token; depth: number }): JSX.Element {
  const token = props.token as Tokens.Generic;
  const depth = props.depth + 1;
  if (depth > DEPTH_MAX) return <p dir="auto">{token.raw}</p>;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return (
        // One level for all: those of a model do not fit the page's own, and look different anyway.
        <h3 class={`h-${(token as Tokens.Heading).depth}`} dir="auto">
          <Inline tokens={token.tokens} />
        </h3>
      );
    case "paragraph":
      return (
        <p dir="auto">
          <Inline tokens={token.tokens} />
        </p>
      );
    case "text":
      return <Inline tokens={token.tokens ?? [token]} />;
    case "code":
      return <Code text={(token as Tokens.Code).text} language={(token as Tokens.Code).lang} />;
    case "blockquote":
      return (
        <blockquote dir="auto">
          <For each={token.tokens ?? []}>{(inner) => <Block token={inner} depth={depth} />}</For>
        </blockquote>
      );
    case "list":
      return <List token={token as Tokens.List} depth={depth} />;
    case "table":
      return <Table token={token as Tokens.Table} />;
    case "hr":
      return <hr />;
    case "checkbox":
      // Drawn by its list.
      return null;
    default:
      // HTML, and whatever a later lexer may bring: as text.
      return <p dir="auto">{token.raw}</p>;
  }
}

function List(props: { token: Tokens.List; depth: number }) {
  const start = () => (props.token.ordered && props.token.start !== "" ? Number(props.token.start) : undefined);
  return (
    <Dynamic component={props.token.ordered ? "ol" : "ul"} dir="auto" start={start()}>
      <For each={props.token.items}>
        {(item) => (
          <li classList={{ "is-task": item.task }}>
            <Show when={item.task}>
              <input type="checkbox" checked={item.checked === true} disabled aria-label={words.task(item.checked === true)} />
            </Show>
            <For each={item.tokens}>{(inner) => <Block token={inner} depth={props.depth} />}</For>
          </li>
        )}
      </For>
    </Dynamic>
  );
}

function Table(props: { token: Tokens.Table }) {
  const cell = (at: Tokens.TableCell, tag: "th" | "td") => (
    <Dynamic component={tag} dir="auto" class={at.align === null ? undefined : `align-${at.align}`}>
      <Inline tokens={at.tokens} />
    </Dynamic>
  );
  return (
    <div class="table-scroll" tabindex="0" role="region" aria-label={words.table}>
      <table>
        <thead>
          <tr>
            <For each={props.token.header}>{(at) => cell(at, "th")}</For>
          </tr>
        </thead>
        <tbody>
          <For each={props.token.rows}>
            {(row) => (
              <tr>
                <For each={row}>{(at) => cell(at, "td")}</For>
              </tr>
            )}
          </For>
        </tbody>
      </table>
    </div>
  );
}

function Inline(props: { tokens: Token[] | undefined; depth?: number }): JSX.Element {
  return <For each={props.tokens ?? []}>{(token) => <Span token={token} depth={(props.depth ?? 0) + 1} />}</For>;
}

function Span(props: { token: Token; depth: number }): JSX.Element {
  const token = props.token as Tokens.Generic;
  const { depth } = props;
  if (depth > DEPTH_MAX) return <>{token.raw}</>;
  switch (token.type) {
    case "text":
      return token.tokens ? <Inline tokens={token.tokens} depth={depth} /> : <>{unescaped(token["text"] as string)}</>;
    case "escape":
      return <>{token["text"] as string}</>;
    case "strong":
      return (
        <strong>
          <Inline tokens={token.tokens} depth={depth} />
        </strong>
      );
    case "em":
      return (
        <em>
          <Inline tokens={token.tokens} depth={depth} />
        </em>
      );
    case "del":
      return (
        <del>
          <Inline tokens={token.tokens} depth={depth} />
        </del>
      );
    case "codespan":
      return <code dir="ltr">{unescaped(token["text"] as string)}</code>;
    case "br":
      return <br />;
    case "link":
      return <Link href={token["href"] as string}>{<Inline tokens={token.tokens} depth={depth} />}</Link>;
    case "image":
      return <Picture href={token["href"] as string} text={token["text"] as string} />;
    case "checkbox":
      return null;
    case "html":
      return /^<br\s*\/?>$/i.test(token.raw) ? <br /> : <>{token.raw}</>;
    default:
      return <>{token.raw}</>;
  }
}

/** The lexer escapes some text for HTML, which we do not make. */
function unescaped(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}

function Link(props: { href: string; children: JSX.Element }) {
  const href = () => safeHref(props.href);
  return (
    <Show when={href()} fallback={<span>{props.children}</span>}>
      {(safe) => (
        <a href={safe()} target="_blank" rel="noopener noreferrer" title={safe()}>
          {props.children}
        </a>
      )}
    </Show>
  );
}

/** An image is fetched by nobody until a person asks for it: it would tell its host who reads this. */
function Picture(props: { href: string; text: string }) {
  const data = () => /^data:image\/(png|jpeg|gif|webp);base64,/i.test(props.href);
  return (
    <Show when={data()} fallback={<Link href={props.href}>{`[${props.text || words.image}]`}</Link>}>
      <img src={props.href} alt={props.text} loading="lazy" />
    </Show>
  );
}

/** Copies a text; says so for a moment. */
export function CopyButton(props: { text: () => string; label: string }) {
  const [isCopied, setCopied] = createSignal(false);
  const copy = async () => {
    setCopied(await copyText(props.text()));
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <button type="button" class="quiet copy" aria-label={props.label} title={props.label} onClick={() => void copy()}>
      <Icon name={isCopied() ? "check" : "copy"} />
    </button>
  );
}
