// Tokens: what programs show in place of the password. A secret is seen once, when it is made.

import { For, Show, createSignal, onMount } from "solid-js";
import { showToast } from "../kit/toast.tsx";
import { api, serverNow } from "../view/live.ts";
import { panelWords } from "../words/en-panels.ts";
import { asCallError, segment } from "../wire/api.ts";

interface Token {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expires?: number;
  readonly used?: number;
}

const SCOPES = ["read", "write", "admin"] as const;
const DAY_MS = 24 * 60 * 60 * 1000;
const LIFETIMES = [1, 30, 365, 0] as const;

export function Tokens() {
  const [tokens, setTokens] = createSignal<readonly Token[]>();
  const [name, setName] = createSignal("");
  const [scope, setScope] = createSignal<string>("read");
  const [days, setDays] = createSignal(30);
  const [secret, setSecret] = createSignal("");
  const failed = (cause: unknown) => showToast(asCallError(cause).message, "bad");
  // A server without tokens, or a login that may not see them: the section is absent.
  const read = () => void api.get<Token[]>("/sturdy/token").then(setTokens, () => setTokens(undefined));
  onMount(read);
  const make = () => {
    const sent = name();
    const body = { name: sent.trim(), scopes: [scope()], ...(days() > 0 ? { expires: Math.round(serverNow() + days() * DAY_MS) } : {}) };
    api.post<{ secret: string }>("/sturdy/token", body).then((made) => { setSecret(made.secret); if (name() === sent) setName(""); read(); }, failed);
  };
  const revoke = (id: string) => void api.call(`/sturdy/token/${segment(id)}`, { method: "DELETE" }).then(read, failed);
  return (
    <Show when={tokens()}>
      {(list) => (
        <section aria-label={panelWords.tokens}>
          <h2>{panelWords.tokens}</h2>
          <p class="muted small">{panelWords.tokensHint}</p>
          <ul class="approvals">
            <For each={list()} fallback={<li class="muted">{panelWords.noTokens}</li>}>
              {(one) => (
                <li>
                  <span class="grow cut">{one.name}</span>
                  <span class="muted small">{one.scopes.join(", ")}</span>
                  <Show when={one.expires}>{(at) => <span class="muted small num">{panelWords.until(panelWords.date(at()))}</span>}</Show>
                  <button type="button" onClick={() => revoke(one.id)}>{panelWords.takeBack}</button>
                </li>
              )}
            </For>
          </ul>
          <form class="token-form" onSubmit={(event) => { event.preventDefault(); make(); }}>
            <input type="text" aria-label={panelWords.tokenName} placeholder={panelWords.tokenName} value={name()} onInput={(event) => setName(event.currentTarget.value)} />
            <select aria-label={panelWords.tokenScope} onChange={(event) => setScope(event.currentTarget.value)}><For each={SCOPES}>{(one) => <option value={one} selected={one === scope()}>{panelWords.scopes[one]}</option>}</For></select>
            <select aria-label={panelWords.tokenLife} onChange={(event) => setDays(Number(event.currentTarget.value))}><For each={LIFETIMES}>{(one) => <option value={one} selected={one === days()}>{panelWords.lifetime(one)}</option>}</For></select>
            <button type="submit" disabled={name().trim() === ""}>{panelWords.tokenMake}</button>
          </form>
          <Show when={secret() !== ""}><p class="small">{panelWords.tokenOnce}</p><pre class="terminal" tabindex="0">{secret()}</pre></Show>
        </section>
      )}
    </Show>
  );
}
