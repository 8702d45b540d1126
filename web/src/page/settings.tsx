// Settings of this page, and what there is to know about the server.

import { For, Show, createEffect, createSignal, onMount } from "solid-js";
import { ProcessList } from "../dock/processes.tsx";
import { everySecond, useSeconds } from "../kit/ticking.tsx";
import { key } from "../sync/world.ts";
import { told } from "../view/actions.ts";
import { api, hello, line, server, serverNow, tabs } from "../view/live.ts";
import { type Preferences, prefer, preferences } from "../view/preferences.ts";
import { askForNotices, canNotify, startNotices, stopNotices } from "../view/notices.ts";
import { track, trackHints, world } from "../view/store.ts";
import { words } from "../words/en.ts";
import { more } from "../words/en-panels.ts";
import { LinkBox } from "../panel/link-box.tsx";
import { McpServers } from "./mcp-servers.tsx";
import { ShortcutList } from "./shortcut-list.tsx";
import { Tokens } from "./tokens.tsx";
import { browserName } from "../wire/actors.ts";
import { segment } from "../wire/api.ts";
import type { BackgroundProcess } from "../wire/types.ts";

interface Device {
  readonly id: string;
  readonly label: string;
  readonly seen: number;
}
interface Approval {
  readonly id: string;
  readonly action: string;
  readonly resource: string;
}

/** Written by the build, beside the page. */
const LICENSES = "./licenses.txt";

/** Names of this machine that no other machine knows it by. */
const LOOPBACK = /^(localhost|127\.[\d.]+|\[::1\])$/;

