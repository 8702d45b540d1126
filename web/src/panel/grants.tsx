// The links of one share: make a narrower one, revoke one or all, ask every writer again, see who did what.

import { For, Show, createSignal, onCleanup, onMount } from "solid-js";
import { showToast } from "../kit/toast.tsx";
import { serverNow } from "../view/live.ts";
import { asCallError, segment } from "../wire/api.ts";
import { words } from "../words/en.ts";
import { panelWords } from "../words/en-panels.ts";
import { LinkBox } from "./link-box.tsx";
import type { AskOwner } from "./share-owner.ts";

interface Grant {
  readonly cap_id: string;
  readonly parent_id: string | null;
  readonly scope: readonly string[];
  readonly kinds: readonly string[] | null;
  readonly expires_at: number | null;
  readonly max_ops: number | null;
  readonly used_ops: number;
  readonly label: string;
  readonly created_at: number;
  readonly revoked_at: number | null;
}
interface Used {
  readonly id: number;
  readonly at: number;
  readonly cap_id: string;
  readonly method: string;
  readonly code: string;
  readonly address: string;
}

/** How many streams are open with a link; those of the plain one have no name. */
interface Reading {
  readonly cap_id: string | null;
  readonly count: number;
}

const READERS_EVERY_MS = 2000;
const PRESETS = ["viewer", "writer", "drop_box", "owner"] as const;
type Preset = (typeof PRESETS)[number];
const KINDS = ["session", "message", "part", "session_diff", "model", "message.remove", "part.remove"] as const;
const LIFETIMES = [7, 1, 30, 0] as const;
const DAY_MS = 86_400_000;
/** Rows of one answer, answers that are asked for, and rows that are shown. */
const AUDIT_PAGE = 500;
const AUDIT_PAGES_MAX = 20;
const AUDIT_SHOWN_MAX = 100;

/** A link that is wanted. */
interface ComposerRequest {
  readonly preset: Preset;
  readonly days: number;
  readonly label: string;
  /** None: there is no bound. */
  readonly most: number | undefined;
  /** None: all. */
  readonly kinds: readonly string[];
}

export function Grants(props: { ask: AskOwner }) {
  const [grants, setGrants] = createSignal<readonly Grant[]>([]);
  const [audit, setAudit] = createSignal<readonly Used[]>();
  const [made, setMade] = createSignal<{ readonly url: string; readonly name: string }>();
  const abort = new AbortController();
  onCleanup(() => abort.abort());
  const failed = (cause: unknown) => {
    if (!abort.signal.aborted) showToast(asCallError(cause).message, "bad");
  };
  const call = <T,>(rest: string, method: "GET" | "POST" | "DELETE" = "GET", body?: unknown) => props.ask<T>(rest, method, body, abort.signal);
  const read = () => call<readonly Grant[]>("/capabilities").then(setGrants, failed);
  const [readers, setReaders] = createSignal<readonly Reading[]>([]);
  // One that cannot say, an older service for one, says nothing.
  const readReaders = () => void call<readonly Reading[]>("/readers").then(setReaders, () => {});
  onMount(() => {
    void read();
    readReaders();
    const timer = setInterval(() => document.visibilityState === "visible" && readReaders(), READERS_EVERY_MS);
    onCleanup(() => clearInterval(timer));
  });
  const readersOf = (id: string | null) => readers().find((one) => one.cap_id === id)?.count ?? 0;
  const readersTotal = () => readers().reduce((sum, one) => sum + one.count, 0);
  const nameOf = (id: string) => {
    const found = grants().find((one) => one.cap_id === id);
    return found?.parent_id === null ? panelWords.grantOwner : panelWords.grantNamed(found?.label ?? "", id);
  };
  const make = async ({ preset, days, label, most, kinds }: ComposerRequest) => {
    const ends = days > 0 ? { expires_at: Math.round(serverNow() + days * DAY_MS) } : {};
    const quota = most === undefined ? {} : { max_ops: most };
    const only = kinds.length === 0 ? {} : { kinds };
    const answer = await call<{ url: string; cap_id: string }>("/capabilities", "POST", { scope: [preset], label, ...ends, ...quota, ...only });
    setMade({ url: answer.url, name: panelWords.grantNamed(label, answer.cap_id) });
    await read();
  };
  const revoke = (id: string) => void call(`/capabilities/${segment(id)}`, "DELETE").then(() => { setMade(undefined); return read(); }).catch(failed);
  const rotate = () => void call("/rotate", "POST", {}).then(() => showToast(panelWords.rotated), failed);
  const readAudit = async () => {
    let rows: readonly Used[] = [];
    for (let page = 0; page < AUDIT_PAGES_MAX; page += 1) {
      const next = await call<readonly Used[]>(`/audit?after=${rows.at(-1)?.id ?? 0}`);
      rows = [...rows, ...next].slice(-AUDIT_SHOWN_MAX);
      if (next.length < AUDIT_PAGE) break;
    }
    setAudit(rows.toReversed());
  };
  const others = () => grants().filter((one) => one.parent_id !== null);
  const standing = () => others().filter((one) => one.revoked_at === null);
  return (
    <section class="grants" aria-label={panelWords.grants}>
      <p class="small" role="status" data-readers={readersTotal()}>{panelWords.readersNow(readersTotal(), readersOf(null))}</p>
      <h3>{panelWords.grants}</h3>
      <p class="small muted">{panelWords.grantsHint}</p>
      <ul class="approvals">
        <For each={others()}>
          {(one) => (
            <li classList={{ "is-ended": one.revoked_at !== null }} data-grant={one.cap_id}>
              <span class="grow">
                <span class="cut" dir="auto">{panelWords.grantNamed(one.label, one.cap_id)}</span>
                <span class="list-meta num">
                  <span>{one.scope.map((right) => panelWords.rights[right] ?? right).join(", ")}</span>
                  <span>{endOf(one)}</span>
                  <Show when={readersOf(one.cap_id) > 0}><span class="is-busy">{panelWords.readersOfLink(readersOf(one.cap_id))}</span></Show>
                  <Show when={one.scope.includes("append")}><span>{panelWords.grantUsed(one.used_ops, one.max_ops)}</span></Show>
                  <Show when={one.kinds}>{(kinds) => <span>{panelWords.grantOnly(kinds())}</span>}</Show>
                </span>
              </span>
              <Show when={one.revoked_at === null}>
                <button type="button" aria-label={panelWords.revokeNamed(panelWords.grantNamed(one.label, one.cap_id))} onClick={() => revoke(one.cap_id)}>{panelWords.revoke}</button>
              </Show>
            </li>
          )}
        </For>
      </ul>
      <Show when={made()}>
        {(fresh) => (
          <div role="status">
            <p class="small"><strong dir="auto">{fresh().name}</strong>: {panelWords.grantOnce}</p>
            <LinkBox url={fresh().url} label={fresh().name} />
          </div>
        )}
      </Show>
      <NewGrant onMake={(wish) => make(wish).catch(failed)} />
      <div class="dialog-buttons">
        <Show when={standing().length > 1}><button type="button" class="danger" onClick={() => revoke("all")}>{panelWords.revokeAll}</button></Show>
        <button type="button" title={panelWords.rotateHint} onClick={rotate}>{panelWords.rotate}</button>
      </div>
      <details class="audit" onToggle={(event) => event.currentTarget.open && void readAudit().catch(failed)}>
        <summary>{panelWords.audit}</summary>
        <ul class="approvals">
          <For each={audit() ?? []} fallback={<li class="muted small">{audit() === undefined ? "…" : panelWords.auditEmpty}</li>}>
            {(row) => (
              <li class="small">
                <span class="num muted">{words.ago(row.at, serverNow())}</span>
                <span class="grow cut" dir="auto">{nameOf(row.cap_id)}</span>
                <code>{row.method}</code>
                <span classList={{ bad: row.code !== "ok" }}>{row.code}</span>
                <span class="muted cut">{row.address}</span>
              </li>
            )}
          </For>
        </ul>
        <Show when={(audit()?.length ?? 0) >= AUDIT_SHOWN_MAX}><p class="small muted">{panelWords.auditMore(AUDIT_SHOWN_MAX)}</p></Show>
      </details>
    </section>
  );
}

