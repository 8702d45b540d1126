// MCP servers of the server's directory: how each stands, logging in where one wants it, and out again.
//
// The login page is opened by a person, in a tab of its own; how it went is asked for again until it is known. A
// browser on another machine cannot come back to the server by itself: its last address, or the code in it, is pasted.

import { For, Show, createEffect, createSignal, onCleanup } from "solid-js";
import { key } from "../sync/world.ts";
import { safeHref } from "../text/links.ts";
import { api } from "../view/live.ts";
import { track } from "../view/store.ts";
import { asCallError, segment } from "../wire/api.ts";
import { codeIn } from "../wire/login-code.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";

interface McpState {
  readonly status: string;
  readonly error?: string;
  /** A login is kept. */
  readonly login?: boolean;
}

const LOOK_MS = 1500;

export function McpServers() {
  const [servers, setServers] = createSignal<readonly (readonly [string, McpState])[]>([]);
  const read = () => api.get<Record<string, McpState>>("/mcp").then((found) => setServers(Object.entries(found)), () => {});
  createEffect(() => {
    track(key.hint("mcp.tools.changed"));
    void read();
  });
  return (
    <Show when={servers().length > 0}>
      <section aria-label={panelWords.mcpServers}>
        <h2>{panelWords.mcpServers}</h2>
        <ul class="approvals">
          <For each={servers().map(([name]) => name)}>
            {(name) => <McpServer name={name} state={servers().find(([other]) => other === name)?.[1] ?? { status: "" }} onChange={read} />}
          </For>
        </ul>
      </section>
    </Show>
  );
}

function McpServer(props: { name: string; state: McpState; onChange: () => Promise<unknown> }) {
  const [address, setAddress] = createSignal<string>();
  const [code, setCode] = createSignal("");
  const [trouble, setTrouble] = createSignal("");
  const path = (rest = "") => `/mcp/${segment(props.name)}/auth${rest}`;
  const attempt = async (run: () => Promise<unknown>) => {
    setTrouble("");
    await run().catch((cause) => setTrouble(asCallError(cause).message));
    await props.onChange();
  };
  const begin = () => attempt(async () => {
    const { authorizationUrl } = await api.post<{ authorizationUrl: string }>(path());
    const href = safeHref(authorizationUrl);
    // Known already: there is nothing to open, and the server is connected.
    if (href === undefined || !/^https?:/.test(href)) return;
    setAddress(href);
  });
  const finish = () => attempt(() => api.post(path("/callback"), { code: codeIn(code()) }));
  // What is connected goes on with what it was given: it is connected anew, without.
  const forget = () => attempt(async () => {
    await api.call(path(), { method: "DELETE" });
    if (props.state.status !== "connected") return;
    await api.post(`/mcp/${segment(props.name)}/disconnect`);
    await api.post(`/mcp/${segment(props.name)}/connect`);
  });
  createEffect(() => {
    if (address() === undefined) return;
    if (props.state.status === "connected") return void setAddress(undefined);
    const timer = setInterval(() => document.visibilityState === "visible" && void props.onChange(), LOOK_MS);
    onCleanup(() => clearInterval(timer));
  });
  return (
    <li class="mcp">
      <span class="grow cut">{props.name} <span class="muted small">{panelWords.mcpStates[props.state.status] ?? props.state.status}</span></span>
      <Show when={props.state.status === "needs_auth" && address() === undefined}>
        <button type="button" aria-label={panelWords.mcpLogin(props.name)} onClick={() => void begin()}>{words.login}</button>
      </Show>
      <Show when={props.state.login === true}>
        <button type="button" class="quiet" aria-label={panelWords.mcpLogout(props.name)} onClick={() => void forget()}>{panelWords.logout}</button>
      </Show>
      <Show when={props.state.error}>{(said) => <p class="bad small">{said()}</p>}</Show>
      <Show when={trouble() !== ""}><p class="bad small" role="alert">{trouble()}</p></Show>
      <Show when={address()}>
        {(href) => (
          <form class="mcp-login" onSubmit={(event) => { event.preventDefault(); void finish(); }}>
            <a class="button primary" href={href()} target="_blank" rel="noopener noreferrer">{panelWords.mcpOpen}</a>
            <p class="muted small">{panelWords.mcpFollows}</p>
            <input type="text" aria-label={panelWords.mcpCode} placeholder={panelWords.mcpCode} autocomplete="off" value={code()} onInput={(event) => setCode(event.currentTarget.value)} />
            <button type="submit" disabled={code().trim() === ""}>{panelWords.mcpFinish}</button>
          </form>
        )}
      </Show>
    </li>
  );
}