export function SettingsPage() {
  useSeconds();
  const [approvals, setApprovals] = createSignal<readonly Approval[]>([]);
  const [devices, setDevices] = createSignal<readonly Device[]>([]);
  const [code, setCode] = createSignal("");
  const [languages, setLanguages] = createSignal<readonly { readonly name: string; readonly status: string }[]>([]);
  const [running, setRunning] = createSignal<readonly BackgroundProcess[]>();
  const readRunning = () => void api.get<readonly BackgroundProcess[]>("/sturdy/process").then(setRunning, () => {});
  createEffect(() => {
    track(key.hint("sturdy.processes"));
    readRunning();
  });
  createEffect(() => {
    trackHints("lsp.updated");
    void api.get<readonly { name: string; status: string }[]>("/lsp").then(setLanguages, () => {});
  });
  const readDevices = () => void api.get<Device[]>("/sturdy/devices").then(setDevices, () => {});
  const [providers, setProviders] = createSignal<readonly string[]>([]);
  const readApprovals = () => void api.get<{ data?: Approval[] } | Approval[]>("/api/permission/saved").then((found) => setApprovals(Array.isArray(found) ? found : (found.data ?? [])), () => {});
  onMount(() => {
    readApprovals();
    readDevices();
    void api.get<{ providers: { name: string }[] }>("/config/providers").then((found) => setProviders(found.providers.map((one) => one.name)), () => {});
  });
  const invite = () => void told(async () => setCode(`${location.origin}/login#once=${(await api.post<{ code: string }>("/sturdy/login/code")).code}`));
  const logout = () => void told(async () => {
    await api.post("/sturdy/logout");
    tabs.logout();
    localStorage.clear();
    line.lock();
  });
  /** Takes something away, and reads again what is left. */
  const drop = (path: string, read: () => void) => void told(() => api.call(path, { method: "DELETE" })).then(read);
  const change = (next: Partial<Preferences>) => {
    prefer(next);
    tabs.preferences();
  };
  return (
    <main class="page settings" id="main" aria-label={words.settings}>
      <h1>{words.settings}</h1>
      <section>
        <h2>{more.pageTitle}</h2>
        <label class="setting">
          <span class="grow">{more.theme}</span>
          <select onChange={(event) => change({ theme: event.currentTarget.value as Preferences["theme"] })}>
            <For each={["system", "light", "dark"] as const}>{(theme) => <option value={theme} selected={preferences().theme === theme}>{more.themes[theme]}</option>}</For>
          </select>
        </label>
        <label class="setting">
          <span class="grow">{more.textSize}</span>
          <select onChange={(event) => change({ textSize: event.currentTarget.value as Preferences["textSize"] })}>
            <For each={["usual", "large", "larger"] as const}>{(size) => <option value={size} selected={preferences().textSize === size}>{more.textSizes[size]}</option>}</For>
          </select>
        </label>
        <Switchable label={more.showEverything} value={preferences().showEverything} onChange={(showEverything) => change({ showEverything })} />
        <Switchable label={more.showArchived} value={preferences().showArchived} onChange={(showArchived) => change({ showArchived })} />
        <NoticeSwitch onChange={(notices) => change({ notices })} />
        <Switchable label={more.stopsOnLeaving} value={preferences().stopsOnLeaving} onChange={(stopsOnLeaving) => change({ stopsOnLeaving })} />
        <Switchable label={more.letterKeys} value={preferences().letterKeys} onChange={(letterKeys) => change({ letterKeys })} />
      </section>
      <ShortcutList onChange={(keys) => change({ keys })} />
      <section>
        <h2>{more.serverTitle}</h2>
        <dl class="numbers">
          <dt>{more.version}</dt><dd>{server()?.version}</dd>
          <dt>{more.directory}</dt><dd><code>{server()?.directory}</code></dd>
          <dt>{more.position}</dt><dd class="num">{everySecond() >= 0 && words.number(world.head.position)}</dd>
          <Show when={hello()}>{(said) => <><dt>{more.horizon}</dt><dd class="num">{words.number(said().horizon)}</dd><dt>{more.store}</dt><dd><code>{said().store}</code></dd></>}</Show>
          <dt>{more.providers}</dt><dd>{providers().join(", ")}</dd>
          <Show when={languages().length > 0}><dt>{more.languages}</dt><dd>{languages().map((one) => `${one.name} (${one.status})`).join(", ")}</dd></Show>
        </dl>
        <Show when={running() !== undefined}>
          <h2>{more.backgroundAll}</h2>
          <Show when={(running()?.length ?? 0) > 0} fallback={<p class="muted small">{more.backgroundNone}</p>}><ProcessList processes={running() ?? []} /></Show>
        </Show>
      </section>
      <McpServers />
      <section>
        <h2>{more.approvals}</h2>
        <ul class="approvals">
          <For each={approvals()} fallback={<li class="muted">{more.noApprovals}</li>}>
            {(one) => (
              <li>
                <code class="grow cut">{one.action} {one.resource}</code>
                <button type="button" onClick={() => drop(`/api/permission/saved/${segment(one.id)}`, readApprovals)}>{more.takeBack}</button>
              </li>
            )}
          </For>
        </ul>
      </section>
      <section>
        <h2>{more.devices}</h2>
        <ul class="approvals">
          <For each={devices()} fallback={<li class="muted">{more.noDevices}</li>}>
            {(one) => (
              <li>
                <span class="grow cut small" title={one.label}>{browserName(one.label)}</span>
                <span class="muted small num">{words.ago(one.seen, serverNow())}</span>
                <button type="button" onClick={() => drop(`/sturdy/devices/${segment(one.id)}`, readDevices)}>{more.logout}</button>
              </li>
            )}
          </For>
        </ul>
        <div class="dialog-buttons">
          <button type="button" onClick={invite}>{more.invite}</button>
          <Show when={devices().length > 0}><button type="button" onClick={logout}>{more.logoutHere}</button></Show>
        </div>
        <Show when={code() !== ""}><p class="small">{more.inviteHint}</p><Show when={LOOPBACK.test(location.hostname)}><p class="warn small">{more.inviteLoopback}</p></Show><LinkBox url={code()} label={more.invite} /></Show>
      </section>
      <Tokens />
      <p class="muted small"><a href={new URL(LICENSES, import.meta.url).pathname} target="_blank" rel="noopener">{more.licenses}</a></p>
    </main>
  );
}

function NoticeSwitch(props: { onChange: (value: boolean) => void }) {
  const [isRefused, setRefused] = createSignal(false);
  const turn = async (isWanted: boolean) => {
    const isOn = isWanted && (await askForNotices());
    setRefused(isWanted && !isOn);
    props.onChange(isOn);
    if (isOn) startNotices();
    else stopNotices();
  };
  return (
    <>
      <Switchable label={more.notices} value={preferences().notices} isOff={!canNotify()} onChange={(isWanted) => void turn(isWanted)} />
      <p class="muted small">{canNotify() ? more.noticesHint : more.noticesInsecure}</p>
      <Show when={isRefused()}><p class="bad small" role="alert">{more.noticesRefused}</p></Show>
    </>
  );
}

function Switchable(props: { label: string; value: boolean; isOff?: boolean; onChange: (value: boolean) => void }) {
  return (
    <label class="setting">
      <span class="grow">{props.label}</span>
      <input type="checkbox" checked={props.value} disabled={props.isOff} onChange={(event) => props.onChange(event.currentTarget.checked)} />
    </label>
  );
}