function endOf(one: Grant): string {
  if (one.revoked_at !== null) return panelWords.grantRevoked;
  if (one.expires_at === null) return "";
  return one.expires_at <= serverNow() ? panelWords.grantEnded : panelWords.grantEnds(panelWords.date(one.expires_at));
}

function NewGrant(props: { onMake: (wish: ComposerRequest) => Promise<unknown> }) {
  const [label, setLabel] = createSignal("");
  const [preset, setPreset] = createSignal<Preset>("viewer");
  const [days, setDays] = createSignal<number>(LIFETIMES[0]);
  const [most, setMost] = createSignal<number>();
  const [kinds, setKinds] = createSignal<readonly string[]>([]);
  const [isSent, setSent] = createSignal(false);
  const writes = () => preset() !== "viewer";
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const sent = label();
    setSent(true);
    const bounds = writes() ? { most: most(), kinds: kinds() } : { most: undefined, kinds: [] };
    await props.onMake({ preset: preset(), days: days(), label: label().trim(), ...bounds });
    // Somebody may be typing the next one by now.
    if (label() === sent) setLabel("");
    setSent(false);
  };
  return (
    <form class="token-form" onSubmit={(event) => void submit(event)}>
      <input type="text" maxlength="100" aria-label={panelWords.grantLabel} placeholder={panelWords.grantLabel} value={label()} onInput={(event) => setLabel(event.currentTarget.value)} />
      <select aria-label={panelWords.grantMay} onChange={(event) => setPreset(event.currentTarget.value as Preset)}><For each={PRESETS}>{(one) => <option value={one} selected={one === preset()}>{panelWords.grantPresets[one]}</option>}</For></select>
      <select aria-label={panelWords.tokenLife} onChange={(event) => setDays(Number(event.currentTarget.value))}><For each={LIFETIMES}>{(one) => <option value={one} selected={one === days()}>{panelWords.lifetime(one)}</option>}</For></select>
      <Show when={writes()}>
        <input type="number" min="1" max="1000000000" aria-label={panelWords.grantMost} placeholder={panelWords.grantMost} value={most() ?? ""} onInput={(event) => setMost(event.currentTarget.value === "" ? undefined : event.currentTarget.valueAsNumber)} />
        <details>
          <summary class="small">{panelWords.grantKinds}</summary>
          <For each={KINDS}>
            {(kind) => (
              <label class="small">
                <input type="checkbox" checked={kinds().includes(kind)} onChange={(event) => setKinds(event.currentTarget.checked ? [...kinds(), kind] : kinds().filter((one) => one !== kind))} />
                {panelWords.grantKindNames[kind]}
              </label>
            )}
          </For>
        </details>
      </Show>
      <button type="submit" disabled={isSent()}>{panelWords.grantMake}</button>
    </form>
  );
}
