// Narrow rights to this one session, for a person or a program that uses the API: make one, see what is done with it,
// take it back. Links to a page that shows the session are in `grants.tsx`.

import { For, Show, createSignal, onCleanup, onMount } from "solid-js";
import { showToast } from "../kit/toast.tsx";
import { CopyButton } from "../text/render.tsx";
import { api, serverNow } from "../view/live.ts";
import { asCallError, segment } from "../wire/api.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";

interface SessionGrant {
  readonly id: string;
  readonly depth: number;
  readonly rights: readonly string[];
  readonly expires?: number | null;
  readonly maxUses?: number | null;
  readonly used: number;
  readonly label: string;
  readonly created: number;
  readonly revoked: number | null;
}
interface GrantUse {
  readonly id: number;
  readonly at: number;
  readonly actor: string;
  readonly method: string;
  readonly code: string;
  readonly address?: string;
}

const RIGHTS = ["read", "prompt", "answer"] as const;
type Right = (typeof RIGHTS)[number];
const LIFETIMES = [1, 7, 30, 0] as const;
const DAY_MS = 86_400_000;
/** Newest rows that are shown of what was done. */
const USES_SHOWN_MAX = 100;

export function AccessPanel(props: { sessionID: string }) {
  const [grants, setGrants] = createSignal<readonly SessionGrant[]>();
  const [made, setMade] = createSignal<{ readonly label: string; readonly reference: string }>();
  const abort = new AbortController();
  onCleanup(() => abort.abort());
  const failed = (cause: unknown) => {
    if (!abort.signal.aborted) showToast(asCallError(cause).message, "bad");
  };
  const read = () => api.get<readonly SessionGrant[]>(`/sturdy/grant?sessionID=${segment(props.sessionID)}`, { signal: abort.signal }).then(setGrants, failed);
  onMount(() => void read());
  const make = async (label: string, rights: readonly Right[], days: number) => {
    const ends = days > 0 ? { expires: Math.round(serverNow() + days * DAY_MS) } : {};
    const answer = await api.post<{ reference: string }>("/sturdy/grant", { sessionID: props.sessionID, rights, label, ...ends }, { signal: abort.signal });
    setMade({ label, reference: answer.reference });
    await read();
  };
  const revoke = (id: string) => void api.call(`/sturdy/grant/${segment(id)}`, { method: "DELETE", signal: abort.signal }).then(() => { setMade(undefined); return read(); }).catch(failed);
  return (
    <section class="grants" aria-label={words.panels.access}>
      <p class="small muted">{panelWords.accessHint}</p>
      <ul class="approvals">
        <For each={grants() ?? []} fallback={<li class="muted small">{grants() === undefined ? "…" : panelWords.accessNone}</li>}>
          {(one) => <GrantRow grant={one} onRevoke={() => revoke(one.id)} onFail={failed} />}
        </For>
      </ul>
      <Show when={made()}>
        {(fresh) => (
          <div role="status">
            <p class="small"><strong dir="auto">{fresh().label}</strong>: {panelWords.accessOnce}</p>
            <div class="secret"><pre class="terminal" tabindex="0" aria-label={fresh().label}>{fresh().reference}</pre><CopyButton text={() => fresh().reference} label={words.copy} /></div>
          </div>
        )}
      </Show>
      <NewAccess onMake={(label, rights, days) => make(label, rights, days).catch(failed)} />
    </section>
  );
}

function GrantRow(props: { grant: SessionGrant; onRevoke: () => void; onFail: (cause: unknown) => void }) {
  const [uses, setUses] = createSignal<readonly GrantUse[]>();
  const name = () => panelWords.grantNamed(props.grant.label, props.grant.id);
  const ends = () => {
    const { revoked, expires } = props.grant;
    if (revoked !== null) return panelWords.grantRevoked;
    if (typeof expires !== "number") return "";
    return expires <= serverNow() ? panelWords.grantEnded : panelWords.grantEnds(panelWords.date(expires));
  };
  const readUses = async () => {
    const rows = await api.get<readonly GrantUse[]>(`/sturdy/grant/${segment(props.grant.id)}/audit`);
    setUses(rows.slice(-USES_SHOWN_MAX).toReversed());
  };
  return (
    <li class="grant-row" classList={{ "is-ended": props.grant.revoked !== null }} data-access={props.grant.id}>
      <span class="grow">
        <span class="cut" dir="auto">{name()}</span>
        <span class="list-meta num">
          <span>{props.grant.rights.map((right) => panelWords.accessRights[right as Right] ?? right).join(", ")}</span>
          <span>{ends()}</span>
          <span>{panelWords.accessUsed(props.grant.used, props.grant.maxUses ?? null)}</span>
        </span>
        <details class="audit" onToggle={(event) => event.currentTarget.open && void readUses().catch(props.onFail)}>
          <summary class="small">{panelWords.audit}</summary>
          <ul class="approvals">
            <For each={uses() ?? []} fallback={<li class="muted small">{uses() === undefined ? "…" : panelWords.auditEmpty}</li>}>
              {(row) => <li class="small"><span class="num muted">{words.ago(row.at, serverNow())}</span> <code class="grow cut">{row.method}</code> <span classList={{ bad: row.code !== "ok" }}>{row.code}</span></li>}
            </For>
          </ul>
        </details>
      </span>
      <Show when={props.grant.revoked === null}>
        <button type="button" aria-label={panelWords.revokeNamed(name())} onClick={props.onRevoke}>{panelWords.revoke}</button>
      </Show>
    </li>
  );
}

function NewAccess(props: { onMake: (label: string, rights: readonly Right[], days: number) => Promise<unknown> }) {
  const [label, setLabel] = createSignal("");
  const [rights, setRights] = createSignal<readonly Right[]>(["read"]);
  const [days, setDays] = createSignal<number>(LIFETIMES[0]);
  const [isSent, setSent] = createSignal(false);
  const toggle = (right: Right) => setRights(rights().includes(right) ? rights().filter((one) => one !== right) : RIGHTS.filter((one) => one === right || rights().includes(one)));
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const sent = label();
    setSent(true);
    await props.onMake(label().trim(), rights(), days());
    // Somebody may be typing the next one by now.
    if (label() === sent) setLabel("");
    setSent(false);
  };
  return (
    <form class="token-form" onSubmit={(event) => void submit(event)}>
      <input type="text" maxlength="100" aria-label={panelWords.grantLabel} placeholder={panelWords.grantLabel} value={label()} onInput={(event) => setLabel(event.currentTarget.value)} />
      <fieldset class="access-rights">
        <legend class="off-screen">{panelWords.grantMay}</legend>
        <For each={RIGHTS}>{(right) => <label><input type="checkbox" checked={rights().includes(right)} onChange={() => toggle(right)} /> {panelWords.accessRights[right]}</label>}</For>
      </fieldset>
      <Show when={rights().includes("prompt")}><p class="warn small">{panelWords.accessPromptHint}</p></Show>
      <select aria-label={panelWords.tokenLife} onChange={(event) => setDays(Number(event.currentTarget.value))}><For each={LIFETIMES}>{(one) => <option value={one} selected={one === days()}>{panelWords.lifetime(one)}</option>}</For></select>
      <button type="submit" disabled={isSent() || rights().length === 0}>{panelWords.accessMake}</button>
    </form>
  );
}
